//! BaseTools: capabilities that run inside the manager, with hand-written schemas, one file each.
//!
//! A tool's body takes an `AdmittedCall`, so only the executor can run it. Hosts are reached through the context's
//! caller, which puts each child call through the gate.

mod host_files;
mod host_load;
mod host_processes;
mod query_edges;
mod read_result;
mod support;

use async_trait::async_trait;
use gate::{AdmittedCall, HostDirectory};
use model::{Class, Clock};
use serde_json::Value;
use skill::{Caller, Capability, Metadata, SchemaError, SkillError};
use std::fmt;
use std::sync::Arc;
use storage::Storage;

/// A capability that runs inside the manager.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is.
    fn metadata(&self) -> &'static Metadata;

    /// Its parameters' JSON Schema, offered word for word.
    fn params(&self) -> Value;

    /// The class of a call with valid arguments.
    fn classify(&self) -> fn(&Value) -> Class;

    /// Whether its results are stored. A page of another call's result isn't stored again.
    fn keeps_result(&self) -> bool {
        true
    }

    /// Does it. Cancel safety: the future may be dropped at any await point.
    async fn run(&self, cx: &ToolContext, call: &AdmittedCall) -> Result<Value, SkillError>;
}

/// What a running tool is given.
#[derive(Clone)]
pub struct ToolContext {
    /// Makes calls on hosts, each of them gated and on record.
    pub caller: Arc<dyn Caller>,
    /// The inventory.
    pub hosts: Arc<dyn HostDirectory>,
    /// Where calls and their results are kept.
    pub storage: Storage,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolContext")
    }
}

/// Every built-in tool, in alphabetical order.
pub static ALL: &[&dyn Tool] = &[
    &host_files::HostFiles,
    &host_load::HostLoad,
    &host_processes::HostProcesses,
    &query_edges::QueryEdges,
    &read_result::ReadResult,
];

/// The catalogue's entries of all built-in tools, in order.
///
/// # Errors
///
/// Fails if a hand-written schema is not valid JSON Schema.
pub fn capabilities() -> Result<Vec<Arc<Capability>>, SchemaError> {
    ALL.iter().map(|tool| capability_of(*tool)).collect()
}

/// The catalogue's entry of one tool.
///
/// # Errors
///
/// Fails if its schema is not valid JSON Schema.
pub fn capability_of(tool: &dyn Tool) -> Result<Arc<Capability>, SchemaError> {
    Capability::of_tool(tool.metadata(), tool.params(), tool.classify()).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn every_file_in_this_folder_is_registered() {
        let files: BTreeSet<String> = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
            .map(|path| path.file_stem().unwrap().display().to_string())
            .filter(|stem| stem != "lib")
            .collect();
        let registered = ALL.iter().map(|tool| tool.metadata().key.to_owned()).collect();
        assert_eq!(files, registered, "add the file's two lines to lib.rs");
    }

    #[test]
    fn tools_are_in_alphabetical_order() {
        assert!(ALL.is_sorted_by_key(|tool| tool.metadata().key));
    }

    #[test]
    fn every_schema_is_valid_and_refuses_unknown_keys() {
        for capability in capabilities().unwrap() {
            assert_eq!(capability.definition().params["additionalProperties"], false);
            assert!(capability.check(&serde_json::json!({"made_up": 1})).is_err());
        }
    }

    #[test]
    fn what_every_tool_says_of_itself() {
        let definitions: Vec<_> =
            capabilities().unwrap().iter().map(|capability| capability.definition().clone()).collect();
        insta::assert_json_snapshot!(definitions);
    }
}
