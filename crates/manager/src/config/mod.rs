//! The configuration: `steadyhand.toml`, every key of which can be set by `STEADYHAND__SECTION__KEY` instead.
//!
//! Loading tells everything that is wrong at once. A key that isn't known is an error that names the nearest one:
//! a setting that is silently ignored is worse than one that is refused.

mod chat;
mod environment;
mod http;
mod keys;
mod models;
mod notify;
mod packs;
mod reader;
mod sandbox;
mod security;
mod storage;
mod telemetry;
mod tunnel;

pub use chat::ChatConfig;
pub use environment::{Environment, ProcessEnvironment};
pub use http::{HttpConfig, TlsFiles};
pub use notify::{MailConfig, MailSecurity, NotifyConfig, PushConfig, WebhookConfig};
pub use packs::PacksConfig;
pub use sandbox::ChildrenConfig;
pub use security::SecurityConfig;
pub use storage::StorageConfig;
pub use telemetry::{LogFormat, TelemetryConfig};
pub use tunnel::TunnelConfig;

use api::models::FixedModel;
use reader::Reader;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where the configuration is looked for if no file is named.
pub const DEFAULT_PATHS: &[&str] = &["steadyhand.toml", "/etc/steadyhand/steadyhand.toml"];

/// Everything that can be configured.
#[derive(Clone, Debug)]
pub struct Config {
    /// The console and the API.
    pub http: HttpConfig,
    /// Where edges dial in.
    pub tunnel: TunnelConfig,
    /// Where data is kept.
    pub storage: StorageConfig,
    /// Who may chat, and how much one turn may do.
    pub chat: ChatConfig,
    /// Policy and redaction.
    pub security: SecurityConfig,
    /// How programs of packs are held.
    pub children: ChildrenConfig,
    /// Packs that run beside the manager.
    pub packs: PacksConfig,
    /// Model providers of the file and of the environment.
    pub models: Vec<FixedModel>,
    /// Logs and traces.
    pub telemetry: TelemetryConfig,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
}

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key, or the environment variable, or nothing if the file as a whole is meant.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Everything that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file, if one was read.
    pub file: Option<PathBuf>,
    /// Each problem.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "the configuration ({}) can't be used:", file.display())?,
            None => f.write_str("the configuration can't be used:")?,
        }
        for problem in &self.problems {
            if problem.key.is_empty() {
                write!(f, "\n  {}", problem.message)?;
            } else {
                write!(f, "\n  {}: {}", problem.key, problem.message)?;
            }
        }
        Ok(())
    }
}

impl Config {
    /// Reads the configuration: `file`, or the first of [`DEFAULT_PATHS`] that exists, under the environment.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong.
    pub fn load(file: Option<&Path>, environment: &dyn Environment) -> Result<Self, ConfigError> {
        let file = match file {
            Some(file) => Some(file.to_owned()),
            None => DEFAULT_PATHS.iter().map(PathBuf::from).find(|path| path.exists()),
        };
        let text = match &file {
            None => String::new(),
            Some(path) => std::fs::read_to_string(path).map_err(|error| ConfigError {
                file: file.clone(),
                problems: vec![Problem { key: String::new(), message: format!("it can't be read: {error}") }],
            })?,
        };
        let known_tools = crate::catalogue::known_tools();
        Self::parse(&text, environment, file.clone(), &known_tools)
            .map_err(|problems| ConfigError { file, problems })
    }

    fn parse(
        text: &str,
        environment: &dyn Environment,
        file: Option<PathBuf>,
        known_tools: &[String],
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let table = text.parse::<toml::Table>().unwrap_or_else(|error| {
            problems.push(Problem { key: String::new(), message: error.to_string().trim_end().to_owned() });
            toml::Table::new()
        });
        let mut reader = Reader::new(table, environment, &mut problems);
        let config = Self {
            http: HttpConfig::read(&mut reader),
            tunnel: TunnelConfig::read(&mut reader),
            storage: StorageConfig::read(&mut reader),
            chat: ChatConfig::read(&mut reader, environment),
            security: SecurityConfig::read(&mut reader, known_tools),
            children: ChildrenConfig::read(&mut reader),
            packs: PacksConfig::read(&mut reader, environment),
            models: models::fixed_models(&mut reader, environment),
            telemetry: TelemetryConfig::read(&mut reader),
            file,
        };
        if let Some(dir) = config.packs.rules(config.storage.packs()).dir_of_copies() {
            let message = format!(
                "`{}` is where the manager keeps its own copies of packs, and removes what it didn't put there; put packs somewhere else, for example into /etc/steadyhand/packs",
                dir.display()
            );
            problems.push(Problem { key: "packs.dirs".to_owned(), message });
        }
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    }
}

#[cfg(test)]
mod tests;
