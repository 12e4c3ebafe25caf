//! Measures how loaded the host is.

use crate::support::errors::{blocking, unsupported};
use crate::support::machine::cgroup::{self, Container};
use crate::support::machine::cpu::{self, CpuCounters, CpuUse, Load, Pressure};
use crate::support::machine::devices::{
    self, DiskCounters, DiskUse, InterfaceCounters, InterfaceUse, Temperature,
};
use crate::support::machine::filesystems::{self, FileSystem};
use crate::support::machine::memory::{self, Memory, Swap};
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Skill, SkillContext, SkillError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long is measured.
const WINDOW: Duration = Duration::from_millis(500);

pub(crate) struct HostLoad;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Name of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    /// Seconds since boot.
    uptime_seconds: u64,
    /// When it booted, RFC 3339.
    booted_at: String,
    /// Load averages.
    load: Load,
    /// CPU, over half a second.
    cpu: CpuUse,
    /// Memory in bytes.
    memory: Memory,
    /// Swap in bytes.
    swap: Swap,
    /// How much tasks waited for CPU, memory and disks (PSI). Left out where the kernel doesn't measure it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pressure: BTreeMap<String, Pressure>,
    /// Limits, if the agent sees the host from inside a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<Container>,
    /// File systems. Remote ones are listed but not measured.
    filesystems: Vec<FileSystem>,
    /// Disks, over half a second.
    disks: Vec<DiskUse>,
    /// Network interfaces that moved something since they came up, the busiest first.
    network: Vec<InterfaceUse>,
    /// Temperatures, where the hardware tells them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    temperatures: Vec<Temperature>,
}

/// Counters at one moment.
struct Counters {
    at: Instant,
    cpu: CpuCounters,
    container_micros: Option<u64>,
    disks: BTreeMap<String, DiskCounters>,
    interfaces: BTreeMap<String, InterfaceCounters>,
}

impl Skill for HostLoad {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "host_load",
        name: "Host load",
        description: "Measure how loaded the host is: CPU in total and per core, load averages, memory and swap, pressure (PSI), disks, file systems, network, uptime and temperatures. Takes about half a second.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "system",
        result_preview: "load 0.42, CPU 7 % of 4 cores, memory 3.1 of 15.6 GiB, / 41 % full, up 12 d",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, Params {}: Params) -> Result<Output, SkillError> {
        let host = Arc::clone(&cx.host);
        let before = blocking(move || Ok(Counters::of(host.as_ref()))).await?;
        tokio::time::sleep(WINDOW).await;
        let host = Arc::clone(&cx.host);
        blocking(move || measure(host.as_ref(), &before)).await
    }
}

impl Counters {
    fn of(host: &dyn Host) -> Self {
        Self {
            at: Instant::now(),
            cpu: CpuCounters::of(host),
            container_micros: cgroup::cpu_micros(host),
            disks: devices::disks(host),
            interfaces: devices::interfaces(host),
        }
    }
}

fn measure(host: &dyn Host, before: &Counters) -> Result<Output, SkillError> {
    let after = Counters::of(host);
    let seconds = (after.at - before.at).as_secs_f64();
    let untold =
        |what: &str| unsupported(format!("the kernel doesn't tell {what}: /proc is missing or incomplete"));
    let (memory, swap) = memory::of(host).ok_or_else(|| untold("the memory"))?;
    let uptime = cpu::uptime(host).ok_or_else(|| untold("the uptime"))?;
    let booted_at = host.now() - chrono::Duration::seconds(uptime as i64);
    Ok(Output {
        hostname: hostname(host),
        uptime_seconds: uptime as u64,
        booted_at: booted_at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        load: Load::of(host).ok_or_else(|| untold("the load"))?,
        cpu: after.cpu.since(&before.cpu),
        memory,
        swap,
        pressure: ["cpu", "memory", "io"]
            .into_iter()
            .filter_map(|resource| Some((resource.to_owned(), Pressure::of(host, resource)?)))
            .collect(),
        container: cgroup::of(host, before.container_micros, seconds),
        filesystems: filesystems::of(host),
        disks: devices::disk_use(&before.disks, &after.disks, seconds),
        network: devices::interface_use(host, &before.interfaces, &after.interfaces, seconds),
        temperatures: devices::temperatures(host),
    })
}

