//! What must outlive the edge about calls that change something: which were let through, how they ended, and which
//! must not start any more. Every record is on the disk before anything is done because of it.
//!
//! It forgets only what the manager has acknowledged; when it is full, it takes nothing new. The format is in
//! `docs/decisions/0009-journal-of-checked-lines.md`.

mod index;
mod local;
mod log;
mod record;
mod watcher;

#[cfg(test)]
mod tests;

pub use local::{LocalCall, LocalCalls};
pub use record::{Accepted, Asked, MAX_KEPT_RESULT_BYTES};
pub use watcher::{Point, Unwatched, Watcher, What, When};

use crate::{Ended, Recall};
use index::Index;
use log::Log;
use model::{CallId, CallState, Clock, SystemClock};
use record::{Record, StoredEnd};
use serde_json::json;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Room that is kept for the end of each call that runs: its result with every character escaped, its error, and
/// the rest of the line.
const ROOM_FOR_END: u64 = 2 * MAX_KEPT_RESULT_BYTES as u64 + 32 * 1024;

/// Bytes that are no longer needed before the file is written anew.
const SLACK_BYTES: u64 = 64 * 1024;

/// Where a journal is, and how much it holds.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// The file. Its directory must be there at the first write.
    pub path: PathBuf,
    /// The host's boot.
    pub boot_id: String,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Calls that are kept, and as many tombstones. Default: 1,000.
    pub max_calls: usize,
    /// Bytes of the file. Default: 8 MiB.
    pub max_bytes: u64,
    /// Is told of every step, for tests.
    pub watcher: Arc<dyn Watcher>,
}

impl JournalOptions {
    /// A journal at `path` with the default limits.
    pub fn new(path: PathBuf, boot_id: String, clock: Arc<dyn Clock>) -> Self {
        Self {
            path,
            boot_id,
            clock,
            max_calls: 1000,
            max_bytes: 8 * 1024 * 1024,
            watcher: Arc::new(Unwatched),
        }
    }
}

/// How far the journal is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Every seq up to this one has been acknowledged.
    pub through: u64,
    /// The highest seq ever accepted.
    pub highest: u64,
    /// Why no change can be taken on, if none can.
    pub problem: Option<String>,
}

/// Why something could not be kept. Nothing was done because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalError {
    /// This call id or seq can't be used (any more).
    Known(Known),
    /// There is no room until the manager has acknowledged more.
    Full(String),
    /// The file is damaged, or can't be written.
    Unusable(String),
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(known) => write!(f, "{known}"),
            Self::Full(text) | Self::Unusable(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for JournalError {}

/// What the journal knows of a call that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was accepted with this payload.
    Accepted {
        /// [`Accepted::payload`].
        payload: String,
    },
    /// It must not start: the manager was told that it isn't here, or wanted it stopped before it came.
    Buried,
    /// Its seq is at or below the mark.
    Acknowledged {
        /// The mark.
        through: u64,
    },
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted { .. } => f.write_str("it was accepted before"),
            Self::Buried => {
                f.write_str("the manager was told before that it isn't here, or stopped it before it came")
            }
            Self::Acknowledged { through } => {
                write!(f, "the manager has said that every call up to number {through} is final")
            }
        }
    }
}

/// What became of a wish to stop a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelKept {
    /// It runs; the wish is on the disk.
    Asked,
    /// It has ended before.
    Ended,
    /// It isn't here, and won't start.
    Buried,
}

/// The journal. All of its methods may wait for the disk.
#[derive(Debug)]
pub struct Journal {
    /// `None`: in memory.
    options: Option<JournalOptions>,
    boot_id: String,
    clock: Arc<dyn Clock>,
    max_calls: usize,
    /// Held while a record is being written, so that they are written one after the other.
    writer: Mutex<Writer>,
    /// Held for moments only.
    index: Mutex<Index>,
}

#[derive(Debug)]
struct Writer {
    log: Option<Log>,
    /// Bytes after the file was last written anew.
    compact: u64,
    /// The file holds what can't be read: nothing is written over it.
    damage: Option<String>,
    /// Why the last write failed.
    failure: Option<String>,
}

impl Journal {
    /// A journal that lives as long as this process: for tests, and for doors that only safe calls come to.
    pub fn in_memory() -> Self {
        Self::with(None, String::new(), Arc::new(SystemClock), 1000)
    }

    fn with(
        options: Option<JournalOptions>,
        boot_id: String,
        clock: Arc<dyn Clock>,
        max_calls: usize,
    ) -> Self {
        let log =
            options.as_ref().map(|options| Log::new(options.path.clone(), Arc::clone(&options.watcher)));
        let writer = Mutex::new(Writer { log, compact: 0, damage: None, failure: None });
        Self { options, boot_id, clock, max_calls, writer, index: Mutex::default() }
    }

