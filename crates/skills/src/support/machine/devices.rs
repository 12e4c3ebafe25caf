//! Disks, network interfaces and temperature sensors.

use super::{percent, read, tenth};
use schemars::JsonSchema;
use serde::Serialize;
use skill::Host;
use std::collections::BTreeMap;

/// Counters of one disk since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskCounters {
    reads: u64,
    read_sectors: u64,
    writes: u64,
    written_sectors: u64,
    busy_ms: u64,
}

/// What one disk did.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct DiskUse {
    /// Device name.
    name: String,
    /// Bytes read per second.
    read_bytes_per_second: u64,
    /// Bytes written per second.
    written_bytes_per_second: u64,
    /// Operations per second.
    operations_per_second: f64,
    /// How much of the time it had something to do, in percent.
    busy_percent: f64,
}

/// Counters of one network interface since it came up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InterfaceCounters {
    received: u64,
    sent: u64,
    errors: u64,
    dropped: u64,
}

/// What one network interface did.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct InterfaceUse {
    /// Name.
    name: String,
    /// `up`, `down` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Bytes received per second.
    received_bytes_per_second: u64,
    /// Bytes sent per second.
    sent_bytes_per_second: u64,
    /// Bytes received since it came up.
    received_bytes: u64,
    /// Bytes sent since it came up.
    sent_bytes: u64,
    /// Errors in both directions since it came up.
    errors: u64,
    /// Packets dropped in both directions since it came up.
    dropped: u64,
}

/// One temperature.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Temperature {
    /// What is measured.
    sensor: String,
    /// Degrees Celsius.
    celsius: f64,
}

/// Whole disks by name; partitions, loop devices, RAM disks and empty drives are left out.
pub(crate) fn disks(host: &dyn Host) -> BTreeMap<String, DiskCounters> {
    let text = read(host, "/proc/diskstats").unwrap_or_default();
    let mut disks = parse_disks(&text);
    disks.retain(|name, counters| {
        let virtual_one = ["loop", "ram", "zram", "fd", "sr"].iter().any(|kind| {
            name.strip_prefix(kind).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        });
        !virtual_one
            && *counters != DiskCounters::default()
            && (host.path("/sys/block").join(name.replace('/', "!")).exists()
                || !host.path("/sys/block").exists())
    });
    disks
}

fn parse_disks(text: &str) -> BTreeMap<String, DiskCounters> {
    text.lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let number = |index: usize| words.get(index)?.parse().ok();
            let counters = DiskCounters {
                reads: number(3)?,
                read_sectors: number(5)?,
                writes: number(7)?,
                written_sectors: number(9)?,
                busy_ms: number(12)?,
            };
            Some(((*words.get(2)?).to_owned(), counters))
        })
        .collect()
}

/// What the disks did in `seconds`.
pub(crate) fn disk_use(
    before: &BTreeMap<String, DiskCounters>,
    after: &BTreeMap<String, DiskCounters>,
    seconds: f64,
) -> Vec<DiskUse> {
    /// The kernel counts in sectors of this size, whatever the disk's own is.
    const SECTOR: f64 = 512.0;
    let rate = |after: u64, before: u64| after.saturating_sub(before) as f64 / seconds.max(0.001);
    after
        .iter()
        .map(|(name, now)| {
            let then = before.get(name).copied().unwrap_or(*now);
            let operations = rate(now.reads, then.reads) + rate(now.writes, then.writes);
            DiskUse {
                name: name.clone(),
                read_bytes_per_second: (rate(now.read_sectors, then.read_sectors) * SECTOR) as u64,
                written_bytes_per_second: (rate(now.written_sectors, then.written_sectors) * SECTOR) as u64,
                operations_per_second: tenth(operations),
                busy_percent: percent(rate(now.busy_ms, then.busy_ms), 1000.0).min(100.0),
            }
        })
        .collect()
}

/// Network interfaces by name.
pub(crate) fn interfaces(host: &dyn Host) -> BTreeMap<String, InterfaceCounters> {
    parse_interfaces(&read(host, "/proc/net/dev").unwrap_or_default())
}

fn parse_interfaces(text: &str) -> BTreeMap<String, InterfaceCounters> {
    text.lines()
        .filter_map(|line| {
            // A name may touch the first number.
            let (name, rest) = line.rsplit_once(':')?;
            let numbers: Vec<u64> =
                rest.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
            let at = |index: usize| numbers.get(index).copied();
            let counters = InterfaceCounters {
                received: at(0)?,
                sent: at(8)?,
                errors: at(2)? + at(10)?,
                dropped: at(3)? + at(11)?,
            };
            Some((name.trim().to_owned(), counters))
        })
        .collect()
}

