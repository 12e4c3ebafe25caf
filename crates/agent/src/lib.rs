//! The chat loop: turns as durable jobs, the events that every view of a chat is made of, and what a model is told.
//!
//! A turn asks a model, has its calls made through the executor's one door, and asks again, within limits. What
//! happened is in the database before anybody sees it, so that a reload, a second tab and a restart show the same.
//! Nothing here runs a capability, decides whether one may run, or speaks a provider's protocol.

mod answer;
mod command;
mod config;
mod directory;
mod error;
mod events;
mod guard;
mod history;
mod progress;
mod prompt;
mod recover;
mod render;
mod results;
mod round;
mod runner;
mod service;
mod trust;
mod view;

pub use config::{AccessMode, AgentConfig, Limits};
pub use directory::{HostList, Inventory, ModelDirectory, ModelUnavailable};
pub use error::AgentError;
pub use history::repaired;
pub use service::{Agent, AgentParts, SubmitTurn};