fn hostname(host: &dyn Host) -> Option<String> {
    let name = std::fs::read_to_string(host.path("/proc/sys/kernel/hostname")).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use crate::{RealHost, RealHostConfig};
    use skill::SkillErrorKind;
    use std::process::Command;

    fn output_of(program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).env("LC_ALL", "C").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Whether two measurements at nearly the same moment agree.
    fn near(ours: f64, theirs: f64, part: f64) -> bool {
        (ours - theirs).abs() <= theirs.abs() * part + 1.0
    }

    #[tokio::test]
    async fn a_fixture_host_is_measured() {
        let cx = FakeHost::empty()
            .with("/proc/stat", "cpu 1 0 1 8 0 0 0 0\ncpu0 1 0 1 8 0 0 0 0\n")
            .with("/proc/loadavg", "0.10 0.20 0.30 1/100 5\n")
            .with("/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 500 kB\n")
            .with("/proc/uptime", "3600.00 1.00\n")
            .with("/proc/sys/kernel/hostname", "web-1\n")
            .context();
        let output = Skill::run(&HostLoad, &cx, Params {}).await.unwrap();
        assert_eq!(output.hostname.as_deref(), Some("web-1"));
        assert_eq!(output.booted_at, "2026-03-01T11:00:00Z");
        assert_eq!((output.cpu.cores, output.memory.percent, output.swap.total), (1, 50.0, 0));
        assert!(output.pressure.is_empty() && output.container.is_none());
    }

    #[tokio::test]
    async fn a_host_without_proc_is_unsupported() {
        let error = Skill::run(&HostLoad, &FakeHost::empty().context(), Params {}).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Unsupported);
    }

    #[tokio::test]
    async fn the_values_agree_with_free_df_and_uptime() {
        let host = RealHost::new(RealHostConfig::default(), Arc::new(model::SystemClock));
        let cx = SkillContext::new(Arc::new(host));
        let output = Skill::run(&HostLoad, &cx, Params {}).await.unwrap();

        let free = output_of("free", &["-b"]);
        let memory: Vec<f64> =
            free.lines().nth(1).unwrap().split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert_eq!(output.memory.total as f64, memory[0], "{free}");
        assert!(near(output.memory.used as f64, memory[1], 0.25), "{} {free}", output.memory.used);

        let df = output_of("df", &["-B1", "--output=size,used,pcent", "/"]);
        let root: Vec<f64> = df
            .lines()
            .nth(1)
            .unwrap()
            .split_whitespace()
            .filter_map(|word| word.trim_end_matches('%').parse().ok())
            .collect();
        let ours = output.filesystems.iter().find(|filesystem| filesystem.mount == "/").unwrap();
        assert_eq!(ours.size.unwrap() as f64, root[0], "{df}");
        assert!(near(ours.used.unwrap() as f64, root[1], 0.1), "{df}");
        // `df` rounds up.
        assert!((ours.percent.unwrap() - root[2]).abs() <= 1.5, "{:?} {df}", ours.percent);

        let uptime = output_of("uptime", &["-s"]);
        let booted = chrono::NaiveDateTime::parse_from_str(uptime.trim(), "%Y-%m-%d %H:%M:%S").unwrap();
        let booted = booted.and_local_timezone(chrono::Local).earliest().unwrap().timestamp();
        let ours: model::Timestamp = output.booted_at.parse().unwrap();
        assert!((ours.timestamp() - booted).abs() <= 2, "{uptime} {}", output.booted_at);

        let cores: u32 = output_of("getconf", &["_NPROCESSORS_ONLN"]).trim().parse().unwrap();
        assert_eq!(output.cpu.cores, cores);
        assert!(output.cpu.percent <= 100.0 && output.cpu.per_core_percent.len() == cores as usize);
    }
}
