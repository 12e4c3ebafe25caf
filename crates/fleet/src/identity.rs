//! Whether the one that connects is the edge that it says to be, or a copy. Pure: facts in, verdict out.

use storage::edges::{EdgeRecord, EdgeState, JournalShown};

/// What a connecting edge shows, beyond its certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown<'a> {
    /// Its process.
    pub(crate) instance_id: &'a str,
    /// The last epoch that it has kept.
    pub(crate) epoch: u64,
    /// Another instance is connected under the same id, and it answered just now.
    pub(crate) other_answers: bool,
    /// What its journal says; `None` if that can't be read there.
    pub(crate) journal: Option<JournalShown>,
    /// What it had confirmed of its journal before it was asked.
    pub(crate) confirmed: JournalShown,
}

/// What to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is the edge. It gets this epoch.
    Welcome {
        /// The epoch to hand out.
        next_epoch: u64,
        /// Its epoch is newer than ours: this manager's database is an old copy.
        manager_restored: bool,
        /// It was chosen over a copy: certificates of before are to be voided.
        chosen: bool,
    },
    /// It isn't let in; nothing changes.
    Shut(String),
    /// There are two of it. Neither is let in until somebody has chosen.
    Clone(String),
}

/// Judges a connecting edge by what is on record.
pub(crate) fn judge(record: &EdgeRecord, shown: &Shown<'_>) -> Verdict {
    match record.state {
        EdgeState::Revoked | EdgeState::Deleted => return Verdict::Shut(shut_reason(record)),
        // It is told again, and those who look are told of it: a restarted process is another instance.
        EdgeState::Quarantined => return Verdict::Clone(shut_reason(record)),
        EdgeState::Active => {}
    }
    let newest = record.epoch.max(record.epoch_offered.unwrap_or(0));
    let next_epoch = newest.max(shown.epoch) + 1;
    if let Some(kept) = &record.keep_instance {
        return if kept == shown.instance_id {
            Verdict::Welcome { next_epoch, manager_restored: false, chosen: true }
        } else {
            Verdict::Shut(
                "an administrator kept another instance of this edge; enrol this host by itself (remove its identity first)"
                    .to_owned(),
            )
        };
    }
    if shown.other_answers {
        return Verdict::Clone(
            "two instances are connected as this edge at the same time: its directory was probably copied to another host"
                .to_owned(),
        );
    }
    if let Some(JournalShown { through, highest }) = shown.journal
        && (through < shown.confirmed.through || highest < shown.confirmed.highest)
    {
        return Verdict::Clone(format!(
            "its journal has come to call {highest} and is acknowledged up to {through}, but this edge had confirmed {} \
             and {}: it was restored from a snapshot, or its journal was moved away",
            shown.confirmed.highest, shown.confirmed.through
        ));
    }
    let known = shown.epoch == record.epoch || Some(shown.epoch) == record.epoch_offered;
    if known || shown.epoch > newest {
        return Verdict::Welcome { next_epoch, manager_restored: !known, chosen: false };
    }
    Verdict::Clone(format!(
        "it shows epoch {}, but this edge has confirmed {} since: it is a copy, or was restored from a snapshot",
        shown.epoch, record.epoch
    ))
}

