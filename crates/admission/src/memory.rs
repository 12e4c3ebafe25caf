//! What the edge remembers about safe calls: which run, how the last ones ended, and which must not start any more.
//!
//! In memory, which is enough for them: after a restart of the edge nothing of them is left on the host, and asking
//! for one of them answers "absent". Calls that change something are in the [`journal`](crate::journal).

use crate::{Ended, Recall};
use bytes::Bytes;
use model::CallId;
use std::collections::{HashMap, VecDeque};

#[derive(Debug)]
enum Entry {
    Running,
    Ended(Ended),
    Tombstone,
}

/// The memory itself. Bounded in entries and in bytes of results; what runs is bounded by the door.
#[derive(Debug)]
pub(crate) struct Memory {
    entries: HashMap<CallId, Entry>,
    /// Everything that doesn't run, oldest first.
    settled: VecDeque<CallId>,
    max_settled: usize,
    result_bytes: usize,
    max_result_bytes: usize,
}

impl Memory {
    pub(crate) fn new(max_settled: usize, max_result_bytes: usize) -> Self {
        Self {
            entries: HashMap::new(),
            settled: VecDeque::new(),
            max_settled,
            result_bytes: 0,
            max_result_bytes,
        }
    }

    /// What is known of a call, without leaving a trace.
    pub(crate) fn look(&self, call_id: CallId) -> Option<Recall> {
        self.entries.get(&call_id).map(|entry| match entry {
            Entry::Running => Recall::Running,
            Entry::Ended(ended) => Recall::Ended(Box::new(ended.clone())),
            Entry::Tombstone => Recall::Absent,
        })
    }

    /// What is known of a call; leaves a tombstone where nothing is.
    pub(crate) fn recall(&mut self, call_id: CallId) -> Recall {
        if let Some(known) = self.look(call_id) {
            return known;
        }
        self.entries.insert(call_id, Entry::Tombstone);
        self.settle(call_id);
        Recall::Absent
    }

    pub(crate) fn start(&mut self, call_id: CallId) {
        self.entries.insert(call_id, Entry::Running);
    }

    /// Keeps how a running call ended; the first word counts.
    pub(crate) fn end(&mut self, call_id: CallId, ended: Ended) {
        if !matches!(self.entries.get(&call_id), Some(Entry::Running)) {
            return;
        }
        self.result_bytes += ended.result.as_ref().map_or(0, Bytes::len);
        self.entries.insert(call_id, Entry::Ended(ended));
        self.settle(call_id);
    }

    fn settle(&mut self, call_id: CallId) {
        self.settled.push_back(call_id);
        while self.settled.len() > self.max_settled {
            let Some(oldest) = self.settled.pop_front() else { break };
            if let Some(Entry::Ended(Ended { result: Some(result), .. })) = self.entries.remove(&oldest) {
                self.result_bytes -= result.len();
            }
        }
        if self.result_bytes > self.max_result_bytes {
            self.drop_oldest_results();
        }
    }

    /// Drops results, oldest first, until they fit; the outcomes stay.
    fn drop_oldest_results(&mut self) {
        for call_id in &self.settled {
            if self.result_bytes <= self.max_result_bytes {
                break;
            }
            if let Some(Entry::Ended(ended)) = self.entries.get_mut(call_id)
                && let Some(result) = ended.result.take()
            {
                self.result_bytes -= result.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CallState;
    use proptest::prelude::*;
    use std::time::Duration;

    fn ended(bytes: usize) -> Ended {
        Ended {
            state: CallState::Succeeded,
            error_kind: None,
            error: None,
            result: Some(Bytes::from(vec![b'1'; bytes])),
            result_bytes: bytes as u64,
            duration: Duration::ZERO,
            sandbox: None,
        }
    }

    #[test]
    fn asking_for_an_unknown_call_leaves_a_tombstone() {
        let mut memory = Memory::new(10, 100);
        let call_id = CallId::generate();
        assert_eq!(memory.look(call_id), None);
        assert_eq!(memory.recall(call_id), Recall::Absent);
        assert_eq!(memory.look(call_id), Some(Recall::Absent));
    }

    #[test]
    fn a_result_is_forgotten_before_its_outcome_is() {
        let mut memory = Memory::new(10, 100);
        let (first, second) = (CallId::generate(), CallId::generate());
        for call_id in [first, second] {
            memory.start(call_id);
            memory.end(call_id, ended(80));
        }
        let Some(Recall::Ended(kept)) = memory.look(first) else { panic!("the outcome is gone") };
        assert_eq!((kept.result, kept.result_bytes), (None, 80));
        assert_eq!(memory.look(second), Some(Recall::Ended(Box::new(ended(80)))));
    }

    #[test]
    fn the_first_end_counts() {
        let mut memory = Memory::new(10, 100);
        let call_id = CallId::generate();
        memory.start(call_id);
        memory.end(call_id, ended(1));
        memory.end(call_id, ended(2));
        assert_eq!(memory.look(call_id), Some(Recall::Ended(Box::new(ended(1)))));
    }

    proptest! {
        #[test]
        fn the_memory_stays_bounded(sizes in prop::collection::vec(0usize..200, 0..60)) {
            let mut memory = Memory::new(8, 300);
            for size in sizes {
                let call_id = CallId::generate();
                memory.start(call_id);
                memory.end(call_id, ended(size));
                let held: usize = memory.entries.values().map(|entry| match entry {
                    Entry::Ended(Ended { result: Some(result), .. }) => result.len(),
                    _ => 0,
                }).sum();
                prop_assert_eq!(held, memory.result_bytes);
                prop_assert!(held <= 300 && memory.entries.len() <= 8);
            }
        }
    }
}
