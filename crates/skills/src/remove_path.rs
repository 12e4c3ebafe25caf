//! Removes a file, a link or a folder: exactly what was previewed before, and nothing that appeared since. Dangerous.

use crate::support::changes::place::Place;
use crate::support::changes::tree::{Figures, Tree};
use crate::support::errors::{blocking, failed, invalid, not_found, refused};
use model::{Class, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Skill, SkillContext, SkillError};
use std::sync::Arc;

/// Names that a preview and a result tell.
const SAMPLE: usize = 10;

pub(crate) struct RemovePath;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Absolute path, below a folder that the host's owner has named for changes. A link is removed itself, never what it leads to.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Whether a folder may be removed with all that is in it.
    #[serde(default)]
    recursive: bool,
    /// What a call without this told: only exactly that is removed. Without it nothing is removed; the refusal tells what would be.
    expect: Option<Expect>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// How many files, folders, links and others: the path itself and all below.
    count: u64,
    /// Bytes in all files together.
    bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The path, links before its last part resolved.
    path: String,
    /// How many files, folders, links and others were removed.
    count: u64,
    /// Bytes in all removed files together.
    bytes: u64,
    /// How many of them were files.
    files: u64,
    /// How many of them were folders.
    folders: u64,
    /// Some of what was removed.
    sample: Vec<String>,
}

impl Skill for RemovePath {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "remove_path",
        name: "Remove a path",
        description: "Remove a file, a link or, with `recursive`, a folder. Without `expect` it removes nothing and tells what would be removed; with these figures it removes exactly that. Dangerous: needs a signed procedure and approvals by two people. Only below the folders that the host's owner has named; never such a folder itself, a mount point, or anything outside.",
        class: Class::Dangerous,
        scope: Scope::Host,
        category: "files",
        result_preview: "removed 214 files and 12 folders, 1.2 GiB",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let (host, cancel) = (Arc::clone(&cx.host), cx.cancel.clone());
        blocking(move || remove(host.as_ref(), &params, &|| cancel.is_cancelled())).await
    }
}

fn remove(host: &dyn Host, params: &Params, stopped: &dyn Fn() -> bool) -> Result<Output, SkillError> {
    let place = Place::find(host, &params.path)?;
    let shown = place.real.display().to_string();
    if host
        .file_rules()
        .denied
        .iter()
        .any(|closed| place.real.starts_with(closed) || closed.starts_with(&place.real))
    {
        return Err(refused(format!(
            "`{shown}` is closed by this host's configuration, or something below it is"
        )));
    }
    let roots = &host.change_rules().write_roots;
    if roots.iter().any(|root| root.starts_with(&place.real)) {
        return Err(refused(format!(
            "a folder that this host's owner has named for changes lies at or below `{shown}`"
        )));
    }
    if place.stat()?.is_none() {
        return Err(not_found(format!("there is no `{shown}`")));
    }
    place.refuse_link_out(host, &params.path)?;
    let tree = Tree::walk(host, &place, stopped)?;
    let figures = tree.figures();
    if tree.is_folder() && !params.recursive && figures.count > 1 {
        return Err(invalid(format!(
            "`{shown}` is a folder with {} entries in it; `recursive` removes it with them. {}",
            figures.count - 1,
            preview(&shown, figures, &tree.sample(SAMPLE))
        )));
    }
    let Some(expect) = params.expect else {
        return Err(refused(format!(
            "nothing was removed: this was the preview. {}",
            preview(&shown, figures, &tree.sample(SAMPLE))
        )));
    };
    if (expect.count, expect.bytes) != (figures.count, figures.bytes) {
        return Err(refused(format!(
            "nothing was removed: it is not what was previewed (count {}, bytes {}). {}",
            expect.count,
            expect.bytes,
            preview(&shown, figures, &tree.sample(SAMPLE))
        )));
    }
    let sample = tree.sample(SAMPLE);
    let done = tree.remove(&place, stopped);
    if let Some((path, reason)) = done.left.first() {
        return Err(failed(format!(
            "`{shown}`: {} of {} entries were removed, {} bytes of {}; {} are left, for example `{path}`: {reason}",
            done.removed.count,
            figures.count,
            done.removed.bytes,
            figures.bytes,
            figures.count - done.removed.count,
        )));
    }
    let Figures { count, bytes, files, folders, .. } = done.removed;
    Ok(Output { path: shown, count, bytes, files, folders, sample })
}

