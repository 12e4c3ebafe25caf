//! One connection of an edge, from the handshake to its end.

use crate::described::Described;
use crate::fleet::Inner;
use crate::freeze::{keep_told, tell_newcomer};
use crate::hosts::Live;
use crate::identity::{Shown, Verdict, judge, shut_reason};
use crate::local_calls::fetch_local_calls;
use crate::renew::{renew, renew_when_due};
use crate::resolve::{acknowledge, resolve_unknown};
use model::EdgeId;
use proto::v1::{self, watch_event};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use storage::edges::{Contestant, EdgeState, JournalShown};
use tonic::{Code, Status, Streaming};
use tunnel::pki::CertificateFacts;
use tunnel::{ConnectionHandle, EdgeClient, EdgeStream};

/// How long an edge gets to hear why it isn't wanted.
const REFUSE_LIMIT: Duration = Duration::from_secs(3);

/// How long the other instance of an edge gets to show that it is there.
const OTHER_LIMIT: Duration = Duration::from_secs(5);

/// Where those come from that are sent away because too many come at once: 10 to 30 s later.
const COME_BACK_SECS: std::ops::Range<u32> = 10..31;

/// What is known of a connection before it is up.
struct Arrival {
    edge: EdgeId,
    serial: String,
    address: String,
    facts: Option<CertificateFacts>,
    client: EdgeClient,
    handle: ConnectionHandle,
}

/// Why a connection doesn't come up.
enum NotUp {
    /// The edge is told, and may come back after this many seconds; 0 is "not soon".
    Refused(String, u32),
    /// It is just closed.
    Closed(String),
}

impl From<Status> for NotUp {
    fn from(status: Status) -> Self {
        Self::Closed(format!("it doesn't answer as an edge: {}", status.message()))
    }
}

impl From<storage::StorageError> for NotUp {
    fn from(error: storage::StorageError) -> Self {
        tracing::error!(%error, "an edge can't be let in");
        Self::Refused("the manager's database doesn't answer".to_owned(), 10)
    }
}

/// Takes up a connection that has proved who it is, and stays with it until it ends.
pub(crate) async fn take_up(inner: Arc<Inner>, stream: EdgeStream) {
    let (edge, serial, address) = (stream.edge, stream.serial.clone(), stream.peer.to_string());
    let facts = CertificateFacts::read(&stream.certificate).ok();
    let (client, handle) = match tunnel::open(stream, &inner.config.settings, &inner.parts.clock).await {
        Ok(opened) => opened,
        Err(ended) => {
            return tracing::warn!(edge.id = %edge, address, reason = %ended, "connection lost at once");
        }
    };
    let arrival = Arrival { edge, serial, address, facts, client, handle };
    let brought_up = tokio::select! {
        up = bring_up(&inner, &arrival) => up,
        ended = arrival.handle.ended() => Err(NotUp::Closed(format!("the connection ended before it was up: {ended}"))),
        () = tokio::time::sleep(inner.config.bring_up_limit) => {
            let secs = inner.config.bring_up_limit.as_secs();
            Err(NotUp::Refused(format!("describing this edge took longer than {secs} s"), 10))
        }
    };
    match brought_up {
        Ok(up) => stay(&inner, &arrival, up).await,
        Err(NotUp::Refused(reason, retry_after)) => {
            tracing::warn!(edge.id = %edge, address = arrival.address, reason, "edge refused");
            refuse(&arrival.client, &reason, retry_after).await;
            arrival.handle.close(reason);
        }
        Err(NotUp::Closed(reason)) => {
            tracing::info!(edge.id = %edge, address = arrival.address, reason, "connection of an edge came to nothing");
            arrival.handle.close(reason);
        }
    }
}

/// A connection that is up.
struct Up<'a> {
    generation: u64,
    watch: Streaming<v1::WatchEvent>,
    _open: Open<'a>,
}

