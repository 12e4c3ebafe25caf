//! What the kernel offers to hold children with.

use crate::cgroup::Groups;
use crate::helper::sys;
use std::fs;

/// What the kernel offers to hold children with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offers {
    /// The version of Landlock; 0: none.
    pub landlock_abi: u32,
    /// Whether a user who isn't root may make user namespaces.
    pub user_namespaces: bool,
    /// Why children can't be counted in cgroups of version 2; `None`: they can.
    pub no_cgroups: Option<String>,
    /// Whether the agent is root.
    pub root: bool,
}

impl Offers {
    /// Looks. Where cgroups were delegated to this process, it moves to a leaf of its own.
    pub fn look() -> Self {
        Self {
            landlock_abi: sys::landlock_abi(),
            user_namespaces: may_make_user_namespaces(),
            no_cgroups: Groups::of_this_process().err(),
            root: rustix::process::geteuid().is_root(),
        }
    }

    /// One sentence for each, and whether it is as good as it can be.
    pub fn sentences(&self) -> Vec<(bool, String)> {
        let landlock = match self.landlock_abi {
            0 => (
                false,
                "the kernel has no Landlock, or it is switched off (see the `lsm=` parameter)".to_owned(),
            ),
            abi => (true, format!("Landlock version {abi}")),
        };
        let namespaces = if self.user_namespaces {
            (true, "user namespaces may be made".to_owned())
        } else {
            (
                self.root,
                "user namespaces may not be made by users who aren't root, so only an agent that is root can hold children"
                    .to_owned(),
            )
        };
        let cgroups = match &self.no_cgroups {
            None => (true, "cgroup version 2 counts memory, processes and CPU of each child".to_owned()),
            Some(why) => (
                false,
                format!("no cgroups: {why}; limits of single processes and counting them serve instead"),
            ),
        };
        vec![landlock, namespaces, cgroups]
    }
}

fn may_make_user_namespaces() -> bool {
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // Each of these is absent where it doesn't apply.
    number("/proc/sys/user/max_user_namespaces") != Some(0)
        && number("/proc/sys/kernel/unprivileged_userns_clone") != Some(0)
        && number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").is_none_or(|value| value == 0)
        && fs::metadata("/proc/self/ns/user").is_ok()
}
