//! Assembly of calls.
