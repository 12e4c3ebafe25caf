//! Joining a deployment.

use crate::{DataDir, EdgeConfig, EdgeError};
use model::{Clock, EdgeId};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tunnel::JoinToken;
use tunnel::pki::EdgeIdentity;

/// Trades a join token for an identity in `dir`, and writes the manager's address into the configuration file if that
/// is new or empty.
///
/// # Errors
///
/// Fails if there is an identity already, an edge runs on the directory, or the manager can't be reached or refuses.
pub async fn enroll(
    config: &EdgeConfig,
    config_path: &Path,
    dir: &DataDir,
    token: &JoinToken,
    name: &str,
    clock: &Arc<dyn Clock>,
) -> Result<EdgeId, EdgeError> {
    dir.create()?;
    let _lock = dir.lock()?;
    let path = dir.identity();
    if let Some(identity) = EdgeIdentity::load(&path)? {
        return Err(EdgeError::Enrolled { edge: identity.edge(), path });
    }
    // Before the token is used up: what can't be written now couldn't be written afterwards.
    write_config(config, config_path)?;
    let identity = tunnel::enroll(&config.dial()?, token, name, clock).await?;
    identity.store(&path)?;
    Ok(identity.edge())
}

/// Writes the manager's address where the file doesn't say it, keeping the comments of a file that is there.
fn write_config(config: &EdgeConfig, path: &Path) -> Result<(), EdgeError> {
    let failed = |source| EdgeError::File { path: path.to_owned(), source };
    let on_disk = EdgeConfig::load_or_default(path)?;
    if on_disk.tunnel.manager == config.tunnel.manager && on_disk.tunnel.proxy == config.tunnel.proxy {
        return Ok(());
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let text = if path.exists() {
        toml::to_string(config)
            .map_err(|error| EdgeError::Config { path: path.to_owned(), problem: error.to_string() })?
    } else {
        let quote = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut text = format!(
            "# The edge of this host. `steadyhand-edge doctor` checks it.\n[tunnel]\nmanager = {}\n",
            quote(&config.tunnel.manager)
        );
        if let Some(proxy) = &config.tunnel.proxy {
            text.push_str(&format!("proxy = {}\n", quote(proxy)));
        }
        text
    };
    crate::files::replace(path, text.as_bytes(), 0o600).map_err(failed)
}
