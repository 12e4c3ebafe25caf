//! What signed calls leave behind on a host: the highest version of the list of approvers that was seen, and how often each
//! step of each procedure has run.
//!
//! On the disk before the call is journaled, so a crash in between counts a run too many, never one too few. A file that
//! can't be read or written refuses every signed call.

use crate::{Nonces, replace_file};
use model::Timestamp;
use serde::{Deserialize, Serialize};
use signing::Proof;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Steps that are counted at once. Those of procedures that have ended make room.
const MAX_STEPS: usize = 4096;

/// A file that is larger than this isn't one of ours.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// The highest version of the list of approvers; 0 before the first.
    list_version: u64,
    /// By procedure, version and step.
    runs: BTreeMap<String, Runs>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Runs {
    count: u32,
    /// When the procedure ends.
    until: Timestamp,
}

/// The memory of signed calls.
#[derive(Debug)]
pub struct Ledger {
    /// `None`: it ends with the process.
    path: Option<PathBuf>,
    /// `Err` holds why it can't be used. Reading it is tried again when it is needed.
    kept: Mutex<Result<Kept, String>>,
}

impl Ledger {
    /// The memory in this file. One that can't be read is told by [`Ledger::problem`], and refuses signed calls.
    pub fn open(path: PathBuf) -> Self {
        let kept = Mutex::new(read(&path));
        Self { path: Some(path), kept }
    }

    /// A memory that ends with the process.
    pub fn in_memory() -> Self {
        Self { path: None, kept: Mutex::new(Ok(Kept::default())) }
    }

    /// The highest version of the list of approvers that was ever seen here; 0 before the first.
    pub fn list_version(&self) -> u64 {
        self.lock().as_ref().map_or(0, |kept| kept.list_version)
    }

    /// Why no signed call can run here, if that is so.
    pub fn problem(&self) -> Option<String> {
        self.lock().as_ref().err().cloned()
    }

