//! The host's own record of calls that were refused for their evidence: what a manager that nobody should trust any more
//! tried here.
//!
//! Bounded: the last ones are kept, and how many there were in all. It is on the disk before the manager is answered.

use crate::files::{read_json, write_json};
use crate::{DataDir, EdgeError};
use admission::RefusalKind;
use model::{Class, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// How many are kept.
const MAX_KEPT: usize = 256;

/// Characters of a reason that are kept.
const MAX_REASON_CHARS: usize = 300;

/// Characters of any other text out of a call that are kept.
const MAX_TEXT_CHARS: usize = 64;

/// A call that was refused for its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCall {
    /// When, by the host's clock.
    pub at: Timestamp,
    /// Its id, as it came.
    pub call_id: String,
    /// The key of the skill, as it came.
    pub skill: String,
    /// The class as this host sees it; `None` where it didn't come so far.
    pub class: Option<Class>,
    /// A sentence, at most 300 characters.
    pub reason: String,
}

impl fmt::Display for RefusedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, call_id, skill, class, reason } = self;
        let class = class.map_or("-", Class::as_str);
        write!(f, "{} {call_id} {skill} ({class}): {reason}", at.format("%Y-%m-%d %H:%M:%S UTC"))
    }
}

/// What is on record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// How many there were in all.
    pub total: u64,
    /// The last ones, at most 256, oldest first.
    pub last: VecDeque<RefusedCall>,
}

impl Refusals {
    /// Reads the record of an edge; also while it runs.
    ///
    /// # Errors
    ///
    /// Fails if there is one and it can't be read.
    pub fn load(dir: &DataDir) -> Result<Self, EdgeError> {
        Ok(read_json(&dir.refusals())?.unwrap_or_default())
    }
}

/// The record, for writing.
#[derive(Debug)]
pub(crate) struct RefusalRecord {
    path: PathBuf,
    kept: Mutex<Refusals>,
}

impl RefusalRecord {
    /// Takes up the record. One that can't be read is put aside, not thrown away: somebody may want to look into it.
    pub(crate) fn open(dir: &DataDir) -> Self {
        let path = dir.refusals();
        let kept = Refusals::load(dir).unwrap_or_else(|error| {
            let aside = path.with_extension("damaged");
            tracing::error!(%error, aside = %aside.display(), "the record of refused calls can't be read; a new one begins");
            if let Err(error) = std::fs::rename(&path, &aside) {
                tracing::error!(%error, "the damaged record can't be put aside");
            }
            Refusals::default()
        });
        Self { path, kept: Mutex::new(kept) }
    }

    /// Puts a refused call on record. Waits for the disk; where that takes nothing, the log has it, and the next one that
    /// is kept brings it along.
    pub(crate) fn add(&self, mut refused: RefusedCall) {
        refused.call_id = clean(&refused.call_id, MAX_TEXT_CHARS);
        refused.skill = clean(&refused.skill, MAX_TEXT_CHARS);
        refused.reason = clean(&refused.reason, MAX_REASON_CHARS);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.total = kept.total.saturating_add(1);
        kept.last.push_back(refused);
        while kept.last.len() > MAX_KEPT {
            kept.last.pop_front();
        }
        if let Err(error) = write_json(&self.path, &*kept) {
            tracing::error!(%error, "a refused call can't be put on record");
        }
    }
}

/// One line that prints as it is.
fn clean(text: &str, limit: usize) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(limit).collect()
}

/// Whether a refusal shows that somebody asked for more than people allowed: too little evidence, or evidence with a call
/// that no manager in its right mind sends. What only came at a bad time is none.
pub(crate) fn is_for_the_record(brought_evidence: bool, kind: RefusalKind) -> bool {
    match kind {
        RefusalKind::Evidence | RefusalKind::Conflict => true,
        RefusalKind::UnknownSkill | RefusalKind::InvalidArguments | RefusalKind::DefinitionChanged => {
            brought_evidence
        }
        RefusalKind::Unmet
        | RefusalKind::Frozen
        | RefusalKind::Busy
        | RefusalKind::Duplicate
        | RefusalKind::Tombstone
        | RefusalKind::Journal => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(reason: &str) -> RefusedCall {
        RefusedCall {
            at: "2026-12-01T12:00:00Z".parse().unwrap(),
            call_id: "c".to_owned(),
            skill: "reboot_host".to_owned(),
            class: Some(Class::Dangerous),
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn the_last_ones_are_kept_over_a_restart_and_all_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::new(folder.path());
        for start in [0, 130] {
            let record = RefusalRecord::open(&dir);
            for number in start..start + 130 {
                record.add(refused(&format!("number {number}")));
            }
        }
        let found = Refusals::load(&dir).unwrap();
        assert_eq!((found.total, found.last.len()), (260, 256));
        assert_eq!(
            (found.last[0].reason.as_str(), found.last[255].reason.as_str()),
            ("number 4", "number 259")
        );
    }

    #[test]
    fn nothing_that_a_manager_sends_gets_out_of_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::new(folder.path());
        let long = format!("a\u{1b}[2J\nb{}", "x".repeat(1000));
        RefusalRecord::open(&dir).add(RefusedCall { skill: long.clone(), ..refused(&long) });
        let found = Refusals::load(&dir).unwrap().last[0].clone();
        assert!(!found.to_string().contains(char::is_control), "{found}");
        assert_eq!((found.reason.len(), found.skill.len()), (300, 64));
    }

    #[test]
    fn a_damaged_record_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::new(folder.path());
        std::fs::write(dir.refusals(), "{").unwrap();
        assert!(Refusals::load(&dir).is_err());
        RefusalRecord::open(&dir).add(refused("x"));
        assert_eq!(Refusals::load(&dir).unwrap().total, 1);
        assert_eq!(std::fs::read(folder.path().join("refusals.damaged")).unwrap(), b"{");
    }
}
