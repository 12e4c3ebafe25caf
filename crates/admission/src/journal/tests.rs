#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use super::*;
use model::{Class, Origin, Timestamp};
use proptest::prelude::*;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

fn options(dir: &TempDir, boot: &str) -> JournalOptions {
    JournalOptions::new(dir.path().join("journal"), boot.to_owned(), Arc::new(SystemClock))
}

fn open(dir: &TempDir) -> Journal {
    Journal::open(options(dir, "boot"))
}

fn accepted(seq: u64) -> Accepted {
    Accepted {
        call_id: CallId::generate(),
        seq,
        skill: "change".to_owned(),
        class: Class::Mutating,
        payload: "p".to_owned(),
        origin: Origin::Api,
        boot_id: String::new(),
        at: Timestamp::UNIX_EPOCH,
        timeout_ms: 1000,
        settles_by_boot: false,
        asked: None,
    }
}

fn succeeded(text: &str) -> Ended {
    Ended {
        state: CallState::Succeeded,
        error_kind: None,
        error: None,
        result: Some(text.to_owned().into()),
        result_bytes: text.len() as u64,
        duration: std::time::Duration::from_millis(5),
        sandbox: Some("landlock full".to_owned()),
    }
}

#[test]
fn what_was_accepted_and_how_it_ended_outlives_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let call = accepted(7);
    let journal = open(&dir);
    journal.accept(call.clone()).unwrap();
    journal.end(call.call_id, &succeeded("{\"a\":\"\\n\"}"));
    drop(journal);

    let journal = open(&dir);
    assert_eq!(journal.marks(), Marks { through: 0, highest: 7, problem: None });
    assert_eq!(journal.look(call.call_id, 7), Some(Known::Accepted { payload: "p".to_owned() }));
    assert_eq!(journal.recall(call.call_id, 7), Ok(Recall::Ended(Box::new(succeeded("{\"a\":\"\\n\"}")))));
    assert!(matches!(journal.accept(call), Err(JournalError::Known(Known::Accepted { .. }))));
}

#[test]
fn a_call_that_was_running_when_the_edge_died_is_failed_as_lost_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let call = accepted(1);
    open(&dir).accept(call.clone()).unwrap();
    for boot in ["boot", "another boot"] {
        let Recall::Ended(ended) = Journal::open(options(&dir, boot)).recall(call.call_id, 1).unwrap() else {
            panic!("it runs")
        };
        assert_eq!(ended.state, CallState::Failed);
        assert!(ended.error.unwrap().starts_with("outcome lost, effect possible"));
    }
}

#[test]
fn a_reboot_settles_what_only_a_reboot_can_settle() {
    for (boot, state) in [("boot", CallState::Failed), ("next boot", CallState::Succeeded)] {
        let dir = tempfile::tempdir().unwrap();
        let call = Accepted { settles_by_boot: true, ..accepted(1) };
        open(&dir).accept(call.clone()).unwrap();
        let recalled = Journal::open(options(&dir, boot)).recall(call.call_id, 1).unwrap();
        let Recall::Ended(ended) = recalled else { panic!("it runs") };
        assert_eq!(ended.state, state);
        // Once settled, a later boot changes nothing.
        let again = Journal::open(options(&dir, "a third boot")).recall(call.call_id, 1).unwrap();
        assert_eq!(again, Recall::Ended(ended));
    }
}

#[test]
fn only_an_acknowledgement_makes_it_forget_and_what_is_forgotten_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(&dir);
    let (first, second, third) = (accepted(1), accepted(2), accepted(3));
    for call in [&first, &third] {
        journal.accept(call.clone()).unwrap();
        journal.end(call.call_id, &succeeded("1"));
    }
    // Above the mark, order is free.
    journal.accept(second.clone()).unwrap();
    journal.acknowledge(2).unwrap();
    for journal in [journal, open(&dir)] {
        assert_eq!(journal.look(first.call_id, 1), Some(Known::Acknowledged { through: 2 }));
        assert!(matches!(
            journal.accept(accepted(2)),
            Err(JournalError::Known(Known::Acknowledged { through: 2 }))
        ));
        assert!(matches!(journal.look(third.call_id, 3), Some(Known::Accepted { .. })));
        assert_eq!((journal.marks().through, journal.marks().highest), (2, 3));
    }
}

