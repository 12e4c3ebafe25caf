//! Reads what git writes for programs: `status --porcelain=v2 -z`, and lists with fields of our own.

use schemars::JsonSchema;
use serde::Serialize;

/// Entries of a list that are told.
pub(crate) const MAX_ENTRIES: usize = 1000;

/// Separates the fields of one entry. It can't be in names of refs, and is taken out of everything else.
pub(crate) const FIELD: char = '\u{1f}';

/// Where a repository stands.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Status {
    /// The branch. Left out where a commit is checked out that no branch is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    /// The commit. Left out before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    /// The branch that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) upstream: Option<String>,
    /// Commits that the upstream does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ahead: Option<u64>,
    /// Commits that only the upstream has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) behind: Option<u64>,
    /// Stashes.
    pub(crate) stashes: u64,
    /// Files that are not as in the commit.
    pub(crate) changes: Vec<Change>,
    /// Whether there are more than are told.
    pub(crate) more: bool,
}

/// A file that is not as in the commit.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// Path in the repository.
    pub(crate) path: String,
    /// Where it was before it was renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// What is staged: `added`, `modified`, `deleted`, `renamed`, `copied`, `type_changed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) staged: Option<&'static str>,
    /// What is not staged: the same words, and `untracked`, `ignored`, `conflict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unstaged: Option<&'static str>,
}

/// A commit.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Commit {
    /// Its id.
    pub(crate) id: String,
    /// Who wrote it.
    pub(crate) author: String,
    /// Their address.
    pub(crate) email: String,
    /// When, RFC 3339.
    pub(crate) time: String,
    /// Branches and tags on it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) refs: String,
    /// First line of its message.
    pub(crate) subject: String,
}

/// A branch.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Branch {
    /// Its name; those of remotes begin with the remote's.
    pub(crate) name: String,
    /// Whether it is checked out.
    pub(crate) current: bool,
    /// Its last commit.
    pub(crate) commit: String,
    /// When that was made, RFC 3339.
    pub(crate) time: String,
    /// The branch that it follows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) upstream: String,
    /// How far it is from that, for example `ahead 2, behind 1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) track: String,
    /// First line of its last commit's message.
    pub(crate) subject: String,
}

/// Arguments of `git log` for [`commits`].
pub(crate) const LOG_FORMAT: &str = "--format=%H%x1f%an%x1f%ae%x1f%aI%x1f%D%x1f%s";

/// Arguments of `git for-each-ref` for [`branches`].
pub(crate) const REF_FORMAT: &str = "--format=%(refname:short)%1f%(HEAD)%1f%(objectname)%1f%(committerdate:iso-strict)%1f%(upstream:short)%1f%(upstream:track,nobracket)%1f%(subject)";

/// Reads `git status --porcelain=v2 --branch --show-stash -z`.
pub(crate) fn status(bytes: &[u8]) -> Status {
    let mut status = Status::default();
    let mut records =
        bytes.split(|byte| *byte == 0).map(|record| String::from_utf8_lossy(record).into_owned());
    while let Some(record) = records.next() {
        if let Some(header) = record.strip_prefix("# ") {
            status.header(header);
            continue;
        }
        let Some((kind, rest)) = record.split_once(' ') else { continue };
        let change = match kind {
            "1" => fields(rest, 8).map(|(xy, path)| Change::tracked(xy, path.to_owned(), None)),
            "2" => {
                let from = records.next();
                fields(rest, 9).map(|(xy, path)| Change::tracked(xy, path.to_owned(), from))
            }
            "u" => fields(rest, 10).map(|(_, path)| Change::plain(path, "conflict")),
            "?" => Some(Change::plain(rest, "untracked")),
            "!" => Some(Change::plain(rest, "ignored")),
            _ => None,
        };
        if let Some(change) = change {
            if status.changes.len() == MAX_ENTRIES {
                status.more = true;
                break;
            }
            status.changes.push(change);
        }
    }
    status
}

/// The first of `count` fields, and the last one, which is a path and may hold blanks.
fn fields(text: &str, count: usize) -> Option<(&str, &str)> {
    let mut parts = text.splitn(count, ' ');
    let first = parts.next()?;
    Some((first, parts.nth(count - 2)?))
}

