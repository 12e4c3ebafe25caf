//! Offers an approval key.

use super::bytes;
use super::view::{OfferView, SignatureKindWord, lines};
use crate::auth::Caller;
use crate::auth::rule::OwnAccount;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use signing::ApproverList;
use storage::approvers::NewOffer;
use utoipa::ToSchema;

/// Most characters of what a browser calls a passkey by: 1,023 bytes in base64url.
const MAX_CREDENTIAL_CHARS: usize = 1_364;

/// A key of the caller.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferKeyRequest {
    /// How it signs.
    kind: SignatureKindWord,
    /// Its SubjectPublicKeyInfo, in base64.
    public: String,
    /// What the browser calls a passkey by, in base64url; only for a passkey.
    credential_id: Option<String>,
    /// Where it is, for people: 1 to 100 characters.
    label: String,
}

/// Offers a key of the caller for the list of approvers. It counts for nothing until a list names it that the root key
/// signed.
#[utoipa::path(post, path = "/api/v1/account/approver-keys", operation_id = "offer_approver_key", tag = "account",
    request_body = OfferKeyRequest, responses((status = CREATED, body = OfferView)),
    security(("cookie" = ["viewer"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<OwnAccount>,
    Json(request): Json<OfferKeyRequest>,
) -> Result<(StatusCode, axum::Json<OfferView>), ApiError> {
    let public = bytes("/public", &request.public)?;
    let label = request.label.trim().to_owned();
    if label.is_empty() || label.chars().count() > 100 || label.chars().any(char::is_control) {
        return Err(ApiError::invalid("/label", "must have 1 to 100 printable characters"));
    }
    let credential_id = request.credential_id.filter(|id| !id.is_empty());
    let is_base64url =
        |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    match (&credential_id, request.kind) {
        (Some(_), SignatureKindWord::Ed25519) => {
            return Err(ApiError::invalid("/credential_id", "goes only with a passkey"));
        }
        (Some(id), SignatureKindWord::Webauthn) if id.len() > MAX_CREDENTIAL_CHARS || !is_base64url(id) => {
            return Err(ApiError::invalid("/credential_id", "expected base64url without padding"));
        }
        _ => {}
    }
    // A key that no list can hold is told now.
    let line = lines(&caller.user.name, request.kind, request.public.trim(), &label);
    let list = ApproverList::parse(&format!("version = 1\nexpires = 2100-01-01T00:00:00Z\n{line}"))
        .map_err(|error| ApiError::invalid("/public", error.to_string()))?;
    let key = list.people.first().and_then(|person| person.keys.first());
    let key_id = key.map(|key| key.id.clone()).ok_or_else(|| ApiError::invalid("/public", "holds no key"))?;
    let new = NewOffer { kind: request.kind.as_str().to_owned(), public, key_id, credential_id, label };
    let book = app.executor.gate().signing();
    let id = book.offer_key(caller.user.id, new, caller.actor()).await?;
    let offer = book.offers(Some(caller.user.id)).await?.into_iter().find(|offer| offer.id == id);
    let offer = offer.ok_or_else(|| ApiError::not_found("approval key"))?;
    Ok((StatusCode::CREATED, axum::Json(OfferView::of(&app, offer))))
}