/// Judges the edge and puts its connection in place.
async fn bring_up<'a>(inner: &'a Arc<Inner>, arrival: &Arrival) -> Result<Up<'a>, NotUp> {
    let _turn = wait_turn(inner).await?;
    let edge = arrival.edge;
    let judging = inner
        .hosts
        .with(edge, |host| Arc::clone(&host.judging))
        .ok_or_else(|| NotUp::Refused("this manager doesn't know this edge: enrol it again".to_owned(), 0))?;
    let _judging = judging.lock().await;
    // Only now: the instance that was judged before may have been chosen, which voids the certificates of its copies.
    check_certificate(inner, arrival).await?;
    let mut client = arrival.client.clone();
    let edges = inner.parts.storage.edges();
    // Before it is asked: what it confirms while it answers may not be in the answer.
    let confirmed = edges
        .find(edge)
        .await?
        .map(|record| JournalShown { through: record.acknowledged_through, highest: record.confirmed_seq });
    // Only now: the connection that was judged before may have got a new epoch.
    let said = client.describe(v1::DescribeRequest {}).await?.into_inner();
    let (Some(record), Some(confirmed)) = (edges.find(edge).await?, confirmed) else {
        return Err(NotUp::Refused("this manager doesn't know this edge: enrol it again".to_owned(), 0));
    };
    let journal = journal_of(&said)?;
    let other = inner.hosts.live(edge).filter(|live| live.instance_id != said.instance_id);
    let other_answers = match &other {
        Some(live) => answers(live).await,
        None => false,
    };
    let shown =
        Shown { instance_id: &said.instance_id, epoch: said.epoch, other_answers, journal, confirmed };
    let (next_epoch, chosen) = match judge(&record, &shown) {
        Verdict::Welcome { next_epoch, manager_restored, chosen } => {
            if manager_restored {
                tracing::warn!(edge.id = %edge, epoch = said.epoch, "the edge's epoch is newer than this manager's: was this manager restored from a backup?");
            }
            (next_epoch, chosen)
        }
        Verdict::Shut(reason) => return Err(NotUp::Refused(reason, 0)),
        Verdict::Clone(reason) => return Err(quarantine(inner, arrival, &said, &record, reason).await?),
    };
    if let Some(journal) = journal
        && let Some(before) = edges.journal_shown(edge, journal, chosen).await?
    {
        tracing::warn!(edge.id = %edge, from = before, to = journal.highest.max(journal.through), "the edge has journaled more calls than this manager has counted: was this manager restored from a backup? The counter is raised");
    }
    edges.offer_epoch(edge, said.epoch, next_epoch).await?;
    match client.set_epoch(v1::SetEpochRequest { epoch: next_epoch }).await {
        Ok(_) => edges.confirm_epoch(edge, next_epoch).await?,
        Err(status) if status.code() == Code::ResourceExhausted => {
            // What it shows is what it had confirmed, and while its disk takes nothing it takes no change either. But
            // whoever was chosen over a copy has to be told from it by what it keeps.
            if chosen {
                return Err(NotUp::Refused(status.message().to_owned(), 30));
            }
            tracing::warn!(edge.id = %edge, reason = status.message(), "the edge can't keep its new epoch; the one that it has goes on to count");
        }
        Err(status) => return Err(status.into()),
    }
    let watch = client.watch(v1::WatchRequest {}).await?.into_inner();
    if chosen {
        // Whoever else has the old certificate can't use it any more.
        let issued = renew(inner, edge, &arrival.client, "chosen over a copy").await.map_err(|error| {
            NotUp::Refused(format!("no new certificate for the chosen instance: {error}"), 10)
        })?;
        edges.revoke_other_certificates(edge, issued).await?;
    }
    // Counted before it can be seen.
    let open = Open::new(inner, edge);
    let frozen = tell_newcomer(inner, edge, &arrival.client, said.frozen).await;
    let said = Described { frozen, ..Described::from(said) };
    let generation = put_in_place(inner, arrival, said).await?;
    Ok(Up { generation, watch, _open: open })
}

/// A number that no counter comes to; an edge that shows it has lost its mind.
const MAX_SEQ: u64 = 1 << 53;

/// What an edge says of its journal; `None` if it can't read it.
fn journal_of(said: &v1::DescribeResponse) -> Result<Option<JournalShown>, NotUp> {
    let shown = JournalShown { through: said.acknowledged_through, highest: said.highest_seq };
    if shown.through.max(shown.highest) > MAX_SEQ {
        let reason = format!("its journal claims to have come to call {}", shown.highest.max(shown.through));
        return Err(NotUp::Refused(reason, 0));
    }
    Ok((!said.journal_damaged).then_some(shown))
}

/// Waits until few enough others are being brought up; who comes when too many wait is sent away for a while.
async fn wait_turn(inner: &Inner) -> Result<tokio::sync::SemaphorePermit<'_>, NotUp> {
    /// Counts those that wait, also when they give up.
    struct Waiting<'a>(&'a Inner);
    impl Drop for Waiting<'_> {
        fn drop(&mut self) {
            self.0.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let before = inner.waiting.fetch_add(1, Ordering::Relaxed);
    let _waiting = Waiting(inner);
    if before >= inner.config.max_waiting as u64 {
        let secs = rand::random_range(COME_BACK_SECS);
        return Err(NotUp::Refused("too many edges connect at once".to_owned(), secs));
    }
    inner.bring_ups.acquire().await.map_err(|_| NotUp::Closed("the manager is stopping".to_owned()))
}

