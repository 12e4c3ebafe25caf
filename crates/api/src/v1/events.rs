//! The live stream: one per browser, for all of the person's chats, and for what changes in lists.
//!
//! Chat events are read from the database, so nothing of them can be missed however slow the reader is: `id:` is
//! where to go on. Hints that a list changed have no id; a reader that falls behind gets `resync.v1` and looks anew.

use crate::auth::rule::Read;
use crate::auth::{Caller, Credential, Use, authenticate};
use crate::error::ApiError;
use crate::extract::Query;
use crate::state::AppState;
use crate::v1::sessions::TurnEventView;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use executor::CallChange;
use futures::stream::{self, Stream};
use http::HeaderMap;
use model::{CallId, EdgeId, UserId};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use storage::approvals::ApprovalChange;
use storage::freezes::FreezeState;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Where to go on.
#[derive(Deserialize)]
pub struct AfterQuery {
    after: Option<i64>,
}

const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often the stream looks whether its caller still may. Sign-outs and revocations are seen at once.
const RECHECK: Duration = Duration::from_secs(15);
const PAGE: u32 = 200;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(handler))
}

/// Streams events. Goes on after `Last-Event-ID` (or `after`); without either it begins with what happens next.
#[utoipa::path(get, path = "/api/v1/events", operation_id = "events", tag = "chat",
    params(("after" = Option<i64>, Query)),
    responses((status = OK, content_type = "text/event-stream", body = TurnEventView)),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    headers: HeaderMap,
    Query(query): Query<AfterQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let asked = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse().ok())
        .or(query.after);
    // Subscribed before the place is read, so that nothing falls between.
    let mut live = Live {
        user: caller.user.id,
        sees_all_calls: caller.sees_all_calls(),
        sees_all_approvals: caller.sees_all_approvals(),
        identity: key_of(&caller.credential),
        headers: credentials_of(&headers),
        turns: app.agent.events(),
        hosts: app.fleet.changes(),
        calls: app.executor.changes(),
        approvals: app.storage.approval_changes(),
        packs: app.executor.gate().packs().changes(),
        signing: app.executor.gate().signing().changes(),
        freezes: app.storage.freezes().watch(),
        access: app.access_changed.subscribe(),
        recheck: ticks(),
        pending: VecDeque::new(),
        last: 0,
        more: true,
        app,
    };
    let newest = live.app.storage.chats().last_event_id().await?;
    live.last = match asked {
        Some(asked) if (0..=newest).contains(&asked) => asked,
        // An id that was never given out comes from another database: the reader's picture is worthless.
        Some(_) => {
            live.pending.push_back(hint("resync.v1", &json!({})));
            newest
        }
        None => newest,
    };
    let events =
        stream::unfold(live, |mut live| async move { live.next().await.map(|event| (Ok(event), live)) });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

struct Live {
    app: AppState,
    user: UserId,
    sees_all_calls: bool,
    sees_all_approvals: bool,
    identity: i64,
    headers: HeaderMap,
    turns: watch::Receiver<i64>,
    hosts: broadcast::Receiver<EdgeId>,
    calls: broadcast::Receiver<CallChange>,
    approvals: broadcast::Receiver<ApprovalChange>,
    packs: watch::Receiver<u64>,
    signing: watch::Receiver<u64>,
    freezes: watch::Receiver<Arc<FreezeState>>,
    access: watch::Receiver<u64>,
    recheck: Interval,
    pending: VecDeque<Event>,
    last: i64,
    /// Whether the database may hold events after `last`.
    more: bool,
}

