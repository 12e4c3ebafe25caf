//! What on this host belongs to the edge itself, and is closed to every skill that changes something.

use crate::DataDir;
use std::fs;
use std::path::{Path, PathBuf};

/// Where systemd looks for unit files, the host owner's own first.
const UNIT_FOLDERS: &[&str] = &[
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// The name under which the unit is shipped.
const SHIPPED_UNIT: &str = "steadyhand-edge.service";

/// What belongs to the edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnPlaces {
    /// Its files and folders.
    pub(crate) protected: Vec<PathBuf>,
    /// The unit that it runs as, if it does.
    pub(crate) unit: Option<String>,
    /// The folder for what skills keep.
    pub(crate) keep: PathBuf,
}

impl OwnPlaces {
    /// Finds them. What isn't there yet is closed as well.
    pub(crate) fn find(dir: &DataDir, config: &Path) -> Self {
        let cgroup = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let unit = unit_of(&cgroup);
        let mut protected = vec![absolute(dir.path()), absolute(config)];
        protected.extend(fs::read_link("/proc/self/exe"));
        let names = unit.as_deref().into_iter().chain([SHIPPED_UNIT]);
        for name in names {
            for folder in UNIT_FOLDERS.iter().map(Path::new) {
                protected.push(folder.join(name));
                protected.push(folder.join(format!("{name}.d")));
            }
        }
        Self { protected, unit, keep: absolute(&dir.path().join("kept")) }
    }
}

impl OwnPlaces {
    /// Closes these too: who writes a pack decides what runs.
    pub(crate) fn with(mut self, places: &[PathBuf]) -> Self {
        self.protected.extend(places.iter().map(|path| absolute(path)));
        self
    }
}

/// A path that doesn't depend on where the edge was started.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The service in a text of `/proc/self/cgroup`. A scope is no unit of ours: it is somebody's session.
fn unit_of(cgroup: &str) -> Option<String> {
    // `0::` is cgroup v2; with v1 systemd keeps a hierarchy of its own.
    let path = ["0::", "name=systemd:"]
        .into_iter()
        .find_map(|mark| cgroup.lines().find_map(|line| Some(line.split_once(mark)?.1)))?;
    path.split('/')
        .rev()
        .find(|part| part.ends_with(".service") && !part.starts_with("user@"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_unit_is_the_service_that_it_runs_in() {
        assert_eq!(
            unit_of("0::/system.slice/steadyhand-edge.service\n").as_deref(),
            Some("steadyhand-edge.service")
        );
        assert_eq!(
            unit_of("2:cpu:/\n1:name=systemd:/system.slice/x.service/y\n").as_deref(),
            Some("x.service")
        );
        assert_eq!(unit_of("0::/user.slice/user-0.slice/user@0.service/app.slice/shell.scope"), None);
        assert_eq!(unit_of("0::/\n"), None);
        assert_eq!(unit_of(""), None);
    }

    #[test]
    fn the_folders_of_packs_are_the_edge_s_own_wherever_they_are() {
        let own = OwnPlaces::find(
            &DataDir::new("/var/lib/steadyhand-edge"),
            Path::new("/etc/steadyhand/edge.toml"),
        );
        let own = own.with(&[PathBuf::from("/srv/packs")]);
        assert!(own.protected.contains(&PathBuf::from("/srv/packs")));
    }

    #[test]
    fn the_edge_s_folder_configuration_program_and_unit_are_its_own() {
        let own = OwnPlaces::find(
            &DataDir::new("/var/lib/steadyhand-edge"),
            Path::new("/etc/steadyhand/edge.toml"),
        );
        for path in [
            "/var/lib/steadyhand-edge",
            "/etc/steadyhand/edge.toml",
            "/etc/systemd/system/steadyhand-edge.service.d",
        ] {
            assert!(own.protected.contains(&path.into()), "{path}");
        }
        assert!(own.protected.contains(&std::env::current_exe().unwrap()));
        assert!(own.keep.starts_with("/var/lib/steadyhand-edge"));
    }
}