/// What the interfaces did in `seconds`. Interfaces that never moved a byte are left out, and at most 64 are told.
pub(crate) fn interface_use(
    host: &dyn Host,
    before: &BTreeMap<String, InterfaceCounters>,
    after: &BTreeMap<String, InterfaceCounters>,
    seconds: f64,
) -> Vec<InterfaceUse> {
    let rate = |after: u64, before: u64| (after.saturating_sub(before) as f64 / seconds.max(0.001)) as u64;
    let state = |name: &str| {
        read(host, &format!("/sys/class/net/{name}/operstate")).map(|state| state.trim().to_owned())
    };
    let mut moved: Vec<_> = after.iter().filter(|(_, now)| now.received + now.sent > 0).collect();
    model::order::sort_by_key(&mut moved, |(_, now)| std::cmp::Reverse(now.received + now.sent));
    moved
        .into_iter()
        .take(64)
        .map(|(name, now)| {
            let then = before.get(name).copied().unwrap_or(*now);
            InterfaceUse {
                name: name.clone(),
                state: state(name),
                received_bytes_per_second: rate(now.received, then.received),
                sent_bytes_per_second: rate(now.sent, then.sent),
                received_bytes: now.received,
                sent_bytes: now.sent,
                errors: now.errors,
                dropped: now.dropped,
            }
        })
        .collect()
}

/// Every temperature that the hardware tells, at most 64.
pub(crate) fn temperatures(host: &dyn Host) -> Vec<Temperature> {
    let mut found = Vec::new();
    for folder in children(host, "/sys/class/hwmon") {
        let chip = read(host, &format!("{folder}/name")).unwrap_or_default();
        for file in children(host, &folder) {
            let Some(sensor) = file.strip_suffix("_input").filter(|path| path.contains("/temp")) else {
                continue;
            };
            let label = read(host, &format!("{sensor}_label")).unwrap_or_default();
            found.extend(temperature(host, &file, format!("{} {}", chip.trim(), label.trim()).trim()));
        }
    }
    if found.is_empty() {
        for zone in children(host, "/sys/class/thermal") {
            if zone.contains("thermal_zone") {
                let kind = read(host, &format!("{zone}/type")).unwrap_or_default();
                found.extend(temperature(host, &format!("{zone}/temp"), kind.trim()));
            }
        }
    }
    found.truncate(64);
    found
}

fn temperature(host: &dyn Host, path: &str, sensor: &str) -> Option<Temperature> {
    let milli: f64 = read(host, path)?.trim().parse().ok()?;
    let celsius = tenth(milli / 1000.0);
    // Sensors that aren't connected tell nonsense.
    (-60.0..200.0).contains(&celsius).then(|| Temperature { sensor: sensor.to_owned(), celsius })
}

/// Paths of what is in a folder, in order.
fn children(host: &dyn Host, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(host.path(folder)).into_iter().flatten().flatten();
    let mut paths: Vec<String> =
        entries.take(1000).map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy())).collect();
    model::order::sort(&mut paths);
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;

    #[test]
    fn rates_of_disks_are_per_second() {
        let before = parse_disks("   8  0 sda 10 0 100 5 20 0 200 5 0 100 10\n");
        let after = parse_disks("   8  0 sda 20 0 300 5 20 0 600 5 0 600 10 0 0 0 0\n");
        let used = disk_use(&before, &after, 2.0);
        assert_eq!((used[0].read_bytes_per_second, used[0].written_bytes_per_second), (51_200, 102_400));
        assert_eq!((used[0].operations_per_second, used[0].busy_percent), (5.0, 25.0));
    }

    #[test]
    fn partitions_and_loop_devices_are_left_out() {
        let host = FakeHost::empty()
            .with("/proc/diskstats", "8 0 sda 1 0 1 1 1 0 1 1 0 1 1\n8 1 sda1 1 0 1 1 1 0 1 1 0 1 1\n7 0 loop0 1 0 1 1 1 0 1 1 0 1 1\n")
            .with("/sys/block/sda/size", "1")
            .with("/sys/block/loop0/size", "1");
        assert_eq!(disks(&host).into_keys().collect::<Vec<_>>(), ["sda"]);
    }

    #[test]
    fn an_interface_name_may_touch_its_first_number() {
        let text = "Inter-|   Receive\n face |bytes\n  eth0:1000 1 2 3 0 0 0 0 500 1 4 5 0 0 0 0\n";
        let found = parse_interfaces(text);
        assert_eq!(found["eth0"], InterfaceCounters { received: 1000, sent: 500, errors: 6, dropped: 8 });
    }

    #[test]
    fn temperatures_come_with_their_names() {
        let host = FakeHost::empty()
            .with("/sys/class/hwmon/hwmon0/name", "coretemp\n")
            .with("/sys/class/hwmon/hwmon0/temp1_input", "45500\n")
            .with("/sys/class/hwmon/hwmon0/temp1_label", "Core 0\n")
            .with("/sys/class/hwmon/hwmon0/temp2_input", "-274000\n");
        assert_eq!(
            temperatures(&host),
            [Temperature { sensor: "coretemp Core 0".to_owned(), celsius: 45.5 }]
        );
    }
}
