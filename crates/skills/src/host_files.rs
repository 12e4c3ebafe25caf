//! Finds what takes space, and lists and describes files, without reading them.

mod report;
#[cfg(test)]
mod tests;

use crate::support::errors::{blocking, invalid, refused};
use crate::support::files::facts::Names;
use crate::support::files::open::{Place, look};
use crate::support::files::top::Top;
use crate::support::files::walk::{self, Budget, Found, Rules, Unread, disk_of, size_of};
use crate::support::pattern::Glob;
use model::{Class, Scope};
use report::{Entry, Facts, PathReport, Row, Space, Unreadable};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Skill, SkillContext, SkillError, SkillErrorKind, secrets};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// Most entries that one call looks at.
const MAX_ENTRIES: u64 = 2_000_000;

/// Longest time that one call walks.
const MAX_TIME: Duration = Duration::from_secs(40);

/// How many calls walk at once. Each keeps a disk busy.
static WALKS: Semaphore = Semaphore::const_new(2);

pub(crate) struct HostFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What to do: `du` (what takes space, by folder), `find_large` (the largest files), `list` (what is in a folder) or `stat` (size, mode, owner and times of single files).
    action: Action,
    /// Absolute paths, for example `/var`.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 4096)))]
    paths: Vec<String>,
    /// Most entries to list: for each path, of `find_large` for all together. 20 if left out, 200 for `list`.
    #[schemars(range(min = 1, max = 1000))]
    top_n: Option<u32>,
    /// How many folders deep: of `du` what is listed (all is counted), of `find_large` and `list` what is looked at. 1 if left out; `find_large` then looks everywhere.
    #[schemars(range(min = 1, max = 5))]
    depth: Option<u32>,
    /// List only what takes at least this many bytes.
    #[serde(default)]
    min_size: u64,
    /// Leave these out with all that is below: names or absolute paths, with `*`, `**` and `?`, for example `*.cache` or `/var/lib/docker`.
    #[serde(default)]
    #[schemars(length(max = 32), inner(length(min = 1, max = 256)))]
    exclude: Vec<String>,
    /// Whether to walk other file systems that are mounted below too.
    #[serde(default)]
    cross_filesystems: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    FindLarge,
    Du,
    Stat,
    List,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// What was done.
    action: Action,
    /// Each path, in the order in which they were asked for.
    paths: Vec<PathReport>,
    /// Of `find_large`: the largest files of all paths, by what they take on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest: Option<Vec<Entry>>,
    /// How many entries were looked at.
    looked_at: u64,
    /// Whether everything was looked at that can be read. If not, sums are too small.
    complete: bool,
    /// What could not be read.
    unread: Unreadable,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Skill for HostFiles {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "host_files",
        name: "Files and disk use",
        description: "Find out what takes disk space below folders (du), find the largest files, list folders, or describe files (size, mode, owner, times). Stays on one file system unless asked otherwise, counts hard links once, and tells what it could not read. Never reads the files themselves.",
        class: Class::Safe,
        scope: Scope::Host,
        category: "files",
        result_preview: "/var 12.4 GiB: lib 9.1 GiB, log 2.8 GiB, cache 0.4 GiB",
        prerequisites: &[],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let Ok(Ok(slot)) = timeout(Duration::from_secs(10), WALKS.acquire()).await else {
            return Err(SkillError::new(
                SkillErrorKind::Busy,
                "two other calls are walking through this host's files; try again when they are done",
            ));
        };
        // Some time is left to answer before the call's deadline.
        let left =
            cx.deadline.map_or(MAX_TIME, |deadline| deadline.saturating_duration_since(Instant::now()));
        let time = left.mul_f64(0.8).min(MAX_TIME);
        let host = Arc::clone(&cx.host);
        let cancel = cx.cancel.clone();
        blocking(move || {
            let _slot = slot;
            let stop = || cancel.is_cancelled();
            Work::new(host.as_ref(), &params, time, &stop)?.run()
        })
        .await
    }
}

/// One call.
struct Work<'a> {
    host: &'a dyn Host,
    params: &'a Params,
    exclude: Vec<Glob>,
    stop: &'a dyn Fn() -> bool,
    budget: Budget,
    unread: Unread,
    largest: Top<Row>,
    most: usize,
}

impl<'a> Work<'a> {
    fn new(
        host: &'a dyn Host,
        params: &'a Params,
        time: Duration,
        stop: &'a dyn Fn() -> bool,
    ) -> Result<Self, SkillError> {
        let usual = if params.action == Action::List { 200 } else { 20 };
        let most = params.top_n.unwrap_or(usual) as usize;
        Ok(Self {
            host,
            params,
            exclude: params.exclude.iter().map(|pattern| Glob::new(pattern)).collect::<Result<_, _>>()?,
            stop,
            budget: Budget::new(MAX_ENTRIES, time),
            unread: Unread::default(),
            largest: Top::new(most),
            most,
        })
    }

