//! The steps of the journal, for tests that stop the process or fail the disk at one of them.

use std::fmt;
use std::io;
use std::str::FromStr;

/// What is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// That a call is let through.
    Accepted,
    /// How one ended.
    Ended,
    /// That one is to be stopped.
    Cancel,
    /// That one must not start.
    Tombstone,
    /// What the manager has for good.
    Acknowledged,
    /// The whole file anew.
    Compaction,
}

/// How far the writing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the first byte.
    Write,
    /// Everything is written, nothing is synced.
    Sync,
    /// It is on the disk.
    Done,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// What is being written.
    pub what: What,
    /// How far that is.
    pub when: When,
}

impl Point {
    /// Every step.
    pub fn all() -> impl Iterator<Item = Self> {
        use What::{Accepted, Acknowledged, Cancel, Compaction, Ended, Tombstone};
        [Accepted, Ended, Cancel, Tombstone, Acknowledged, Compaction].into_iter().flat_map(|what| {
            [When::Write, When::Sync, When::Done].into_iter().map(move |when| Self { what, when })
        })
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:?}-{:?}", self.what, self.when);
        f.write_str(&text.to_lowercase())
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::all().find(|point| point.to_string() == text).ok_or_else(|| {
            let all: Vec<String> = Self::all().map(|point| point.to_string()).collect();
            format!("`{text}` is no step of the journal; they are: {}", all.join(", "))
        })
    }
}

/// Is told of every step. Only tests have one that does something.
pub trait Watcher: Send + Sync + fmt::Debug {
    /// The journal has come to `point`.
    ///
    /// # Errors
    ///
    /// What it returns the journal takes for the disk's answer.
    fn reach(&self, point: Point) -> io::Result<()>;
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn reach(&self, _point: Point) -> io::Result<()> {
        Ok(())
    }
}