/// Why an edge may not connect at all.
pub(crate) fn shut_reason(record: &EdgeRecord) -> String {
    let why = record.state_reason.as_deref().unwrap_or("no reason is on record");
    match record.state {
        EdgeState::Active => String::new(),
        EdgeState::Quarantined => {
            format!("quarantined until an administrator chooses (Hosts → this host): {why}")
        }
        EdgeState::Revoked => format!("revoked: {why}; to let this host back in, enrol it again"),
        EdgeState::Deleted => format!("removed: {why}; to let this host back in, enrol it again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Clock, EdgeId, SystemClock};

    const NOTHING: Shown<'static> = Shown {
        instance_id: "",
        epoch: 0,
        other_answers: false,
        journal: None,
        confirmed: JournalShown { through: 0, highest: 0 },
    };

    fn record(epoch: u64, offered: Option<u64>) -> EdgeRecord {
        EdgeRecord {
            id: EdgeId(1),
            name: "web".to_owned(),
            hostname: "web".to_owned(),
            labels: Default::default(),
            state: EdgeState::Active,
            state_reason: None,
            contestants: Vec::new(),
            keep_instance: None,
            rejoin_until: None,
            epoch,
            epoch_offered: offered,
            last_seq: 0,
            acknowledged_through: 0,
            confirmed_seq: 0,
            lost_through: 0,
            instance_id: Some("a".to_owned()),
            description: None,
            address: None,
            created_at: SystemClock.now(),
            connected_at: None,
            last_seen_at: None,
        }
    }

    fn shows(epoch: u64) -> Shown<'static> {
        Shown { instance_id: "a", epoch, other_answers: false, ..NOTHING }
    }

    fn is_welcome(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Welcome { .. })
    }

    #[test]
    fn the_confirmed_epoch_and_the_offered_one_are_both_good() {
        for (shown, good) in [(4, false), (5, true), (6, true)] {
            assert_eq!(is_welcome(&judge(&record(5, Some(6)), &shows(shown))), good, "epoch {shown}");
        }
        assert!(!is_welcome(&judge(&record(6, None), &shows(5))));
    }

    #[test]
    fn an_epoch_is_never_handed_out_twice() {
        let Verdict::Welcome { next_epoch, .. } = judge(&record(5, Some(6)), &shows(5)) else { panic!() };
        assert_eq!(next_epoch, 7);
    }

    #[test]
    fn a_newer_epoch_than_ours_means_that_the_manager_was_restored() {
        let verdict = judge(&record(5, None), &shows(9));
        assert_eq!(verdict, Verdict::Welcome { next_epoch: 10, manager_restored: true, chosen: false });
    }

    #[test]
    fn a_second_instance_beside_one_that_answers_is_a_clone() {
        let shown = Shown { other_answers: true, ..shows(5) };
        assert!(matches!(judge(&record(5, None), &shown), Verdict::Clone(_)));
    }

    #[test]
    fn only_the_chosen_instance_comes_back() {
        let chosen = EdgeRecord { keep_instance: Some("a".to_owned()), ..record(5, None) };
        assert!(matches!(judge(&chosen, &shows(2)), Verdict::Welcome { chosen: true, .. }));
        let other = Shown { instance_id: "b", ..shows(5) };
        assert!(matches!(judge(&chosen, &other), Verdict::Shut(_)));
    }

    #[test]
    fn a_revoked_edge_is_told_why() {
        let revoked = EdgeRecord {
            state: EdgeState::Revoked,
            state_reason: Some("stolen".to_owned()),
            ..record(5, None)
        };
        let Verdict::Shut(reason) = judge(&revoked, &shows(5)) else { panic!() };
        assert!(reason.contains("stolen"));
    }

    #[test]
    fn a_journal_behind_what_was_confirmed_is_an_older_copy() {
        let confirmed = JournalShown { through: 4, highest: 9 };
        for (through, highest, welcome) in
            [(4, 9, true), (5, 12, true), (3, 9, false), (4, 8, false), (0, 0, false)]
        {
            let journal = Some(JournalShown { through, highest });
            let shown = Shown { instance_id: "a", epoch: 5, journal, confirmed, ..NOTHING };
            let verdict = judge(&record(5, None), &shown);
            assert_eq!(
                matches!(verdict, Verdict::Welcome { .. }),
                welcome,
                "{through} {highest}: {verdict:?}"
            );
            // Whoever was chosen counts as it is.
            let chosen = EdgeRecord { keep_instance: Some("a".to_owned()), ..record(5, None) };
            assert!(matches!(judge(&chosen, &shown), Verdict::Welcome { .. }));
        }
        // What can't be read is no older copy.
        let shown = Shown { instance_id: "a", epoch: 5, confirmed, ..NOTHING };
        assert!(matches!(judge(&record(5, None), &shown), Verdict::Welcome { .. }));
    }
}