    /// Reads the journal. Calls that ran when the edge died are settled: by the boot where the skill says so, else as
    /// failed with an effect that is possible. A file that is damaged is left as it is, and no change is taken on.
    pub fn open(options: JournalOptions) -> Self {
        let content = log::read(&options.path);
        let journal = Self::with(
            Some(options.clone()),
            options.boot_id.clone(),
            Arc::clone(&options.clock),
            options.max_calls,
        );
        let path = options.path.display();
        match content {
            Err(error) => journal.writer().damage = Some(format!("{path} can't be read: {error}")),
            Ok(content) => {
                if content.torn {
                    tracing::warn!(%path, "the last line of the journal was not written to its end; it is cut off");
                }
                *journal.index() = Index::replay(&content.records);
                if let Some(damage) = content.damage {
                    journal.writer().damage = Some(format!("{path} is damaged: {damage}"));
                } else {
                    journal.settle_left_running();
                }
            }
        }
        if let Some(damage) = &journal.writer().damage {
            tracing::error!("{}", unusable(damage));
        }
        journal
    }

    /// Ends the calls that an earlier process left running.
    fn settle_left_running(&self) {
        let left: Vec<Accepted> = self
            .index()
            .calls()
            .filter(|entry| entry.ended.is_none())
            .map(|entry| entry.accepted.clone())
            .collect();
        for accepted in left {
            let ended = settled(&accepted, &self.boot_id);
            tracing::warn!(call.id = %accepted.call_id, skill = accepted.skill, state = %ended.state, "a call was left running by an earlier process of this edge");
            self.end(accepted.call_id, &ended);
        }
    }

    /// How far it is.
    pub fn marks(&self) -> Marks {
        let problem = {
            let writer = self.writer();
            writer.damage.as_deref().or(writer.failure.as_deref()).map(unusable)
        };
        let index = self.index();
        Marks { through: index.through, highest: index.highest, problem }
    }

    /// Whether the file can't be read to its end, so that the marks are not what they should be.
    pub fn is_damaged(&self) -> bool {
        self.writer().damage.is_some()
    }

    /// What is known of a call that arrives; `None` if it may be new.
    pub fn look(&self, call_id: CallId, seq: u64) -> Option<Known> {
        let index = self.index();
        if let Some(entry) = index.call(call_id) {
            return Some(Known::Accepted { payload: entry.accepted.payload.clone() });
        }
        if index.is_buried(call_id) {
            return Some(Known::Buried);
        }
        (seq > 0 && seq <= index.through).then_some(Known::Acknowledged { through: index.through })
    }

    /// Puts on the disk that a call is let through.
    ///
    /// # Errors
    ///
    /// Fails if it was here before, there is no room, or the disk doesn't take it. Then it must not run.
    pub(crate) fn accept(&self, mut accepted: Accepted) -> Result<(), JournalError> {
        let mut writer = self.writer();
        if let Some(known) = self.look(accepted.call_id, accepted.seq) {
            return Err(JournalError::Known(known));
        }
        accepted.boot_id.clone_from(&self.boot_id);
        accepted.at = self.clock.now();
        self.make_room(&mut writer)?;
        self.write(&mut writer, Record::Accepted(Box::new(accepted)))
    }

    /// Refuses if one more call, with its end, doesn't fit.
    fn make_room(&self, writer: &mut Writer) -> Result<(), JournalError> {
        let (calls, running) = {
            let index = self.index();
            (index.counts().0, index.running())
        };
        if calls >= self.max_calls {
            return Err(JournalError::Full(format!(
                "the journal of this edge holds {calls} calls that the manager hasn't acknowledged, its limit; it takes \
                 no new change until the manager has"
            )));
        }
        let (Some(log), Some(options)) = (&writer.log, &self.options) else { return Ok(()) };
        let needed = (running as u64 + 2) * ROOM_FOR_END;
        if log.is_open() && log.length() + needed > options.max_bytes && log.length() > writer.compact {
            self.compact(writer)?;
        }
        let length = writer.log.as_ref().map_or(0, Log::length);
        if length + needed > options.max_bytes {
            return Err(JournalError::Full(format!(
                "the journal of this edge has {length} of {} bytes, and {running} running calls will need some of the \
                 rest; it takes no new change until the manager has acknowledged more",
                options.max_bytes
            )));
        }
        Ok(())
    }

    /// Keeps how a call ended; the first word counts. An end that the disk doesn't take is kept in memory, and written
    /// before anything else is.
    pub(crate) fn end(&self, call_id: CallId, ended: &Ended) {
        let mut writer = self.writer();
        let open = self.index().call(call_id).is_some_and(|entry| entry.ended.is_none());
        if !open {
            return;
        }
        let record = Record::Ended { call_id, ended: Box::new(StoredEnd::of(ended)) };
        if let Err(error) = self.write(&mut writer, record.clone()) {
            tracing::error!(call.id = %call_id, %error, "the end of a call can't be put on the disk; it is in memory only");
            self.index().apply(&record);
        }
    }

