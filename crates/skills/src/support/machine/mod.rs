//! What the kernel says about the machine, parsed from `/proc` and `/sys` below the host's root.

pub(crate) mod cgroup;
pub(crate) mod cpu;
pub(crate) mod devices;
pub(crate) mod filesystems;
pub(crate) mod memory;
pub(crate) mod namespaces;
pub(crate) mod process;
pub(crate) mod sampler;
pub(crate) mod sockets;

use skill::Host;

/// A small file as text; `None` if it can't be read.
pub(crate) fn read(host: &dyn Host, path: &str) -> Option<String> {
    std::fs::read(host.path(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// `part` of `whole` in percent with one place; 0 for nothing of nothing.
pub(crate) fn percent(part: f64, whole: f64) -> f64 {
    if whole <= 0.0 { 0.0 } else { tenth((part / whole * 100.0).max(0.0)) }
}

/// Rounded to one place.
pub(crate) fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Rounded to two places.
pub(crate) fn hundredth(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
