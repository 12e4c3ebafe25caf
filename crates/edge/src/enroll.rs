//! Joining a deployment.

use crate::{DataDir, EdgeConfig, EdgeError};
use model::{Clock, EdgeId};
use std::fs;
use std::io;
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
    let before = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            "# The edge of this host. `steadyhand-edge doctor` checks it.\n".to_owned()
        }
        Err(error) => return Err(failed(error)),
    };
    let text = with_manager(&before, &config.tunnel.manager, config.tunnel.proxy.as_deref());
    let mut wanted = on_disk;
    wanted.tunnel.manager.clone_from(&config.tunnel.manager);
    wanted.tunnel.proxy.clone_from(&config.tunnel.proxy);
    // A file can say it in more ways than are looked for.
    if EdgeConfig::parse(&text).as_ref() != Ok(&wanted) {
        let problem = "the manager's address can't be put into the file as it is written; put `manager` (and `proxy`) \
                       below a line `[tunnel]` yourself";
        return Err(EdgeError::Config { path: path.to_owned(), problem: problem.to_owned() });
    }
    admission::replace_file(path, text.as_bytes(), 0o600).map_err(failed)
}

/// The text of a configuration with these values in its `[tunnel]`, and everything else as it was.
fn with_manager(text: &str, manager: &str, proxy: Option<&str>) -> String {
    // What JSON escapes, TOML reads.
    let mut values = format!("manager = {}\n", serde_json::json!(manager));
    if let Some(proxy) = proxy {
        values.push_str(&format!("proxy = {}\n", serde_json::json!(proxy)));
    }
    let mut out = String::new();
    let (mut within, mut done) = (false, false);
    for line in text.lines() {
        let bare = line.trim_start();
        if bare.starts_with('[') {
            within = !done && bare.split('#').next().is_some_and(|header| header.trim_end() == "[tunnel]");
        }
        let key = bare.split('=').next().unwrap_or_default().trim_end();
        if within && matches!(key, "manager" | "proxy") {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        if within && !done {
            out.push_str(&values);
            done = true;
        }
    }
    if !done {
        out.push_str(&format!("[tunnel]\n{values}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(before: &str, proxy: Option<&str>) -> Result<String, EdgeError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("etc/edge.toml");
        if !before.is_empty() {
            fs::create_dir(folder.path().join("etc")).unwrap();
            fs::write(&path, before).unwrap();
        }
        let mut config = EdgeConfig::load_or_default(&path)?;
        config.tunnel.manager = "manager.example:7443".to_owned();
        config.tunnel.proxy = proxy.map(str::to_owned);
        write_config(&config, &path)?;
        assert_eq!(EdgeConfig::load_or_default(&path)?, config);
        Ok(fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn joining_keeps_every_word_of_the_owners_configuration() {
        let before = "# Ours.\n[tunnel] # how\n# the old place\nmanager = \"old:1\"\nreconnect_max = \"5s\"\n\n[labels]\nmanager = \"ana\" # keep\n";
        let after = "# Ours.\n[tunnel] # how\nmanager = \"manager.example:7443\"\nproxy = \"http://proxy:3128\"\n# the old place\nreconnect_max = \"5s\"\n\n[labels]\nmanager = \"ana\" # keep\n";
        assert_eq!(written(before, Some("http://proxy:3128")).unwrap(), after);
        assert_eq!(
            written("[labels]\nrole = \"web\"", None).unwrap(),
            "[labels]\nrole = \"web\"\n[tunnel]\nmanager = \"manager.example:7443\"\n"
        );
        assert!(written("", None).unwrap().ends_with("[tunnel]\nmanager = \"manager.example:7443\"\n"));
    }

    #[test]
    fn a_file_that_says_it_in_another_way_is_left_alone() {
        for before in ["tunnel.manager = \"old:1\"\n", "tunnel = { manager = \"old:1\" }\n"] {
            let problem = written(before, None).unwrap_err().to_string();
            assert!(problem.contains("yourself"), "{problem}");
        }
    }
}
