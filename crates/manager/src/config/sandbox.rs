//! `[security.sandbox]` and `[security.resources]`: what holds programs that run beside the manager.

use super::reader::Reader;
use sandbox::{Backend, Resources, SandboxConfig};
use std::path::PathBuf;

/// What holds programs that run beside the manager, which are those of packs.
#[derive(Clone, Debug)]
pub struct ChildrenConfig {
    /// `auto`, `landlock`, `firejail`, `bubblewrap`, `docker` or `none`; `enabled = false` is the same as `none`. `auto`
    /// takes the first that works, in this order. Default: auto.
    pub backend: Backend,
    /// More arguments for firejail. Default: none.
    pub firejail_args: Vec<String>,
    /// Groups that safe skills have, where the manager runs as root. Default: `adm` and `systemd-journal`.
    pub safe_groups: Vec<String>,
    /// The most that one program may use, with all that it starts: MiB of memory (512), percent of one CPU (80), open
    /// files (256), processes and threads (128).
    pub resources: Resources,
}

impl ChildrenConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let defaults = SandboxConfig::default();
        let enabled = reader.flag("security.sandbox.enabled").unwrap_or(true);
        let backend = reader.text("security.sandbox.backend").and_then(|word| match backend_of(&word) {
            Some(backend) => Some(backend),
            None => {
                let message = format!("`{word}` is not auto, landlock, firejail, bubblewrap, docker or none");
                reader.problem("security.sandbox.backend", &message);
                None
            }
        });
        let mut resources = Resources::default();
        for (key, most, limit) in [
            ("security.resources.max_memory_mb", 1 << 20, &mut resources.max_memory_mb),
            ("security.resources.max_cpu_percent", 100_000, &mut resources.max_cpu_percent),
            ("security.resources.max_open_files", 1 << 20, &mut resources.max_open_files),
            ("security.resources.max_pids", 1 << 20, &mut resources.max_pids),
        ] {
            if let Some(number) = reader.integer(key, 1, most) {
                *limit = u32::try_from(number).unwrap_or(*limit);
            }
        }
        Self {
            backend: if enabled { backend.unwrap_or_default() } else { Backend::None },
            firejail_args: reader.list("security.sandbox.firejail_args"),
            safe_groups: reader.given_list("security.sandbox.safe_groups").unwrap_or(defaults.safe_groups),
            resources,
        }
    }

    /// What the sandbox is to do; `own` can't be written by programs, `own_secrets` can't be read either.
    pub(crate) fn sandbox(&self, own: Vec<PathBuf>, own_secrets: Vec<PathBuf>) -> SandboxConfig {
        SandboxConfig {
            backend: self.backend,
            firejail_args: self.firejail_args.clone(),
            safe_groups: self.safe_groups.clone(),
            resources: self.resources,
            own,
            own_secrets,
            ..SandboxConfig::default()
        }
    }
}

fn backend_of(word: &str) -> Option<Backend> {
    let named = [Backend::Auto, Backend::None].into_iter().chain(Backend::HOLDING);
    named.into_iter().find(|backend| backend.as_str() == word)
}
