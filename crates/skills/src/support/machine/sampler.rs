//! A cheap load sample now and then, for the Hosts page. Measures between calls, so it never waits.

use super::cpu::{CpuCounters, Load};
use super::{filesystems, memory};
use skill::Host;

/// What the Hosts page shows of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadSample {
    /// Load average over one minute.
    pub load1: f64,
    /// Busy percent of all cores since the last sample.
    pub cpu_percent: f64,
    /// Memory in use, percent.
    pub memory_percent: f64,
    /// The fullest file system, percent.
    pub disk_percent: f64,
}

/// Makes [`LoadSample`]s. Keeps the counters of the last one.
#[derive(Debug)]
pub struct LoadSampler {
    before: CpuCounters,
}

impl LoadSampler {
    /// Begins to measure.
    pub fn start(host: &dyn Host) -> Self {
        Self { before: CpuCounters::of(host) }
    }

    /// What happened since the last call. Blocks for as long as reading a few files of the kernel takes.
    pub fn sample(&mut self, host: &dyn Host) -> LoadSample {
        let now = CpuCounters::of(host);
        let before = std::mem::replace(&mut self.before, now.clone());
        LoadSample {
            load1: Load::of(host).map_or(0.0, |load| load.one),
            cpu_percent: now.since(&before).percent,
            memory_percent: memory::of(host).map_or(0.0, |(memory, _)| memory.percent),
            disk_percent: filesystems::of(host)
                .iter()
                .filter(|filesystem| !filesystem.is_read_only())
                .filter_map(|filesystem| filesystem.percent)
                .fold(0.0, f64::max),
        }
    }
}
