//! The limits of the container that the agent is in. On a real host the root cgroup has no limit files, so there is
//! none; the limits of the agent's own service are not the host's and are not looked at.

use super::{hundredth, percent, read};
use schemars::JsonSchema;
use serde::Serialize;
use skill::Host;

/// Limits of a container (cgroup v2), which are tighter than what the kernel shows for the whole machine.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Container {
    /// Most memory that it may use, in bytes. Left out without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_limit: Option<u64>,
    /// Memory that it uses, without cache that gives way, in bytes.
    memory_used: u64,
    /// `memory_used` in percent of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_percent: Option<f64>,
    /// How many cores' worth of time it may use. Left out without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_limit_cores: Option<f64>,
    /// How many cores' worth of time it used during the measurement.
    cpu_used_cores: f64,
    /// How often it was throttled since it began.
    throttled_periods: u64,
}

/// CPU time that the container has used, in microseconds; `None` outside of containers.
pub(crate) fn cpu_micros(host: &dyn Host) -> Option<u64> {
    read(host, "/sys/fs/cgroup/memory.max")?;
    value(&read(host, "/sys/fs/cgroup/cpu.stat")?, "usage_usec")
}

/// The container's limits and use; `None` outside of containers.
pub(crate) fn of(host: &dyn Host, cpu_micros_before: Option<u64>, seconds: f64) -> Option<Container> {
    let limit = read(host, "/sys/fs/cgroup/memory.max")?.trim().parse::<u64>().ok();
    let current: u64 = read(host, "/sys/fs/cgroup/memory.current")?.trim().parse().ok()?;
    let cache =
        read(host, "/sys/fs/cgroup/memory.stat").and_then(|text| value(&text, "inactive_file")).unwrap_or(0);
    let memory_used = current.saturating_sub(cache);
    let quota = read(host, "/sys/fs/cgroup/cpu.max").and_then(|text| {
        let (quota, period) = text.trim().split_once(' ')?;
        Some(hundredth(
            quota.parse::<f64>().ok()? / period.parse::<f64>().ok().filter(|period| *period > 0.0)?,
        ))
    });
    let stat = read(host, "/sys/fs/cgroup/cpu.stat").unwrap_or_default();
    let used_micros =
        value(&stat, "usage_usec").unwrap_or(0).saturating_sub(cpu_micros_before.unwrap_or(u64::MAX));
    Some(Container {
        memory_limit: limit,
        memory_used,
        memory_percent: limit.map(|limit| percent(memory_used as f64, limit as f64)),
        cpu_limit_cores: quota,
        cpu_used_cores: if seconds > 0.0 { hundredth(used_micros as f64 / 1e6 / seconds) } else { 0.0 },
        throttled_periods: value(&stat, "nr_throttled").unwrap_or(0),
    })
}

fn value(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;

    #[test]
    fn a_container_with_limits_is_told_and_a_host_has_none() {
        let host = FakeHost::empty()
            .with("/sys/fs/cgroup/memory.max", "1000\n")
            .with("/sys/fs/cgroup/memory.current", "700\n")
            .with("/sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 200\n")
            .with("/sys/fs/cgroup/cpu.max", "150000 100000\n")
            .with("/sys/fs/cgroup/cpu.stat", "usage_usec 3000000\nnr_throttled 4\n");
        let container = of(&host, Some(2_000_000), 2.0).unwrap();
        assert_eq!(container.memory_percent, Some(50.0));
        assert_eq!((container.cpu_limit_cores, container.cpu_used_cores), (Some(1.5), 0.5));
        assert_eq!(of(&FakeHost::empty(), None, 1.0), None);
    }

    #[test]
    fn max_is_no_limit() {
        let host = FakeHost::empty()
            .with("/sys/fs/cgroup/memory.max", "max\n")
            .with("/sys/fs/cgroup/memory.current", "700\n")
            .with("/sys/fs/cgroup/cpu.max", "max 100000\n");
        let container = of(&host, None, 1.0).unwrap();
        assert_eq!((container.memory_limit, container.cpu_limit_cores), (None, None));
    }
}
