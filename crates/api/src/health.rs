//! What the machinery around the manager asks: is it alive, is it ready, how is it doing. Outside of `/api/v1`,
//! because probes neither sign in nor read problem details.

use crate::auth::rule::Read;
use crate::auth::{Use, authenticate};
use crate::error::ApiError;
use crate::middleware::is_local;
use crate::state::AppState;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use gate::HostState;
use http::{Extensions, HeaderMap, StatusCode, header};
use serde::Serialize;
use std::time::{Duration, Instant};

/// One thing that must work.
#[derive(Clone, Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Whether everything does.
#[derive(Clone, Debug, Serialize)]
pub struct Readiness {
    ready: bool,
    checks: Vec<Check>,
    #[serde(skip)]
    at: Instant,
}

pub(crate) fn routes() -> Router<AppState> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
}

/// The process answers. Says nothing of its parts: a restart would not mend them.
async fn healthz() -> &'static str {
    "ok\n"
}

const MAX_WAIT: Duration = Duration::from_secs(5);
/// Nobody has to sign in to ask, and asking writes; so an answer is good for this long.
const FRESH: Duration = Duration::from_secs(1);

/// Really tries each part: a durable write, the authority's key, the tunnel's listener.
async fn readyz(State(app): State<AppState>) -> Response {
    let mut last = app.readiness.lock().await;
    let readiness = match last.as_ref() {
        Some(known) if known.at.elapsed() < FRESH => known.clone(),
        _ => {
            let mut checks = vec![database(&app).await, tunnel(&app), running(&app)];
            checks.extend(app.checks.iter().map(|(name, check)| {
                let problem = check();
                Check { name, ok: problem.is_none(), problem }
            }));
            let ready = checks.iter().all(|check| check.ok);
            last.insert(Readiness { ready, checks, at: Instant::now() }).clone()
        }
    };
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness)).into_response()
}

/// Migrations ran when it was opened; what can still break is writing: a full disk, a lost volume.
async fn database(app: &AppState) -> Check {
    let problem = match tokio::time::timeout(MAX_WAIT, app.storage.settings().probe()).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            tracing::error!(error = %error, "the database can't be written");
            Some("it can't be written".to_owned())
        }
        Err(_) => Some(format!("it took longer than {} s to write", MAX_WAIT.as_secs())),
    };
    Check { name: "database", ok: problem.is_none(), problem }
}

fn tunnel(app: &AppState) -> Check {
    let ok = app.fleet.is_listening();
    Check { name: "tunnel", ok, problem: (!ok).then(|| "its listener has ended".to_owned()) }
}

fn running(app: &AppState) -> Check {
    let ok = !app.shutdown.is_cancelled();
    Check { name: "running", ok, problem: (!ok).then(|| "the manager is stopping".to_owned()) }
}

/// Prometheus metrics: for programs of this machine, and for whoever may look.
async fn metrics(
    State(app): State<AppState>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, ApiError> {
    if !is_local(&extensions, &headers) {
        authenticate(&app, &headers, Use::Counts).await?.check::<Read>()?;
    }
    let Some(recorder) = &app.metrics else { return Err(ApiError::not_found("metrics")) };
    metrics::gauge!("steadyhand_database_commits").set(app.storage.stats().commits as f64);
    metrics::gauge!("steadyhand_database_jobs").set(app.storage.stats().jobs as f64);
    let hosts = app.fleet.hosts();
    let online = hosts.iter().filter(|host| host.state == HostState::Online).count();
    metrics::gauge!("steadyhand_hosts").set(hosts.len() as f64);
    metrics::gauge!("steadyhand_hosts_online").set(online as f64);
    recorder.run_upkeep();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], recorder.render())
        .into_response())
}
