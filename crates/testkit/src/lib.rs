//! What end-to-end tests stand on: the real binaries started as a user would start them, an operator's session over
//! the real API, and its live event stream; and what tests of changes need on an edge: a judge that takes the manager's
//! word, and a skill whose effects can be counted. Only tests use this crate.

mod disk;
mod effects;
mod events;
mod process;
mod product;
mod session;

pub use disk::{Mounted, fill};
pub use effects::{CountEffects, CountParams, Counted, Death, GoDown, NoParams, die, effects};
pub use events::{EventStream, LiveEvent};
pub use process::{Lines, binary};
pub use product::{ADMIN_PASSWORD, EdgeProcess, Product, ProductBuilder};
pub use session::{Reply, Session};
