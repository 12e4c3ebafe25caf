//! Version 1 of the API. One file per endpoint; each says in its signature who may call it.

pub mod about;
pub mod account;
pub mod approvals;
pub mod approvers;
pub mod audit;
pub mod calls;
pub mod capabilities;
pub mod enrollment;
pub mod events;
pub mod freeze;
pub mod grants;
pub mod hosts;
pub mod models;
pub mod packs;
pub mod policy;
pub mod sessions;
pub mod settings;
pub mod sops;
pub mod tokens;
pub mod turns;
pub mod users;

use crate::state::AppState;
use utoipa_axum::router::OpenApiRouter;

/// Every route of the API.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(account::routes())
        .merge(hosts::routes())
        .merge(enrollment::routes())
        .merge(capabilities::routes())
        .merge(packs::routes())
        .merge(calls::routes())
        .merge(approvals::routes())
        .merge(grants::routes())
        .merge(sops::routes())
        .merge(approvers::routes())
        .merge(policy::routes())
        .merge(freeze::routes())
        .merge(audit::routes())
        .merge(sessions::routes())
        .merge(turns::routes())
        .merge(events::routes())
        .merge(models::routes())
        .merge(users::routes())
        .merge(tokens::routes())
        .merge(settings::routes())
        .merge(about::routes())
}
