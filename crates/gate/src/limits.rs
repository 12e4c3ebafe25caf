//! How many calls one person and one tool may make: in an hour, and at once.

use model::{Timestamp, UserId};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many calls may be made. A zero means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls of one person in an hour.
    pub per_person_hour: u32,
    /// Calls of one tool in an hour.
    pub per_tool_hour: u32,
    /// Calls of one person at once.
    pub per_person_at_once: u32,
    /// Calls of one tool at once.
    pub per_tool_at_once: u32,
    /// How long a call may take that doesn't say.
    pub default_timeout: Duration,
    /// How long a call may take at most.
    pub max_timeout: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            per_person_hour: 5_000,
            per_tool_hour: 20_000,
            per_person_at_once: 64,
            per_tool_at_once: 256,
            default_timeout: Duration::from_secs(60),
            max_timeout: Duration::from_secs(600),
        }
    }
}

const MINUTES: usize = 60;

/// Calls per minute of the last hour, in a ring.
#[derive(Debug)]
struct Hour {
    minute: i64,
    counts: [u32; MINUTES],
    at_once: u32,
}

impl Default for Hour {
    fn default() -> Self {
        Self { minute: 0, counts: [0; MINUTES], at_once: 0 }
    }
}

impl Hour {
    fn turn_to(&mut self, minute: i64) {
        let passed = minute.saturating_sub(self.minute);
        if passed <= 0 {
            return;
        }
        if passed >= MINUTES as i64 {
            self.counts = [0; MINUTES];
        } else {
            for step in 1..=passed {
                self.counts[slot(self.minute + step)] = 0;
            }
        }
        self.minute = minute;
    }

    fn total(&self) -> u32 {
        self.counts.iter().sum()
    }

    fn is_idle(&self) -> bool {
        self.at_once == 0 && self.total() == 0
    }
}

fn slot(minute: i64) -> usize {
    minute.rem_euclid(MINUTES as i64) as usize
}

#[derive(Debug, Default)]
struct Counts {
    people: HashMap<UserId, Hour>,
    tools: HashMap<String, Hour>,
}

/// Counts calls. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    limits: CallLimits,
    counts: Arc<Mutex<Counts>>,
}

/// A place among the calls that run at once. Given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    counts: Arc<Mutex<Counts>>,
    person: UserId,
    tool: String,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(hour) = counts.people.get_mut(&self.person) {
            hour.at_once = hour.at_once.saturating_sub(1);
        }
        if let Some(hour) = counts.tools.get_mut(&self.tool) {
            hour.at_once = hour.at_once.saturating_sub(1);
        }
    }
}

impl Limiter {
    pub(crate) fn new(limits: CallLimits) -> Self {
        Self { limits, counts: Arc::default() }
    }

    /// Counts a call that an earlier manager made, so that a restart doesn't reset the hour.
    pub(crate) fn remember(&self, at: Timestamp, person: UserId, tool: &str) {
        let minute = at.timestamp().div_euclid(60);
        let mut counts = lock(&self.counts);
        let person = counts.people.entry(person).or_default();
        person.turn_to(minute);
        person.counts[slot(minute)] += 1;
        let tool = counts.tools.entry(tool.to_owned()).or_default();
        tool.turn_to(minute);
        tool.counts[slot(minute)] += 1;
    }

    /// Takes a place, or says in a sentence which limit is reached.
    pub(crate) fn take(&self, now: Timestamp, person: UserId, tool: &str) -> Result<Permit, String> {
        let minute = now.timestamp().div_euclid(60);
        let mut counts = lock(&self.counts);
        if let Some(reason) = self.reached(&mut counts, minute, person, tool) {
            return Err(reason);
        }
        let Counts { people, tools } = &mut *counts;
        let of_person = people.entry(person).or_default();
        let of_tool = tools.entry(tool.to_owned()).or_default();
        of_person.turn_to(minute);
        of_tool.turn_to(minute);
        of_person.counts[slot(minute)] += 1;
        of_person.at_once += 1;
        of_tool.counts[slot(minute)] += 1;
        of_tool.at_once += 1;
        Ok(Permit { counts: Arc::clone(&self.counts), person, tool: tool.to_owned() })
    }

