//! What a child may do with files, as Landlock's rules. Rights that the kernel's version doesn't know are held by the
//! read-only mounts and by seccomp.

use super::sys;
use crate::SandboxError;
use crate::spec::{Hold, Spec};
use std::os::fd::AsFd as _;
use std::path::Path;

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

const BIND_AND_CONNECT_TCP: u64 = 0b11;
const ABSTRACT_SOCKETS_AND_SIGNALS: u64 = 0b11;

/// The rights on files that a version knows.
fn known(abi: u32) -> u64 {
    let first = (1 << 13) - 1;
    match abi {
        0 => 0,
        1 => first,
        2 => first | REFER,
        3 | 4 => first | REFER | TRUNCATE,
        _ => first | REFER | TRUNCATE | IOCTL_DEV,
    }
}

/// Restricts this process for good.
pub(crate) fn restrict(spec: &Spec) -> Result<(), SandboxError> {
    let abi = spec.abi;
    let step = |what: &'static str| SandboxError::step(format!("Landlock (version {abi}): {what}"));
    if abi == 0 {
        return Err(SandboxError::Refused("the kernel has no Landlock".to_owned()));
    }
    let known = known(abi);
    let (handled, network, scoped) = match spec.hold {
        // What matters here is what being under Landlock takes away at all: changing mounts, and looking into
        // processes outside. So the agent's own files stay covered.
        Hold::Full => (known & (REMOVE_DIR | REFER), 0, 0),
        Hold::ReadOnly | Hold::Workspace => (
            known,
            if abi >= 4 && !spec.network { BIND_AND_CONNECT_TCP } else { 0 },
            if abi >= 6 { ABSTRACT_SOCKETS_AND_SIGNALS } else { 0 },
        ),
    };
    let ruleset = sys::landlock_ruleset(handled, network, scoped).map_err(step("a ruleset can't be made"))?;
    let allow = |path: &Path, rights: u64| -> Result<(), SandboxError> {
        let place = super::mounts::open_path(path).map_err(SandboxError::step(path.display()))?;
        sys::landlock_allow(ruleset.as_fd(), place.as_fd(), rights & handled)
            .map_err(SandboxError::step(format!("Landlock rule for {}", path.display())))
    };
    if spec.hold == Hold::Full {
        allow(Path::new("/"), handled)?;
    } else {
        allow(Path::new("/"), EXECUTE | READ_FILE | READ_DIR)?;
        allow(&spec.private_tmp, handled)?;
        for device in super::mounts::DEVICES {
            let path = Path::new("/dev").join(device);
            if path.exists() {
                allow(&path, READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV)?;
            }
        }
        for root in &spec.write {
            allow(root, handled & !IOCTL_DEV)?;
        }
    }
    sys::landlock_restrict(ruleset.as_fd()).map_err(step("it can't be put on"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_handles_writing_and_only_what_it_knows() {
        for abi in 1..=9 {
            assert_eq!(known(abi) & (WRITE_FILE | REMOVE_DIR), WRITE_FILE | REMOVE_DIR);
        }
        assert_eq!(known(1) >> 13, 0);
        assert_eq!(known(2) >> 14, 0);
        assert_eq!(known(4) >> 15, 0);
    }
}