    fn run(mut self) -> Result<Output, SkillError> {
        let (users, groups) = (Names::users(self.host), Names::groups(self.host));
        let mut reports = Vec::new();
        let mut first_error = None;
        for path in &self.params.paths {
            match self.report(path, &users, &groups) {
                Ok(report) => reports.push(report),
                Err(error) => {
                    reports.push(PathReport::failed(path, &error));
                    first_error.get_or_insert(error);
                }
            }
            if (self.stop)() {
                return Err(SkillError::new(SkillErrorKind::Cancelled, "stopped"));
            }
        }
        if let Some(error) = first_error
            && reports.iter().all(PathReport::has_failed)
        {
            return Err(error);
        }
        let mut notes = Vec::new();
        if self.budget.lost_links() {
            notes.push("there are so many hard links that some files were counted more than once".to_owned());
        }
        let complete = self.budget.ended.is_none();
        if let Some(why) = self.budget.ended {
            notes.push(format!(
                "{why}: what is shown is only a part; ask for less, for example a folder below"
            ));
        }
        let largest = (self.params.action == Action::FindLarge)
            .then(|| self.largest.into_sorted().into_iter().map(|row| row.entry(&users)).collect());
        Ok(Output {
            action: self.params.action,
            paths: reports,
            largest,
            looked_at: self.budget.seen,
            complete,
            unread: Unreadable::of(self.unread),
            notes,
        })
    }

    fn report(&mut self, path: &str, users: &Names, groups: &Names) -> Result<PathReport, SkillError> {
        let place = look(self.host, path)?;
        let kind = FileType::from_raw_mode(place.stat.st_mode);
        let mut report = PathReport::of(path, &place, kind);
        if self.params.action == Action::Stat {
            report.facts = Some(Facts::of(self.host, path, &place, users, groups));
            return Ok(report);
        }
        if kind != FileType::Directory {
            let row = Row::new(place.real.clone(), &place.stat, kind, disk_of(&place.stat), None);
            if self.params.action == Action::FindLarge {
                self.largest.offer(row);
            } else {
                report.entries = Some(vec![row.entry(users)]);
            }
            return Ok(report);
        }
        self.refuse_pointless(&place.real)?;
        let (sum, rows) = self.walk(&place)?;
        if self.params.action != Action::FindLarge {
            report.more_entries = rows.offered.saturating_sub(self.most as u64);
            report.entries = Some(rows.into_sorted().into_iter().map(|row| row.entry(users)).collect());
        }
        report.sum(sum);
        if self.params.action == Action::Du {
            report.filesystem = Space::of(&place);
        }
        Ok(report)
    }

    fn refuse_pointless(&self, real: &Path) -> Result<(), SkillError> {
        let shown = real.display();
        if self.params.action != Action::List {
            let made_up = ["/proc", "/sys"].iter().any(|place| real.starts_with(place));
            return if made_up {
                Err(invalid(format!(
                    "`{shown}` is made up by the kernel; nothing in it takes space on a disk"
                )))
            } else {
                Ok(())
            };
        }
        if secrets::is_closed_folder(real) {
            return Err(refused(format!(
                "`{shown}` may not be listed: this folder holds secrets or devices"
            )));
        }
        Ok(())
    }

    fn walk(&mut self, place: &Place) -> Result<(walk::Sum, Top<Row>), SkillError> {
        let Params { action, min_size, cross_filesystems, .. } = *self.params;
        let depth = self.params.depth.map(|depth| depth as usize);
        // `du` counts everything; the depth is about what is listed.
        let deepest = match action {
            Action::FindLarge => depth,
            Action::List => Some(depth.unwrap_or(1)),
            Action::Du | Action::Stat => None,
        };
        let listed_to = if action == Action::Du { depth.unwrap_or(1) } else { usize::MAX };
        let denied = &self.host.file_rules().denied;
        let exclude = &self.exclude;
        let excluded = |path: &Path| exclude.iter().any(|glob| glob.matches(path));
        let closed = |path: &Path| {
            if denied.iter().any(|denied| path.starts_with(denied)) {
                return Some("closed by this host's configuration");
            }
            // What secrets take is counted, but none of them is named.
            (action != Action::Du && secrets::is_closed_folder(path))
                .then_some("this folder holds secrets or devices")
        };
        let rules = Rules {
            cross: cross_filesystems,
            made_up: action == Action::List,
            excluded: &excluded,
            closed: &closed,
            stop: self.stop,
        };
        let mut rows = Top::new(self.most);
        let largest = &mut self.largest;
        let mut each = |found: &Found<'_>| {
            let within = found.path.parent().is_some_and(secrets::is_closed_folder);
            if within || found.level > listed_to || found.disk.max(size_of(found.stat)) < min_size {
                return;
            }
            let row = || Row::new(found.path.to_owned(), found.stat, found.kind, found.disk, found.sum);
            match action {
                // A second name of a file takes nothing.
                Action::FindLarge if found.kind == FileType::RegularFile && found.disk > 0 => {
                    largest.offer(row())
                }
                Action::FindLarge => {}
                Action::Du => rows.offer(row()),
                Action::List | Action::Stat => rows.offer(row().by_name()),
            }
        };
        walk::walk(&place.place, &place.real, deepest, &rules, &mut self.budget, &mut self.unread, &mut each)
            .map(|sum| (sum, rows))
            .map_err(|error| {
                let kind = match error {
                    rustix::io::Errno::ACCESS | rustix::io::Errno::PERM => SkillErrorKind::PermissionDenied,
                    rustix::io::Errno::NOTSUP => SkillErrorKind::Invalid,
                    _ => SkillErrorKind::Failed,
                };
                let shown = place.real.display();
                SkillError::new(kind, format!("could not look into `{shown}`: {}", walk::reason(error)))
            })
    }
}
