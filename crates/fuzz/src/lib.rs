//! What is fuzzed, and what must hold for any input. `./x fuzz NAME` lets libFuzzer look for an input for which it
//! doesn't; the test of this crate runs each target over its seeds, with the compiler that everybody has.
//!
//! A target panics where something doesn't hold: that is how a fuzzer is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a target tells by panicking")]

mod seeds;
mod targets;

pub use targets::{manifest, redact, schema, shell, sql, stream};

/// Something that is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// As `./x fuzz` takes it.
    pub name: &'static str,
    /// Panics if something doesn't hold for this input.
    pub run: fn(&[u8]),
    /// Inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "shell", run: shell, seeds: seeds::shell },
    Target { name: "sql", run: sql, seeds: seeds::sql },
    Target { name: "schema", run: schema, seeds: seeds::schema },
    Target { name: "stream", run: stream, seeds: seeds::stream },
    Target { name: "redact", run: redact, seeds: seeds::redact },
    Target { name: "manifest", run: manifest, seeds: seeds::manifest },
];

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.name)
}
