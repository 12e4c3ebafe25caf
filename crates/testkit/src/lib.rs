//! What end-to-end tests stand on: the real binaries started as a user would start them, an operator's session over
//! the real API, and its live event stream. Only tests use this crate.

mod events;
mod process;
mod product;
mod session;

pub use events::{EventStream, LiveEvent};
pub use process::{Lines, binary};
pub use product::{ADMIN_PASSWORD, EdgeProcess, Product, ProductBuilder};
pub use session::{Reply, Session};
