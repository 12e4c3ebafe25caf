//! What end-to-end tests stand on: the real binaries started as a user would start them, an operator's session over
//! the real API, and its live event stream; and what tests of changes need: a skill whose effects can be counted, and
//! people with keys who sign. Only tests use this crate.

mod disk;
mod effects;
mod events;
mod process;
mod product;
mod session;
mod signers;

pub use disk::{Mounted, fill};
pub use effects::{CountEffects, CountParams, Counted, Death, GoDown, NoParams, die, effects};
pub use events::{EventStream, LiveEvent};
pub use process::{Lines, binary};
pub use product::{ADMIN_PASSWORD, EdgeProcess, Product, ProductBuilder};
pub use session::{Reply, Session};
pub use signers::{Assertion, SOP_KEY, Signers, signed_by_another_key, signed_procedure};
