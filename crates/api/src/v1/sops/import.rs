//! Imports a procedure.

use super::view::SopView;
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Json;
use crate::state::AppState;
use crate::v1::approvers::{bytes, unusable};
use axum::extract::State;
use gate::{CheckedSop, Procedure};
use http::StatusCode;
use model::{Scope, Timestamp};
use serde::{Deserialize, Serialize};
use similar::TextDiff;
use skill::Catalogue;
use storage::sops::StoredSop;
use utoipa::ToSchema;

/// A procedure with its signature.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportSopRequest {
    /// The file as it was signed, in base64.
    document: String,
    /// Its detached signature, in base64.
    signature: String,
    /// Only check it, and show what it would change.
    #[serde(default)]
    dry_run: bool,
}

/// An imported procedure, with what its importer should look at.
#[derive(Serialize, ToSchema)]
pub struct ImportedSop {
    /// The procedure.
    #[serde(flatten)]
    sop: SopView,
    /// A unified diff to the newest version before; null for the first.
    diff: Option<String>,
    /// What to look at twice.
    warnings: Vec<String>,
}

/// Imports a procedure that one of the keys of the manager's configuration signed. Its version must be above every one of
/// its id. With `dry_run` nothing is kept, and the answer is 200.
#[utoipa::path(post, path = "/api/v1/sops", operation_id = "import_sop", tag = "signing",
    request_body = ImportSopRequest,
    responses((status = CREATED, body = ImportedSop), (status = OK, body = ImportedSop)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Json(request): Json<ImportSopRequest>,
) -> Result<(StatusCode, axum::Json<ImportedSop>), ApiError> {
    let document = bytes("/document", &request.document)?;
    let signature = bytes("/signature", &request.signature)?;
    let book = app.executor.gate().signing();
    let now = app.storage.now();
    let checked = book.check_sop(document.clone(), signature.clone()).map_err(unusable)?;
    if let Some(before) = checked.before.as_ref().filter(|before| before.version >= checked.sop.version) {
        return Err(ApiError::conflict(format!(
            "version {} of the procedure `{}` is imported already, and a later one has to have a higher version than \
             that; this is version {}",
            before.version, checked.sop.id, checked.sop.version
        )));
    }
    let text = String::from_utf8_lossy(&document).into_owned();
    let diff = checked.before.as_ref().map(|before| diff(before, &text, checked.sop.version));
    let warnings = warnings(&checked, &app.catalogue.load(), now);
    if request.dry_run {
        let stored = StoredSop {
            id: checked.sop.id.clone(),
            version: checked.sop.version,
            document,
            signature,
            signer: checked.signer.clone(),
            imported_at: now,
            imported_by: caller.user.id,
            imported_by_name: Some(caller.user.name.clone()),
            revoked_at: None,
            revoked_by: None,
            revoked_by_name: None,
        };
        let shown = Procedure { stored, sop: Ok(checked.sop) };
        // Held against nothing else: as if it were the newest.
        let sop = SopView::of(&gate::Imported::default(), &shown, now);
        return Ok((StatusCode::OK, axum::Json(ImportedSop { sop, diff, warnings })));
    }
    let (id, version) = (checked.sop.id.clone(), checked.sop.version);
    book.import_sop(checked, caller.user.id, caller.actor()).await?;
    let imported = book.imported();
    let found = imported.version(&id, version).ok_or_else(|| ApiError::not_found("procedure"))?;
    let sop = SopView::of(&imported, found, now);
    Ok((StatusCode::CREATED, axum::Json(ImportedSop { sop, diff, warnings })))
}

fn diff(before: &StoredSop, text: &str, version: u64) -> String {
    let old = String::from_utf8_lossy(&before.document);
    TextDiff::from_lines(old.as_ref(), text)
        .unified_diff()
        .context_radius(3)
        .header(&format!("version {}", before.version), &format!("version {version}"))
        .to_string()
}

/// What an importer should look at twice.
fn warnings(checked: &CheckedSop, catalogue: &Catalogue, now: Timestamp) -> Vec<String> {
    let mut warnings = checked.sop.warnings();
    for step in &checked.sop.steps {
        if catalogue.get(Scope::Host, &step.skill).is_none() {
            warnings.push(format!(
                "step `{}` is for `{}`, which is no skill of hosts here",
                step.name, step.skill
            ));
        }
    }
    if let Some(why) = checked.sop.not_valid(now) {
        warnings.push(format!("it can't be used now: {why}"));
    }
    if let Some(before) = checked.before.as_ref().filter(|before| before.signer != checked.signer) {
        warnings.push(format!(
            "another key signed it ({}) than version {} ({})",
            checked.signer, before.version, before.signer
        ));
    }
    warnings
}
