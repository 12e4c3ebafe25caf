//! Times of many calls, and what is told of them.

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use std::future::Future;
use std::time::{Duration, Instant};

/// Times of calls of one kind.
pub struct Sample {
    /// Each call's time in microseconds, sorted.
    sorted: Vec<f64>,
    /// From the first start to the last end.
    wall: Duration,
}

impl Sample {
    /// The head of the table.
    pub const HEADER: &str = "                                       p50        p99     per s   p50 / bare";

    /// Joins times and the wall clock.
    pub fn new(times: impl IntoIterator<Item = Duration>, wall: Duration) -> Self {
        let mut sorted: Vec<f64> = times.into_iter().map(|time| time.as_secs_f64() * 1e6).collect();
        sorted.sort_by(f64::total_cmp);
        Self { sorted, wall }
    }

    /// Times `calls` runs of `call`, `at_once` of them in flight, after a tenth of that to warm up.
    ///
    /// # Errors
    ///
    /// Fails with the first call that does.
    pub async fn of<F, T>(calls: usize, at_once: usize, call: impl Fn() -> F) -> Result<Self>
    where
        F: Future<Output = Result<T>>,
    {
        let timed = || async {
            let began = Instant::now();
            call().await?;
            anyhow::Ok(began.elapsed())
        };
        let run = |count: usize| {
            stream::iter(0..count).map(|_| timed()).buffer_unordered(at_once).try_collect::<Vec<_>>()
        };
        run(calls / 10 + 1).await?;
        let began = Instant::now();
        let times = run(calls).await?;
        Ok(Self::new(times, began.elapsed()))
    }

    /// The time that half of the calls stayed below, in microseconds.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    fn quantile(&self, part: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        self.sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// One line of the table.
    pub fn row(&self, name: &str, bare: Option<&Self>) -> String {
        let ratio = bare.map(|bare| format!("{:>10.2}", self.median() / bare.median())).unwrap_or_default();
        let rate = self.sorted.len() as f64 / self.wall.as_secs_f64();
        format!("{name:<32} {:>9.0}  {:>9.0}  {rate:>8.0}   {ratio}", self.median(), self.quantile(0.99))
    }
}
