//! Slows down guessing: attempts to sign in are limited per name and per address.
//!
//! A bucket per key, refilled by time. An attempt is taken before the password is looked at and given back when it
//! was right, so that parallel guesses are counted too. Unknown names are counted like known ones.

use model::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use storage::{Storage, StorageError};
use tokio::sync::OnceCell;

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

/// Counts attempts to sign in. What is taken is durable before the password is looked at, so that a restart hands out
/// no new attempts; the table is read back at the first attempt.
#[derive(Debug)]
pub struct Throttle {
    limits: ThrottleLimits,
    /// Per key, when its bucket is full again. Absent is full.
    full_at: Mutex<HashMap<Key, Timestamp>>,
    loaded: OnceCell<()>,
}

/// A keyed digest of a name or an address. People type passwords where names belong, so no name is kept as it is.
type Key = String;

/// Beyond this many keys the full ones are dropped, and then the ones that are full soonest.
const MAX_KEYS: usize = 20_000;

impl Throttle {
    /// Makes a throttle with these limits.
    pub fn new(limits: ThrottleLimits) -> Self {
        Self { limits, full_at: Mutex::new(HashMap::new()), loaded: OnceCell::new() }
    }

    /// Takes one attempt, if there is one: else tells how long to wait. The same work for every name.
    ///
    /// # Errors
    ///
    /// Fails only if the database does. Nobody may sign in then.
    pub async fn take(
        &self,
        storage: &Storage,
        name: &str,
        address: IpAddr,
    ) -> Result<Result<(), Duration>, StorageError> {
        let now = storage.now();
        self.loaded.get_or_try_init(|| self.load(storage, now)).await?;
        let keys = self.keys(storage, name, address);
        let forget = match self.take_in_memory(&keys, now) {
            Ok(forget) => forget,
            Err(wait) => return Ok(Err(wait)),
        };
        storage.sign_in_throttle().take(refills(keys), now, forget).await?;
        Ok(Ok(()))
    }

