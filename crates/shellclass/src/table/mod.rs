//! The table of commands: one entry each, with the reason why its listed use only reads.
//!
//! An entry is deny by default: the options, verbs and operands that it names are the ones that somebody looked up and found
//! to only read. `docs/bash.md` says how to add one.

mod containers;
mod files;
mod network;
mod packages;
mod process;
mod refused;
mod shell;
mod system;
mod text;

use crate::options;
use crate::rules;
use crate::value::Value;
use crate::verdict::{Destination, Need};
use crate::walk::Walker;
use model::Class;

/// One command.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Why its use under `rule` has its class; shown on the approval card.
    pub(crate) reason: &'static str,
    pub(crate) rule: Rule,
    /// What its read-only use needs beyond the read-only profile.
    pub(crate) needs: &'static [Need],
}

/// How an entry tells the class of one use.
pub(crate) enum Rule {
    /// No option and no operand can write, run, load or send anything.
    Any,
    /// Only these options, in the language of `options`, and these operands.
    Options(&'static str, Operands),
    /// Only these options and operands, and at least one of the options in the last list.
    Requires(&'static str, Operands, &'static str),
    /// Options before the verb, the verbs that only read, and those that destroy.
    Verbs(&'static str, &'static [Verb], &'static [&'static str]),
    /// Looks at the arguments itself.
    Custom(fn(&mut Call<'_, '_>)),
    /// Changes something whatever its arguments.
    Changes,
    /// Destroys, or takes the host away, whatever its arguments.
    Destroys,
    /// Runs a program that is in its arguments, in a file or in its input.
    Interprets,
}

/// A verb of a command, as `status` in `systemctl status`.
pub(crate) struct Verb {
    /// One word or several: `image ls`.
    pub(crate) path: &'static str,
    /// The options after it that keep it read-only.
    pub(crate) options: &'static str,
    pub(crate) operands: Operands,
}

/// Which operands keep a command read-only.
#[derive(Clone, Copy)]
pub(crate) enum Operands {
    Any,
    None,
    AtMost(usize),
    /// Each begins with this text.
    Begin(&'static str),
    /// Hosts that are reached.
    Hosts,
    /// No operand holds this character.
    Without(char),
}

pub(crate) const fn any(name: &'static str, reason: &'static str) -> Entry {
    Entry { name, reason, rule: Rule::Any, needs: &[] }
}

pub(crate) const fn options(
    name: &'static str,
    list: &'static str,
    operands: Operands,
    reason: &'static str,
) -> Entry {
    Entry { name, reason, rule: Rule::Options(list, operands), needs: &[] }
}

pub(crate) const fn requires(
    name: &'static str,
    list: &'static str,
    operands: Operands,
    required: &'static str,
    reason: &'static str,
) -> Entry {
    Entry { name, reason, rule: Rule::Requires(list, operands, required), needs: &[] }
}

pub(crate) const fn verbs(
    name: &'static str,
    before: &'static str,
    verbs: &'static [Verb],
    destroys: &'static [&'static str],
    reason: &'static str,
) -> Entry {
    Entry { name, reason, rule: Rule::Verbs(before, verbs, destroys), needs: &[] }
}

pub(crate) const fn custom(name: &'static str, rule: fn(&mut Call<'_, '_>), reason: &'static str) -> Entry {
    Entry { name, reason, rule: Rule::Custom(rule), needs: &[] }
}

pub(crate) const fn changes(name: &'static str, reason: &'static str) -> Entry {
    Entry { name, reason, rule: Rule::Changes, needs: &[] }
}

pub(crate) const fn destroys(name: &'static str, reason: &'static str) -> Entry {
    Entry { name, reason, rule: Rule::Destroys, needs: &[] }
}

pub(crate) const fn interprets(name: &'static str, reason: &'static str) -> Entry {
    Entry { name, reason, rule: Rule::Interprets, needs: &[] }
}

pub(crate) const fn verb(path: &'static str, options: &'static str, operands: Operands) -> Verb {
    Verb { path, options, operands }
}

impl Entry {
    pub(crate) const fn needs(mut self, needs: &'static [Need]) -> Self {
        self.needs = needs;
        self
    }
}

/// The table, by theme. Tests hold it to one entry for each name.
pub(crate) const THEMES: &[&[Entry]] = &[
    files::ENTRIES,
    text::ENTRIES,
    process::ENTRIES,
    system::ENTRIES,
    network::ENTRIES,
    containers::ENTRIES,
    packages::ENTRIES,
    shell::ENTRIES,
    refused::ENTRIES,
];

