//! What systemd says about its units: over D-Bus, or through `systemctl` where the bus can't be reached.

mod bus;
mod systemctl;

use crate::support::errors::failed;
use skill::{Host, SkillError};
use std::collections::HashMap;
use std::time::Duration;

/// How long systemd may take for one answer.
const WITHIN: Duration = Duration::from_secs(20);

/// One line of the list of units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitLine {
    pub(crate) name: String,
    pub(crate) description: String,
    /// `loaded`, `not-found`, `masked`…
    pub(crate) load: String,
    /// `active`, `failed`, `inactive`…
    pub(crate) active: String,
    /// `running`, `dead`, `exited`…
    pub(crate) sub: String,
}

/// Properties of one unit as text, under systemd's names.
pub(crate) type Properties = HashMap<String, String>;

/// The properties that are asked for.
const WANTED: &[&str] = &[
    "Id",
    "Description",
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "FragmentPath",
    "StateChangeTimestamp",
    "Result",
    "NRestarts",
    "MainPID",
    "ExecMainCode",
    "ExecMainStatus",
    "MemoryCurrent",
    "CPUUsageNSec",
    "TasksCurrent",
    "StatusText",
    "LastTriggerUSec",
    "NextElapseUSecRealtime",
];

/// A way to systemd.
#[derive(Debug)]
pub(crate) enum Systemd<'a> {
    Bus(bus::Bus),
    Systemctl(&'a dyn Host),
}

impl<'a> Systemd<'a> {
    /// Finds a way.
    pub(crate) async fn connect(host: &'a dyn Host) -> Result<Systemd<'a>, SkillError> {
        match tokio::time::timeout(WITHIN, bus::Bus::connect(host)).await {
            Ok(Ok(bus)) => Ok(Self::Bus(bus)),
            Ok(Err(error)) if host.program("systemctl").is_none() => {
                Err(failed(format!("systemd's bus can't be reached ({error}), and there is no `systemctl`")))
            }
            Err(_) if host.program("systemctl").is_none() => {
                Err(failed("systemd's bus doesn't answer, and there is no `systemctl`"))
            }
            Ok(Err(_)) | Err(_) => Ok(Self::Systemctl(host)),
        }
    }

    /// Every unit that is loaded.
    pub(crate) async fn units(&self) -> Result<Vec<UnitLine>, SkillError> {
        in_time(async {
            match self {
                Self::Bus(bus) => bus.units().await,
                Self::Systemctl(host) => systemctl::units(*host).await,
            }
        })
        .await
    }

    /// Properties of one unit, which need not be loaded. A unit that doesn't exist has `LoadState=not-found`.
    pub(crate) async fn properties(&self, unit: &str) -> Result<Properties, SkillError> {
        in_time(async {
            match self {
                Self::Bus(bus) => bus.properties(unit).await,
                Self::Systemctl(host) => systemctl::properties(*host, unit).await,
            }
        })
        .await
    }

    /// `running`, `degraded`, `starting`…
    pub(crate) async fn system_state(&self) -> Result<String, SkillError> {
        in_time(async {
            match self {
                Self::Bus(bus) => bus.system_state().await,
                Self::Systemctl(host) => systemctl::system_state(*host).await,
            }
        })
        .await
    }

    /// What answered, for the notes.
    pub(crate) fn way(&self) -> &'static str {
        match self {
            Self::Bus(_) => "d-bus",
            Self::Systemctl(_) => "systemctl",
        }
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, SkillError>>) -> Result<T, SkillError> {
    tokio::time::timeout(WITHIN, work)
        .await
        .unwrap_or_else(|_| Err(crate::support::errors::timed_out("systemd didn't answer in time")))
}

/// The full name of a unit: `nginx` is `nginx.service`.
pub(crate) fn full_name(name: &str) -> String {
    const KINDS: &[&str] = &[
        ".service",
        ".socket",
        ".timer",
        ".mount",
        ".automount",
        ".target",
        ".path",
        ".slice",
        ".scope",
        ".swap",
        ".device",
    ];
    if KINDS.iter().any(|kind| name.ends_with(kind)) { name.to_owned() } else { format!("{name}.service") }
}

/// Whether systemd would take this as the name of a unit.
pub(crate) fn is_legal_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 255
        && !name.starts_with('-')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_a_service() {
        assert_eq!(full_name("nginx"), "nginx.service");
        assert_eq!(full_name("backup.timer"), "backup.timer");
        assert_eq!(full_name("getty@tty1"), "getty@tty1.service");
        assert_eq!(full_name("php8.2-fpm"), "php8.2-fpm.service");
    }

    #[test]
    fn names_with_blanks_paths_or_options_are_illegal() {
        for name in ["", "a b", "../x", "/etc/x", "--now", "a;b", "ä"] {
            assert!(!is_legal_name(name), "{name}");
        }
        assert!(is_legal_name(r"dev-disk-by\x2duuid-1.device"));
    }
}
