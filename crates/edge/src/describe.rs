//! What this edge tells the manager about itself.

use crate::boot::HostFacts;
use crate::execute::Runner;
use crate::signed::{Signing, SigningNow};
use crate::state::Durable;
use proto::v1::{DescribeResponse, SkillDescription};
use skill::Prerequisite;
use std::sync::{Mutex, PoisonError};

/// What may change while the edge runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Changing {
    skills: Vec<(String, Vec<String>)>,
    systemd: bool,
    journal: bool,
    frozen: bool,
    journal_problem: Option<String>,
    signing: SigningNow,
}

/// Makes descriptions, and numbers them.
#[derive(Debug)]
pub(crate) struct Descriptions {
    facts: HostFacts,
    instance_id: String,
    signing: Signing,
    last: Mutex<Option<(u64, Changing)>>,
}

impl Descriptions {
    pub(crate) fn new(facts: HostFacts, instance_id: String, signing: Signing) -> Self {
        Self { facts, instance_id, signing, last: Mutex::new(None) }
    }

    /// Looks at the host again. The number rises only if something has changed.
    fn look(&self, runner: &Runner, durable: Durable) -> (u64, Changing) {
        let host = runner.host();
        let now = Changing {
            skills: runner
                .registry()
                .iter()
                .map(|skill| (skill.capability().hash().to_owned(), skill.unmet(host)))
                .collect(),
            systemd: host.meets(Prerequisite::Systemd),
            journal: host.meets(Prerequisite::Journal),
            frozen: durable.frozen,
            journal_problem: runner.admission().marks().problem,
            signing: self.signing.now(),
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = match last.as_ref() {
            Some((revision, before)) if *before == now => *revision,
            Some((revision, _)) => revision + 1,
            None => 1,
        };
        *last = Some((revision, now.clone()));
        (revision, now)
    }

    /// The number of the description as it would be made now.
    pub(crate) fn revision(&self, runner: &Runner, durable: Durable) -> u64 {
        self.look(runner, durable).0
    }

    /// The description.
    pub(crate) fn describe(&self, runner: &Runner, durable: Durable) -> DescribeResponse {
        let (revision, changing) = self.look(runner, durable);
        let mut notes = notes(&changing);
        notes.extend(self.signing.notes(&changing.signing));
        // Read after the description was made: what was confirmed before it isn't missing from it.
        let marks = runner.admission().marks();
        let skills = runner
            .registry()
            .iter()
            .zip(changing.skills)
            .map(|(skill, (_, unmet))| {
                let definition = skill.capability().definition();
                SkillDescription {
                    key: definition.key.clone(),
                    name: definition.name.clone(),
                    description: definition.description.clone(),
                    class: runner.admission().least_class(skill.capability()).to_string(),
                    category: definition.category.clone(),
                    params_json: definition.params.to_string(),
                    result_preview: definition.result_preview.clone(),
                    definition_hash: skill.capability().hash().to_owned(),
                    prerequisites: definition.prerequisites.clone(),
                    unmet,
                    source: match skill.capability().source() {
                        skill::Source::Builtin => "builtin".to_owned(),
                        skill::Source::Pack(name) => format!("pack:{name}"),
                    },
                }
            })
            .collect();
        DescribeResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            hostname: self.facts.hostname.clone(),
            os: self.facts.os.clone(),
            kernel: self.facts.kernel.clone(),
            arch: self.facts.arch.clone(),
            instance_id: self.instance_id.clone(),
            boot_id: self.facts.boot_id.clone(),
            epoch: durable.epoch,
            skills,
            acknowledged_through: marks.through,
            highest_seq: marks.highest,
            journal_damaged: runner.admission().is_journal_damaged(),
            systemd: changing.systemd,
            journal: changing.journal,
            frozen: changing.frozen,
            notes,
            revision,
            packs: Vec::new(),
            signing: Some(self.signing.describe(&changing.signing)),
        }
    }
}

/// Sentences for the Hosts page.
fn notes(changing: &Changing) -> Vec<String> {
    let mut notes = Vec::new();
    if !changing.systemd {
        notes.push("this host doesn't run systemd: services can't be looked at".to_owned());
    }
    if !changing.journal {
        notes.push("this host has no systemd journal: log files can still be read".to_owned());
    }
    notes.extend(changing.journal_problem.clone());
    if changing.frozen {
        notes.push("frozen: only safe calls run here".to_owned());
    }
    notes
}