impl Live {
    /// The next event; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.more {
                self.read_chats().await?;
                continue;
            }
            tokio::select! {
                () = self.app.shutdown.cancelled() => return None,
                changed = self.turns.changed() => {
                    changed.ok()?;
                    self.more = true;
                }
                changed = self.hosts.recv() => match changed {
                    Ok(id) if !self.app.executor.gate().reaches(self.user, Some(id)) => {}
                    Ok(id) => self.pending.push_back(hint("hosts.changed.v1", &json!({"edge_id": id}))),
                    Err(RecvError::Lagged(_)) => self.pending.push_back(hint("resync.v1", &json!({}))),
                    Err(RecvError::Closed) => return None,
                },
                changed = self.calls.recv() => match changed {
                    Ok(change) => self.note_call(&change).await,
                    Err(RecvError::Lagged(_)) => self.pending.push_back(hint("resync.v1", &json!({}))),
                    Err(RecvError::Closed) => return None,
                },
                changed = self.approvals.recv() => match changed {
                    Ok(change) => self.note_approval(&change).await,
                    Err(RecvError::Lagged(_)) => self.pending.push_back(hint("resync.v1", &json!({}))),
                    Err(RecvError::Closed) => return None,
                },
                changed = self.packs.changed() => {
                    changed.ok()?;
                    self.pending.push_back(hint("packs.changed.v1", &json!({})));
                }
                changed = self.signing.changed() => {
                    changed.ok()?;
                    self.pending.push_back(hint("signing.changed.v1", &json!({})));
                }
                changed = self.freezes.changed() => {
                    changed.ok()?;
                    let frozen = self.freezes.borrow_and_update().everywhere.is_some();
                    self.pending.push_back(hint("freeze.changed.v1", &json!({"frozen": frozen})));
                }
                changed = self.access.changed() => {
                    changed.ok()?;
                    self.still_may().await?;
                }
                _ = self.recheck.tick() => self.still_may().await?,
            }
        }
    }

    async fn read_chats(&mut self) -> Option<()> {
        // Seen before reading: what is committed while we read wakes us again.
        self.turns.borrow_and_update();
        let events = match self.app.storage.chats().events(self.user, self.last, PAGE).await {
            Ok(events) => events,
            Err(error) => {
                tracing::warn!(error = %error, "an event stream ended: the database can't be read");
                return None;
            }
        };
        self.more = events.len() == PAGE as usize;
        for event in events {
            self.last = event.id;
            let (id, kind) = (event.id.to_string(), event.kind.clone());
            let data = serde_json::to_string(&TurnEventView::from(event)).unwrap_or_default();
            self.pending.push_back(Event::default().id(id).event(kind).data(data));
        }
        Some(())
    }

    async fn note_call(&mut self, change: &CallChange) {
        if change.person == self.user || self.sees_all_calls && self.reaches_call(change.call_id).await {
            let data = json!({"call_id": change.call_id, "state": change.state});
            self.pending.push_back(hint("calls.changed.v1", &data));
        }
    }

    async fn note_approval(&mut self, change: &ApprovalChange) {
        if change.person == self.user || self.sees_all_approvals && self.reaches_call(change.call_id).await {
            let ApprovalChange { approval_id, call_id, state, .. } = change;
            let data = json!({"approval_id": approval_id, "call_id": call_id, "state": state});
            self.pending.push_back(hint("approval.changed.v1", &data));
        }
    }

    /// Whether another person's call is on a host within reach. Who reaches all hosts sees all calls.
    async fn reaches_call(&self, call: CallId) -> bool {
        let reach = self.app.storage.users().reach_of(self.user);
        if reach.is_everywhere() {
            return true;
        }
        // A hint that can't be looked up is left out; the lists are right when they are next read.
        let edge = self.app.storage.calls().find(call).await.ok().flatten().and_then(|row| row.edge);
        edge.is_some() && self.app.executor.gate().reaches(self.user, edge)
    }

    /// Whether the credentials still hold and still give the same rights. Doesn't count as use.
    async fn still_may(&mut self) -> Option<()> {
        let identity = authenticate(&self.app, &self.headers, Use::DoesNotCount).await.ok()?;
        identity.check::<Read>().ok()?;
        self.sees_all_calls = identity.sees_all_calls();
        self.sees_all_approvals = identity.sees_all_approvals();
        (key_of(&identity.credential) == self.identity).then_some(())
    }
}

fn key_of(credential: &Credential) -> i64 {
    match credential {
        Credential::Cookie { sign_in, .. } => *sign_in,
        Credential::Token { id, .. } => *id,
    }
}

fn credentials_of(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in [http::header::AUTHORIZATION, http::header::COOKIE] {
        for value in headers.get_all(&name) {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

fn hint(kind: &str, data: &Value) -> Event {
    Event::default().event(kind).data(data.to_string())
}

fn ticks() -> Interval {
    let mut ticks = interval(RECHECK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    ticks
}