/// Whether the certificate is still good, beyond what the handshake proved.
async fn check_certificate(inner: &Inner, arrival: &Arrival) -> Result<(), NotUp> {
    let edges = inner.parts.storage.edges();
    let gone = "removed by an administrator; to let this host back in, enrol it again";
    let Some(record) = edges.find(arrival.edge).await? else {
        return Err(NotUp::Refused(gone.to_owned(), 0));
    };
    if record.state == EdgeState::Revoked {
        return Err(NotUp::Refused(shut_reason(&record), 0));
    }
    match edges.certificate(&arrival.serial).await? {
        Some(certificate) if certificate.revoked_at.is_some() => Err(NotUp::Refused(
            "the certificate of this edge was voided, because another copy of it was chosen or it was revoked; enrol this host by itself".to_owned(),
            0,
        )),
        Some(_) => Ok(()),
        None => Err(NotUp::Refused(
            "this manager has no record of this edge's certificate: its database is older than the certificate; enrol this host again".to_owned(),
            0,
        )),
    }
}

/// Whether a connection that is taken for up really is.
async fn answers(live: &Live) -> bool {
    let mut client = live.client.clone();
    let described = client.describe(v1::DescribeRequest {});
    let answered = tokio::time::timeout(OTHER_LIMIT, described).await;
    live.handle.is_open() && matches!(answered, Ok(Ok(_)))
}

/// Shuts out both that claim to be the edge.
async fn quarantine(
    inner: &Inner,
    arrival: &Arrival,
    said: &v1::DescribeResponse,
    record: &storage::edges::EdgeRecord,
    reason: String,
) -> Result<NotUp, NotUp> {
    let now = inner.now();
    let mut contestants = Vec::new();
    let known = inner.hosts.with(arrival.edge, |host| {
        let said = host.described.as_deref()?;
        let address = host.live.as_ref().map(|live| live.address.clone()).or_else(|| record.address.clone());
        Some(Contestant {
            instance_id: said.instance_id.clone(),
            hostname: said.hostname.clone(),
            address: address.unwrap_or_default(),
            boot_id: said.boot_id.clone(),
            at: host.live.as_ref().map_or(record.last_seen_at.unwrap_or(now), |_| now),
        })
    });
    // The one that was there before is a contestant only of the first quarrel; later its process is known already.
    if record.state == EdgeState::Active {
        contestants.extend(known.flatten());
    }
    let newcomer = Described::from(said.clone());
    contestants.push(Contestant {
        instance_id: newcomer.instance_id,
        hostname: newcomer.hostname,
        address: arrival.address.clone(),
        boot_id: newcomer.boot_id,
        at: now,
    });
    let kept = record.state_reason.clone().filter(|_| record.state == EdgeState::Quarantined);
    let on_record = kept.unwrap_or(reason);
    inner.parts.storage.edges().quarantine(arrival.edge, on_record.clone(), contestants).await?;
    if let Err(error) = inner.reload(arrival.edge).await {
        tracing::error!(%error, "a host can't be read again");
    }
    let told = format!("quarantined until an administrator chooses (Hosts → this host): {on_record}");
    inner.send_away(arrival.edge, &told).await;
    Ok(NotUp::Refused(told, 0))
}

/// The connection is the edge's from here on; the one before it drains.
async fn put_in_place(inner: &Arc<Inner>, arrival: &Arrival, said: Described) -> Result<u64, NotUp> {
    let edge = arrival.edge;
    let edges = inner.parts.storage.edges();
    let kept = serde_json::to_value(&said).map_err(|error| NotUp::Closed(error.to_string()))?;
    edges
        .connected(edge, said.hostname.clone(), said.instance_id.clone(), arrival.address.clone(), kept)
        .await?;
    let record = edges.find(edge).await?;
    let certificate = edges.certificate(&arrival.serial).await?;
    let generation = inner.next_generation();
    let live = Live {
        generation,
        instance_id: said.instance_id.clone(),
        address: arrival.address.clone(),
        since: inner.now(),
        load: None,
        client: arrival.client.clone(),
        handle: arrival.handle.clone(),
    };
    let replaced = inner.hosts.change(edge, |host| {
        // Revoked while it was being brought up: the last word is on record.
        let record = record.filter(|record| record.state == EdgeState::Active)?;
        host.record = record;
        host.certificate = certificate;
        host.described = Some(Arc::new(said));
        host.problem = None;
        Some(host.live.replace(live))
    });
    let Some(Some(before)) = replaced else {
        return Err(NotUp::Refused("revoked by an administrator".to_owned(), 0));
    };
    if let Some(before) = before {
        before.handle.drain();
    }
    tracing::info!(edge.id = %edge, address = arrival.address, generation, "edge connected");
    inner.changed(edge);
    Ok(generation)
}

