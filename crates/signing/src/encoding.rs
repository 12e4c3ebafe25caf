//! Text forms of bytes.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serializer, de};

/// For serde's `with`: bytes as standard base64 with padding (RFC 4648 §4).
pub(crate) mod base64_bytes {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text.trim()).map_err(|_| de::Error::custom("expected standard base64 with padding"))
    }
}

/// As base64 for URLs, without padding (RFC 4648 §5): how browsers write a WebAuthn challenge.
pub(crate) fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of one PEM block with this label (RFC 7468); `None` if there is none.
pub(crate) fn pem_block(text: &str, label: &str) -> Option<Vec<u8>> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let (_, rest) = text.split_once(&begin)?;
    let (body, _) = rest.split_once(&end)?;
    let body: String = body.chars().filter(|char| !char.is_ascii_whitespace()).collect();
    STANDARD.decode(body).ok()
}
