//! The environment, behind a trait, so that tests pass a map.

use std::collections::BTreeMap;

/// Names and values of variables.
pub trait Environment: Send + Sync {
    /// The value of a variable; `None` if it isn't set or isn't UTF-8.
    fn get(&self, name: &str) -> Option<String>;

    /// The variables whose names begin with `prefix`, by name.
    fn with_prefix(&self, prefix: &str) -> Vec<(String, String)>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

#[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
impl Environment for ProcessEnvironment {
    fn get(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn with_prefix(&self, prefix: &str) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with(prefix))
            .collect();
        found.sort();
        found
    }
}

impl Environment for BTreeMap<String, String> {
    fn get(&self, name: &str) -> Option<String> {
        BTreeMap::get(self, name).cloned()
    }

    fn with_prefix(&self, prefix: &str) -> Vec<(String, String)> {
        self.iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect()
    }
}