/// Folders that only root writes to and where commands are looked for anyway.
const FOLDERS: &[&str] =
    &["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// The entry of a command, by name or by its path in one of the system's folders.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    let bare = FOLDERS.iter().find_map(|folder| name.strip_prefix(folder)).unwrap_or(name);
    THEMES.iter().flat_map(|theme| theme.iter()).find(|entry| entry.name == bare)
}

/// One use of a command.
pub(crate) struct Call<'w, 'a> {
    pub(crate) walker: &'w mut Walker,
    pub(crate) name: &'a str,
    pub(crate) args: &'a [Value],
    pub(crate) place: (usize, usize),
}

impl<'a> Call<'_, 'a> {
    pub(crate) fn lift(&mut self, class: Class, text: impl Into<String>) {
        self.walker.lift(class, self.place, text);
    }

    pub(crate) fn lift_at(&mut self, class: Class, arg: &Value, text: impl Into<String>) {
        self.walker.lift(class, (arg.start, arg.end), text);
    }

    pub(crate) fn mutating(&mut self, text: impl Into<String>) {
        self.lift(Class::Mutating, text);
    }

    pub(crate) fn dangerous(&mut self, text: impl Into<String>) {
        self.lift(Class::Dangerous, text);
    }

    /// The name without its folder.
    pub(crate) fn bare_name(&self) -> &'a str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    pub(crate) fn opaque(&mut self, text: impl Into<String>) {
        self.walker.opaque = true;
        self.mutating(text);
    }

    pub(crate) fn need(&mut self, need: Need) {
        self.walker.needs.insert(need);
    }

    /// Whether an argument is exactly this text.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.args.iter().any(|arg| arg.is(text))
    }

    /// Reads all arguments by a list of options; a stranger among them lifts the class.
    pub(crate) fn read(
        &mut self,
        list: &str,
        args: &'a [Value],
        stop: bool,
    ) -> Option<options::Arguments<'a>> {
        match options::read(list, args, stop) {
            Ok(arguments) => Some(arguments),
            Err(stranger) => {
                if let Some(arg) = args.get(stranger.index) {
                    let what = arg
                        .exact
                        .as_deref()
                        .map_or_else(|| "a word of".to_owned(), |text| format!("`{text}` of"));
                    let text = format!("{what} `{}` {}", self.bare_name(), stranger.why);
                    self.lift_at(Class::Mutating, arg, text);
                }
                None
            }
        }
    }

    /// Notes a host, `HOST`, `HOST:PORT` or a URL, that is reached.
    pub(crate) fn reaches(&mut self, arg: &Value) {
        let (host, port) = arg.exact.as_deref().map_or((None, None), rules::network::host_and_port);
        self.note(host, port, arg);
    }

    pub(crate) fn note(&mut self, host: Option<String>, port: Option<u16>, arg: &Value) {
        if host.as_deref().is_some_and(rules::network::is_metadata) {
            self.lift_at(
                Class::Mutating,
                arg,
                "asks the cloud's metadata service, which gives out credentials",
            );
        }
        self.walker.destinations.push(Destination { host, port, start: arg.start, end: arg.end });
    }

    pub(crate) fn operands(&mut self, operands: Operands, found: &[&Value]) {
        match operands {
            Operands::Any => {}
            Operands::None => self.at_most(0, found),
            Operands::AtMost(limit) => self.at_most(limit, found),
            Operands::Begin(start) => {
                for arg in found {
                    if !arg.exact.as_deref().unwrap_or(&arg.prefix).starts_with(start) {
                        let text = format!(
                            "`{}` with an operand that doesn't begin with `{start}`",
                            self.bare_name()
                        );
                        self.lift_at(Class::Mutating, arg, text);
                    }
                }
            }
            Operands::Without(character) => {
                for arg in found {
                    if arg.exact.as_deref().is_none_or(|text| text.contains(character)) {
                        let text = format!("`{}` with `{character}` changes something", self.bare_name());
                        self.lift_at(Class::Mutating, arg, text);
                    }
                }
            }
            Operands::Hosts => {
                for arg in found {
                    self.reaches(arg);
                }
            }
        }
    }

    fn at_most(&mut self, limit: usize, found: &[&Value]) {
        let many = found.iter().any(|arg| arg.many);
        if let Some(arg) = found.get(limit).or_else(|| found.first().filter(|_| many)) {
            let text = format!("`{}` with more operands than its read-only use has", self.bare_name());
            self.lift_at(Class::Mutating, arg, text);
        }
    }
}

