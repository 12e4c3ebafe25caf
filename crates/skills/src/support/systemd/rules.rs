//! Which units may be touched.

use crate::support::errors::refused;
use skill::{ChangeRules, SkillError};

/// Units that no list opens: those that carry the host or this agent's way to it, those that end or suspend the whole
/// system (which is another skill, of another class), and those that open a shell.
const NEVER: &[&str] = &[
    "init.scope",
    "-.mount",
    "-.slice",
    "*.target",
    "*.slice",
    "*.scope",
    "*.device",
    "*.swap",
    "dbus.service",
    "dbus.socket",
    "dbus-broker.service",
    "systemd-journald.service",
    "systemd-journald*.socket",
    "systemd-reboot.service",
    "systemd-poweroff.service",
    "systemd-halt.service",
    "systemd-kexec.service",
    "systemd-exit.service",
    "systemd-soft-reboot.service",
    "systemd-suspend.service",
    "systemd-hibernate.service",
    "systemd-hybrid-sleep.service",
    "systemd-suspend-then-hibernate.service",
    "systemd-factory-reset*.service",
    "emergency.service",
    "rescue.service",
    "debug-shell.service",
    "initrd-*.service",
    "user@*.service",
];

/// Refuses a unit that may not be touched. `unit` is systemd's own name for it, aliases resolved.
pub(crate) fn check(unit: &str, rules: &ChangeRules) -> Result<(), SkillError> {
    if rules.own_unit.as_deref() == Some(unit) {
        return Err(refused(format!("`{unit}` is the agent itself; it does not touch its own unit")));
    }
    if NEVER.iter().any(|pattern| matches(pattern, unit)) {
        return Err(refused(format!(
            "`{unit}` is one of the units that carry the whole system; no skill touches it"
        )));
    }
    if rules.units.is_empty() {
        return Err(refused(
            "this host's owner allows no units to be touched (`[changes] units` in the agent's configuration is empty)",
        ));
    }
    if !rules.units.iter().any(|pattern| matches(pattern, unit)) {
        return Err(refused(format!(
            "`{unit}` is not among the units that may be touched here: {}",
            rules.units.join(", ")
        )));
    }
    Ok(())
}

/// Whether a name fits a pattern, in which `*` stands for any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name) in [
            ("*.service", "nginx.service"),
            ("nginx.service", "nginx.service"),
            ("php*-fpm.service", "php8.2-fpm.service"),
            ("getty@*.service", "getty@tty1.service"),
            ("*", "a"),
            ("a*b*c", "axxbyyc"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*.service", "nginx.service.d"),
            ("nginx", "nginx.service"),
            ("nginx.service", "anginx.service"),
            ("a*b*c", "acb"),
            ("ab*ba", "aba"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn the_agent_s_own_unit_and_the_system_s_are_refused_whatever_the_list_says() {
        let rules = ChangeRules {
            units: vec!["*".to_owned()],
            own_unit: Some("steadyhand-edge.service".to_owned()),
            ..ChangeRules::default()
        };
        assert!(check("nginx.service", &rules).is_ok());
        for unit in [
            "steadyhand-edge.service",
            "dbus.service",
            "reboot.target",
            "systemd-reboot.service",
            "systemd-journald-dev-log.socket",
            "init.scope",
            "user@0.service",
        ] {
            assert!(check(unit, &rules).is_err(), "{unit}");
        }
        let some = ChangeRules { units: vec!["app-*.service".to_owned()], ..ChangeRules::default() };
        assert!(check("app-1.service", &some).is_ok());
        assert!(check("nginx.service", &some).unwrap_err().message.contains("app-*.service"));
        assert!(check("nginx.service", &ChangeRules::default()).is_err());
    }

    proptest! {
        #[test]
        fn a_name_fits_itself_and_a_star_before_its_end(name in "[a-z.@*-]{0,20}", tail in "[a-z]{0,5}") {
            let plain = name.replace('*', "");
            prop_assert!(matches(&plain, &plain));
            let pattern = format!("*{tail}");
            let whole = format!("{plain}{tail}");
            prop_assert!(matches(&pattern, &whole));
            let _ = matches(&name, &whole);
        }
    }
}
