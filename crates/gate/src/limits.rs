//! How many calls one person, one tool and one host may take: in an hour, and at once.

use crate::CallRequest;
use model::{EdgeId, Timestamp, UserId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many calls may be made. A zero means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls of one person in an hour.
    pub per_person_hour: u32,
    /// Calls of one tool in an hour.
    pub per_tool_hour: u32,
    /// Calls on one host in an hour.
    pub per_edge_hour: u32,
    /// Calls of one person at once.
    pub per_person_at_once: u32,
    /// Calls of one tool at once.
    pub per_tool_at_once: u32,
    /// Calls on one host at once.
    pub per_edge_at_once: u32,
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
            per_edge_hour: 10_000,
            per_person_at_once: 64,
            per_tool_at_once: 256,
            per_edge_at_once: 32,
            default_timeout: Duration::from_secs(60),
            max_timeout: Duration::from_secs(600),
        }
    }
}

impl CallLimits {
    /// How many calls that count towards `counted` may be made in an hour and at once.
    fn of(&self, counted: &Counted) -> (u32, u32) {
        match counted {
            Counted::Person(_) => (self.per_person_hour, self.per_person_at_once),
            Counted::Tool(_) => (self.per_tool_hour, self.per_tool_at_once),
            Counted::Edge(_) => (self.per_edge_hour, self.per_edge_at_once),
        }
    }
}

/// What calls are counted by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Counted {
    Person(UserId),
    Tool(String),
    Edge(EdgeId),
}

impl Counted {
    fn words(&self) -> &'static str {
        match self {
            Self::Person(_) => "calls of one person",
            Self::Tool(_) => "calls of this tool",
            Self::Edge(_) => "calls on this host",
        }
    }
}

/// What one call counts towards. A call that runs in the manager has no host.
#[derive(Clone, Debug)]
pub(crate) struct Towards(Vec<Counted>);

impl Towards {
    pub(crate) fn new(person: UserId, tool: &str, edge: Option<EdgeId>) -> Self {
        let mut towards = vec![Counted::Person(person), Counted::Tool(tool.to_owned())];
        towards.extend(edge.map(Counted::Edge));
        Self(towards)
    }

    pub(crate) fn of(request: &CallRequest) -> Self {
        Self::new(request.caller.person(), &request.key, request.edge)
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

    fn count(&mut self, minute: i64) {
        self.turn_to(minute);
        self.counts[slot(minute)] += 1;
    }

    fn total(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// Of a full hour: the first minute in which fewer than `limit` calls will have been made in the hour before.
    fn frees_at(&self, limit: u32) -> i64 {
        let mut total = self.total();
        let oldest = self.minute - MINUTES as i64 + 1;
        for minute in oldest..=self.minute {
            total -= self.counts[slot(minute)];
            if total < limit {
                return minute + MINUTES as i64;
            }
        }
        self.minute + MINUTES as i64
    }

    fn is_idle(&self) -> bool {
        self.at_once == 0 && self.total() == 0
    }
}

fn slot(minute: i64) -> usize {
    minute.rem_euclid(MINUTES as i64) as usize
}

fn minute_of(at: Timestamp) -> i64 {
    at.timestamp().div_euclid(60)
}

type Counts = HashMap<Counted, Hour>;

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
    towards: Towards,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        for counted in &self.towards.0 {
            if let Some(hour) = counts.get_mut(counted) {
                hour.at_once = hour.at_once.saturating_sub(1);
            }
        }
    }
}

impl Limiter {
    pub(crate) fn new(limits: CallLimits) -> Self {
        Self { limits, counts: Arc::default() }
    }

    /// Counts a call that an earlier manager made, so that a restart doesn't reset the hour.
    pub(crate) fn remember(&self, at: Timestamp, towards: Towards) {
        let mut counts = lock(&self.counts);
        for counted in towards.0 {
            counts.entry(counted).or_default().count(minute_of(at));
        }
    }

    /// Takes a place, or says in a sentence which limit is reached and when there is room again.
    pub(crate) fn take(&self, now: Timestamp, towards: Towards) -> Result<Permit, String> {
        let mut counts = lock(&self.counts);
        if let Some(reason) = self.reached(&mut counts, now, &towards) {
            return Err(reason);
        }
        for counted in &towards.0 {
            let hour = counts.entry(counted.clone()).or_default();
            hour.count(minute_of(now));
            hour.at_once += 1;
        }
        Ok(Permit { counts: Arc::clone(&self.counts), towards })
    }

    /// Says in a sentence which limit a call would reach now, and when there is room again; `None` if it would get a
    /// place. Takes none.
    pub(crate) fn look(&self, now: Timestamp, towards: &Towards) -> Option<String> {
        self.reached(&mut lock(&self.counts), now, towards)
    }

    fn reached(&self, counts: &mut Counts, now: Timestamp, towards: &Towards) -> Option<String> {
        let minute = minute_of(now);
        forget_idle(counts, minute);
        // Of hours that are full, the one that is full for longest.
        let mut full: Option<(i64, String)> = None;
        for counted in &towards.0 {
            let Some(hour) = counts.get_mut(counted) else { continue };
            hour.turn_to(minute);
            let (in_hour, at_once) = self.limits.of(counted);
            let words = counted.words();
            if at_once > 0 && hour.at_once >= at_once {
                return Some(format!("At most {at_once} {words} may run at once; one has to end first."));
            }
            if in_hour > 0 && hour.total() >= in_hour {
                let at = hour.frees_at(in_hour);
                if full.as_ref().is_none_or(|(before, _)| *before < at) {
                    full = Some((at, format!("At most {in_hour} {words} are allowed per hour")));
                }
            }
        }
        full.map(|(at, reached)| format!("{reached}; try again {}.", when(at, now)))
    }
}