#[test]
fn a_call_that_runs_is_not_forgotten_before_it_ends() {
    let journal = Journal::in_memory();
    let call = accepted(1);
    journal.accept(call.clone()).unwrap();
    journal.acknowledge(5).unwrap();
    assert_eq!(journal.recall(call.call_id, 1), Ok(Recall::Running));
    journal.end(call.call_id, &succeeded("1"));
    assert_eq!(journal.look(call.call_id, 1), Some(Known::Acknowledged { through: 5 }));
}

#[test]
fn a_call_that_is_stopped_or_asked_about_before_it_comes_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(&dir);
    let (stopped, asked) = (accepted(4), accepted(5));
    assert_eq!(journal.cancel(stopped.call_id, 4), Ok(CancelKept::Buried));
    assert_eq!(journal.recall(asked.call_id, 5), Ok(Recall::Absent));
    drop(journal);
    let journal = open(&dir);
    for call in [&stopped, &asked] {
        assert_eq!(journal.accept(call.clone()), Err(JournalError::Known(Known::Buried)));
    }
    journal.acknowledge(5).unwrap();
    assert!(matches!(journal.look(stopped.call_id, 4), Some(Known::Acknowledged { .. })));
    assert_eq!(journal.index().counts(), (0, 0));
}

#[test]
fn a_full_journal_takes_nothing_new_until_the_manager_has_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(JournalOptions { max_calls: 2, ..options(&dir, "boot") });
    for seq in [1, 2] {
        let call = accepted(seq);
        journal.accept(call.clone()).unwrap();
        journal.end(call.call_id, &succeeded("1"));
    }
    let Err(JournalError::Full(reason)) = journal.accept(accepted(3)) else { panic!("it was taken") };
    assert!(reason.contains("2 calls"), "{reason}");
    journal.acknowledge(1).unwrap();
    journal.accept(accepted(3)).unwrap();
}

#[test]
fn the_file_stays_below_its_limit_with_the_ends_of_all_that_run() {
    let dir = tempfile::tempdir().unwrap();
    let max_bytes = 1024 * 1024;
    let journal = Journal::open(JournalOptions { max_bytes, ..options(&dir, "boot") });
    let worst = "\"".repeat(MAX_KEPT_RESULT_BYTES);
    let mut running = Vec::new();
    let refused = loop {
        let call = accepted(running.len() as u64 + 1);
        match journal.accept(call.clone()) {
            Ok(()) => running.push(call),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, JournalError::Full(_)), "{refused}");
    assert!(running.len() > 2, "{}", running.len());
    for call in &running {
        journal.end(call.call_id, &succeeded(&worst));
    }
    let size = || std::fs::metadata(dir.path().join("journal")).unwrap().len();
    assert!(size() <= max_bytes, "{}", size());
    journal.acknowledge(running.len() as u64).unwrap();
    assert!(size() < 1000, "{}", size());
}

/// Fails every write from now on, while it is told to.
#[derive(Debug, Default)]
struct Fails(std::sync::atomic::AtomicBool);

impl Watcher for Fails {
    fn reach(&self, point: Point) -> io::Result<()> {
        if self.0.load(Ordering::SeqCst) && point.when == When::Sync {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        Ok(())
    }
}

#[test]
fn a_disk_that_takes_nothing_refuses_changes_and_keeps_what_it_knows() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(Fails::default());
    let journal = Journal::open(JournalOptions { watcher: disk.clone(), ..options(&dir, "boot") });
    let (before, during) = (accepted(1), accepted(2));
    journal.accept(before.clone()).unwrap();
    disk.0.store(true, Ordering::SeqCst);
    let Err(JournalError::Unusable(reason)) = journal.accept(during.clone()) else { panic!("it was taken") };
    assert!(reason.contains("no storage space") && reason.contains("Safe calls go on"), "{reason}");
    assert_eq!(journal.marks().problem, Some(reason));
    journal.end(before.call_id, &succeeded("1"));
    assert_eq!(journal.recall(before.call_id, 1), Ok(Recall::Ended(Box::new(succeeded("1")))));
    // Nobody may be told "not here" of what could still come.
    assert!(journal.recall(during.call_id, 2).is_err());
    disk.0.store(false, Ordering::SeqCst);
    journal.accept(during).unwrap();
    assert_eq!(journal.marks().problem, None);
    drop(journal);
    assert_eq!(open(&dir).recall(before.call_id, 1), Ok(Recall::Ended(Box::new(succeeded("1")))));
}

