//! What systemd says about its units: over D-Bus, or through `systemctl` where the bus can't be reached.

mod bus;
pub(crate) mod rules;
mod systemctl;
pub(crate) mod words;

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
    "Type",
    "CanReload",
    "ConditionResult",
    "ConditionTimestamp",
    "NeedDaemonReload",
    "TimeoutStopUSec",
    "TimeoutStartUSec",
    "LastTriggerUSec",
    "NextElapseUSecRealtime",
];

/// Somebody who has asked that the host stays up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inhibitor {
    /// What is held up, with colons in between: `shutdown`, `sleep`, `idle`…
    pub(crate) what: String,
    pub(crate) who: String,
    pub(crate) why: String,
    /// `block` or `delay`.
    pub(crate) mode: String,
    pub(crate) pid: u32,
}

impl Inhibitor {
    pub(crate) fn blocks_shutdown(&self) -> bool {
        self.mode.starts_with("block") && self.what.split(':').any(|what| what == "shutdown")
    }
}

/// What can be done to a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Restart,
    Reload,
    Start,
    Stop,
}

impl Verb {
    /// As `systemctl` calls it.
    fn word(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Reload => "reload",
            Self::Start => "start",
            Self::Stop => "stop",
        }
    }
}

/// Tells when a unit may have changed.
#[derive(Debug)]
pub(crate) enum Watch {
    /// systemd says so.
    Bus(Box<zbus::MessageStream>),
    /// Without a bus nobody does: it may have changed at any time.
    Clock,
}

impl Watch {
    /// Waits until the unit may have changed.
    pub(crate) async fn changed(&mut self) {
        const LOOK_AGAIN: Duration = Duration::from_millis(500);
        match self {
            Self::Bus(stream) => {
                if futures::StreamExt::next(stream).await.is_none() {
                    *self = Self::Clock;
                }
            }
            Self::Clock => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}

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

    /// Changes a unit and waits for the end of systemd's job. Tells systemd's word for how the job ended: `done`,
    /// `failed`, `timeout`, `canceled`, `dependency`… Cancel safety: dropped, systemd goes on with the job.
    pub(crate) async fn change(&self, verb: Verb, unit: &str) -> Result<String, SkillError> {
        match self {
            Self::Bus(bus) => bus.change(verb, unit).await,
            Self::Systemctl(host) => systemctl::change(*host, verb, unit).await,
        }
    }

    /// Begins to watch a unit. What happens from then on is not missed.
    pub(crate) async fn watch(&self, unit: &str) -> Result<Watch, SkillError> {
        match self {
            Self::Bus(bus) => Ok(Watch::Bus(bus.watch(unit).await?)),
            Self::Systemctl(_) => Ok(Watch::Clock),
        }
    }

    /// Who has asked that the host is not shut down or put to sleep. Without a bus nobody can be asked.
    pub(crate) async fn inhibitors(&self) -> Result<Vec<Inhibitor>, SkillError> {
        in_time(async {
            match self {
                Self::Bus(bus) => bus.inhibitors().await,
                Self::Systemctl(_) => Ok(Vec::new()),
            }
        })
        .await
    }

    /// Begins to reboot: all units are stopped first.
    pub(crate) async fn reboot(&self) -> Result<(), SkillError> {
        in_time(async {
            match self {
                Self::Bus(bus) => bus.reboot().await,
                Self::Systemctl(host) => systemctl::reboot(*host).await,
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
