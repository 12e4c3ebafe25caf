//! Control groups (version 2), where the agent was given a part of the tree to manage. A child gets a group of its own,
//! in which the kernel counts it together with all that it starts.

use crate::SandboxError;
use crate::config::Resources;
use crate::spec::HeldLimits;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The group that the agent itself moves to, as processes may be in leaves only.
const AGENT: &str = "agent";

/// What is needed of the kernel's controllers.
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];

/// The part of the tree that children's groups are made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    base: PathBuf,
}

impl Groups {
    /// Takes the part of the tree that was delegated to the agent.
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub(crate) fn of_this_process() -> Result<Self, String> {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let base = own_group(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)?;
        let delegated = ["trusted.delegate", "user.delegate"].iter().any(|name| {
            let mut value = [0; 1];
            matches!(rustix::fs::getxattr(&base, *name, &mut value), Ok(1)) && value == *b"1"
        });
        if !delegated {
            return Err(format!(
                "{} is not delegated to the agent (set `Delegate=yes` in its unit)",
                base.display()
            ));
        }
        Self::adopt(base)
    }

    /// Prepares a group that the agent is in: itself to a leaf, the controllers handed on.
    fn adopt(base: PathBuf) -> Result<Self, String> {
        let told = |path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| format!("{path}: {error}")
        };
        let controllers = base.join("cgroup.controllers");
        let offered = fs::read_to_string(&controllers).map_err(told(&controllers))?;
        for wanted in CONTROLLERS {
            if !offered.split_whitespace().any(|controller| controller == wanted) {
                return Err(format!("{} lacks the controller `{wanted}`", base.display()));
            }
        }
        let agent = base.join(AGENT);
        match fs::create_dir(&agent) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(told(&agent)(error)),
            _ => {}
        }
        let procs = base.join("cgroup.procs");
        let inside = fs::read_to_string(&procs).map_err(told(&procs))?;
        let target = agent.join("cgroup.procs");
        for pid in inside.split_whitespace() {
            fs::write(&target, pid).map_err(told(&target))?;
        }
        let handed_on = base.join("cgroup.subtree_control");
        let wanted: Vec<String> = CONTROLLERS.iter().map(|name| format!("+{name}")).collect();
        fs::write(&handed_on, wanted.join(" ")).map_err(told(&handed_on))?;
        Ok(Self { base })
    }

    /// Makes a group with limits.
    pub(crate) fn create(
        &self,
        name: &str,
        limits: &HeldLimits,
        resources: &Resources,
    ) -> Result<Group, SandboxError> {
        self.sweep();
        let path = self.base.join(name);
        fs::create_dir(&path).map_err(SandboxError::step(path.display()))?;
        let group = Group { path };
        group.set("memory.max", &limits.memory_bytes.to_string())?;
        group.set("memory.oom.group", "1")?;
        group.set("pids.max", &limits.pids.to_string())?;
        group.set("cpu.max", &format!("{} 100000", u64::from(resources.max_cpu_percent.max(1)) * 1000))?;
        if group.path.join("memory.swap.max").exists() {
            group.set("memory.swap.max", "0")?;
        }
        Ok(group)
    }

    /// Removes groups of children whose last process ended after they were let go of.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.base).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("steadyhand-") {
                // Those in use refuse.
                let _in_use = fs::remove_dir(entry.path());
            }
        }
    }
}

/// One child's group. Dropped, everything in it is killed.
#[derive(Debug)]
pub(crate) struct Group {
    path: PathBuf,
}

impl Group {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn set(&self, file: &str, value: &str) -> Result<(), SandboxError> {
        let path = self.path.join(file);
        fs::write(&path, value).map_err(SandboxError::step(path.display()))
    }

    /// Whether the kernel killed something for its memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        events
            .lines()
            .filter_map(|line| line.strip_prefix("oom_kill "))
            .any(|count| count.trim().parse::<u64>().is_ok_and(|count| count > 0))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The helper has ended everything by now, or the agent let go of it and this ends it sooner.
        let kill = self.path.join("cgroup.kill");
        if kill.exists() {
            let _gone = fs::write(kill, "1");
        }
        let _later = fs::remove_dir(&self.path);
    }
}

