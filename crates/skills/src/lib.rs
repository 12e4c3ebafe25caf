//! The built-in host skills: one file each, in this folder. Shared code lives in subfolders.
//!
//! A skill's body runs only for an [`admission::AcceptedCall`], which only the edge's admission makes. So the types
//! of the skills stay inside this crate, and [`AnySkill::run`] is the only way to them. The manager uses the
//! metadata and `classify` through [`capabilities`].

mod bash;
mod capture_pcap;
mod git_operations;
mod host_files;
mod host_load;
mod host_netns_inspect;
mod host_processes;
mod host_sockets;
mod kill_process;
mod probe_dns;
mod probe_http;
mod probe_ping;
mod probe_tcp;
mod read_file;
mod read_journal;
mod reboot_host;
mod remove_path;
mod restart_service;
mod service_status;
mod support;
mod tail_file;
mod write_file;

pub use admission::AnySkill;
pub use support::machine::sampler::{LoadSample, LoadSampler};
pub use support::real_host::{RealHost, RealHostConfig};
pub use support::registry::{Registered, Registry};

use skill::Capability;
use std::sync::Arc;

/// Every built-in skill, in alphabetical order.
pub static ALL: &[&dyn AnySkill] = &[
    &bash::Bash,
    &capture_pcap::CapturePcap,
    &git_operations::GitOperations,
    &host_files::HostFiles,
    &host_load::HostLoad,
    &host_netns_inspect::HostNetnsInspect,
    &host_processes::HostProcesses,
    &host_sockets::HostSockets,
    &kill_process::KillProcess,
    &probe_dns::ProbeDns,
    &probe_http::ProbeHttp,
    &probe_ping::ProbePing,
    &probe_tcp::ProbeTcp,
    &read_file::ReadFile,
    &read_journal::ReadJournal,
    &reboot_host::RebootHost,
    &remove_path::RemovePath,
    &restart_service::RestartService,
    &service_status::ServiceStatus,
    &tail_file::TailFile,
    &write_file::WriteFile,
];

/// What the built-in skills are, in the order of [`ALL`]: for the manager's catalogue.
pub fn capabilities() -> Vec<Arc<Capability>> {
    ALL.iter().map(|skill| skill.capability()).collect()
}

/// The tools of a restricted agent: `bash`, `read_file` and `write_file`.
pub fn default_tools() -> Registry {
    Registry::builtin().only(&["bash", "read_file", "write_file"])
}

/// Every built-in skill.
pub fn all_tools() -> Registry {
    Registry::builtin()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_in_this_folder_is_registered() {
        let files: BTreeSet<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
            .map(|path| path.file_stem().unwrap().display().to_string())
            .filter(|stem| stem != "lib")
            .collect();
        let registered: BTreeSet<String> = ALL.iter().map(|skill| skill.key().to_owned()).collect();
        assert_eq!(files, registered, "add the file's two lines to lib.rs");
    }

    #[test]
    fn the_list_is_in_alphabetical_order() {
        assert!(ALL.is_sorted_by_key(|skill| skill.key()));
    }

    #[test]
    fn a_restricted_agent_has_three_tools_and_any_other_has_all() {
        let keys = |registry: Registry| registry.iter().map(|one| one.key().to_owned()).collect::<Vec<_>>();
        assert_eq!(keys(default_tools()), ["bash", "read_file", "write_file"]);
        assert_eq!(keys(all_tools()).len(), ALL.len());
    }

    #[test]
    fn every_definition_is_reviewed() {
        let definitions: Vec<_> =
            capabilities().iter().map(|capability| json!(capability.definition())).collect();
        insta::assert_json_snapshot!("definitions", definitions);
    }

    #[test]
    fn every_definition_makes_a_catalogue_and_tells_what_each_parameter_is() {
        let catalogue = skill::Catalogue::new(capabilities()).unwrap();
        for capability in catalogue.iter() {
            let definition = capability.definition();
            assert!(definition.description.ends_with('.'), "{}: a description is a sentence", definition.key);
            for (name, schema) in definition.params["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{}: `{name}` has no description", definition.key);
            }
        }
    }
}
