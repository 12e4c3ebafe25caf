//! systemd over D-Bus.

use super::{Inhibitor, Properties, UnitLine, Verb, WANTED};
use crate::support::errors::{denied, failed, not_found, refused};
use futures::StreamExt;
use skill::{Host, SkillError};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use zbus::{Connection, MatchRule, MessageStream, OwnedObjectPath, OwnedVariant, Variant};

const SYSTEMD: &str = "org.freedesktop.systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// A connection to the system bus.
#[derive(Debug)]
pub(crate) struct Bus {
    connection: Connection,
}

/// One entry of `ListUnits`: name, description, load, active and sub state, follower, path, job, its type and path.
type ListedUnit =
    (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);

impl Bus {
    pub(crate) async fn connect(host: &dyn Host) -> zbus::Result<Self> {
        let socket = host.path("/run/dbus/system_bus_socket");
        let address = format!("unix:path={}", socket.display());
        let connection = zbus::connection::Builder::address(address.as_str()).build().await?;
        Ok(Self { connection })
    }

    pub(crate) async fn units(&self) -> Result<Vec<UnitLine>, SkillError> {
        let reply = self
            .connection
            .call_method(Some(SYSTEMD), MANAGER_PATH, Some(MANAGER), "ListUnits", &())
            .await
            .map_err(|error| explain("list the units", &error))?;
        let units: Vec<ListedUnit> =
            reply.body().deserialize().map_err(|error| explain("read the list of units", &error))?;
        let line = |(name, description, load, active, sub, ..): ListedUnit| UnitLine {
            name,
            description,
            load,
            active,
            sub,
        };
        Ok(units.into_iter().map(line).collect())
    }

    pub(crate) async fn properties(&self, unit: &str) -> Result<Properties, SkillError> {
        let what = format!("ask for `{unit}`");
        let reply = self
            .connection
            .call_method(Some(SYSTEMD), MANAGER_PATH, Some(MANAGER), "LoadUnit", &(unit,))
            .await
            .map_err(|error| explain(&what, &error))?;
        let path: OwnedObjectPath = reply.body().deserialize().map_err(|error| explain(&what, &error))?;
        // The empty interface name asks for the properties of all interfaces of the unit.
        let reply = self
            .connection
            .call_method(Some(SYSTEMD), path.as_ref(), Some(PROPERTIES), "GetAll", &("",))
            .await
            .map_err(|error| explain(&what, &error))?;
        let all: HashMap<String, OwnedVariant> =
            reply.body().deserialize().map_err(|error| explain(&what, &error))?;
        Ok(all
            .into_iter()
            .filter(|(name, _)| WANTED.contains(&name.as_str()))
            .filter_map(|(name, value)| Some((name, text_of(&value)?)))
            .collect())
    }

    /// Queues a job and waits for its end.
    pub(crate) async fn change(&self, verb: Verb, unit: &str) -> Result<String, SkillError> {
        let what = format!("{} `{unit}`", verb.word());
        let rule = MatchRule::builder()
            .msg_type(zbus::message::Type::Signal)
            .sender(SYSTEMD)
            .interface(MANAGER)
            .member("JobRemoved")
            .path(MANAGER_PATH)
            .build();
        let explained = |error: zbus::Error| explain(&what, &error);
        // Before the job is queued: it may end before the answer to the request is here.
        let mut removed = self.signals(rule.map_err(explained)?).await.map_err(explained)?;
        let method = match verb {
            Verb::Restart => "RestartUnit",
            Verb::Reload => "ReloadUnit",
            Verb::Start => "StartUnit",
            Verb::Stop => "StopUnit",
        };
        let reply = self
            .connection
            .call_method(Some(SYSTEMD), MANAGER_PATH, Some(MANAGER), method, &(unit, "replace"))
            .await
            .map_err(explained)?;
        let job: OwnedObjectPath = reply.body().deserialize().map_err(explained)?;
        while let Some(message) = removed.next().await {
            let message = message.map_err(explained)?;
            let (_, path, _, result): (u32, OwnedObjectPath, String, String) =
                message.body().deserialize().map_err(explained)?;
            if path == job {
                return Ok(result);
            }
        }
        Err(failed(format!("could not wait for systemd to {what}: the bus went away")))
    }

