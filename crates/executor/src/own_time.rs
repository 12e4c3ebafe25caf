//! Time that stands still while people are waited for, so that their taking their time uses up nobody else's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long something has been at work, without the time in which it waited for people. Cheap to clone; all clones
/// are one clock.
#[derive(Clone, Debug)]
pub struct OwnTime {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    /// Whether it stands still.
    still: watch::Sender<bool>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// When it would have begun if it had never stood still.
    began: Instant,
    /// How many reasons to stand still there are, and since when there is one.
    pauses: usize,
    since: Instant,
}

/// Lets time stand still until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it lets the time go on"]
pub struct Pause(OwnTime);

impl Default for OwnTime {
    fn default() -> Self {
        Self::new()
    }
}

impl OwnTime {
    /// A clock that begins now.
    pub fn new() -> Self {
        let now = Instant::now();
        let state = Mutex::new(State { began: now, pauses: 0, since: now });
        Self { inner: Arc::new(Inner { state, still: watch::Sender::new(false) }) }
    }

    /// Stands still until the answer is dropped.
    pub fn pause(&self) -> Pause {
        {
            let mut state = self.lock();
            if state.pauses == 0 {
                state.since = Instant::now();
            }
            state.pauses += 1;
        }
        self.inner.still.send_replace(true);
        Pause(self.clone())
    }

    /// How much time has passed.
    pub fn passed(&self) -> Duration {
        let state = *self.lock();
        let until = if state.pauses > 0 { state.since } else { Instant::now() };
        until.saturating_duration_since(state.began)
    }

    /// Waits until this much time has passed.
    ///
    /// Cancel safety: may be dropped and asked again.
    pub async fn reaches(&self, limit: Duration) {
        let mut still = self.inner.still.subscribe();
        loop {
            // Can't fail: this clock holds the sender.
            let _ = still.wait_for(|still| !*still).await;
            let left = limit.saturating_sub(self.passed());
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                _ = still.wait_for(|still| *still) => {}
            }
        }
    }

    fn resume(&self) {
        let mut state = self.lock();
        state.pauses -= 1;
        if state.pauses == 0 {
            let stood = state.since.elapsed();
            state.began += stood;
            drop(state);
            self.inner.still.send_if_modified(std::mem::take);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is one step, so a panic elsewhere leaves no half of one.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.resume();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_stands_still_while_anybody_is_waited_for() {
        let own = OwnTime::new();
        tokio::time::advance(Duration::from_secs(3)).await;
        let (first, second) = (own.pause(), own.pause());
        tokio::time::advance(Duration::from_secs(100)).await;
        drop(first);
        tokio::time::advance(Duration::from_secs(100)).await;
        assert_eq!(own.passed(), Duration::from_secs(3));
        drop(second);
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(own.passed(), Duration::from_secs(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_is_reached_later_by_as_much_as_it_stood_still() {
        let own = OwnTime::new();
        let began = Instant::now();
        let waiting = own.clone();
        let reached = tokio::spawn(async move {
            waiting.reaches(Duration::from_secs(10)).await;
            began.elapsed()
        });
        tokio::time::sleep(Duration::from_secs(6)).await;
        let pause = own.pause();
        tokio::time::sleep(Duration::from_secs(50)).await;
        drop(pause);
        assert_eq!(reached.await.unwrap(), Duration::from_secs(60));
    }
}
