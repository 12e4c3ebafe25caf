//! The writer, the audit chain, calls and stored results, on a real database file.

mod core {
    pub mod audit;
    pub mod calls;
    pub mod support;
    pub mod writer;
}