    /// The unit's changes from now on.
    pub(crate) async fn watch(&self, unit: &str) -> Result<Box<MessageStream>, SkillError> {
        let what = format!("watch `{unit}`");
        let explained = |error: zbus::Error| explain(&what, &error);
        let reply = self
            .connection
            .call_method(Some(SYSTEMD), MANAGER_PATH, Some(MANAGER), "LoadUnit", &(unit,))
            .await
            .map_err(explained)?;
        let path: OwnedObjectPath = reply.body().deserialize().map_err(explained)?;
        let rule = MatchRule::builder()
            .msg_type(zbus::message::Type::Signal)
            .sender(SYSTEMD)
            .interface(PROPERTIES)
            .member("PropertiesChanged")
            .path(path.as_str().to_owned())
            .build();
        Ok(Box::new(self.signals(rule.map_err(explained)?).await.map_err(explained)?))
    }

    /// Signals of systemd, which it sends only once somebody has said that they are wanted.
    async fn signals(&self, rule: MatchRule<'_>) -> zbus::Result<MessageStream> {
        const QUEUE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);
        let stream = MessageStream::for_match_rule(rule, &self.connection, Some(QUEUE)).await?;
        let asked =
            self.connection.call_method(Some(SYSTEMD), MANAGER_PATH, Some(MANAGER), "Subscribe", &()).await;
        match asked {
            // A second subscription is an error, and as good.
            Ok(_) | Err(zbus::Error::MethodError(..)) => Ok(stream),
            Err(error) => Err(error),
        }
    }

    /// Who holds up a shutdown. A host without logind has nobody who could.
    pub(crate) async fn inhibitors(&self) -> Result<Vec<Inhibitor>, SkillError> {
        const LOGIND: &str = "org.freedesktop.login1";
        let asked = self
            .connection
            .call_method(
                Some(LOGIND),
                "/org/freedesktop/login1",
                Some("org.freedesktop.login1.Manager"),
                "ListInhibitors",
                &(),
            )
            .await;
        let Ok(reply) = asked else { return Ok(Vec::new()) };
        let listed: Vec<(String, String, String, String, u32, u32)> =
            reply.body().deserialize().map_err(|error| explain("read who holds up a shutdown", &error))?;
        let inhibitor = |(what, who, why, mode, _, pid)| Inhibitor { what, who, why, mode, pid };
        Ok(listed.into_iter().map(inhibitor).collect())
    }

    pub(crate) async fn reboot(&self) -> Result<(), SkillError> {
        let arguments = ("reboot.target", "replace-irreversibly");
        self.connection
            .call_method(Some(SYSTEMD), MANAGER_PATH, Some(MANAGER), "StartUnit", &arguments)
            .await
            .map_err(|error| explain("reboot", &error))?;
        Ok(())
    }

    pub(crate) async fn system_state(&self) -> Result<String, SkillError> {
        let reply = self
            .connection
            .call_method(Some(SYSTEMD), MANAGER_PATH, Some(PROPERTIES), "Get", &(MANAGER, "SystemState"))
            .await
            .map_err(|error| explain("ask for the state of the system", &error))?;
        let state: OwnedVariant =
            reply.body().deserialize().map_err(|error| explain("read the state of the system", &error))?;
        Ok(text_of(&state).unwrap_or_default())
    }
}

fn text_of(value: &Variant<'_>) -> Option<String> {
    match value {
        Variant::Str(text) => Some(text.to_string()),
        Variant::Bool(value) => Some(value.to_string()),
        Variant::I32(value) => Some(value.to_string()),
        Variant::U32(value) => Some(value.to_string()),
        Variant::I64(value) => Some(value.to_string()),
        Variant::U64(value) => Some(value.to_string()),
        Variant::Variant(inner) => text_of(inner),
        _ => None,
    }
}

fn explain(what: &str, error: &zbus::Error) -> SkillError {
    let name = match error {
        zbus::Error::MethodError(name, ..) => name.as_str(),
        zbus::Error::FDO(inner) => match inner.as_ref() {
            zbus::fdo::Error::AccessDenied(_) => "org.freedesktop.DBus.Error.AccessDenied",
            _ => "",
        },
        _ => "",
    };
    let message = format!("could not {what} over D-Bus: {error}");
    match name {
        "org.freedesktop.DBus.Error.AccessDenied"
        | "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired" => denied(message),
        "org.freedesktop.systemd1.UnitMasked" => refused(message),
        "org.freedesktop.systemd1.OnlyByDependency" => refused(message),
        "org.freedesktop.systemd1.NoSuchUnit" => not_found(message),
        _ => failed(message),
    }
}
