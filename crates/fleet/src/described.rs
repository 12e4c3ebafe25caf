//! What an edge said of itself, in the form in which it is kept and shown.

use gate::{ApprovalProof, PackFacts, SigningFacts, SkillFacts};
use model::Class;
use proto::v1::{DescribeResponse, PackDescription, SigningDescription};
use serde::{Deserialize, Serialize};
use skill::Definition;
use std::collections::BTreeMap;

/// What an edge said of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Described {
    pub(crate) version: String,
    pub(crate) hostname: String,
    pub(crate) os: String,
    pub(crate) kernel: String,
    pub(crate) arch: String,
    pub(crate) instance_id: String,
    pub(crate) boot_id: String,
    pub(crate) systemd: bool,
    pub(crate) journal: bool,
    pub(crate) frozen: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) skills: Vec<DescribedSkill>,
    pub(crate) packs: Vec<PackFacts>,
    pub(crate) signing: Option<SigningFacts>,
}

/// One skill of an edge. Name and schema are in the manager's own catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DescribedSkill {
    pub(crate) key: String,
    pub(crate) class: Class,
    pub(crate) definition_hash: String,
    pub(crate) unmet: Vec<String>,
    pub(crate) source: String,
}

/// Texts of an edge are shown to people and models: they are kept short.
const MAX_TEXT_CHARS: usize = 200;
const MAX_SKILLS: usize = 512;
const MAX_NOTES: usize = 32;
const MAX_PACKS: usize = 64;
const MAX_LABELS: usize = 64;

impl From<DescribeResponse> for Described {
    fn from(said: DescribeResponse) -> Self {
        let skills = said.skills.into_iter().take(MAX_SKILLS).map(|skill| DescribedSkill {
            key: short(&skill.key),
            // An edge that doesn't say how harmless a skill is gets the strictest reading.
            class: skill.class.parse().unwrap_or(Class::Dangerous),
            definition_hash: short(&skill.definition_hash),
            unmet: skill.unmet.iter().take(MAX_NOTES).map(|text| short(text)).collect(),
            source: short(&skill.source),
        });
        Self {
            version: short(&said.version),
            hostname: short(&said.hostname),
            os: short(&said.os),
            kernel: short(&said.kernel),
            arch: short(&said.arch),
            instance_id: short(&said.instance_id),
            boot_id: short(&said.boot_id),
            systemd: said.systemd,
            journal: said.journal,
            frozen: said.frozen,
            notes: said.notes.iter().take(MAX_NOTES).map(|text| short(text)).collect(),
            skills: skills.collect(),
            packs: said.packs.into_iter().take(MAX_PACKS).map(pack_facts).collect(),
            signing: said.signing.map(signing_facts),
        }
    }
}

/// What a host asks to be signed, in the form in which it is kept.
fn signing_facts(said: SigningDescription) -> SigningFacts {
    let text = |text: &str| Some(short(text)).filter(|text| !text.is_empty());
    SigningFacts {
        approval_proof: match said.approval_proof.as_str() {
            "manager" => ApprovalProof::Manager,
            "mixed" => ApprovalProof::Mixed,
            // A word that a newer edge knows gets the strictest reading.
            _ => ApprovalProof::Signed,
        },
        dangerous: said.dangerous,
        sop_keys: said.sop_key_fingerprints.iter().take(MAX_NOTES).map(|key| short(key)).collect(),
        approver_root: text(&said.approver_root_fingerprint),
        list_version: said.approver_list_version,
        origin: text(&said.origin),
        rp_id: text(&said.rp_id),
        min_independent_signatures: said.min_independent_signatures,
        labels: said.labels.iter().take(MAX_LABELS).map(|(key, value)| (short(key), short(value))).collect(),
    }
}

/// A pack in the form in which it is kept. One whose definitions can't be read is broken.
fn pack_facts(said: PackDescription) -> PackFacts {
    let texts = |texts: &[String]| texts.iter().take(MAX_NOTES * 4).map(|text| short(text)).collect();
    let definitions: Result<Vec<Definition>, _> =
        said.definitions_json.iter().take(MAX_NOTES).map(|text| serde_json::from_str(text)).collect();
    let (definitions, error) = match definitions {
        Ok(definitions) => {
            (definitions, said.error.chars().filter(|letter| !letter.is_control()).take(2000).collect())
        }
        Err(error) => (Vec::new(), format!("its definitions can't be read: {error}")),
    };
    let mut facts = PackFacts {
        name: short(&said.name),
        version: short(&said.version),
        digest: short(&said.digest),
        description: said.description.chars().filter(|letter| !letter.is_control()).take(500).collect(),
        beside_manager: false,
        definitions,
        reach: texts(&said.reach),
        warnings: texts(&said.warnings),
        path: short(&said.path),
        error,
    };
    if let Err(problem) = facts.capabilities() {
        facts.error = problem.to_string();
        facts.definitions = Vec::new();
    }
    facts
}

impl Described {
    /// The skills as the gate wants them.
    pub(crate) fn facts(&self) -> BTreeMap<String, SkillFacts> {
        let facts = |skill: &DescribedSkill| SkillFacts {
            class: skill.class,
            definition_hash: skill.definition_hash.clone(),
            unmet: skill.unmet.clone(),
        };
        self.skills.iter().map(|skill| (skill.key.clone(), facts(skill))).collect()
    }
}

/// One line of printable text.
pub(crate) fn short(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(MAX_TEXT_CHARS).collect()
}
