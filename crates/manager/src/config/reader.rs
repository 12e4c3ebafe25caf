//! Reads values out of the file and the environment, and collects what is wrong with them.

use super::environment::Environment;
use super::{Problem, keys};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use toml::Value;

const PREFIX: &str = "STEADYHAND__";

/// The values of the file under those of the environment.
pub(super) struct Reader<'p> {
    values: BTreeMap<Vec<String>, Value>,
    problems: &'p mut Vec<Problem>,
}

impl<'p> Reader<'p> {
    /// Takes a file's table and lays the environment over it. Reports keys that aren't known.
    pub(super) fn new(
        table: toml::Table,
        environment: &dyn Environment,
        problems: &'p mut Vec<Problem>,
    ) -> Self {
        let mut reader = Self { values: BTreeMap::new(), problems };
        reader.add_table(&mut Vec::new(), table);
        for (name, value) in environment.with_prefix(PREFIX) {
            let key: Vec<String> = name[PREFIX.len()..].split("__").map(str::to_lowercase).collect();
            if keys::is_known(&key) {
                reader.values.insert(key, Value::String(value));
            } else {
                reader.unknown(&name, &key, true);
            }
        }
        reader
    }

    fn add_table(&mut self, path: &mut Vec<String>, table: toml::Table) {
        for (name, value) in table {
            path.push(name);
            match value {
                Value::Table(inner) if keys::is_section(path) => self.add_table(path, inner),
                value if keys::is_known(path) => {
                    self.values.insert(path.clone(), value);
                }
                _ if keys::is_section(path) => self.problem(&path.join("."), "is a section, not a value"),
                _ => self.unknown(&path.join("."), path, false),
            }
            path.pop();
        }
    }

    fn unknown(&mut self, shown: &str, key: &[String], variable: bool) {
        let nearest = keys::nearest(key).map(|nearest| {
            if variable { format!("{PREFIX}{}", nearest.replace('.', "__").to_uppercase()) } else { nearest }
        });
        match nearest {
            Some(nearest) => self.problem(shown, &format!("is not a known key; did you mean `{nearest}`?")),
            None => self.problem(shown, "is not a known key"),
        }
    }

    /// Notes a problem.
    pub(super) fn problem(&mut self, key: &str, message: &str) {
        self.problems.push(Problem { key: key.to_owned(), message: message.to_owned() });
    }

    fn value(&self, key: &str) -> Option<Value> {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        self.values.get(&path).cloned()
    }

    /// Names that the writer chose right under a section.
    pub(super) fn names(&self, section: &str) -> Vec<String> {
        let path: Vec<&str> = section.split('.').collect();
        let mut names: Vec<String> = self
            .values
            .keys()
            .filter(|key| key.len() > path.len() && key.iter().zip(&path).all(|(given, part)| given == part))
            .map(|key| key[path.len()].clone())
            .collect();
        names.dedup();
        names
    }

    /// Reads a text.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::String(text) => Some(text),
            other => {
                self.problem(key, &format!("must be a text in quotes, not {}", kind(&other)));
                None
            }
        }
    }

    /// Reads a value that is written as text.
    pub(super) fn parsed<T: FromStr>(&mut self, key: &str, example: &str) -> Option<T>
    where
        T::Err: Display,
    {
        let text = self.text(key)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(key, &format!("`{text}` can't be read ({error}); for example {example}"));
                None
            }
        }
    }

    /// Reads a length of time such as `12h` or `90s`.
    pub(super) fn duration(&mut self, key: &str) -> Option<Duration> {
        let text = self.text(key)?;
        match humantime::parse_duration(&text) {
            Ok(duration) if !duration.is_zero() => Some(duration),
            _ => {
                self.problem(
                    key,
                    &format!("`{text}` isn't a length of time; for example \"12h\" or \"90s\""),
                );
                None
            }
        }
    }

    /// Reads a whole number within bounds. The environment gives it as text.
    pub(super) fn integer(&mut self, key: &str, from: i64, to: i64) -> Option<i64> {
        let number = match self.value(key)? {
            Value::Integer(number) => Some(number),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if (from..=to).contains(&number) => Some(number),
            _ => {
                self.problem(key, &format!("must be a number from {from} to {to}"));
                None
            }
        }
    }

    /// Reads `true` or `false`. The environment gives it as text.
    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        match self.value(key)? {
            Value::Boolean(flag) => Some(flag),
            Value::String(text) if text == "true" => Some(true),
            Value::String(text) if text == "false" => Some(false),
            _ => {
                self.problem(key, "must be true or false");
                None
            }
        }
    }

    /// Reads a list of absolute paths; `None` if the key isn't there.
    pub(super) fn folders(&mut self, key: &str) -> Option<Vec<PathBuf>> {
        self.value(key)?;
        let folders: Vec<PathBuf> = self.list(key).into_iter().map(PathBuf::from).collect();
        for folder in folders.iter().filter(|folder| !folder.is_absolute()) {
            self.problem(key, &format!("`{}` must begin with /", folder.display()));
        }
        Some(folders)
    }

    /// Reads a list of texts; `None` if the key isn't there.
    pub(super) fn given_list(&mut self, key: &str) -> Option<Vec<String>> {
        self.value(key)?;
        Some(self.list(key))
    }

    /// Reads a list of texts. The environment gives it with commas.
    pub(super) fn list(&mut self, key: &str) -> Vec<String> {
        match self.value(key) {
            None => Vec::new(),
            Some(Value::String(text)) => {
                text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
            }
            Some(Value::Array(items)) if items.iter().all(Value::is_str) => {
                items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(_) => {
                self.problem(key, "must be a list of texts, for example [\"one\", \"two\"]");
                Vec::new()
            }
        }
    }

    /// Reads a list whose items are written as text.
    pub(super) fn parsed_list<T: FromStr>(&mut self, key: &str) -> Vec<T>
    where
        T::Err: Display,
    {
        let mut read = Vec::new();
        for text in self.list(key) {
            match text.parse() {
                Ok(value) => read.push(value),
                Err(error) => self.problem(key, &format!("`{text}` can't be read: {error}")),
            }
        }
        read
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
    }
}