/// Where in the file system the group is that a process is in.
fn own_group(cgroup: &str, mountinfo: &str) -> Result<PathBuf, String> {
    let own = cgroup
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .ok_or("this kernel runs without cgroup version 2")?;
    // Fields of mountinfo: id, parent, device, root, mount point, options, optional fields, `-`, type, …
    let mount_point = mountinfo
        .lines()
        .filter_map(|line| {
            let (place, kind) = line.split_once(" - ")?;
            let mut fields = place.split(' ').skip(3);
            let (root, mount_point) = (fields.next()?, fields.next()?);
            (kind.split(' ').next() == Some("cgroup2") && root == "/").then_some(mount_point)
        })
        .next()
        .ok_or("cgroup version 2 is not mounted")?;
    let own = own.strip_suffix(AGENT).map_or(own, |base| base.trim_end_matches('/'));
    Ok(Path::new(mount_point).join(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const LIMITS: HeldLimits =
        HeldLimits { cpu_seconds: 9, memory_bytes: 1 << 20, pids: 7, open_files: 5, file_bytes: 3 };

    /// A tree as the kernel shows it to a unit with `Delegate=yes`, whose only process is 42.
    fn delegated(controllers: &str) -> TempDir {
        let tree = tempfile::tempdir().unwrap();
        for (file, text) in
            [("cgroup.controllers", controllers), ("cgroup.procs", "42\n"), ("cgroup.subtree_control", "")]
        {
            fs::write(tree.path().join(file), text).unwrap();
        }
        tree
    }

    #[test]
    fn the_agent_moves_to_a_leaf_and_hands_the_controllers_on() {
        let tree = delegated("cpuset cpu io memory pids\n");
        Groups::adopt(tree.path().to_owned()).unwrap();
        let read = |file: &str| fs::read_to_string(tree.path().join(file)).unwrap();
        assert_eq!(read("agent/cgroup.procs"), "42");
        assert_eq!(read("cgroup.subtree_control"), "+memory +pids +cpu");
    }

    #[test]
    fn a_missing_controller_is_named() {
        let tree = delegated("cpu pids");
        let problem = Groups::adopt(tree.path().to_owned()).unwrap_err();
        assert!(problem.ends_with("lacks the controller `memory`"), "{problem}");
    }

    #[test]
    fn a_child_gets_its_limits_and_running_out_of_memory_is_seen() {
        let tree = delegated("cpu memory pids");
        let groups = Groups::adopt(tree.path().to_owned()).unwrap();
        let group = groups.create("steadyhand-x", &LIMITS, &Resources::default()).unwrap();
        let read = |file: &str| fs::read_to_string(group.path().join(file)).unwrap();
        assert_eq!(read("memory.max"), "1048576");
        assert_eq!(read("pids.max"), "7");
        assert_eq!(read("cpu.max"), "80000 100000");
        assert!(!group.ran_out_of_memory());
        fs::write(group.path().join("memory.events"), "low 0\noom 1\noom_kill 2\n").unwrap();
        assert!(group.ran_out_of_memory());
    }

    #[test]
    fn a_group_that_is_let_go_of_is_killed() {
        let tree = delegated("cpu memory pids");
        let groups = Groups::adopt(tree.path().to_owned()).unwrap();
        let group = groups.create("steadyhand-x", &LIMITS, &Resources::default()).unwrap();
        let kill = group.path().join("cgroup.kill");
        fs::write(&kill, "").unwrap();
        drop(group);
        assert_eq!(fs::read_to_string(kill).unwrap(), "1");
    }

    #[test]
    fn the_own_group_is_found_where_version_2_is_mounted() {
        let mounts = "30 1 0:25 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n";
        for own in ["0::/system.slice/edge.service", "0::/system.slice/edge.service/agent"] {
            assert_eq!(own_group(own, mounts), Ok(PathBuf::from("/sys/fs/cgroup/system.slice/edge.service")));
        }
        assert!(own_group("4:memory:/", mounts).is_err());
        assert!(own_group("0::/", "30 1 0:25 / /proc rw - proc proc rw").is_err());
    }
}