    /// Says in a sentence which limit a call would reach now; `None` if it would get a place. Takes none.
    pub(crate) fn look(&self, now: Timestamp, person: UserId, tool: &str) -> Option<String> {
        let minute = now.timestamp().div_euclid(60);
        self.reached(&mut lock(&self.counts), minute, person, tool)
    }

    fn reached(&self, counts: &mut Counts, minute: i64, person: UserId, tool: &str) -> Option<String> {
        let limits = &self.limits;
        forget_idle(&mut counts.people, minute);
        forget_idle(&mut counts.tools, minute);
        let of = |hour: Option<&mut Hour>| {
            hour.map_or((0, 0), |hour| {
                hour.turn_to(minute);
                (hour.at_once, hour.total())
            })
        };
        let (person_at_once, person_hour) = of(counts.people.get_mut(&person));
        let (tool_at_once, tool_hour) = of(counts.tools.get_mut(tool));
        let reached = [
            (
                person_at_once,
                limits.per_person_at_once,
                "calls of one person may run at once; wait for one to end",
            ),
            (
                tool_at_once,
                limits.per_tool_at_once,
                "calls of this tool may run at once; wait for one to end",
            ),
            (
                person_hour,
                limits.per_person_hour,
                "calls of one person are allowed per hour; try again later",
            ),
            (tool_hour, limits.per_tool_hour, "calls of this tool are allowed per hour; try again later"),
        ];
        reached
            .into_iter()
            .find(|(count, limit, _)| *limit > 0 && count >= limit)
            .map(|(_, limit, text)| format!("At most {limit} {text}."))
    }
}

/// Keeps the map from growing with everybody who ever called.
fn forget_idle<K: Eq + Hash>(map: &mut HashMap<K, Hour>, minute: i64) {
    const KEPT: usize = 1024;
    if map.len() > KEPT {
        map.retain(|_, hour| {
            hour.turn_to(minute);
            !hour.is_idle()
        });
    }
}

fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    // Counts are never left half-changed, so a panic elsewhere doesn't spoil them.
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: UserId = UserId(1);
    const BOB: UserId = UserId(2);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    fn limiter(per_person_hour: u32, per_person_at_once: u32) -> Limiter {
        Limiter::new(CallLimits { per_person_hour, per_person_at_once, ..CallLimits::default() })
    }

    #[test]
    fn an_hour_is_full_and_empties_minute_by_minute() {
        let limiter = limiter(3, 0);
        for minute in 0..3 {
            drop(limiter.take(at(minute * 60), ANN, "t").unwrap());
        }
        let reason = limiter.take(at(180), ANN, "t").unwrap_err();
        assert!(reason.contains("per hour"), "{reason}");
        limiter.take(at(180), BOB, "t").unwrap();
        limiter.take(at(60 * 60), ANN, "t").unwrap();
        limiter.take(at(60 * 60), ANN, "t").unwrap_err();
        limiter.take(at(5 * 60 * 60), ANN, "t").unwrap();
    }

    #[test]
    fn a_place_is_given_back_when_the_call_is_dropped() {
        let limiter = limiter(0, 1);
        let first = limiter.take(at(0), ANN, "t").unwrap();
        assert!(limiter.take(at(0), ANN, "t").unwrap_err().contains("at once"));
        assert!(limiter.look(at(0), ANN, "t").unwrap().contains("at once"));
        drop(first);
        assert_eq!(limiter.look(at(0), ANN, "t"), None, "looking takes no place");
        limiter.take(at(0), ANN, "t").unwrap();
    }

    #[test]
    fn what_was_called_before_a_restart_counts() {
        let limiter = limiter(2, 0);
        limiter.remember(at(0), ANN, "t");
        limiter.remember(at(30), ANN, "t");
        limiter.take(at(60), ANN, "t").unwrap_err();
    }
}