/// Judges one use by its entry.
pub(crate) fn judge(call: &mut Call<'_, '_>) {
    crate::danger::look(call);
    if call.name.contains('/')
        && !FOLDERS.iter().any(|folder| {
            call.name.strip_prefix(folder).is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
        })
    {
        call.opaque(format!("`{}` is a program outside of the system's folders", call.name));
        return;
    }
    let Some(entry) = find(call.name) else {
        call.walker.opaque = true;
        let text = format!("`{}` isn't in the table", call.name);
        call.mutating(text);
        return;
    };
    let before = call.walker.class();
    let reasons = call.walker.reasons.len();
    match &entry.rule {
        Rule::Any => {}
        Rule::Options(list, operands) => {
            if let Some(found) = call.read(list, call.args, false) {
                call.operands(*operands, &found.operands);
            }
        }
        Rule::Requires(list, operands, required) => {
            if let Some(found) = call.read(list, call.args, false) {
                if !required.split_ascii_whitespace().any(|name| found.has(name)) {
                    call.mutating(format!(
                        "`{}` without one of {required} isn't known to only read",
                        entry.name
                    ));
                }
                call.operands(*operands, &found.operands);
            }
        }
        Rule::Verbs(before, verbs, destroys) => judge_verb(call, before, verbs, destroys),
        Rule::Custom(rule) => rule(call),
        Rule::Changes => call.mutating(format!("`{}`: {}", entry.name, entry.reason)),
        Rule::Destroys => call.dangerous(format!("`{}`: {}", entry.name, entry.reason)),
        Rule::Interprets => rules::shell::interpreter(call, entry.reason),
    }
    let mine = call.walker.reasons.get(reasons..).unwrap_or(&[]);
    if before == Class::Safe && mine.iter().all(|reason| reason.class == Class::Safe) {
        call.walker.needs.extend(entry.needs);
        call.lift(Class::Safe, format!("`{}`: {}", entry.name, entry.reason));
    } else if !entry.needs.is_empty() {
        call.walker.needs.extend(entry.needs);
    }
}

fn judge_verb(call: &mut Call<'_, '_>, before: &str, verbs: &[Verb], destroys: &[&str]) {
    let Some(global) = call.read(before, call.args, true) else {
        // A destroying verb behind an option that isn't known is still one.
        let shown = call.args.iter().map(Value::text).collect::<Vec<_>>().join(" ");
        if let Some(path) = destroys.iter().find(|path| format!(" {shown} ").contains(&format!(" {path} "))) {
            call.dangerous(format!("`{} {path}` destroys", call.bare_name()));
        }
        return;
    };
    let rest = call.args.get(global.read..).unwrap_or(&[]);
    if rest.is_empty() {
        // Without a verb these print their help or their default list.
        if verbs.iter().all(|verb| !verb.path.is_empty()) && !global.has("--version") && !global.has("--help")
        {
            call.mutating(format!("`{}` without a verb that is known to only read", call.bare_name()));
        }
        return;
    }
    let matches = |path: &str| {
        let words: Vec<&str> = path.split_ascii_whitespace().collect();
        let same =
            words.iter().enumerate().all(|(index, word)| rest.get(index).is_some_and(|arg| arg.is(word)));
        same.then_some(words.len())
    };
    if let Some(path) = destroys.iter().find(|path| matches(path).is_some()) {
        call.dangerous(format!("`{} {path}` destroys, or takes the host away", call.bare_name()));
        return;
    }
    let best = verbs
        .iter()
        .filter_map(|verb| matches(verb.path).map(|length| (length, verb)))
        .max_by_key(|(length, _)| *length);
    let Some((length, verb)) = best else {
        let what = rest.first().map_or("", Value::text).to_owned();
        call.mutating(format!("`{} {what}` isn't known to only read", call.bare_name()));
        return;
    };
    let list = format!("{before} {}", verb.options);
    if let Some(found) = call.read(&list, rest.get(length..).unwrap_or(&[]), false) {
        call.operands(verb.operands, &found.operands);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_has_one_entry_for_each_command_each_with_its_reason() {
        let mut names = BTreeSet::new();
        for entry in THEMES.iter().flat_map(|theme| theme.iter()) {
            assert!(names.insert(entry.name), "`{}` has two entries", entry.name);
            assert!(!entry.reason.is_empty(), "`{}` has no reason", entry.name);
            assert!(!entry.reason.contains("refused: see"), "{}", entry.name);
        }
        assert!(names.len() >= 120, "{}", names.len());
    }

    #[test]
    fn an_entry_that_leaves_the_sandbox_lists_its_options() {
        for entry in THEMES.iter().flat_map(|theme| theme.iter()).filter(|entry| !entry.needs.is_empty()) {
            assert!(
                !matches!(entry.rule, Rule::Any),
                "`{}` needs something and takes any option",
                entry.name
            );
        }
    }
}
