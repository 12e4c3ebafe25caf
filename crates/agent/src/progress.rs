//! The latest line of a call that runs, in the chat.

use crate::events;
use crate::runner::Runner;
use gate::CallProgress;
use model::CallId;
use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

/// Most lines of one call that are kept.
const MAX_LINES: u32 = 100;

/// How long until the next line is shown; it grows with each, so that a call of an hour fits.
const FIRST_GAP: Duration = Duration::from_millis(500);
const LONGEST_GAP: Duration = Duration::from_secs(60);

/// When the next line may be shown.
#[derive(Debug)]
struct Pace {
    due: Instant,
    gap: Duration,
    left: u32,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { due: now, gap: FIRST_GAP, left: MAX_LINES }
    }

    fn shown(&mut self, now: Instant) {
        self.due = now + self.gap;
        self.gap = (self.gap + self.gap / 4).min(LONGEST_GAP);
        self.left = self.left.saturating_sub(1);
    }
}

impl Runner {
    /// Shows the lines of a call for as long as it is polled: of those that come too fast, the latest.
    ///
    /// Cancel safety: dropped while it writes, the line is shown or not.
    pub(crate) async fn show_progress(&self, call: CallId, mut lines: Receiver<CallProgress>) -> Infallible {
        let mut pace = Pace::new(Instant::now());
        let mut latest: Option<String> = None;
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Ok(progress) if progress.call_id == call => latest = Some(progress.line),
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => pending().await,
                },
                () = sleep_until(pace.due), if latest.is_some() && pace.left > 0 => {
                    if let Some(line) = latest.take()
                        && self.write_events(vec![events::tool_progress(call, &line)]).await.is_err()
                    {
                        // Whoever records the end will find out what is wrong.
                        pending::<()>().await;
                    }
                    pace.shown(Instant::now());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_an_hour_that_talks_all_the_time_is_shown_to_its_end_in_few_lines() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        let mut lines = 0;
        while pace.due < begin + Duration::from_secs(3600) && pace.left > 0 {
            pace.shown(pace.due);
            lines += 1;
        }
        assert!(lines < MAX_LINES, "{lines}");
    }
}
