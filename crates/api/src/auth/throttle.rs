//! Slows down guessing: attempts to sign in are limited per name and per address.
//!
//! A bucket per key, refilled by time. An attempt is taken before the password is looked at and given back when it
//! was right, so that parallel guesses are counted too. Unknown names are counted like known ones.

use model::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How many attempts at once, and how long until another one is allowed.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Attempts that may come at once.
    pub burst: u32,
    /// Time for one more.
    pub refill: Duration,
}

/// The limits.
#[derive(Clone, Copy, Debug)]
pub struct ThrottleLimits {
    /// Per name, from anywhere: 10, then one in 30 s.
    pub name: Rate,
    /// Per address (IPv6: per /64): 30, then one in 10 s.
    pub address: Rate,
}

impl Default for ThrottleLimits {
    fn default() -> Self {
        Self {
            name: Rate { burst: 10, refill: Duration::from_secs(30) },
            address: Rate { burst: 30, refill: Duration::from_secs(10) },
        }
    }
}

/// Counts attempts to sign in.
#[derive(Debug)]
pub struct Throttle {
    limits: ThrottleLimits,
    /// Per key, when its bucket is full again. Absent is full.
    full_at: Mutex<HashMap<Key, Timestamp>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Name([u8; 32]),
    Address(IpAddr),
}

/// Beyond this many keys the full ones are dropped, and then the ones that are full soonest.
const MAX_KEYS: usize = 20_000;

impl Throttle {
    /// Makes a throttle with these limits.
    pub fn new(limits: ThrottleLimits) -> Self {
        Self { limits, full_at: Mutex::new(HashMap::new()) }
    }

    /// Takes one attempt.
    ///
    /// # Errors
    ///
    /// Tells how long to wait if there is none left for the name or the address.
    pub fn take(&self, name: &str, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        let keys = self.keys(name, address);
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if full_at.len() >= MAX_KEYS {
            prune(&mut full_at, now);
        }
        let mut wait = Duration::ZERO;
        for (key, rate) in &keys {
            let full = full_at.get(key).copied().unwrap_or(now).max(now);
            let allowed_until = now + rate.refill * rate.burst.saturating_sub(1);
            wait = wait.max((full - allowed_until).to_std().unwrap_or_default());
        }
        if wait > Duration::ZERO {
            return Err(wait);
        }
        for (key, rate) in keys {
            let full = full_at.get(&key).copied().unwrap_or(now).max(now);
            full_at.insert(key, full + rate.refill);
        }
        Ok(())
    }

    /// Gives an attempt back: the password was right.
    pub fn give_back(&self, name: &str, address: IpAddr) {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, rate) in self.keys(name, address) {
            if let Some(full) = full_at.get_mut(&key) {
                *full -= rate.refill;
            }
        }
    }

    fn keys(&self, name: &str, address: IpAddr) -> [(Key, Rate); 2] {
        [
            (Key::Name(super::secret::hash(name)), self.limits.name),
            (Key::Address(network_of(address)), self.limits.address),
        ]
    }
}

fn prune(full_at: &mut HashMap<Key, Timestamp>, now: Timestamp) {
    full_at.retain(|_, full| *full > now);
    if full_at.len() >= MAX_KEYS {
        let mut ends: Vec<Timestamp> = full_at.values().copied().collect();
        ends.sort_unstable();
        let median = ends[ends.len() / 2];
        full_at.retain(|_, full| *full > median);
    }
}

/// One customer has a whole /64, so an IPv6 address alone limits nobody.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let mut segments = v6.segments();
            segments[4..].fill(0);
            IpAddr::from(segments)
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn at(seconds: i64) -> Timestamp {
        DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn the_eleventh_guess_at_a_name_waits_and_time_refills_one() {
        let throttle = Throttle::new(ThrottleLimits::default());
        for _ in 0..10 {
            throttle.take("admin", HERE, at(0)).unwrap();
        }
        assert_eq!(throttle.take("admin", HERE, at(0)), Err(Duration::from_secs(30)));
        throttle.take("admin", HERE, at(30)).unwrap();
        assert!(throttle.take("admin", HERE, at(30)).is_err());
    }

    #[test]
    fn one_address_is_limited_whatever_the_names() {
        let throttle = Throttle::new(ThrottleLimits::default());
        for guess in 0..30 {
            throttle.take(&format!("name{guess}"), HERE, at(0)).unwrap();
        }
        assert!(throttle.take("another", HERE, at(0)).is_err());
        throttle.take("another", "192.0.2.2".parse().unwrap(), at(0)).unwrap();
    }

    #[test]
    fn right_passwords_are_not_counted() {
        let throttle = Throttle::new(ThrottleLimits::default());
        for _ in 0..100 {
            throttle.take("admin", HERE, at(0)).unwrap();
            throttle.give_back("admin", HERE);
        }
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one() {
        assert_eq!(
            network_of("2001:db8::1".parse().unwrap()),
            network_of("2001:db8::ffff:2".parse().unwrap())
        );
        assert_eq!(network_of("::ffff:192.0.2.1".parse().unwrap()), HERE);
    }
}