#[test]
fn damage_in_the_middle_refuses_changes_and_says_where_and_the_file_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(&dir);
    for seq in [1, 2, 3] {
        journal.accept(accepted(seq)).unwrap();
    }
    drop(journal);
    let path = dir.path().join("journal");
    let good = std::fs::read_to_string(&path).unwrap();
    for (from, to) in [("\"seq\":2", "\"seq\":9"), ("\"seq\":3", "\"seq\":9")] {
        std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let journal = open(&dir);
        let problem = journal.marks().problem.unwrap();
        assert!(problem.contains("checksum") && problem.contains("at byte"), "{problem}");
        assert!(problem.contains(&path.display().to_string()), "{problem}");
        assert!(matches!(journal.accept(accepted(4)), Err(JournalError::Unusable(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), good.replacen(from, to, 1));
    }
    // A line that is missing is damage, too.
    let mut lines: Vec<&str> = good.lines().collect();
    lines.remove(1);
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    assert!(open(&dir).is_damaged());
}

#[derive(Clone, Debug)]
enum Step {
    Accept(u64),
    End(usize),
    Cancel(usize),
    CancelUnknown(u64),
    Recall(usize),
    RecallUnknown(u64),
    Acknowledge(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1u64..40).prop_map(Step::Accept),
        4 => (0usize..30).prop_map(Step::End),
        1 => (0usize..30).prop_map(Step::Cancel),
        1 => (1u64..40).prop_map(Step::CancelUnknown),
        1 => (0usize..30).prop_map(Step::Recall),
        1 => (1u64..40).prop_map(Step::RecallUnknown),
        1 => (0u64..20).prop_map(Step::Acknowledge),
    ];
    prop::collection::vec(step, 0..40)
}

/// Does one step on a journal, and returns what it answered.
fn take(journal: &Journal, step: &Step, calls: &mut Vec<Accepted>) -> String {
    let known = |index: usize, calls: &[Accepted]| calls.get(index % calls.len().max(1)).cloned();
    match step {
        Step::Accept(seq) => {
            let call = accepted(*seq);
            calls.push(call.clone());
            format!("{:?}", journal.accept(call).is_ok())
        }
        Step::End(index) => {
            if let Some(call) = known(*index, calls) {
                journal.end(call.call_id, &succeeded(&format!("\"{}\"", call.seq)));
            }
            String::new()
        }
        Step::Cancel(index) => match known(*index, calls) {
            Some(call) => format!("{:?}", journal.cancel(call.call_id, call.seq)),
            None => String::new(),
        },
        Step::Recall(index) => match known(*index, calls) {
            Some(call) => format!("{:?}", journal.recall(call.call_id, call.seq)),
            None => String::new(),
        },
        Step::CancelUnknown(seq) => format!("{:?}", journal.cancel(CallId::generate(), *seq)),
        Step::RecallUnknown(seq) => format!("{:?}", journal.recall(CallId::generate(), *seq)),
        Step::Acknowledge(through) => format!("{:?}", journal.acknowledge(*through)),
    }
}

/// Fails the write with this number, as a process that dies there does: whatever is on the disk then is what counts.
#[derive(Debug)]
struct DiesAt {
    count: AtomicU64,
    at: u64,
}

impl Watcher for DiesAt {
    fn reach(&self, _point: Point) -> io::Result<()> {
        if self.count.fetch_add(1, Ordering::SeqCst) >= self.at {
            return Err(io::Error::other("dead"));
        }
        Ok(())
    }
}

