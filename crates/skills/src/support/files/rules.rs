//! Which paths may be read: never a secret ([`skill::secrets`]), and only what the configuration opens.

use crate::support::errors::refused;
use skill::{FileRules, SkillError, secrets};
use std::path::{Component, Path, PathBuf};

/// Checks a path: absolute, without links and `..`.
pub(crate) fn check(path: &Path, rules: &FileRules) -> Result<(), SkillError> {
    let shown = path.display();
    if rules.denied.iter().any(|denied| path.starts_with(denied)) {
        return Err(refused(format!("`{shown}` is closed by this host's configuration")));
    }
    if let Some(reason) = secrets::reason(path) {
        return Err(refused(format!("`{shown}` may not be read: {reason}")));
    }
    if !rules.roots.is_empty() && !rules.roots.iter().any(|root| path.starts_with(root)) {
        let roots: Vec<String> = rules.roots.iter().map(|root| root.display().to_string()).collect();
        return Err(refused(format!("`{shown}` is outside of what may be read here: {}", roots.join(", "))));
    }
    Ok(())
}

/// Takes `.` and `..` out of an absolute path without looking at the disk.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(part) => plain.push(part),
            Component::ParentDir => {
                plain.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_closed_places_come_from_the_configuration() {
        let rules = FileRules { roots: vec!["/var/log".into()], denied: vec!["/var/log/private".into()] };
        assert!(check(Path::new("/var/log/syslog"), &rules).is_ok());
        assert!(check(Path::new("/var/logs"), &rules).is_err());
        assert!(check(Path::new("/var/log/private/x"), &rules).is_err());
        assert!(check(Path::new("/etc/hosts"), &rules).is_err());
    }

    #[test]
    fn dots_are_taken_out() {
        assert_eq!(normalise(Path::new("/a/./b/../c/../../../d")), Path::new("/d"));
    }
}