impl Status {
    fn header(&mut self, header: &str) {
        let Some((name, value)) = header.split_once(' ') else { return };
        match name {
            "branch.oid" if value != "(initial)" => self.commit = Some(value.to_owned()),
            "branch.head" if value != "(detached)" => self.branch = Some(value.to_owned()),
            "branch.upstream" => self.upstream = Some(value.to_owned()),
            "branch.ab" => {
                let mut numbers = value.split(' ');
                self.ahead = numbers.next().and_then(|text| text.strip_prefix('+')?.parse().ok());
                self.behind = numbers.next().and_then(|text| text.strip_prefix('-')?.parse().ok());
            }
            "stash" => self.stashes = value.parse().unwrap_or(0),
            _ => {}
        }
    }
}

impl Change {
    fn plain(path: &str, unstaged: &'static str) -> Self {
        Self { path: path.to_owned(), from: None, staged: None, unstaged: Some(unstaged) }
    }

    fn tracked(xy: &str, path: String, from: Option<String>) -> Self {
        let mut letters = xy.chars();
        let mut word = || letters.next().and_then(word_of);
        Self { path, from, staged: word(), unstaged: word() }
    }
}

fn word_of(letter: char) -> Option<&'static str> {
    Some(match letter {
        'A' => "added",
        'M' => "modified",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        'T' => "type_changed",
        'U' => "conflict",
        _ => return None,
    })
}

/// Reads `git log -z` with [`LOG_FORMAT`].
pub(crate) fn commits(bytes: &[u8]) -> Vec<Commit> {
    let text = String::from_utf8_lossy(bytes);
    text.split('\0')
        .filter_map(|record| {
            let mut fields = record.splitn(6, FIELD).map(str::to_owned);
            let mut next = || fields.next();
            Some(Commit {
                id: next().filter(|id| !id.is_empty())?,
                author: next()?,
                email: next()?,
                time: next()?,
                refs: next()?,
                subject: next()?,
            })
        })
        .collect()
}

/// Reads `git for-each-ref` with [`REF_FORMAT`].
pub(crate) fn branches(bytes: &[u8]) -> Vec<Branch> {
    let text = String::from_utf8_lossy(bytes);
    text.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(7, FIELD).map(str::to_owned);
            let mut next = || fields.next();
            Some(Branch {
                name: next().filter(|name| !name.is_empty())?,
                current: next()? == "*",
                commit: next()?,
                time: next()?,
                upstream: next()?,
                track: next()?,
                subject: next()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_kind_of_entry_is_read() {
        let text = "# branch.oid 1234\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0# stash 3\0\
            1 .M N... 100644 100644 100644 aa bb with blank.txt\0\
            2 R. N... 100644 100644 100644 aa bb R100 new name\0old name\0\
            u UU N... 1 2 3 4 aa bb cc both\0? fresh file\0! built\0";
        let status = status(text.as_bytes());
        assert_eq!((status.branch.as_deref(), status.commit.as_deref()), (Some("main"), Some("1234")));
        assert_eq!((status.ahead, status.behind, status.stashes), (Some(2), Some(1), 3));
        let told: Vec<_> = status
            .changes
            .iter()
            .map(|change| (change.path.as_str(), change.from.as_deref(), change.staged, change.unstaged))
            .collect();
        assert_eq!(
            told,
            [
                ("with blank.txt", None, None, Some("modified")),
                ("new name", Some("old name"), Some("renamed"), None),
                ("both", None, None, Some("conflict")),
                ("fresh file", None, None, Some("untracked")),
                ("built", None, None, Some("ignored")),
            ]
        );
    }

    #[test]
    fn a_repository_without_a_commit_and_one_without_a_branch_are_told() {
        let fresh = status(b"# branch.oid (initial)\0# branch.head main\0");
        assert_eq!((fresh.commit, fresh.branch.as_deref()), (None, Some("main")));
        assert_eq!(status(b"# branch.oid 12\0# branch.head (detached)\0").branch, None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(b' '), Just(b'1'), Just(b'2'), Just(b'#'), Just(0x1f), any::<u8>()], 0..200)) {
            let _ = (status(&bytes), commits(&bytes), branches(&bytes));
        }

        #[test]
        fn any_path_comes_back(path in "[^\0]{1,40}") {
            let text = format!("1 A. N... 0 1 1 aa bb {path}\0? {path}\0");
            let status = status(text.as_bytes());
            prop_assert_eq!(status.changes.len(), 2);
            prop_assert!(status.changes.iter().all(|change| change.path == path));
        }
    }
}
