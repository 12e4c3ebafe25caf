//! Schema cleaning.
