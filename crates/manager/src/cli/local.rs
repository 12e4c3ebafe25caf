//! What commands of this machine share: the configuration, the database, standard output.

use super::ConfigArgs;
use crate::config::{Config, ProcessEnvironment};
use ::model::SystemClock;
use anyhow::Context as _;
use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use storage::{MasterKey, Storage};

/// Reads the configuration.
pub(super) fn load(args: &ConfigArgs) -> anyhow::Result<Config> {
    Ok(Config::load(args.config.as_deref(), &ProcessEnvironment)?)
}

/// Opens the database of a manager that was started before.
pub(super) async fn open(args: &ConfigArgs) -> anyhow::Result<Storage> {
    let config = load(args)?;
    let path = config.storage.database();
    // Opening makes what isn't there; a reader must not leave an empty database where somebody mistyped a path.
    anyhow::ensure!(
        path.exists(),
        "there is no database at {}; has the manager been started here?",
        path.display()
    );
    let keys =
        MasterKey::load_or_create(&config.storage.master_key()).context("the key file can't be used")?;
    Storage::open(&path, Arc::new(SystemClock), keys).await.context("the database can't be opened")
}

/// Writes to standard output. A reader that went away (`| head`) is no error.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Asks at the terminal; only `y` or `yes` is one.
pub(super) fn asked(question: &str) -> anyhow::Result<bool> {
    let mut out = io::stderr().lock();
    write!(out, "{question} [y/N] ").and_then(|()| out.flush())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Reads `key=value`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` isn't of the form key=value")),
    }
}