    /// Holds a proof against what is remembered, uses up its number, and remembers the list's version and the run.
    pub(crate) fn use_up(&self, proof: &Proof, nonces: &Nonces, now: Timestamp) -> Result<(), String> {
        let mut held = self.lock();
        if let (Err(_), Some(path)) = (&*held, &self.path) {
            // Somebody may have put it right.
            *held = read(path);
        }
        let mut next = held.as_ref().map_err(Clone::clone)?.clone();
        if proof.list_version < next.list_version {
            return Err(format!(
                "the list of approvers is version {}, and this host has seen version {}: an older one doesn't count any more",
                proof.list_version, next.list_version
            ));
        }
        next.list_version = proof.list_version;
        if let (Some((sop, step)), Some(until)) = (&proof.step, proof.valid_until) {
            let key = format!("{}/{}/{}", sop.id, sop.version, sop.step);
            let runs = next.runs.entry(key).or_insert(Runs { count: 0, until });
            if runs.count >= step.maximum_runs {
                return Err(format!(
                    "step `{}` of the procedure {} version {} may run {} times on one host, and has",
                    sop.step, sop.id, sop.version, step.maximum_runs
                ));
            }
            *runs = Runs { count: runs.count + 1, until: runs.until.max(until) };
        }
        if next.runs.len() > MAX_STEPS {
            next.runs.retain(|_, runs| now < runs.until);
            if next.runs.len() > MAX_STEPS {
                return Err(format!(
                    "{MAX_STEPS} steps of procedures that are still valid are counted here, the limit"
                ));
            }
        }
        let nonce = hex::decode(&proof.nonce).unwrap_or_default();
        nonces.consume(&nonce).map_err(|error| error.to_string())?;
        if held.as_ref() == Ok(&next) {
            return Ok(());
        }
        if let Some(path) = &self.path {
            let kept = serde_json::to_vec_pretty(&next).map_err(|error| error.to_string())?;
            replace_file(path, &kept, 0o600).map_err(|error| {
                format!("{} can't be written ({error}), so no signed call can run", path.display())
            })?;
        }
        *held = Ok(next);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Result<Kept, String>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> Result<Kept, String> {
    let unusable = |problem: &dyn std::fmt::Display| {
        format!(
            "what this host remembers of signed calls can't be read ({}: {problem}), so no signed call can run",
            path.display()
        )
    };
    let mut text = Vec::new();
    match File::open(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut text)) {
        Ok(_) => serde_json::from_slice(&text).map_err(|error| unusable(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kept::default()),
        Err(error) => Err(unusable(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use signing::{SopRef, Step, Targets};
    use std::fs;

    const NOW: &str = "2026-12-01T12:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    /// A good proof for a run of a step that may run twice.
    fn proof(nonces: &Nonces, list_version: u64, sop: &str) -> Proof {
        let step = Step {
            name: "reboot".to_owned(),
            skill: "reboot_host".to_owned(),
            parameters: json!({}),
            targets: Targets::AnyHost,
            maximum_runs: 2,
        };
        let named = SopRef { id: sop.to_owned(), version: 1, step: "reboot".to_owned() };
        Proof {
            people: ["ana".to_owned(), "ben".to_owned()].into(),
            nonce: hex::encode(nonces.issue().unwrap()),
            list_version,
            step: Some((named, step)),
            valid_until: Some("2027-01-01T00:00:00Z".parse().unwrap()),
        }
    }

    fn refusal(ledger: &Ledger, proof: &Proof, nonces: &Nonces) -> String {
        ledger.use_up(proof, nonces, now()).expect_err("it was taken")
    }

    #[test]
    fn runs_and_the_version_of_the_list_are_remembered_over_a_restart_and_numbers_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signed.json");
        let (ledger, nonces) = (Ledger::open(path.clone()), Nonces::default());
        let first = proof(&nonces, 7, "a");
        ledger.use_up(&first, &nonces, now()).unwrap();
        assert!(refusal(&ledger, &first, &nonces).contains("was used"));
        let unused = proof(&nonces, 7, "a");

        let (ledger, nonces) = (Ledger::open(path), Nonces::default());
        assert_eq!(ledger.list_version(), 7);
        assert!(refusal(&ledger, &unused, &nonces).contains("the edge was restarted"));
        assert!(refusal(&ledger, &proof(&nonces, 6, "a"), &nonces).contains("has seen version 7"));
        ledger.use_up(&proof(&nonces, 8, "a"), &nonces, now()).unwrap();
        let third = refusal(&ledger, &proof(&nonces, 8, "a"), &nonces);
        assert!(third.contains("may run 2 times on one host, and has"), "{third}");
        ledger.use_up(&proof(&nonces, 8, "b"), &nonces, now()).unwrap();
    }

    #[test]
    fn a_file_that_cant_be_read_or_written_refuses_until_it_is_put_right() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signed.json");
        for damaged in ["", "{}", "{\"list_version\": 1, \"runs\": {}, \"more\": 1}"] {
            fs::write(&path, damaged).unwrap();
            let (ledger, nonces) = (Ledger::open(path.clone()), Nonces::default());
            assert!(refusal(&ledger, &proof(&nonces, 7, "a"), &nonces).contains("signed.json"), "{damaged}");
            assert!(ledger.problem().is_some());
            fs::remove_file(&path).unwrap();
            ledger.use_up(&proof(&nonces, 7, "a"), &nonces, now()).unwrap();
            assert_eq!(ledger.problem(), None);
        }
        let (ledger, nonces) = (Ledger::open(folder.path().join("none/signed.json")), Nonces::default());
        let lost = refusal(&ledger, &proof(&nonces, 7, "a"), &nonces);
        assert!(lost.contains("can't be written"), "{lost}");
        assert_eq!(ledger.list_version(), 0);
    }

    #[test]
    fn a_full_memory_forgets_only_procedures_that_have_ended() {
        let (ledger, nonces) = (Ledger::in_memory(), Nonces::default());
        for number in 0..MAX_STEPS {
            ledger.use_up(&proof(&nonces, 1, &format!("sop-{number}")), &nonces, now()).unwrap();
        }
        let more = refusal(&ledger, &proof(&nonces, 1, "more"), &nonces);
        assert!(more.contains("the limit"), "{more}");
        let later = "2027-01-02T00:00:00Z".parse().unwrap();
        let until = Some("2028-01-01T00:00:00Z".parse().unwrap());
        ledger.use_up(&Proof { valid_until: until, ..proof(&nonces, 1, "more") }, &nonces, later).unwrap();
    }

    #[test]
    fn of_many_runs_at_once_only_as_many_as_may_are_taken() {
        let (ledger, nonces) = (Ledger::in_memory(), Nonces::default());
        let proofs: Vec<Proof> = (0..8).map(|_| proof(&nonces, 1, "a")).collect();
        let taken = std::thread::scope(|scope| {
            let tries: Vec<_> = proofs
                .iter()
                .map(|proof| scope.spawn(|| ledger.use_up(proof, &nonces, now()).is_ok()))
                .collect();
            tries.into_iter().map(|one| one.join().unwrap()).filter(|taken| *taken).count()
        });
        assert_eq!(taken, 2);
    }
}
