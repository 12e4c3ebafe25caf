//! What an approver signs: one call, and nothing else.

use model::{CallId, EdgeId, Timestamp, canonical};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Sets these statements apart from everything else that the same key could be made to sign.
const DOMAIN: &str = "steadyhand/approval/v1";

/// The statement of one call. Signed is its canonical JSON (RFC 8785).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Always `steadyhand/approval/v1`.
    pub domain: String,
    /// The call.
    pub call_id: CallId,
    /// The host.
    pub edge_id: EdgeId,
    /// Key of the skill.
    pub tool: String,
    /// Hash of the skill's definition.
    pub definition_hash: String,
    /// SHA-256 (hex) of the canonical arguments.
    pub args_hash: String,
    /// The procedure, for a dangerous call.
    pub sop: Option<SopRef>,
    /// Who asked: the name of the person, for a model's call of the chat's owner.
    pub requester: String,
    /// From the edge, for this one use; hex of 32 bytes.
    pub nonce: String,
    /// When the signatures are void.
    pub not_after: Timestamp,
}

/// A step of a procedure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SopRef {
    /// The procedure's id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// The step's name.
    pub step: String,
}

impl Statement {
    /// The domain of every statement.
    pub fn domain() -> String {
        DOMAIN.to_owned()
    }

    /// The canonical text that is signed.
    pub fn text(&self) -> String {
        // Serialising a struct of texts and numbers can't fail.
        serde_json::to_value(self).map(|value| canonical::to_string(&value)).unwrap_or_default()
    }

    /// Reads a statement; only its canonical text is taken, so that one statement has one text.
    ///
    /// # Errors
    ///
    /// Says what is wrong.
    pub fn read(text: &str) -> Result<Self, String> {
        let statement: Self =
            serde_json::from_str(text).map_err(|error| format!("the statement: {error}"))?;
        if statement.domain != DOMAIN {
            return Err(format!("the statement: domain: expected `{DOMAIN}`"));
        }
        if statement.text() != text {
            return Err("the statement is not in its canonical form (RFC 8785)".to_owned());
        }
        Ok(statement)
    }

    /// The hash of arguments as statements hold it.
    pub fn hash_of(args: &Value) -> String {
        canonical::digest(args)
    }

    /// SHA-256 of the text: the challenge that a passkey signs, and what `approve --show` prints (in hex).
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text().as_bytes()).into()
    }
}