    /// Gives an attempt back: the password was right.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn give_back(
        &self,
        storage: &Storage,
        name: &str,
        address: IpAddr,
    ) -> Result<(), StorageError> {
        let keys = self.keys(storage, name, address);
        for (key, rate) in &keys {
            if let Some(full) = self.lock().get_mut(key) {
                *full -= rate.refill;
            }
        }
        storage.sign_in_throttle().give_back(refills(keys)).await
    }

    async fn load(&self, storage: &Storage, now: Timestamp) -> Result<(), StorageError> {
        let limit = u32::try_from(MAX_KEYS).unwrap_or(u32::MAX);
        let known = storage.sign_in_throttle().load(now, limit).await?;
        self.lock().extend(known);
        Ok(())
    }

    /// Takes one attempt of each key, or tells how long to wait. Returns until when keys were forgotten.
    fn take_in_memory(&self, keys: &[(Key, Rate); 2], now: Timestamp) -> Result<Timestamp, Duration> {
        let mut full_at = self.lock();
        let forget = if full_at.len() >= MAX_KEYS { prune(&mut full_at, now) } else { now };
        let mut wait = Duration::ZERO;
        for (key, rate) in keys {
            let full = full_at.get(key).copied().unwrap_or(now).max(now);
            let allowed_until = now + rate.refill * rate.burst.saturating_sub(1);
            wait = wait.max((full - allowed_until).to_std().unwrap_or_default());
        }
        if wait > Duration::ZERO {
            return Err(wait);
        }
        for (key, rate) in keys {
            let full = full_at.get(key).copied().unwrap_or(now).max(now);
            full_at.insert(key.clone(), full + rate.refill);
        }
        Ok(forget)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Timestamp>> {
        self.full_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keys(&self, storage: &Storage, name: &str, address: IpAddr) -> [(Key, Rate); 2] {
        let digest = |kind: &[u8], text: &str| {
            storage.keys().keyed_digest("attempts to sign in", kind, text.as_bytes())
        };
        [
            (digest(b"name", name), self.limits.name),
            (digest(b"address", &network_of(address).to_string()), self.limits.address),
        ]
    }
}

fn refills(keys: [(Key, Rate); 2]) -> Vec<(Key, Duration)> {
    keys.into_iter().map(|(key, rate)| (key, rate.refill)).collect()
}

/// Makes room. Returns until when keys were dropped.
fn prune(full_at: &mut HashMap<Key, Timestamp>, now: Timestamp) -> Timestamp {
    full_at.retain(|_, full| *full > now);
    if full_at.len() < MAX_KEYS {
        return now;
    }
    let mut ends: Vec<Timestamp> = full_at.values().copied().collect();
    ends.sort_unstable();
    let median = ends[ends.len() / 2];
    full_at.retain(|_, full| *full > median);
    median
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
    use model::Clock;
    use std::sync::Arc;
    use storage::MasterKey;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    #[derive(Debug)]
    struct MovedClock(Mutex<Timestamp>);

    impl Clock for MovedClock {
        fn now(&self) -> Timestamp {
            *self.0.lock().unwrap()
        }
    }

    struct Fixture {
        folder: tempfile::TempDir,
        clock: Arc<MovedClock>,
        storage: Storage,
        throttle: Throttle,
    }

    impl Fixture {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let clock =
                Arc::new(MovedClock(Mutex::new(Timestamp::from_timestamp(1_700_000_000, 0).unwrap())));
            Self::open(folder, clock).await
        }

        async fn open(folder: tempfile::TempDir, clock: Arc<MovedClock>) -> Self {
            let path = folder.path().join("test.db");
            let storage =
                Storage::open(&path, Arc::clone(&clock) as _, MasterKey::from_bytes([9; 32])).await.unwrap();
            Self { folder, clock, storage, throttle: Throttle::new(ThrottleLimits::default()) }
        }

        async fn restart(self) -> Self {
            self.storage.close().await;
            Self::open(self.folder, self.clock).await
        }

        async fn take(&self, name: &str, address: IpAddr) -> Result<(), Duration> {
            self.throttle.take(&self.storage, name, address).await.unwrap()
        }

        fn wait(&self, seconds: u64) {
            *self.clock.0.lock().unwrap() += Duration::from_secs(seconds);
        }

        async fn rows(&self) -> usize {
            self.storage.sign_in_throttle().load(Timestamp::UNIX_EPOCH, u32::MAX).await.unwrap().len()
        }
    }

    #[tokio::test]
    async fn the_eleventh_guess_at_a_name_waits_and_time_refills_one() {
        let at = Fixture::new().await;
        for _ in 0..10 {
            at.take("admin", HERE).await.unwrap();
        }
        assert_eq!(at.take("admin", HERE).await, Err(Duration::from_secs(30)));
        at.wait(30);
        at.take("admin", HERE).await.unwrap();
        assert!(at.take("admin", HERE).await.is_err());
    }

    #[tokio::test]
    async fn a_restart_hands_out_no_new_attempts() {
        let at = Fixture::new().await;
        for _ in 0..10 {
            at.take("admin", HERE).await.unwrap();
        }
        let at = at.restart().await;
        assert_eq!(at.take("admin", HERE).await, Err(Duration::from_secs(30)));
        at.wait(60);
        let at = at.restart().await;
        at.take("admin", HERE).await.unwrap();
        at.take("admin", HERE).await.unwrap();
        assert!(at.take("admin", HERE).await.is_err());
    }

    #[tokio::test]
    async fn one_address_is_limited_whatever_the_names() {
        let at = Fixture::new().await;
        for guess in 0..30 {
            at.take(&format!("name{guess}"), HERE).await.unwrap();
        }
        assert!(at.take("another", HERE).await.is_err());
        at.take("another", "192.0.2.2".parse().unwrap()).await.unwrap();
    }

    #[tokio::test]
    async fn right_passwords_are_not_counted() {
        let at = Fixture::new().await;
        for _ in 0..40 {
            at.take("admin", HERE).await.unwrap();
            at.throttle.give_back(&at.storage, "admin", HERE).await.unwrap();
        }
        let at = at.restart().await;
        at.take("admin", HERE).await.unwrap();
    }

    #[tokio::test]
    async fn keys_that_are_full_again_are_dropped_and_none_is_a_name() {
        let at = Fixture::new().await;
        for guess in 0..5 {
            at.take(&format!("hunter2-{guess}"), HERE).await.unwrap();
        }
        assert_eq!(at.rows().await, 6);
        let bytes = std::fs::read(at.folder.path().join("test.db-wal")).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
        at.wait(3600);
        at.take("admin", HERE).await.unwrap();
        assert_eq!(at.rows().await, 2);
    }

    #[test]
    fn a_full_table_keeps_the_keys_that_are_full_last() {
        let now = Timestamp::from_timestamp(1_700_000_000, 0).unwrap();
        let mut full_at: HashMap<Key, Timestamp> = (0..MAX_KEYS as u64)
            .map(|number| (number.to_string(), now + Duration::from_secs(number)))
            .collect();
        let forgotten = prune(&mut full_at, now);
        assert!(full_at.len() < MAX_KEYS && full_at.values().all(|full| *full > forgotten));
        assert!(full_at.contains_key(&(MAX_KEYS - 1).to_string()));
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