/// Stays with a connection that is up until it ends.
async fn stay(inner: &Arc<Inner>, arrival: &Arrival, up: Up<'_>) {
    let edge = arrival.edge;
    let Up { generation, watch, _open } = up;
    let resolving = async {
        resolve_unknown(inner, edge, &arrival.client).await;
        acknowledge(inner, edge).await;
        fetch_local_calls(inner, edge, &arrival.client).await;
    };
    let renewing = renew_when_due(inner, edge, &arrival.client, arrival.facts.as_ref());
    let watching = follow(inner, arrival, generation, watch);
    let telling = keep_told(inner, edge, &arrival.client, generation);
    let side = async { tokio::join!(resolving, renewing, watching, telling) };
    let ended = tokio::select! {
        ended = arrival.handle.ended() => ended,
        // These go on for as long as the connection does; where they all end early, only its end is left to wait for.
        _ = side => arrival.handle.ended().await,
    };
    let was_current = inner.hosts.change(edge, |host| {
        let current = host.live.as_ref().is_some_and(|live| live.generation == generation);
        if current {
            host.live = None;
            host.record.last_seen_at = Some(inner.now());
        }
        current
    });
    tracing::info!(edge.id = %edge, generation, reason = %ended, "connection of an edge ended");
    if was_current == Some(true) {
        inner.changed(edge);
        if let Err(error) = inner.parts.storage.edges().seen(vec![edge]).await {
            tracing::warn!(%error, "could not note when an edge was last seen");
        }
    }
}

/// Counts a connection that is up, and tells when it is not any more.
struct Open<'a>(&'a Inner, EdgeId);

impl<'a> Open<'a> {
    fn new(inner: &'a Inner, edge: EdgeId) -> Self {
        inner.open.fetch_add(1, Ordering::Relaxed);
        Self(inner, edge)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        self.0.changed(self.1);
    }
}

/// Follows what the edge tells while it is connected.
async fn follow(
    inner: &Arc<Inner>,
    arrival: &Arrival,
    generation: u64,
    mut watch: Streaming<v1::WatchEvent>,
) {
    let edge = arrival.edge;
    // An error ends the watch as the end of the connection does.
    while let Ok(Some(v1::WatchEvent { event: Some(event) })) = watch.message().await {
        match event {
            watch_event::Event::Load(load) => {
                inner.hosts.change(edge, |host| {
                    if let Some(live) = host.live.as_mut().filter(|live| live.generation == generation) {
                        live.load = Some(load);
                    }
                });
                inner.changed(edge);
            }
            watch_event::Event::LocalCalls(_) => fetch_local_calls(inner, edge, &arrival.client).await,
            watch_event::Event::Described(_) => {
                let mut client = arrival.client.clone();
                let Ok(said) = client.describe(v1::DescribeRequest {}).await else { return };
                let said = Described::from(said.into_inner());
                if let Ok(kept) = serde_json::to_value(&said)
                    && let Err(error) = inner.parts.storage.edges().described(edge, kept).await
                {
                    tracing::warn!(%error, edge.id = %edge, "a description can't be kept");
                }
                inner.hosts.change(edge, |host| host.described = Some(Arc::new(said)));
                inner.changed(edge);
            }
        }
    }
}

async fn refuse(client: &EdgeClient, reason: &str, retry_after_secs: u32) {
    let mut client = client.clone();
    let request = v1::RefuseRequest { reason: reason.to_owned(), retry_after_secs };
    // It is told as a courtesy; an edge that doesn't listen is closed all the same.
    let _ = tokio::time::timeout(REFUSE_LIMIT, client.refuse(request)).await;
}

/// Tells an edge why, and ends its connection.
pub(crate) async fn refuse_and_close(client: &EdgeClient, handle: &ConnectionHandle, reason: &str) {
    refuse(client, reason, 0).await;
    handle.close(reason);
}
