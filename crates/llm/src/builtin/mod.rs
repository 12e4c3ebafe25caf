//! The builtin router: answers without a model. Deterministic, offline, and no language model, which it says when
//! it is asked.
//!
//! [`route`] turns words into calls and knows nothing of hosts; [`Builtin`] puts it behind [`crate::Provider`]:
//! it finds the hosts, asks back, and renders results. Text inside results is only ever shown, never read for words.

mod compiled_in;
mod dialogue;
mod hosts;
mod provider;
mod render;
mod route;

pub use compiled_in::{compiled_in_tools, route_json, route_json_with};
pub use provider::Builtin;
pub use route::{Language, MAX_CALLS, Route, RouteContext, RoutedCall, place_key, route};
