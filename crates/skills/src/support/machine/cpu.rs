//! `/proc/stat`, `/proc/loadavg`, `/proc/uptime`, `/proc/pressure`.

use super::{hundredth, percent, read};
use schemars::JsonSchema;
use serde::Serialize;
use skill::Host;

/// Ticks of one CPU since boot, by what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    user: u64,
    system: u64,
    idle: u64,
    iowait: u64,
    steal: u64,
}

/// Counters of all CPUs at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuCounters {
    pub(crate) all: Ticks,
    /// By the number of the core; numbers may be missing.
    pub(crate) cores: Vec<(u32, Ticks)>,
}

/// What the CPUs did between two moments.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CpuUse {
    /// How many cores are online.
    pub(crate) cores: u32,
    /// Busy, in percent of all cores.
    pub(crate) percent: f64,
    /// In programs, percent of all cores.
    pub(crate) user_percent: f64,
    /// In the kernel, percent of all cores.
    pub(crate) system_percent: f64,
    /// Idle, waiting for disks, percent of all cores.
    pub(crate) iowait_percent: f64,
    /// Taken by the hypervisor, percent of all cores.
    pub(crate) steal_percent: f64,
    /// Busy percent of each core, in order.
    pub(crate) per_core_percent: Vec<f64>,
}

/// Load averages: how many tasks ran or waited for a disk, on average.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Load {
    /// Over 1 minute.
    pub(crate) one: f64,
    /// Over 5 minutes.
    pub(crate) five: f64,
    /// Over 15 minutes.
    pub(crate) fifteen: f64,
    /// Tasks that want to run at this moment.
    pub(crate) running: u32,
    /// All tasks.
    pub(crate) tasks: u32,
}

/// How much of the time tasks waited for a resource, in percent.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Pressure {
    /// Some task waited, over the last 10 seconds.
    some_10s: f64,
    /// Some task waited, over the last minute.
    some_60s: f64,
    /// All tasks waited, over the last 10 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_10s: Option<f64>,
    /// All tasks waited, over the last minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_60s: Option<f64>,
}

impl Ticks {
    /// Reads the numbers behind `cpu` or `cpuN`. Guests are part of user already.
    fn parse<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let numbers: Vec<u64> = words.map(|word| word.parse().unwrap_or(0)).collect();
        let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
        Self { user: at(0) + at(1), system: at(2) + at(5) + at(6), idle: at(3), iowait: at(4), steal: at(7) }
    }

    fn total(&self) -> u64 {
        self.user + self.system + self.idle + self.iowait + self.steal
    }

    /// What was added since `before`. Some counters can run backwards on some kernels; then nothing was.
    fn since(&self, before: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            idle: self.idle.saturating_sub(before.idle),
            iowait: self.iowait.saturating_sub(before.iowait),
            steal: self.steal.saturating_sub(before.steal),
        }
    }

    fn busy_percent(&self) -> f64 {
        percent((self.user + self.system + self.steal) as f64, self.total() as f64)
    }
}

impl CpuCounters {
    pub(crate) fn of(host: &dyn Host) -> Self {
        Self::parse(&read(host, "/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut counters = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next().and_then(|word| word.strip_prefix("cpu")) {
                Some("") => counters.all = Ticks::parse(words),
                Some(number) => {
                    if let Ok(number) = number.parse() {
                        counters.cores.push((number, Ticks::parse(words)));
                    }
                }
                None => {}
            }
        }
        counters
    }

    /// What happened since `before`. A core that came online meanwhile has no history and is left out.
    pub(crate) fn since(&self, before: &Self) -> CpuUse {
        let all = self.all.since(&before.all);
        let part = |ticks: u64| percent(ticks as f64, all.total() as f64);
        let known =
            |number: u32| before.cores.iter().find(|(known, _)| *known == number).map(|(_, ticks)| ticks);
        CpuUse {
            cores: self.cores.len() as u32,
            percent: all.busy_percent(),
            user_percent: part(all.user),
            system_percent: part(all.system),
            iowait_percent: part(all.iowait),
            steal_percent: part(all.steal),
            per_core_percent: self
                .cores
                .iter()
                .filter_map(|(number, ticks)| known(*number).map(|before| ticks.since(before).busy_percent()))
                .collect(),
        }
    }
}

impl Load {
    pub(crate) fn of(host: &dyn Host) -> Option<Self> {
        Self::parse(&read(host, "/proc/loadavg")?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let mut number = || words.next()?.parse::<f64>().ok();
        let (one, five, fifteen) = (number()?, number()?, number()?);
        let (running, tasks) = words.next()?.split_once('/')?;
        Some(Self { one, five, fifteen, running: running.parse().ok()?, tasks: tasks.parse().ok()? })
    }
}

impl Pressure {
    /// Of `cpu`, `memory` or `io`; `None` where the kernel doesn't measure it.
    pub(crate) fn of(host: &dyn Host, resource: &str) -> Option<Self> {
        Self::parse(&read(host, &format!("/proc/pressure/{resource}"))?)
    }

    fn parse(text: &str) -> Option<Self> {
        let value = |kind: &str, key: &str| -> Option<f64> {
            let line = text.lines().find(|line| line.starts_with(kind))?;
            line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
        };
        Some(Self {
            some_10s: hundredth(value("some", "avg10")?),
            some_60s: hundredth(value("some", "avg60")?),
            full_10s: value("full", "avg10").map(hundredth),
            full_60s: value("full", "avg60").map(hundredth),
        })
    }
}

/// Seconds since boot.
pub(crate) fn uptime(host: &dyn Host) -> Option<f64> {
    read(host, "/proc/uptime")?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn use_is_the_difference_of_two_moments() {
        let before = CpuCounters::parse("cpu 100 0 100 800 0 0 0 0 0 0\ncpu0 50 0 50 400 0 0 0 0\nintr 5\n");
        let after =
            CpuCounters::parse("cpu 150 0 125 865 10 0 0 0\ncpu0 100 0 75 425 0 0 0 0\ncpu3 1 1 1 1\n");
        let cpu = after.since(&before);
        assert_eq!((cpu.percent, cpu.user_percent, cpu.system_percent), (50.0, 33.3, 16.7));
        assert_eq!((cpu.cores, cpu.per_core_percent), (2, vec![75.0]));
    }

    #[test]
    fn counters_that_run_backwards_make_no_negative_use() {
        let before = CpuCounters::parse("cpu 9 9 9 9 9 9 9 9");
        assert_eq!(CpuCounters::parse("cpu 1 1 1 1 1 1 1 1").since(&before).percent, 0.0);
    }

    #[test]
    fn load_and_pressure_are_read() {
        let load = Load::parse("0.42 0.50 1.25 2/512 1234\n").unwrap();
        assert_eq!((load.one, load.fifteen, load.running, load.tasks), (0.42, 1.25, 2, 512));
        let text = "some avg10=1.50 avg60=0.25 avg300=0.00 total=1\nfull avg10=0.10 avg60=0.00 avg300=0.00 total=1\n";
        let pressure = Pressure::parse(text).unwrap();
        assert_eq!((pressure.some_10s, pressure.some_60s, pressure.full_10s), (1.5, 0.25, Some(0.1)));
        assert_eq!(Pressure::parse(""), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}") {
            let counters = CpuCounters::parse(&text);
            let _ = counters.since(&counters);
            let _ = (Load::parse(&text), Pressure::parse(&text));
        }
    }
}