/// How long until a minute begins, and when that is.
fn when(minute: i64, now: Timestamp) -> String {
    let at = Timestamp::from_timestamp(minute.saturating_mul(60), 0).unwrap_or(now);
    // The minute of now has begun, so at least one is left.
    let left = (at - now).num_seconds().max(1).unsigned_abs().div_ceil(60);
    format!("in about {left} min (at {} UTC)", at.format("%H:%M"))
}

/// Keeps the map from growing with everybody who ever called.
fn forget_idle(counts: &mut Counts, minute: i64) {
    const KEPT: usize = 4096;
    if counts.len() > KEPT {
        counts.retain(|_, hour| {
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
    const WEB: EdgeId = EdgeId(1);
    const DATA: EdgeId = EdgeId(2);

    /// Midnight of a day, and so many seconds.
    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_800_057_600 + seconds, 0).unwrap()
    }

    fn unlimited() -> CallLimits {
        CallLimits {
            per_person_hour: 0,
            per_tool_hour: 0,
            per_edge_hour: 0,
            per_person_at_once: 0,
            per_tool_at_once: 0,
            per_edge_at_once: 0,
            ..CallLimits::default()
        }
    }

    fn by(person: UserId, tool: &str, edge: EdgeId) -> Towards {
        Towards::new(person, tool, Some(edge))
    }

    fn ann() -> Towards {
        by(ANN, "t", WEB)
    }

    #[test]
    fn an_hour_is_full_and_empties_minute_by_minute() {
        let limiter = Limiter::new(CallLimits { per_person_hour: 3, ..unlimited() });
        for minute in 0..3 {
            drop(limiter.take(at(minute * 60), ann()).unwrap());
        }
        limiter.take(at(180), ann()).unwrap_err();
        limiter.take(at(180), by(BOB, "t", WEB)).unwrap();
        limiter.take(at(60 * 60), ann()).unwrap();
        limiter.take(at(60 * 60), ann()).unwrap_err();
        limiter.take(at(5 * 60 * 60), ann()).unwrap();
    }

    #[test]
    fn the_answer_says_when_the_next_place_is_free_and_it_is() {
        let limiter = Limiter::new(CallLimits { per_person_hour: 3, ..unlimited() });
        drop(limiter.take(at(0), ann()).unwrap());
        drop(limiter.take(at(10 * 60), ann()).unwrap());
        drop(limiter.take(at(10 * 60 + 59), ann()).unwrap());
        assert_eq!(
            limiter.take(at(12 * 60 + 30), ann()).unwrap_err(),
            "At most 3 calls of one person are allowed per hour; try again in about 48 min (at 01:00 UTC)."
        );
        limiter.look(at(3_599), &ann()).unwrap();
        drop(limiter.take(at(3_600), ann()).unwrap());
        assert_eq!(
            limiter.take(at(3_600), ann()).unwrap_err(),
            "At most 3 calls of one person are allowed per hour; try again in about 10 min (at 01:10 UTC)."
        );
    }

    #[test]
    fn of_two_full_hours_the_later_one_is_told() {
        let limiter = Limiter::new(CallLimits { per_person_hour: 1, per_edge_hour: 1, ..unlimited() });
        drop(limiter.take(at(0), by(ANN, "t", DATA)).unwrap());
        drop(limiter.take(at(20 * 60), by(BOB, "t", WEB)).unwrap());
        assert_eq!(
            limiter.take(at(30 * 60), ann()).unwrap_err(),
            "At most 1 calls on this host are allowed per hour; try again in about 50 min (at 01:20 UTC)."
        );
    }

    #[test]
    fn a_place_is_given_back_when_the_call_is_dropped() {
        let limiter = Limiter::new(CallLimits { per_person_at_once: 1, ..unlimited() });
        let first = limiter.take(at(0), ann()).unwrap();
        assert_eq!(
            limiter.take(at(0), ann()).unwrap_err(),
            "At most 1 calls of one person may run at once; one has to end first."
        );
        assert!(limiter.look(at(0), &ann()).unwrap().contains("at once"));
        drop(first);
        assert_eq!(limiter.look(at(0), &ann()), None, "looking takes no place");
        limiter.take(at(0), ann()).unwrap();
    }

    #[test]
    fn calls_of_everybody_and_every_tool_count_on_their_host_and_on_no_other() {
        let limiter = Limiter::new(CallLimits { per_edge_hour: 2, per_edge_at_once: 1, ..unlimited() });
        let first = limiter.take(at(0), by(ANN, "t", WEB)).unwrap();
        let reason = limiter.take(at(0), by(BOB, "u", WEB)).unwrap_err();
        assert_eq!(reason, "At most 1 calls on this host may run at once; one has to end first.");
        drop(limiter.take(at(0), by(BOB, "u", DATA)).unwrap());
        drop(limiter.take(at(0), Towards::new(BOB, "u", None)).unwrap());
        drop(first);
        drop(limiter.take(at(0), by(BOB, "u", WEB)).unwrap());
        assert!(
            limiter.take(at(0), by(ANN, "t", WEB)).unwrap_err().contains("on this host are allowed per hour")
        );
    }

    #[test]
    fn what_was_called_before_a_restart_counts() {
        let limiter = Limiter::new(CallLimits { per_edge_hour: 2, ..unlimited() });
        limiter.remember(at(0), ann());
        limiter.remember(at(30), by(BOB, "u", WEB));
        limiter.take(at(60), ann()).unwrap_err();
        limiter.take(at(60), by(ANN, "t", DATA)).unwrap();
    }
}
