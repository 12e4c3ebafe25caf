//! What one address may take of the tunnel's port, and how much of its failures goes to the log.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Handshakes that are under way, by address.
#[derive(Clone, Debug)]
pub(crate) struct AddressSlots {
    each: usize,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A handshake's place. Given back when it is dropped.
#[derive(Debug)]
pub(crate) struct AddressSlot {
    network: IpAddr,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl AddressSlots {
    /// Bounds each address (IPv6: each /64) to `each` at once.
    pub(crate) fn new(each: usize) -> Self {
        Self { each, taken: Arc::default() }
    }

    /// Takes a place; `None` if the address has all of its own.
    pub(crate) fn take(&self, address: IpAddr) -> Option<AddressSlot> {
        let network = network_of(address);
        let mut taken = lock(&self.taken);
        let count = taken.entry(network).or_default();
        if *count >= self.each {
            return None;
        }
        *count += 1;
        Some(AddressSlot { network, taken: Arc::clone(&self.taken) })
    }
}

impl Drop for AddressSlot {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        if let Some(count) = taken.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                // The map holds only who is here.
                taken.remove(&self.network);
            }
        }
    }
}

/// One customer has a whole /64.
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

/// Lines that may come at once.
const BURST: u32 = 20;

/// How long until another one may.
const REFILL: Duration = Duration::from_secs(3);

/// Lets some lines through to the log and counts the rest: anybody who reaches the port can make them.
#[derive(Debug)]
pub(crate) struct LineLimit(Mutex<Lines>);

#[derive(Debug)]
struct Lines {
    left: u32,
    since: Instant,
    unsaid: u64,
}

impl LineLimit {
    pub(crate) fn new(now: Instant) -> Self {
        Self(Mutex::new(Lines { left: BURST, since: now, unsaid: 0 }))
    }

    /// How many lines were left out since the last one, if this one may be written; `None` if it may not.
    pub(crate) fn admit(&self, now: Instant) -> Option<u64> {
        let mut lines = lock(&self.0);
        let more = now.saturating_duration_since(lines.since).as_millis() / REFILL.as_millis();
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(BURST).min(BURST);
            lines.left = (lines.left + more).min(BURST);
            lines.since = now;
        }
        if lines.left == 0 {
            lines.unsaid += 1;
            return None;
        }
        lines.left -= 1;
        Some(std::mem::take(&mut lines.unsaid))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts are never left half-changed, so a panic elsewhere doesn't spoil them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_has_its_own_places_only_and_gives_them_back() {
        let slots = AddressSlots::new(2);
        let here: IpAddr = "192.0.2.1".parse().unwrap();
        let held = [slots.take(here).unwrap(), slots.take("::ffff:192.0.2.1".parse().unwrap()).unwrap()];
        assert!(slots.take(here).is_none());
        slots.take("192.0.2.2".parse().unwrap()).unwrap();
        drop(held);
        slots.take(here).unwrap();
        assert!(lock(&slots.taken).is_empty(), "nobody is left in the table");
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_their_places() {
        let slots = AddressSlots::new(1);
        let _held = slots.take("2001:db8::1".parse().unwrap()).unwrap();
        assert!(slots.take("2001:db8::ffff:2".parse().unwrap()).is_none());
        assert!(slots.take("2001:db8:0:1::1".parse().unwrap()).is_some());
    }

    #[test]
    fn a_flood_of_failures_is_a_few_lines_and_a_count() {
        let begin = Instant::now();
        let limit = LineLimit::new(begin);
        let written = (0..1000).filter(|_| limit.admit(begin).is_some()).count();
        assert_eq!(written, BURST as usize);
        assert_eq!(limit.admit(begin + REFILL), Some(1000 - u64::from(BURST)));
        assert_eq!(limit.admit(begin + REFILL), None);
        assert_eq!(limit.admit(begin + Duration::from_secs(3600)), Some(1));
    }
}
