//! systemd over D-Bus.

use super::{Properties, UnitLine, WANTED};
use crate::support::errors::{denied, failed, not_found};
use skill::{Host, SkillError};
use std::collections::HashMap;
use zbus::{Connection, OwnedObjectPath, OwnedVariant, Variant};

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
        "org.freedesktop.DBus.Error.AccessDenied" => denied(message),
        "org.freedesktop.systemd1.NoSuchUnit" => not_found(message),
        _ => failed(message),
    }
}
