//! What git is told so that it starts nothing that a repository names: no hook, filter, pager, editor, helper.

/// Settings that hold for every call.
const ALWAYS: &[(&str, &str)] = &[
    ("advice.detachedHead", "false"),
    ("color.ui", "false"),
    ("commit.gpgSign", "false"),
    ("core.alternateRefsCommand", ""),
    ("core.askPass", "false"),
    ("core.editor", "false"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("core.untrackedCache", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("diff.submodule", "short"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("protocol.ext.allow", "never"),
    ("push.gpgSign", "false"),
    ("push.recurseSubmodules", "no"),
    // Repositories belong to other users than git runs as; nothing of them is run, so that is no danger.
    ("safe.directory", "*"),
    ("sequence.editor", "false"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("tag.gpgSign", "false"),
];

/// The environment that keeps git from asking, from other configuration, and from other ways to a remote.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_ALLOW_PROTOCOL", "file:http:https:ssh"),
    ("GIT_ASKPASS", "false"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_EDITOR", "false"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=15"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS", "false"),
];

/// The environment for git in a repository whose configuration has these names, on top of `base`. `None`: they are not
/// known yet.
pub(crate) fn environment(base: Vec<(String, String)>, names: Option<&[String]>) -> Vec<(String, String)> {
    let mut environment = base;
    environment.extend(ENVIRONMENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let mut settings: Vec<(String, &str)> =
        ALWAYS.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    settings
        .extend(names.unwrap_or_default().iter().filter_map(|name| Some((name.clone(), harmless(name)?))));
    let has = |wanted: &str| names.unwrap_or_default().iter().any(|name| name.eq_ignore_ascii_case(wanted));
    // Git lists these settings too: set before the names are asked for, they would look like the repository's own.
    if names.is_some() && !(has("user.name") && has("user.email")) {
        settings.push(("user.name".to_owned(), "Steadyhand"));
        settings.push(("user.email".to_owned(), "steadyhand@localhost"));
    }
    // Unlike `-c`, this takes names with any characters in them.
    environment.push(("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()));
    for (index, (name, value)) in settings.into_iter().enumerate() {
        environment.push((format!("GIT_CONFIG_KEY_{index}"), name));
        environment.push((format!("GIT_CONFIG_VALUE_{index}"), value.to_owned()));
    }
    environment
}

/// The value that takes the program out of a setting that names one; `None` for the others.
fn harmless(name: &str) -> Option<&'static str> {
    let section = name.split('.').next()?.to_ascii_lowercase();
    let key = name.rsplit('.').next()?.to_ascii_lowercase();
    Some(match (section.as_str(), key.as_str()) {
        ("filter", "clean" | "smudge" | "process") => "",
        ("filter", "required") => "false",
        ("diff", "command" | "textconv") => "",
        // Not empty: a driver that does nothing would count as a merge that went well.
        ("merge", "driver") => "false",
        ("gpg", "program" | "defaultkeycommand") => "false",
        ("credential", "helper") => "",
        ("trailer", "command" | "cmd") => "",
        ("hook", "command") => "true",
        ("hook", "enabled") => "false",
        _ => return None,
    })
}

/// Why this repository can't be brought together with its remotes without starting a program that it names.
pub(crate) fn foreign_remote(names: &[String]) -> Option<&str> {
    names.iter().map(String::as_str).find(|name| {
        let name = name.to_ascii_lowercase();
        name.starts_with("remote.") && name.ends_with(".vcs")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_name_programs_are_answered_one_by_one() {
        let names =
            ["filter.a=b.c.process", "remote.origin.UploadPack", "remote.origin.url", "merge.x.driver"]
                .map(str::to_owned);
        let environment = environment(Vec::new(), Some(&names));
        let value = |name: &str| {
            let index = environment
                .iter()
                .find(|(_, value)| value == name)?
                .0
                .strip_prefix("GIT_CONFIG_KEY_")?
                .to_owned();
            let wanted = format!("GIT_CONFIG_VALUE_{index}");
            Some(environment.iter().find(|(key, _)| *key == wanted)?.1.as_str())
        };
        assert_eq!(value("filter.a=b.c.process"), Some(""));
        // Of several values git takes the first, which is the repository's: an option is given instead.
        assert_eq!(value("remote.origin.UploadPack"), None);
        assert_eq!(value("merge.x.driver"), Some("false"));
        assert_eq!(value("remote.origin.url"), None);
        assert_eq!(value("core.hooksPath"), Some("/dev/null"));
        assert_eq!(value("user.name"), Some("Steadyhand"));
    }
}
