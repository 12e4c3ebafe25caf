//! Refuses requests as the real servers do: for tests, and for servers that stand in for them.

mod schema;
#[cfg(test)]
mod tests;
mod wire;

pub use schema::check_schema;
pub use wire::check_request;
