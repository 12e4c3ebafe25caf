//! The manager: configuration, wiring of the parts, and the command line. What the parts do is theirs.

mod catalogue;
pub mod cli;
pub mod config;
mod listen;
mod models;
mod notify;
mod packs;
mod serve;
mod telemetry;
