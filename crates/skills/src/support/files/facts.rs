//! Owners by name. Read from the host's own files: a static binary has no name service.

use skill::Host;
use std::collections::HashMap;

/// Names of users or groups by id.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<u32, String>);

impl Names {
    pub(crate) fn users(host: &dyn Host) -> Self {
        Self::read(host, "/etc/passwd")
    }

    pub(crate) fn groups(host: &dyn Host) -> Self {
        Self::read(host, "/etc/group")
    }

    fn read(host: &dyn Host, path: &str) -> Self {
        let text = std::fs::read(host.path(path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut names = HashMap::new();
        for line in text.lines() {
            let mut fields = line.split(':');
            if let (Some(name), Some(Ok(id))) = (fields.next(), fields.nth(1).map(str::parse)) {
                names.entry(id).or_insert_with(|| name.to_owned());
            }
        }
        Self(names)
    }

    /// The name, or the number where there is none.
    pub(crate) fn of(&self, id: u32) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// The id of a name.
    pub(crate) fn id(&self, name: &str) -> Option<u32> {
        self.0.iter().find(|(_, known)| *known == name).map(|(id, _)| *id)
    }
}
