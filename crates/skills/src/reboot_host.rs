//! Reboots the host. Dangerous.
//!
//! The call does not end before the host does: what comes of it is told by the boot id afterwards. So the body goes on
//! waiting after the init system has taken the request, and returns only if nothing comes of it.

use crate::support::child;
use crate::support::errors::{denied, failed, invalid, unsupported};
use crate::support::machine::read;
use crate::support::systemd::{Inhibitor, Systemd};
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Prerequisite, Skill, SkillContext, SkillError, SkillErrorKind};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long the host may take to go down.
const DOWN_WITHIN: Duration = Duration::from_secs(300);

/// The least that the call must have left after the delay.
const LEAST: Duration = Duration::from_secs(10);

pub(crate) struct RebootHost;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// How many seconds to wait before the reboot. Until then the call can be stopped.
    #[serde(default)]
    #[schemars(range(min = 0, max = 3600))]
    delay_seconds: u32,
    /// Why, in words for the audit.
    #[schemars(length(min = 1, max = 500))]
    #[expect(dead_code, reason = "read by the audit, which holds the arguments")]
    reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The boot id before the reboot; a new one afterwards proves that it happened.
    boot_id: String,
}

impl Skill for RebootHost {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "reboot_host",
        name: "Reboot the host",
        description: "Reboot the host after an optional delay. Dangerous: needs a signed procedure that covers the \
                      call, and approvals by two people. Done once the host is back with a new boot id.",
        class: Class::Dangerous,
        scope: Scope::Host,
        category: "system",
        result_preview: "rebooted, new boot id 3f0c…",
        prerequisites: &[],
    };

    const SETTLES_BY_BOOT: bool = true;

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        reboot(cx, Duration::from_secs(u64::from(params.delay_seconds)), DOWN_WITHIN).await
    }
}

async fn reboot(cx: &SkillContext, delay: Duration, down_within: Duration) -> Result<Output, SkillError> {
    let host = cx.host.as_ref();
    if let Some(left) = cx.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
        && left < delay + LEAST
    {
        return Err(invalid(format!(
            "the call may take {} s, which is too short for a delay of {} s; ask for a shorter delay or a longer time",
            left.as_secs(),
            delay.as_secs()
        )));
    }
    let way = Way::find(host).await?;
    way.refuse_inhibited().await?;
    sleep(delay).await;
    // Somebody may have begun something meanwhile.
    way.refuse_inhibited().await?;
    tracing::warn!(call.id = %cx.call_id, "rebooting the host, as a call asks for");
    way.reboot().await?;
    let left = cx.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let patience =
        left.map_or(down_within, |left| down_within.min(left.saturating_sub(Duration::from_secs(1))));
    sleep(patience).await;
    Err(failed(format!(
        "the host took the request to reboot, but still runs {} s later; something holds up its shutdown",
        patience.as_secs()
    )))
}

/// How this host is rebooted.
enum Way<'a> {
    Systemd(Systemd<'a>),
    /// The program `reboot`, which speaks to the init system that there is.
    Program(&'a dyn Host),
}

impl<'a> Way<'a> {
    async fn find(host: &'a dyn Host) -> Result<Self, SkillError> {
        if host.meets(Prerequisite::Systemd) {
            return Ok(Self::Systemd(Systemd::connect(host).await?));
        }
        let first = read(host, "/proc/1/comm").unwrap_or_default();
        let first = first.trim();
        let is_init =
            ["init", "openrc-init", "runit", "s6-svscan", "busybox", "dinit", "finit"].contains(&first);
        if !is_init {
            return Err(unsupported(format!(
                "this host can't be rebooted from inside: its process 1 is `{first}`, which is no init system (a container?)"
            )));
        }
        if host.program("reboot").is_none() {
            return Err(unsupported("this host has neither systemd nor the program `reboot`"));
        }
        Ok(Self::Program(host))
    }

    /// Refuses while somebody has asked that the host stays up, for example a package upgrade.
    async fn refuse_inhibited(&self) -> Result<(), SkillError> {
        let Self::Systemd(systemd) = self else { return Ok(()) };
        let inhibitors = systemd.inhibitors().await?;
        let Some(Inhibitor { who, why, pid, .. }) = inhibitors.iter().find(|one| one.blocks_shutdown())
        else {
            return Ok(());
        };
        Err(SkillError::new(
            SkillErrorKind::Busy,
            format!(
                "`{who}` (process {pid}) has asked that the host is not shut down now: {why}; nothing was done"
            ),
        ))
    }

    async fn reboot(&self) -> Result<(), SkillError> {
        match self {
            Self::Systemd(systemd) => systemd.reboot().await,
            Self::Program(host) => {
                let mut running = child::start(*host, "reboot", &[])?;
                while running.line().await?.is_some() {}
                let ended = running.end().await?;
                match ended.code {
                    Some(0) => Ok(()),
                    _ if ended.errors.contains("ermi") => {
                        Err(denied(format!("`reboot` failed: {}", ended.errors)))
                    }
                    _ => Err(failed(format!("`reboot` failed: {}", ended.errors))),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;

    fn host() -> FakeHost {
        FakeHost::empty().with("/run/systemd/system/x", "").with_program(
            "/usr/bin/systemctl",
            "#!/bin/sh\necho \"$*\" >\"$(/usr/bin/dirname \"$0\")/asked\"\n",
        )
    }

    #[test]
    fn the_journal_may_tell_from_the_boot_whether_it_happened() {
        assert!(skill::Capability::of_skill::<RebootHost>().settles_by_boot());
    }

    #[tokio::test]
    async fn a_host_that_does_not_go_down_is_told() {
        let host = host();
        let asked = host.path("/usr/bin/asked");
        let cx = host.context();
        let error = reboot(&cx, Duration::ZERO, Duration::from_millis(50)).await.unwrap_err();
        assert!(error.message.contains("still runs"), "{error}");
        assert!(std::fs::read_to_string(asked).unwrap().contains("reboot"));
    }

    #[tokio::test]
    async fn a_call_that_is_stopped_during_the_delay_reboots_nothing() {
        let host = host();
        let asked = host.path("/usr/bin/asked");
        let cx = host.context();
        let call = reboot(&cx, Duration::from_secs(3600), DOWN_WITHIN);
        assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
        assert!(!asked.exists());
    }

    #[tokio::test]
    async fn a_delay_that_outlasts_the_call_is_invalid() {
        let mut cx = host().context();
        cx.deadline = Some(Instant::now() + Duration::from_secs(60));
        let error = reboot(&cx, Duration::from_secs(55), DOWN_WITHIN).await.unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Invalid);
    }

    #[tokio::test]
    async fn a_container_can_not_be_rebooted() {
        let cx = FakeHost::empty().with("/proc/1/comm", "nginx\n").context();
        let error = reboot(&cx, Duration::ZERO, DOWN_WITHIN).await.unwrap_err();
        assert!(error.kind == SkillErrorKind::Unsupported && error.message.contains("`nginx`"), "{error}");
    }

    #[tokio::test]
    async fn another_init_system_is_asked_with_its_program() {
        let host = FakeHost::empty()
            .with("/proc/1/comm", "openrc-init\n")
            .with_program("/sbin/reboot", "#!/bin/sh\necho no >&2; exit 1\n");
        let error = reboot(&host.context(), Duration::ZERO, DOWN_WITHIN).await.unwrap_err();
        assert!(error.message.contains("`reboot` failed: no"), "{error}");
    }
}
