//! The few numbers for the spark line on the Hosts page. Read only while somebody watches.

use proto::v1::LoadSample;
use skill::Host;
use std::fs;

/// Reads load samples; CPU is the share since the sample before.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    before: Option<CpuTimes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTimes {
    idle: u64,
    total: u64,
}

impl Sampler {
    /// Reads one sample. What can't be read is 0.
    pub(crate) fn sample(&mut self, host: &dyn Host) -> LoadSample {
        let text = |path: &str| fs::read_to_string(host.path(path)).unwrap_or_default();
        let load1 =
            text("/proc/loadavg").split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        LoadSample {
            load1,
            cpu_percent: self.cpu(&text("/proc/stat")),
            memory_percent: memory_percent(&text("/proc/meminfo")),
            disk_percent: fullest_percent(host, &text("/proc/self/mounts")),
        }
    }

    fn cpu(&mut self, stat: &str) -> f64 {
        let Some(now) = cpu_times(stat) else { return 0.0 };
        let before = self.before.replace(now).unwrap_or(CpuTimes { idle: 0, total: 0 });
        let (idle, total) = (now.idle.saturating_sub(before.idle), now.total.saturating_sub(before.total));
        if total == 0 { 0.0 } else { percent(total.saturating_sub(idle), total) }
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    // One digit after the point is what a spark line shows.
    (part as f64 / whole as f64 * 1000.0).round() / 10.0
}

/// Idle (with waiting for input and output) and all time, in ticks, from the first line of `/proc/stat`.
fn cpu_times(stat: &str) -> Option<CpuTimes> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map(|word| word.parse().unwrap_or(0)).collect();
    Some(CpuTimes { idle: ticks.get(3)? + ticks.get(4)?, total: ticks.iter().sum() })
}

fn memory_percent(meminfo: &str) -> f64 {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    match (field("MemTotal:"), field("MemAvailable:")) {
        (Some(total), Some(available)) if total > 0 => percent(total.saturating_sub(available), total),
        _ => 0.0,
    }
}

/// How full the fullest local file system is. Network file systems are left out: asking one that hangs would hang us.
fn fullest_percent(host: &dyn Host, mounts: &str) -> f64 {
    let local = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (device, point) = (words.next()?, words.next()?);
        let real = device.starts_with("/dev/") && !device.starts_with("/dev/loop");
        (real || point == "/").then(|| point.replace("\\040", " "))
    });
    local
        .filter_map(|point| rustix::fs::statvfs(host.path(&point)).ok())
        .map(|space| {
            let used = space.f_blocks.saturating_sub(space.f_bfree);
            // As df: of what ordinary users can use.
            let usable = used + space.f_bavail;
            if usable == 0 { 0.0 } else { percent(used, usable) }
        })
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_is_the_share_since_the_sample_before() {
        let mut sampler = Sampler::default();
        assert!((sampler.cpu("cpu  50 0 0 50 0 0 0 0 0 0\n") - 50.0).abs() < 0.01);
        assert!((sampler.cpu("cpu  150 0 0 50 0 0 0 0 0 0\n") - 100.0).abs() < 0.01);
        assert!((sampler.cpu("cpu  150 0 0 140 10 0 0 0 0 0\n")).abs() < 0.01);
        assert!((sampler.cpu("nonsense")).abs() < 0.01);
    }

    #[test]
    fn memory_is_what_cannot_be_had() {
        assert!(
            (memory_percent("MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 250 kB\n") - 75.0).abs() < 0.01
        );
    }
}
