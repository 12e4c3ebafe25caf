//! What is known about the host itself without asking anything that could block.

use skill::Host;
use std::fs;

/// Facts that don't change while the edge runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostFacts {
    pub(crate) hostname: String,
    pub(crate) os: String,
    pub(crate) kernel: String,
    pub(crate) arch: String,
    pub(crate) boot_id: String,
}

impl HostFacts {
    pub(crate) fn read(host: &dyn Host) -> Self {
        let uname = rustix::system::uname();
        let text = |path: &str| fs::read_to_string(host.path(path)).unwrap_or_default();
        Self {
            hostname: uname.nodename().to_string_lossy().into_owned(),
            os: os_name(&text("/etc/os-release")),
            kernel: uname.release().to_string_lossy().into_owned(),
            arch: uname.machine().to_string_lossy().into_owned(),
            boot_id: boot_id(host),
        }
    }
}

/// The id of the host's boot; another one after each start.
pub(crate) fn boot_id(host: &dyn Host) -> String {
    let text = fs::read_to_string(host.path("/proc/sys/kernel/random/boot_id"));
    text.unwrap_or_default().trim().to_owned()
}

/// The `PRETTY_NAME` of an os-release file.
fn os_name(os_release: &str) -> String {
    os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map_or_else(|| "Linux".to_owned(), |name| name.trim().trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_system_is_read_with_and_without_quotes() {
        assert_eq!(
            os_name("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)"
        );
        assert_eq!(os_name("PRETTY_NAME=Alpine\n"), "Alpine");
        assert_eq!(os_name(""), "Linux");
    }
}
