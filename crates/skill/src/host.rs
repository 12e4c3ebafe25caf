//! The machine, as skills see it: where its root is, what time it is, and which files and addresses are open to
//! skills. Rules are data here; the code that applies them is beside the skills.

use crate::Prerequisite;
use model::{Clock, SystemClock, Timestamp};
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Where programs are looked for. Skills never use the agent's own `PATH`.
pub const PROGRAM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The machine, as skills see it. Tests give a fake: a fixture tree as root.
pub trait Host: Send + Sync + fmt::Debug {
    /// Directory that stands for `/`: `/` on a real host, a fixture tree in tests.
    fn root(&self) -> &Path;

    /// The wall clock.
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// Which files may be read.
    fn file_rules(&self) -> &FileRules {
        const EVERYWHERE: &FileRules = &FileRules { roots: Vec::new(), denied: Vec::new() };
        EVERYWHERE
    }

    /// Which addresses may be probed.
    fn address_rules(&self) -> &AddressRules {
        const ALL: &AddressRules = &AddressRules {
            allowed: Vec::new(),
            denied: Vec::new(),
            own_ports: Vec::new(),
            own_endpoints: Vec::new(),
        };
        ALL
    }

    /// What may be changed.
    fn change_rules(&self) -> &ChangeRules {
        const NOTHING: &ChangeRules = &ChangeRules {
            write_roots: Vec::new(),
            protected: Vec::new(),
            units: Vec::new(),
            own_unit: None,
            keep: None,
        };
        NOTHING
    }

    /// The place of an absolute path below [`Host::root`].
    fn path(&self, absolute: &str) -> PathBuf {
        self.root().join(absolute.trim_start_matches('/'))
    }

    /// Finds an executable on [`PROGRAM_PATH`].
    fn program(&self, name: &str) -> Option<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        PROGRAM_PATH.split(':').map(|folder| self.path(folder).join(name)).find(|candidate| {
            std::fs::metadata(candidate)
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
    }

    /// Whether the host has what a skill needs.
    fn meets(&self, need: Prerequisite) -> bool {
        match need {
            Prerequisite::Binary(name) => self.program(name).is_some(),
            Prerequisite::Path(path) => self.path(path).exists(),
            Prerequisite::Systemd => self.path("/run/systemd/system").is_dir(),
            Prerequisite::Journal => {
                self.program("journalctl").is_some()
                    && (self.path("/var/log/journal").is_dir() || self.path("/run/log/journal").is_dir())
            }
        }
    }
}

/// Which files skills may read, beyond the built-in list of secrets, which always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRules {
    /// Only files below these may be read. Empty: everywhere.
    pub roots: Vec<PathBuf>,
    /// Nothing at or below these may be read, for example the agent's own keys.
    pub denied: Vec<PathBuf>,
}

/// What skills that change something may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeRules {
    /// Only below these may files be written or removed. Empty: nowhere.
    pub write_roots: Vec<PathBuf>,
    /// Nothing at or below these may be changed, whatever the roots: the agent's binary, configuration, keys, journal,
    /// packs and unit.
    pub protected: Vec<PathBuf>,
    /// Units that may be restarted, as names or with `*`. Empty: none.
    pub units: Vec<String>,
    /// The agent's own unit, which it never touches.
    pub own_unit: Option<String>,
    /// Folder of the agent for what skills keep: old versions of files, captures. `None`: nothing can be kept.
    pub keep: Option<PathBuf>,
}

/// Which addresses skills may talk to, beyond the built-in list of metadata services, which always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// Only these may be probed. Empty: all.
    pub allowed: Vec<Network>,
    /// These may not be probed. Wins over `allowed`.
    pub denied: Vec<Network>,
    /// The product's own ports: refused on this host's own addresses.
    pub own_ports: Vec<u16>,
    /// The product's own endpoints elsewhere (the manager): host name or address, and port.
    pub own_endpoints: Vec<(String, u16)>,
}

/// An address range such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Any address in the range.
    pub address: IpAddr,
    /// How many leading bits count.
    pub prefix: u8,
}

/// A text that is not an address range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address or a range such as 10.0.0.0/8 or fd00::/8")]
pub struct InvalidNetwork(pub String);

impl Network {
    /// Whether `address` lies in the range. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let shift = 32u32.saturating_sub(u32::from(self.prefix));
                u32::from(own).checked_shr(shift) == u32::from(other).checked_shr(shift)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let shift = 128u32.saturating_sub(u32::from(self.prefix));
                u128::from(own).checked_shr(shift) == u128::from(other).checked_shr(shift)
            }
            _ => false,
        }
    }
}

impl std::str::FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let invalid = || InvalidNetwork(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u8>().map_err(|_| invalid())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(most);
        if prefix > most {
            return Err(invalid());
        }
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_what_shares_its_leading_bits() {
        let ten: Network = "10.0.0.0/8".parse().unwrap();
        assert!(ten.contains("10.255.0.1".parse().unwrap()));
        assert!(ten.contains("::ffff:10.1.2.3".parse().unwrap()));
        assert!(!ten.contains("11.0.0.1".parse().unwrap()));
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("203.0.113.9".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
        let six: Network = "fd00::/8".parse().unwrap();
        assert!(six.contains("fdff::1".parse().unwrap()) && !six.contains("fe80::1".parse().unwrap()));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "10.0.0.0/33", "x/8", "10.0.0.0/-1", "::/129"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