/// What would be removed, and how to say so.
fn preview(shown: &str, figures: Figures, sample: &[String]) -> String {
    let Figures { count, bytes, files, folders, others } = figures;
    format!(
        "`{shown}`: {count} entries ({files} files, {folders} folders, {others} links and others), {bytes} bytes, for example {}. A call with expect={{\"count\":{count},\"bytes\":{bytes}}} removes exactly this",
        sample.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use proptest::prelude::*;
    use skill::{ChangeRules, SkillErrorKind};
    use std::os::unix::fs::symlink;

    fn host() -> FakeHost {
        FakeHost::empty()
            .with("/srv/old/a.log", "12345")
            .with("/srv/old/deep/b.log", "1234567")
            .with("/srv/keep.txt", "keep")
            .with("/etc/outside", "x")
            .with_changes(ChangeRules {
                write_roots: vec!["/srv".into()],
                protected: vec!["/srv/agent".into()],
                ..ChangeRules::default()
            })
    }

    fn params(path: &str, expect: Option<(u64, u64)>) -> Params {
        let expect = expect.map(|(count, bytes)| Expect { count, bytes });
        Params { path: path.to_owned(), recursive: true, expect }
    }

    fn run(host: &FakeHost, params: &Params) -> Result<Output, SkillError> {
        remove(host, params, &|| false)
    }

    #[test]
    fn a_call_without_figures_removes_nothing_and_tells_them() {
        let host = host();
        let error = run(&host, &params("/srv/old", None)).unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::Refused);
        assert!(error.message.contains(r#"expect={"count":4,"bytes":12}"#), "{error}");
        assert!(error.message.contains("2 files, 2 folders"), "{error}");
        assert!(host.path("/srv/old/deep/b.log").exists());
    }

    #[test]
    fn what_was_previewed_is_removed() {
        let host = host();
        let output = run(&host, &params("/srv/old", Some((4, 12)))).unwrap();
        assert_eq!((output.count, output.bytes, output.files, output.folders), (4, 12, 2, 2));
        assert!(!host.path("/srv/old").exists() && host.path("/srv/keep.txt").exists());
        run(&host, &params("/srv/keep.txt", Some((1, 4)))).unwrap();
        assert!(!host.path("/srv/keep.txt").exists());
    }

    #[test]
    fn what_changed_since_the_preview_is_not_removed() {
        let host = host();
        host.write("/srv/old/new.log", "x");
        let error = run(&host, &params("/srv/old", Some((4, 12)))).unwrap_err();
        assert!(error.message.contains("count 4, bytes 12"), "{error}");
        assert!(error.message.contains(r#"expect={"count":5,"bytes":13}"#), "{error}");
        assert!(host.path("/srv/old/a.log").exists());
    }

    #[test]
    fn what_appears_while_it_is_removed_stays() {
        let host = host();
        let place = Place::find(&host, "/srv/old").unwrap();
        let tree = Tree::walk(&host, &place, &|| false).unwrap();
        host.write("/srv/old/deep/late.log", "late");
        std::fs::remove_file(host.path("/srv/old/a.log")).unwrap();
        host.write("/srv/old/a.log", "swapped");
        let done = tree.remove(&place, &|| false);
        assert_eq!(std::fs::read_to_string(host.path("/srv/old/deep/late.log")).unwrap(), "late");
        assert_eq!(std::fs::read_to_string(host.path("/srv/old/a.log")).unwrap(), "swapped");
        assert!(!host.path("/srv/old/deep/b.log").exists());
        assert_eq!(done.removed.count, 1);
        assert!(done.left.iter().any(|(path, _)| path == "/srv/old/deep"), "{:?}", done.left);
    }

    #[test]
    fn links_are_removed_themselves_and_those_that_lead_out_are_refused() {
        let host = host();
        symlink("../keep.txt", host.path("/srv/old/inside")).unwrap();
        symlink(host.path("/etc"), host.path("/srv/old/deep/out")).unwrap();
        let error = run(&host, &params("/srv/old/deep/out", Some((1, 0)))).unwrap_err();
        assert!(error.kind == SkillErrorKind::Refused && error.message.contains("out of"), "{error}");
        run(&host, &params("/srv/old/inside", Some((1, 0)))).unwrap();
        assert!(host.path("/srv/keep.txt").exists());
        run(&host, &params("/srv/old", Some((5, 12)))).unwrap();
        assert!(host.path("/etc/outside").exists() && !host.path("/srv/old").exists());
        let error = run(&host, &params("/srv/none", Some((1, 0)))).unwrap_err();
        assert_eq!(error.kind, SkillErrorKind::NotFound);
    }

    #[test]
    fn roots_what_is_outside_and_the_agent_s_own_files_are_refused() {
        let host = host().with("/srv/agent/key", "k");
        for path in ["/srv", "/etc/outside", "/", "/srv/agent", "/srv/agent/key"] {
            let error = run(&host, &params(path, Some((1, 1)))).unwrap_err();
            assert_eq!(error.kind, SkillErrorKind::Refused, "{path}: {error}");
        }
        let rules = ChangeRules {
            write_roots: vec!["/srv".into(), "/srv/old/deep".into()],
            protected: vec!["/srv/keep.txt".into()],
            ..ChangeRules::default()
        };
        let host = host.with_changes(rules);
        assert!(run(&host, &params("/srv/old", None)).unwrap_err().message.contains("at or below"));
        host.write("/srv/box/x", "");
        std::fs::hard_link(host.path("/srv/keep.txt"), host.path("/srv/box/alias")).unwrap();
        let error = run(&host, &params("/srv/box", Some((3, 4)))).unwrap_err();
        assert!(error.message.contains("agent itself"), "{error}");
    }

    #[test]
    fn a_full_folder_needs_to_be_meant() {
        let host = host();
        let with = |path: &str, expect| Params { recursive: false, ..params(path, expect) };
        assert_eq!(run(&host, &with("/srv/old", Some((4, 12)))).unwrap_err().kind, SkillErrorKind::Invalid);
        std::fs::create_dir(host.path("/srv/empty")).unwrap();
        run(&host, &with("/srv/empty", Some((1, 0)))).unwrap();
        assert!(!host.path("/srv/empty").exists());
    }

    #[test]
    fn a_stopped_call_removes_nothing_more() {
        let host = host();
        assert!(remove(&host, &params("/srv/old", Some((4, 12))), &|| true).is_err());
        assert!(host.path("/srv/old/a.log").exists());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn the_figures_of_any_tree_remove_it_whole(paths in prop::collection::btree_set("(a|b|c)/(d|e)/[fg]", 1..8)) {
            let host = host();
            for path in &paths {
                host.write(&format!("/srv/tree/{path}"), path);
            }
            let place = Place::find(&host, "/srv/tree").unwrap();
            let figures = Tree::walk(&host, &place, &|| false).unwrap().figures();
            prop_assert_eq!(figures.files, paths.len() as u64);
            let output = run(&host, &params("/srv/tree", Some((figures.count, figures.bytes)))).unwrap();
            prop_assert_eq!(output.count, figures.count);
            prop_assert!(!host.path("/srv/tree").exists());
        }
    }
}
