//! The list of approvers and offered keys as the API shows them.

use crate::state::AppState;
use crate::v1::freeze::PersonView;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use gate::signatures::kind_word;
use serde::Serialize;
use signing::SignatureKind;
use storage::approvers::KeyOffer;
use utoipa::ToSchema;
use uuid::Uuid;

/// How a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SignatureKind)]
pub enum SignatureKindWord {
    /// A key file, outside of any browser.
    Ed25519,
    /// A passkey.
    Webauthn,
}

impl SignatureKindWord {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ed25519 => kind_word(SignatureKind::Ed25519),
            Self::Webauthn => kind_word(SignatureKind::Webauthn),
        }
    }

    /// Of a word that the database holds.
    pub(crate) fn of_word(word: &str) -> Self {
        if word == Self::Webauthn.as_str() { Self::Webauthn } else { Self::Ed25519 }
    }
}

impl From<SignatureKind> for SignatureKindWord {
    fn from(kind: SignatureKind) -> Self {
        match kind {
            SignatureKind::Ed25519 => Self::Ed25519,
            SignatureKind::Webauthn => Self::Webauthn,
        }
    }
}

/// A key of a person on the list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListedKey {
    /// The first 16 hex digits of the SHA-256 of its SubjectPublicKeyInfo.
    pub id: String,
    /// How it signs.
    pub kind: SignatureKindWord,
    /// Where the person says it is.
    pub label: String,
}

/// A person on the list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListedApprover {
    /// The name of the person's account.
    pub person: String,
    /// The person's keys.
    pub keys: Vec<ListedKey>,
}

/// The list of approvers.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ApproverListView {
    /// Its version.
    pub version: u64,
    /// When it is void.
    pub expires: DateTime<Utc>,
    /// The people.
    pub people: Vec<ListedApprover>,
    /// When it was imported.
    pub imported_at: DateTime<Utc>,
    /// By whom.
    pub imported_by: PersonView,
}

/// Who may sign, as far as this manager knows.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ApproversView {
    /// Whether the manager's configuration pins a root key.
    pub configured: bool,
    /// That key's fingerprint.
    pub root_fingerprint: Option<String>,
    /// The newest list that was imported, if it is trusted.
    pub list: Option<ApproverListView>,
    /// Why a list that was imported isn't trusted.
    pub problem: Option<String>,
    /// The console that passkeys must belong to: its origin. Null: passkeys don't count.
    pub origin: Option<String>,
    /// The same: its rpId.
    pub rp_id: Option<String>,
}

impl ApproversView {
    pub(super) fn of(app: &AppState) -> Self {
        let book = app.executor.gate().signing();
        let (pins, imported) = (book.pins(), book.imported());
        let (mut shown, mut problem) = (None, None);
        if let Some(approvers) = &imported.approvers {
            match &approvers.list {
                Err(why) => problem = Some(why.clone()),
                Ok(list) => {
                    let stored = &approvers.stored;
                    let name = stored.imported_by_name.clone();
                    shown = Some(ApproverListView {
                        version: list.version,
                        expires: list.expires,
                        people: list.people.iter().map(listed).collect(),
                        imported_at: stored.imported_at,
                        imported_by: PersonView {
                            id: stored.imported_by,
                            name: name.unwrap_or_else(|| format!("user {}", stored.imported_by)),
                        },
                    });
                }
            }
        }
        Self {
            configured: pins.approver_root.is_some(),
            root_fingerprint: pins.approver_root.as_ref().map(signing::RootKey::fingerprint),
            list: shown,
            problem,
            origin: pins.relying_party.as_ref().map(|party| party.origin.clone()),
            rp_id: pins.relying_party.as_ref().map(|party| party.id.clone()),
        }
    }
}

fn listed(approver: &signing::Approver) -> ListedApprover {
    let keys = approver.keys.iter().map(|key| ListedKey {
        id: key.id.clone(),
        kind: key.kind.into(),
        label: key.label.clone(),
    });
    ListedApprover { person: approver.person.clone(), keys: keys.collect() }
}

/// A key that somebody offers for the list.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ApproverKeyOffer)]
pub struct OfferView {
    /// The offer's id.
    pub id: Uuid,
    /// The name of the person's account.
    pub person: String,
    /// How it signs.
    pub kind: SignatureKindWord,
    /// Its SubjectPublicKeyInfo, in base64.
    pub public: String,
    /// The id that the key will have on the list.
    pub key_id: String,
    /// What the browser calls a passkey by, in base64url.
    pub credential_id: Option<String>,
    /// Where the person says it is.
    pub label: String,
    /// When it was offered.
    pub offered_at: DateTime<Utc>,
    /// The lines for the list, to be signed with it by the root key.
    pub toml: String,
    /// Whether the present list names this key of this person.
    pub listed: bool,
}

impl OfferView {
    pub(super) fn of(app: &AppState, offer: KeyOffer) -> Self {
        let public = STANDARD.encode(&offer.public);
        let kind = SignatureKindWord::of_word(&offer.kind);
        Self {
            id: offer.id,
            toml: lines(&offer.person, kind, &public, &offer.label),
            listed: app.executor.gate().signing().lists(&offer.person, &offer.key_id),
            person: offer.person,
            kind,
            public,
            key_id: offer.key_id,
            credential_id: offer.credential_id,
            label: offer.label,
            offered_at: offer.offered_at,
        }
    }
}

/// The lines of the list that name one key of one person.
pub(super) fn lines(person: &str, kind: SignatureKindWord, public: &str, label: &str) -> String {
    // JSON's escapes of texts without control characters are TOML's, too.
    let text = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        "[[people]]\nperson = {}\n[[people.keys]]\nkind = \"{}\"\npublic = \"{public}\"\nlabel = {}\n",
        text(person),
        kind.as_str(),
        text(label)
    )
}