fn replayed(path: &Path) -> (Index, bool) {
    let content = log::read(path).unwrap();
    assert_eq!(content.damage, None);
    (Index::replay(&content.records), content.torn)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The file always says what the process knows, also after it was written anew.
    #[test]
    fn what_is_read_back_is_what_was_known(steps in steps(), compact_each in 1usize..9) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let journal = open(&dir);
        let mut calls = Vec::new();
        for (count, step) in steps.iter().enumerate() {
            take(&journal, step, &mut calls);
            if count % compact_each == 0 {
                journal.compact(&mut journal.writer()).unwrap();
            }
            let (index, torn) = replayed(&path);
            prop_assert!(!torn);
            prop_assert_eq!(&index, &*journal.index());
            prop_assert_eq!(&Index::replay(&index.records()), &index);
        }
    }

    /// Wherever the file is cut off, what is left is what was known after one of the records before.
    #[test]
    fn a_file_cut_off_at_any_byte_reads_as_it_was_before(steps in steps(), cut in 0.0f64..1.0) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let journal = open(&dir);
        let mut calls = Vec::new();
        let mut states: HashMap<usize, Index> = HashMap::from([(0, Index::default())]);
        for step in &steps {
            take(&journal, step, &mut calls);
            let length = std::fs::metadata(&path).map_or(0, |facts| facts.len() as usize);
            // The first write puts two records in place at once.
            states.insert(length, journal.index().clone());
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        let first = states.keys().copied().filter(|length| *length > 0).min().unwrap_or(0);
        let at = first + ((bytes.len() - first) as f64 * cut) as usize;
        let content = log::parse(&bytes[..at]);
        prop_assert_eq!(content.damage, None);
        let expected = &states[&states.keys().copied().filter(|length| *length <= at).max().unwrap()];
        prop_assert_eq!(&Index::replay(&content.records), expected);
        prop_assert_eq!(content.torn, content.length != at as u64);
        // Blocks that never reached the disk read as zeros.
        let mut zeros = bytes[..at].to_vec();
        zeros.resize(at + 100, 0);
        let content = log::parse(&zeros);
        prop_assert_eq!((content.damage, content.torn), (None, true));
        prop_assert_eq!(&Index::replay(&content.records), expected);
    }

    /// Wherever the process dies, whatever it had answered still holds, and no call starts a second time.
    #[test]
    fn what_was_answered_holds_after_a_death_at_any_step(steps in steps(), at in 0u64..80) {
        let dir = tempfile::tempdir().unwrap();
        let watcher = Arc::new(DiesAt { count: AtomicU64::new(0), at });
        let journal = Journal::open(JournalOptions { watcher: watcher.clone(), ..options(&dir, "boot") });
        let mut calls = Vec::new();
        let (mut let_through, mut ended) = (Vec::new(), Vec::new());
        let mut through = 0;
        for step in &steps {
            let answer = take(&journal, step, &mut calls);
            if watcher.count.load(Ordering::SeqCst) > at {
                break;
            }
            match step {
                Step::Accept(_) if answer == "true" => let_through.extend(calls.last().cloned()),
                Step::Acknowledge(to) => through = through.max(*to),
                _ => {}
            }
            let index = journal.index();
            ended = let_through.iter().filter(|call| {
                index.call(call.call_id).is_some_and(|entry| entry.ended.is_some())
            }).map(|call| call.call_id).collect();
        }
        drop(journal);

        let journal = open(&dir);
        prop_assert!(journal.marks().through >= through);
        for call in let_through {
            prop_assert!(journal.look(call.call_id, call.seq).is_some(), "{} could start again", call.seq);
            prop_assert!(journal.accept(call.clone()).is_err());
            if ended.contains(&call.call_id) && call.seq > journal.marks().through {
                let Recall::Ended(kept) = journal.recall(call.call_id, call.seq).unwrap() else {
                    panic!("it runs")
                };
                prop_assert_eq!(kept.state, CallState::Succeeded);
            }
        }
    }

    #[test]
    fn whatever_is_in_the_file_it_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let content = log::parse(&bytes);
        prop_assert!(content.records.is_empty());
        prop_assert!(bytes.is_empty() || content.torn || content.damage.is_some());
    }
}

#[test]
fn a_local_call_is_told_once_it_has_ended_and_until_it_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let calls = LocalCalls::new(dir.path().join("local"), "boot".to_owned());
    assert_eq!((calls.waiting(), calls.ended()), (0, Vec::new()));
    let call = accepted(0);
    let journal = calls.journal(call.call_id, Arc::new(SystemClock)).unwrap();
    journal.accept(call.clone()).unwrap();
    assert_eq!(calls.waiting(), 0, "it runs");
    journal.end(call.call_id, &succeeded("1"));
    assert_eq!(calls.waiting(), 0, "its process may still say more");
    drop(journal);
    assert_eq!(calls.waiting(), 1);
    assert_eq!(calls.ended()[0].ended, succeeded("1"));
    calls.forget(&[call.call_id, CallId::generate()]).unwrap();
    assert_eq!((calls.waiting(), calls.ended()), (0, Vec::new()));
}

#[test]
fn a_local_call_whose_process_died_is_told_as_lost() {
    let dir = tempfile::tempdir().unwrap();
    let calls = LocalCalls::new(dir.path().join("local"), "boot".to_owned());
    let call = accepted(0);
    drop(
        calls
            .journal(call.call_id, Arc::new(SystemClock))
            .map(|journal| journal.accept(call.clone()).unwrap()),
    );
    let ended = calls.ended();
    assert_eq!(ended[0].accepted.call_id, call.call_id);
    assert!(ended[0].ended.error.as_ref().unwrap().starts_with("outcome lost, effect possible"));
}
