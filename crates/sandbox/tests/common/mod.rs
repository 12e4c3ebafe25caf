//! What the suites of this crate share.
#![allow(dead_code, reason = "each suite uses a part")]

use sandbox::{Backend, Children, SandboxConfig};
use skill::sandbox::{ChildCommand, ChildEnded, ChildLimits, Opening, Profile, Sandbox as _};
use std::collections::BTreeSet;
use std::time::Duration;

/// A configuration whose helper is this crate's own program.
pub fn config(backend: Backend) -> SandboxConfig {
    SandboxConfig {
        backend,
        helper: vec![env!("CARGO_BIN_EXE_sandbox-helper").to_owned(), sandbox::HELPER_ARGUMENT.to_owned()],
        ..SandboxConfig::default()
    }
}

/// A shell command in a profile, which may take ten seconds.
pub fn shell(profile: Profile, text: &str) -> ChildCommand {
    ChildCommand {
        program: "/bin/bash".into(),
        args: vec!["--norc".into(), "--noprofile".into(), "-c".into(), text.into()],
        env: vec![("HOME".into(), "/".into()), ("LC_ALL".into(), "C".into())],
        cwd: None,
        stdin: None,
        progress: None,
        profile,
        openings: BTreeSet::new(),
        limits: ChildLimits { wall: Duration::from_secs(20), ..ChildLimits::default() },
    }
}

/// As [`shell`], opened by something.
pub fn opened(profile: Profile, openings: impl IntoIterator<Item = Opening>, text: &str) -> ChildCommand {
    ChildCommand { openings: openings.into_iter().collect(), ..shell(profile, text) }
}

/// Runs a command to its end.
pub fn run(children: &Children, command: ChildCommand) -> ChildEnded {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(children.run(command)).unwrap()
}

/// Both streams as text.
pub fn text(ended: &ChildEnded) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&ended.stdout.bytes),
        String::from_utf8_lossy(&ended.stderr.bytes)
    )
}
