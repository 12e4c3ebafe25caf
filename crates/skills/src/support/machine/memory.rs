//! `/proc/meminfo`.

use super::{percent, read};
use schemars::JsonSchema;
use serde::Serialize;
use skill::Host;

/// Memory in bytes.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Memory {
    /// All of it.
    pub(crate) total: u64,
    /// In use: what could not be had without swapping.
    pub(crate) used: u64,
    /// What programs could still get without swapping.
    pub(crate) available: u64,
    /// Used for nothing at all.
    free: u64,
    /// Buffers and page cache, which give way when needed.
    cache: u64,
    /// `used` in percent.
    pub(crate) percent: f64,
}

/// Swap in bytes.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Swap {
    /// All of it; 0 without swap.
    pub(crate) total: u64,
    /// In use.
    pub(crate) used: u64,
    /// `used` in percent.
    pub(crate) percent: f64,
}

/// Reads both; `None` if the kernel doesn't tell.
pub(crate) fn of(host: &dyn Host) -> Option<(Memory, Swap)> {
    parse(&read(host, "/proc/meminfo")?)
}

fn parse(text: &str) -> Option<(Memory, Swap)> {
    let bytes = |key: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib.saturating_mul(1024))
    };
    let total = bytes("MemTotal")?;
    let free = bytes("MemFree")?;
    let cache =
        bytes("Buffers").unwrap_or(0) + bytes("Cached").unwrap_or(0) + bytes("SReclaimable").unwrap_or(0);
    // Kernels before 3.14 don't say what is available.
    let available = bytes("MemAvailable").unwrap_or(free + cache).min(total);
    let used = total - available;
    let (swap, swap_free) = (bytes("SwapTotal").unwrap_or(0), bytes("SwapFree").unwrap_or(0));
    let swap_used = swap.saturating_sub(swap_free);
    Some((
        Memory { total, used, available, free, cache, percent: percent(used as f64, total as f64) },
        Swap { total: swap, used: swap_used, percent: percent(swap_used as f64, swap as f64) },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_is_what_is_not_available() {
        let text = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 750 kB\nBuffers: 50 kB\nCached: 500 kB\n\
                    SReclaimable: 50 kB\nSwapTotal: 200 kB\nSwapFree: 150 kB\n";
        let (memory, swap) = parse(text).unwrap();
        assert_eq!((memory.used, memory.percent, memory.cache), (250 * 1024, 25.0, 600 * 1024));
        assert_eq!((swap.used, swap.percent), (50 * 1024, 25.0));
        assert_eq!(parse("nonsense"), None);
    }
}
