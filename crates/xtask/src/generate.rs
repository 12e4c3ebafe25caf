//! Generated files that are committed, and how each is made.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// The API's description, printed by the manager from its own routes.
const OPENAPI: &str = "docs/openapi.json";

/// Writes every generated file anew.
pub fn run(root: &Path) -> Result<()> {
    let document = openapi(root)?;
    std::fs::write(root.join(OPENAPI), document)?;
    let status = Command::new("npm")
        .args(["run", "--silent", "gen"])
        .current_dir(root.join("web"))
        .status()
        .context("npm could not be started")?;
    ensure!(status.success(), "`npm run gen` failed in web/");
    Ok(())
}

/// Fails unless the committed files are what [`run`] would write.
pub fn check(root: &Path) -> Result<()> {
    let committed = std::fs::read_to_string(root.join(OPENAPI)).unwrap_or_default();
    ensure!(committed == openapi(root)?, "{OPENAPI} is not current: run `cargo xtask gen`");
    let status = Command::new("npm")
        .args(["run", "--silent", "gen:check"])
        .current_dir(root.join("web"))
        .status()
        .context("npm could not be started")?;
    ensure!(status.success(), "the TypeScript client is not current: run `cargo xtask gen`");
    Ok(())
}

/// Asks the manager for the document.
fn openapi(root: &Path) -> Result<String> {
    let output = Command::new("cargo")
        .args(["run", "--quiet", "--bin", "steadyhand", "--", "openapi"])
        .current_dir(root)
        .output()
        .context("cargo could not be started")?;
    ensure!(
        output.status.success(),
        "`steadyhand openapi` failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).context("the document is not UTF-8")
}
