//! The last steps of a child, in its own process: from the agent's rights to what its profile leaves, then the program.

use super::{landlock, seccomp, sys};
use crate::SandboxError;
use crate::spec::{By, HeldLimits, Hold, Spec};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Becomes the program. Returns only if that fails; then nothing of it ran.
pub(crate) fn become_program(spec: &Spec) -> Result<Infallible, SandboxError> {
    let user = match &spec.identity {
        Some(identity) => Some(identity.uid),
        // A user namespace counts its own only.
        None if spec.user_namespace => None,
        None => Some(rustix::process::geteuid().as_raw()),
    };
    set_limits(&spec.limits, user)?;
    let cwd = spec.cwd.as_ref().unwrap_or(&spec.private_tmp);
    drop_rights(spec)?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(SandboxError::step("no_new_privs"))?;
    std::env::set_current_dir(cwd)
        .map_err(SandboxError::step(format!("the working directory {}", cwd.display())))?;
    if spec.by == By::Landlock {
        landlock::restrict(spec)?;
    }
    // Whoever is left when the helper ends is ended by the kernel. Set here, as a change of user clears it.
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as _)
        .map_err(SandboxError::step("the end with the helper"))?;
    if spec.hold != Hold::Full {
        seccomp::restrict(spec)?;
    }
    if spec.probe {
        // Not by executing the agent again: its binary may be where only root gets to, such as below /root.
        std::process::exit(super::probe::run().into());
    }
    let environment = spec.env.iter().map(|(name, value)| (name, value));
    let error = Command::new(&spec.program).args(&spec.args).env_clear().envs(environment).exec();
    Err(SandboxError::step(spec.program.display())(error))
}

/// Gives up the user, the groups and the capabilities that the profile doesn't leave.
fn drop_rights(spec: &Spec) -> Result<(), SandboxError> {
    let Some(kept) = spec.capabilities else { return Ok(()) };
    let step = SandboxError::step("capabilities can't be dropped");
    // Without any, others can't be taken from the bounding set, and can't be gained either.
    let none = fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line == "CapPrm:\t0000000000000000"));
    for capability in (0..if none { 0 } else { 64 }).filter(|number| kept & (1 << number) == 0) {
        if sys::in_bounding_set(capability) {
            sys::prctl(libc::PR_CAPBSET_DROP, capability.into())
                .map_err(SandboxError::step("the capability bounding set can't be emptied"))?;
        }
    }
    if let Some(identity) = &spec.identity {
        sys::set_identity(identity.uid, identity.gid, &identity.groups)
            .map_err(SandboxError::step(format!("the user {} can't be taken", identity.uid)))?;
    }
    sys::clear_ambient().map_err(SandboxError::step("ambient capabilities can't be cleared"))?;
    sys::set_capabilities(kept).map_err(step)
}

/// Sets the limits that each process has, whether or not a cgroup counts them together.
fn set_limits(limits: &HeldLimits, user: Option<u32>) -> Result<(), SandboxError> {
    // The kernel counts processes per user over the whole machine, so those that are there come on top.
    let pids = limits.pids + user.map_or(0, tasks_of);
    for (resource, value) in [
        (Resource::Data, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, pids),
        (Resource::Stack, 8 * 1024 * 1024),
        (Resource::Memlock, 1024 * 1024),
        (Resource::Msgqueue, 0),
        (Resource::Rtprio, 0),
        (Resource::Core, 0),
    ] {
        limit(resource, value, value)?;
    }
    // The signal of the first says what it is about; the second can't be caught.
    limit(Resource::Cpu, limits.cpu_seconds, limits.cpu_seconds + 1)
}

fn limit(resource: Resource, soft: u64, hard: u64) -> Result<(), SandboxError> {
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(soft.min(most)), maximum: Some(hard.min(most)) };
    setrlimit(resource, limit)
        .map_err(|error| SandboxError::step(format!("the limit {resource:?}"))(error.into()))
}

/// How many processes and threads a user has.
fn tasks_of(user: u32) -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| entry.metadata().is_ok_and(|meta| meta.uid() == user))
        .filter_map(|entry| fs::metadata(entry.path().join("task")).ok())
        .map(|tasks| tasks.nlink().saturating_sub(2))
        .sum()
}
