//! `xtask new skill NAME`: a host skill from the template, registered.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

/// Writes `crates/skills/src/NAME.rs` and its two lines in `lib.rs`. Changes nothing unless both can be done.
pub fn run(root: &Path, key: &str) -> Result<()> {
    ensure!(
        (1..=64).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
            && key.starts_with(|first: char| first.is_ascii_lowercase()),
        "`{key}` is no legal key: 1 to 64 of a-z, 0-9 and _, a letter first"
    );
    let folder = root.join("crates/skills/src");
    let file = folder.join(format!("{key}.rs"));
    ensure!(!file.exists(), "{} exists", file.display());
    let list = folder.join("lib.rs");
    let text = fs::read_to_string(&list).with_context(|| format!("{} can't be read", list.display()))?;
    let text = register(&text, key)?;
    fs::write(&file, template(key))?;
    fs::write(&list, text)?;
    println!("wrote crates/skills/src/{key}.rs and registered it in crates/skills/src/lib.rs");
    println!(
        "next: fill in what it does, then `cargo test -p skills` and accept the snapshot (INSTA_UPDATE=always)"
    );
    Ok(())
}

/// `disk_usage` → `DiskUsage`.
fn type_name(key: &str) -> String {
    key.split('_')
        .map(|word| {
            let mut characters = word.chars();
            characters
                .next()
                .map(|first| first.to_ascii_uppercase().to_string() + characters.as_str())
                .unwrap_or_default()
        })
        .collect()
}

/// Puts the `mod` line and the list's line where the alphabet wants them.
fn register(text: &str, key: &str) -> Result<String> {
    let module = format!("mod {key};");
    let entry = format!("    &{key}::{},", type_name(key));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    insert_sorted(&mut lines, &module, |line| line.starts_with("mod ") && line.ends_with(';'))
        .context("lib.rs has no `mod` lines")?;
    insert_sorted(&mut lines, &entry, |line| {
        line.starts_with("    &") && line.contains("::") && line.ends_with(',')
    })
    .context("lib.rs has no list of skills")?;
    Ok(lines.join("\n") + "\n")
}

/// Inserts `new` before the first line of the block that sorts after it, else at the block's end.
fn insert_sorted(lines: &mut Vec<String>, new: &str, belongs: impl Fn(&str) -> bool) -> Option<()> {
    let members: Vec<usize> = (0..lines.len()).filter(|at| belongs(&lines[*at])).collect();
    let position = members
        .iter()
        .copied()
        .find(|at| lines[*at].as_str() > new)
        .or_else(|| members.last().map(|last| last + 1))?;
    lines.insert(position, new.to_owned());
    Some(())
}

/// The new file.
fn template(key: &str) -> String {
    let name = key.replace('_', " ");
    let title = name[..1].to_ascii_uppercase() + &name[1..];
    TEMPLATE.replace("@KEY@", key).replace("@TITLE@", &title).replace("@TYPE@", &type_name(key))
}

const TEMPLATE: &str = r#"//! @TITLE@. Read-only.

use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Metadata, Skill, SkillContext, SkillError, SkillErrorKind};

pub(crate) struct @TYPE@;

/// What it takes. The doc comments are what the model and the form show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Absolute path of the thing to look at.
    path: String,
}

/// What it answers.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Size in bytes.
    size_bytes: u64,
}

impl Skill for @TYPE@ {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "@KEY@",
        name: "@TITLE@",
        description: "Report the size of one path.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "files",
        result_preview: "12,345 bytes",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, Params { path }: Params) -> Result<Output, SkillError> {
        let below_root = cx.host.root().join(path.trim_start_matches('/'));
        let size_bytes = tokio::fs::symlink_metadata(&below_root)
            .await
            .map_err(|error| SkillError::new(SkillErrorKind::Failed, format!("{path}: {error}")))?
            .len();
        Ok(Output { size_bytes })
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "mod host_load;\nmod tail_file;\n\npub static ALL: &[&dyn AnySkill] = &[\n    &host_load::HostLoad,\n    &tail_file::TailFile,\n];\n";

    #[test]
    fn both_lines_land_where_the_alphabet_wants_them() {
        let text = register(LIST, "probe_ntp").unwrap();
        assert_eq!(
            text,
            "mod host_load;\nmod probe_ntp;\nmod tail_file;\n\npub static ALL: &[&dyn AnySkill] = &[\n    &host_load::HostLoad,\n    &probe_ntp::ProbeNtp,\n    &tail_file::TailFile,\n];\n"
        );
        let last = register(LIST, "zfs_pools").unwrap();
        assert!(last.contains("mod tail_file;\nmod zfs_pools;\n"));
        assert!(last.contains("    &tail_file::TailFile,\n    &zfs_pools::ZfsPools,\n];"));
    }

    #[test]
    fn an_illegal_key_writes_nothing() {
        let error = run(Path::new("/nonexistent"), "Bad-Key").unwrap_err();
        assert!(error.to_string().contains("no legal key"));
    }
}
