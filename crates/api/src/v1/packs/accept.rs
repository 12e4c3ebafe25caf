//! Lets the skills of a pack be called.

use super::view::PackView;
use crate::auth::Caller;
use crate::auth::rule::Administer;
use crate::error::ApiError;
use crate::extract::Path;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use storage::StorageError;

/// Accepts a pack, exactly as it was shown: its skills can be called on every host that has it, or beside the manager. A pack that changes
/// waits again.
#[utoipa::path(post, path = "/api/v1/packs/{pin}/accept", operation_id = "accept_pack", tag = "packs",
    params(("pin" = String, Path)), responses((status = OK, body = PackView)),
    security(("cookie" = ["admin"]), ("token" = ["admin"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Administer>,
    Path(pin): Path<String>,
) -> Result<Json<PackView>, ApiError> {
    let missing = || StorageError::NotFound {
        what: "a pack with this pin on any host or beside the manager".to_owned(),
    };
    let (hosts, own) = (app.fleet.hosts(), app.executor.gate().packs().own());
    let mut all = hosts.iter().flat_map(|host| &host.packs).chain(&own.packs);
    let pack = all.find(|pack| pack.pin() == pin).ok_or_else(missing)?;
    app.executor.gate().packs().accept(pack, caller.user.id, caller.actor()).await?;
    let shown = super::view::all(&app, &caller).await?.into_iter().find(|pack| pack.pin == pin);
    Ok(Json(shown.ok_or_else(missing)?))
}
