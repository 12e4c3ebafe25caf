//! What is known of a word before it is run.

use crate::word::Part;
use std::collections::BTreeMap;

/// One argument, as far as the text tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Value {
    /// The whole argument, if it is certain.
    pub(crate) exact: Option<String>,
    /// How it certainly begins.
    pub(crate) prefix: String,
    /// Whether it, or one of the words that it becomes, could begin with `-`.
    pub(crate) option: bool,
    /// Whether it could become no word or several.
    pub(crate) many: bool,
    /// Whether it is a whole number.
    pub(crate) number: bool,
    /// Where it stands.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Value {
    /// An argument that is certain.
    pub(crate) fn exact(text: &str, start: usize, end: usize) -> Self {
        Self {
            exact: Some(text.to_owned()),
            prefix: text.to_owned(),
            option: text.starts_with('-'),
            number: is_whole(text),
            start,
            end,
            ..Self::default()
        }
    }

    /// An argument that nobody can know.
    pub(crate) fn anything(option: bool, start: usize, end: usize) -> Self {
        Self { option, many: true, start, end, ..Self::default() }
    }

    /// The text, if it is certain; else an empty string.
    pub(crate) fn text(&self) -> &str {
        self.exact.as_deref().unwrap_or("")
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.exact.as_deref() == Some(text)
    }
}

/// What a variable can hold, over the whole command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    constant: Option<String>,
    option: bool,
    pub(crate) number: bool,
}

/// The variables that the command itself sets. The order of assignments is not followed: a variable holds everything
/// that is ever put into it, and perhaps nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variables(BTreeMap<String, Variable>);

impl Variables {
    pub(crate) fn put(&mut self, name: &str, value: &Value) {
        let new = Variable {
            constant: value.exact.clone(),
            option: value.option || value.exact.as_deref().is_some_and(|text| text.starts_with('-')),
            number: value.number,
        };
        match self.0.get_mut(name) {
            None => {
                self.0.insert(name.to_owned(), new);
            }
            Some(old) => {
                if old.constant != new.constant {
                    old.constant = None;
                }
                old.option |= new.option;
                old.number &= new.number;
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Variable> {
        self.0.get(name)
    }
}

/// Names of variables that the edge sets itself to a path or a plain name.
fn never_an_option(name: &str) -> bool {
    matches!(
        name,
        "HOME"
            | "PWD"
            | "OLDPWD"
            | "USER"
            | "SHELL"
            | "HOSTNAME"
            | "TMPDIR"
            | "LANG"
            | "TERM"
            | "BASH_VERSION"
    )
}

pub(crate) fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.len() < 19 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a word is, from its parts. `numeric` tells whether a substitution prints a whole number.
pub(crate) fn evaluate(
    parts: &[Part],
    variables: &Variables,
    place: (usize, usize),
    numeric: &dyn Fn(&str) -> bool,
) -> Value {
    let mut value = Value { start: place.0, end: place.1, ..Value::default() };
    let mut known = String::new();
    let mut exact = true;
    // Whether everything so far could be empty.
    let mut at_start = true;
    let mut splits = false;
    let mut all_numbers = true;
    for part in parts {
        match part {
            Part::Text { text, .. } => {
                if exact {
                    known.push_str(text);
                }
                if at_start && !text.is_empty() {
                    value.option |= text.starts_with('-');
                    at_start = false;
                }
                all_numbers &= is_whole(text);
                continue;
            }
            Part::Variable { name, quoted: true, plain: true, .. }
                if exact && (parts.len() <= 2 && known.is_empty() || !at_start) =>
            {
                let constant = variables.get(name).and_then(|variable| variable.constant.as_deref());
                if let Some(constant) = constant
                    && !constant.starts_with('-')
                    && !(at_start && constant.is_empty())
                {
                    known.push_str(constant);
                    at_start &= constant.is_empty();
                    all_numbers &= is_whole(constant);
                    continue;
                }
            }
            _ => {}
        }
        if exact {
            exact = false;
            value.prefix = known.clone();
        }
        match part {
            Part::Text { .. } | Part::Assigns { .. } | Part::Operand(_) => {}
            Part::Tilde => {
                at_start = false;
                all_numbers = false;
            }
            Part::Glob => {
                value.option |= at_start;
                value.many = true;
                all_numbers = false;
            }
            Part::Brace { numbers } => {
                value.option |= at_start && !numbers;
                value.many = true;
                all_numbers &= numbers;
                at_start &= !numbers;
            }
            Part::Variable { name, quoted, plain, number } => {
                let variable = variables.get(name);
                let number = *number || (*plain && variable.is_some_and(|variable| variable.number));
                if number {
                    at_start &= variable.is_some();
                    continue;
                }
                all_numbers = false;
                if name == "@" || name == "*" || !quoted {
                    value.many = true;
                    splits = true;
                }
                if at_start {
                    let harmless = *plain
                        && (never_an_option(name) || variable.is_some_and(|variable| !variable.option));
                    value.option |= !harmless;
                }
            }
            Part::Command { text, quoted, .. } => {
                if numeric(text) {
                    continue;
                }
                all_numbers = false;
                value.option |= at_start;
                if !quoted {
                    value.many = true;
                    splits = true;
                }
            }
            Part::Arithmetic { .. } => value.option |= at_start,
        }
    }
    value.option |= splits;
    value.number = all_numbers && !parts.is_empty();
    if exact {
        value.number = is_whole(&known);
        value.prefix.clone_from(&known);
        value.exact = Some(known);
    }
    value
}
