//! What the journal's records together say. Pure: records in, answers out.

use super::record::{Accepted, Record, StoredEnd};
use model::CallId;
use std::collections::HashMap;

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) accepted: Accepted,
    /// Somebody wants it stopped.
    pub(crate) cancel: bool,
    /// `None`: it runs, or it ran when the edge died.
    pub(crate) ended: Option<StoredEnd>,
}

/// Everything that the journal holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Index {
    /// Every seq up to this one is final in the manager; calls at or below it are forgotten, and none starts.
    pub(crate) through: u64,
    /// The highest seq ever accepted.
    pub(crate) highest: u64,
    calls: HashMap<CallId, Entry>,
    /// Calls that must not start, with their seq.
    tombstones: HashMap<CallId, u64>,
}

impl Index {
    pub(crate) fn replay<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut index = Self::default();
        for record in records {
            index.apply(record);
        }
        index
    }

    pub(crate) fn apply(&mut self, record: &Record) {
        match record {
            Record::Marks { through, highest } => {
                self.through = self.through.max(*through);
                self.highest = self.highest.max(*highest);
            }
            Record::Accepted(accepted) => {
                self.highest = self.highest.max(accepted.seq);
                let accepted = accepted.as_ref().clone();
                self.calls.entry(accepted.call_id).or_insert(Entry { accepted, cancel: false, ended: None });
            }
            // The first end counts.
            Record::Ended { call_id, ended } => {
                if let Some(entry) = self.calls.get_mut(call_id) {
                    entry.ended.get_or_insert_with(|| ended.as_ref().clone());
                }
                self.forget();
            }
            Record::Cancel { call_id } => {
                if let Some(entry) = self.calls.get_mut(call_id) {
                    entry.cancel = true;
                }
            }
            Record::Tombstone { call_id, seq } => {
                if *seq > self.through && !self.calls.contains_key(call_id) {
                    self.tombstones.insert(*call_id, *seq);
                }
            }
            Record::Acknowledged { through } => {
                self.through = self.through.max(*through);
                self.forget();
            }
        }
    }

    /// Lets go of what the manager has for good. What still runs stays until it ends.
    fn forget(&mut self) {
        let through = self.through;
        self.calls.retain(|_, entry| {
            let seq = entry.accepted.seq;
            seq == 0 || seq > through || entry.ended.is_none()
        });
        self.tombstones.retain(|_, seq| *seq > through);
    }

    pub(crate) fn call(&self, call_id: CallId) -> Option<&Entry> {
        self.calls.get(&call_id)
    }

    pub(crate) fn is_buried(&self, call_id: CallId) -> bool {
        self.tombstones.contains_key(&call_id)
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Entry> {
        self.calls.values()
    }

    pub(crate) fn running(&self) -> usize {
        self.calls.values().filter(|entry| entry.ended.is_none()).count()
    }

    /// Calls and tombstones.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.calls.len(), self.tombstones.len())
    }

    /// The fewest records that say the same, in the order of their numbers.
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut records = vec![Record::Marks { through: self.through, highest: self.highest }];
        let mut calls: Vec<&Entry> = self.calls.values().collect();
        model::order::sort_by_key(&mut calls, |entry| (entry.accepted.seq, entry.accepted.call_id.0));
        for entry in calls {
            let call_id = entry.accepted.call_id;
            records.push(Record::Accepted(Box::new(entry.accepted.clone())));
            if entry.cancel {
                records.push(Record::Cancel { call_id });
            }
            if let Some(ended) = &entry.ended {
                records.push(Record::Ended { call_id, ended: Box::new(ended.clone()) });
            }
        }
        let mut tombstones: Vec<_> = self.tombstones.iter().collect();
        model::order::sort_by_key(&mut tombstones, |(call_id, seq)| (**seq, call_id.0));
        records.extend(
            tombstones.into_iter().map(|(call_id, seq)| Record::Tombstone { call_id: *call_id, seq: *seq }),
        );
        records
    }
}
