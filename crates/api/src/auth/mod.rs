//! Who is asking, and whether they may.

mod caller;
pub mod cookie;
pub mod first_admin;
pub mod password;
pub mod rule;
pub mod secret;
pub mod throttle;

pub use caller::{Caller, Credential, Identity, Use, authenticate};
pub use rule::{Rule, TokenScope};
