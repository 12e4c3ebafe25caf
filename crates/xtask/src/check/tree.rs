//! Rules about the committed text itself.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Tells every file that breaks a rule.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .context("git could not be started")?;
    ensure!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    let mut failures = Vec::new();
    for name in String::from_utf8(output.stdout).context("file names are not UTF-8")?.split_terminator('\0') {
        let Ok(text) = std::fs::read_to_string(root.join(name)) else { continue };
        if name.ends_with("package-lock.json") && text.contains("\"resolved\": \"http") {
            failures.push(format!(
                "{name} names a registry's host: set `omit-lockfile-registry-resolved` and write it anew"
            ));
        }
        let is_crate_root = name.ends_with("src/lib.rs") || name.ends_with("src/main.rs");
        if is_crate_root && !text.starts_with("//!") {
            failures.push(format!("{name} must open with `//!`: what it holds, what stays out"));
        }
        let markers = [concat!("to", "do!("), concat!("unimplemented", "!("), concat!("(being", " written)")];
        if name.ends_with(".rs") && markers.iter().any(|marker| text.contains(marker)) {
            failures.push(format!("{name} has unfinished code"));
        }
    }
    Ok(failures)
}