    /// Puts on the disk that a call is to be stopped. One that isn't here won't start any more.
    ///
    /// # Errors
    ///
    /// Fails if the disk doesn't take it, or too many that never came were stopped.
    pub(crate) fn cancel(&self, call_id: CallId, seq: u64) -> Result<CancelKept, JournalError> {
        let mut writer = self.writer();
        let state = self.index().call(call_id).map(|entry| (entry.ended.is_some(), entry.cancel));
        match state {
            Some((true, _)) => Ok(CancelKept::Ended),
            Some((false, true)) => Ok(CancelKept::Asked),
            Some((false, false)) => {
                self.write(&mut writer, Record::Cancel { call_id }).map(|()| CancelKept::Asked)
            }
            None => self.bury(&mut writer, call_id, seq).map(|()| CancelKept::Buried),
        }
    }

    /// What is known of a call; where nothing is, a tombstone stays, so that a late delivery is refused.
    ///
    /// # Errors
    ///
    /// Fails if the tombstone can't be kept: then nobody may be told that the call isn't here.
    pub(crate) fn recall(&self, call_id: CallId, seq: u64) -> Result<Recall, JournalError> {
        let mut writer = self.writer();
        let found = self.index().call(call_id).map(|entry| match &entry.ended {
            Some(ended) => Recall::Ended(Box::new(ended.ended())),
            None => Recall::Running,
        });
        match found {
            Some(found) => Ok(found),
            None => self.bury(&mut writer, call_id, seq).map(|()| Recall::Absent),
        }
    }

    fn bury(&self, writer: &mut Writer, call_id: CallId, seq: u64) -> Result<(), JournalError> {
        {
            let index = self.index();
            // The mark refuses it as well as a tombstone would.
            if index.is_buried(call_id) || (seq > 0 && seq <= index.through) {
                return Ok(());
            }
            let buried = index.counts().1;
            if buried >= self.max_calls {
                return Err(JournalError::Full(format!(
                    "the journal of this edge holds {buried} tombstones, its limit, until the manager has acknowledged more"
                )));
            }
        }
        self.write(writer, Record::Tombstone { call_id, seq })
    }

    /// Forgets every call up to this seq: the manager has their ends for good.
    ///
    /// # Errors
    ///
    /// Fails if the disk doesn't take it; then nothing is forgotten.
    pub(crate) fn acknowledge(&self, through: u64) -> Result<(), JournalError> {
        let mut writer = self.writer();
        if through <= self.index().through {
            return Ok(());
        }
        self.write(&mut writer, Record::Acknowledged { through })?;
        let grown = writer.log.as_ref().map_or(0, Log::length).saturating_sub(writer.compact);
        if grown > SLACK_BYTES
            && let Err(error) = self.compact(&mut writer)
        {
            tracing::warn!(%error, "the journal can't be made smaller");
        }
        Ok(())
    }

    /// Puts a record on the disk, then into the index.
    fn write(&self, writer: &mut Writer, record: Record) -> Result<(), JournalError> {
        if let Some(damage) = &writer.damage {
            return Err(JournalError::Unusable(unusable(damage)));
        }
        if let Some(log) = &mut writer.log {
            let fresh = !log.is_open();
            let written = if fresh {
                // Everything that is in memory only comes with it.
                let mut records = self.index().records();
                records.push(record.clone());
                log.rewrite(&records, record.what())
            } else {
                log.append(&record)
            };
            if let Err(error) = written {
                let path = self.options.as_ref().map(|options| options.path.display().to_string());
                let failure = format!("{} can't be written: {error}", path.unwrap_or_default());
                writer.failure = Some(failure.clone());
                return Err(JournalError::Unusable(unusable(&failure)));
            }
            if fresh {
                writer.compact = log.length();
            }
            writer.failure = None;
        }
        self.index().apply(&record);
        Ok(())
    }

    /// Writes the file anew with what is still needed.
    fn compact(&self, writer: &mut Writer) -> Result<(), JournalError> {
        let Some(log) = &mut writer.log else { return Ok(()) };
        let records = self.index().records();
        match log.rewrite(&records, What::Compaction) {
            Ok(()) => {
                writer.compact = log.length();
                Ok(())
            }
            Err(error) => {
                let failure = format!("the journal can't be written anew: {error}");
                writer.failure = Some(failure.clone());
                Err(JournalError::Unusable(unusable(&failure)))
            }
        }
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unusable(problem: &str) -> String {
    format!(
        "this edge takes no change, because it couldn't journal it: {problem}. Safe calls go on. If the file can't be \
         mended, move it away and start the edge again; the manager then asks an administrator which copy of this host to keep"
    )
}

/// How a call ended whose process died before it could tell.
fn settled(accepted: &Accepted, boot_id: &str) -> Ended {
    if !accepted.settles_by_boot {
        return Ended::failed(
            "outcome lost, effect possible: the edge ended during the call, and this skill can't tell afterwards",
        );
    }
    if accepted.boot_id == boot_id {
        return Ended::failed("the edge ended during the call, and the host has not been booted since");
    }
    let result = json!({"boot_id": accepted.boot_id, "new_boot_id": boot_id}).to_string();
    Ended {
        state: CallState::Succeeded,
        error_kind: None,
        error: None,
        result_bytes: result.len() as u64,
        result: Some(result.into()),
        ..Ended::failed("")
    }
}
