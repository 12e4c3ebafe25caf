//! Sees to it that edges refuse changes themselves while changes are frozen or their host is read-only.

use crate::fleet::Inner;
use crate::{Fleet, FleetError};
use model::{EdgeId, UserId};
use proto::v1;
use std::sync::Arc;
use std::time::Duration;
use storage::Actor;
use tunnel::EdgeClient;

/// How long until an edge that could not keep what it was told is told again.
const AGAIN: Duration = Duration::from_secs(5);

impl Fleet {
    /// Makes a host read-only, or not. Its edge is told at once if it is connected, else when it is back.
    ///
    /// # Errors
    ///
    /// Fails if there is no such host.
    pub async fn set_read_only(
        &self,
        id: EdgeId,
        read_only: bool,
        by: UserId,
        actor: Actor,
    ) -> Result<(), FleetError> {
        let inner = self.inner();
        inner.known(id)?;
        inner.parts.storage.freezes().set_read_only(id, read_only, by, actor).await?;
        inner.changed(id);
        Ok(())
    }
}

/// Tells an edge that connects what holds for it, before it can be seen as connected. The answer is what it goes by.
pub(crate) async fn tell_newcomer(inner: &Inner, edge: EdgeId, client: &EdgeClient, frozen: bool) -> bool {
    let wanted = inner.parts.storage.freezes().current().holds_on(edge);
    if wanted == frozen || tell(edge, client, wanted).await { wanted } else { frozen }
}

/// Tells a connected edge whenever something else holds for it, for as long as this is its connection.
pub(crate) async fn keep_told(inner: &Inner, edge: EdgeId, client: &EdgeClient, generation: u64) {
    let mut freezes = inner.parts.storage.freezes().watch();
    // What one that drains would say could come after what its successor said.
    while inner.hosts.live(edge).is_some_and(|live| live.generation == generation) {
        let wanted = freezes.borrow_and_update().holds_on(edge);
        let frozen = inner.hosts.with(edge, |host| host.described.as_ref().is_some_and(|said| said.frozen));
        if frozen != Some(wanted) {
            if !tell(edge, client, wanted).await {
                // Whatever changes meanwhile is told then, too.
                let _ = tokio::time::timeout(AGAIN, freezes.changed()).await;
                continue;
            }
            note(inner, edge, wanted).await;
        }
        if freezes.changed().await.is_err() {
            return;
        }
    }
}

async fn tell(edge: EdgeId, client: &EdgeClient, frozen: bool) -> bool {
    match client.clone().freeze(v1::FreezeRequest { frozen }).await {
        Ok(_) => {
            tracing::info!(edge.id = %edge, frozen, "edge was told whether it takes changes");
            true
        }
        Err(status) => {
            tracing::warn!(edge.id = %edge, frozen, reason = status.message(), "an edge could not be told whether it takes changes; it is told again");
            false
        }
    }
}

/// Notes what an edge goes by now, as if it had described itself again.
async fn note(inner: &Inner, edge: EdgeId, frozen: bool) {
    let said = inner.hosts.change(edge, |host| {
        let said = Arc::make_mut(host.described.as_mut()?);
        said.frozen = frozen;
        serde_json::to_value(&*said).ok()
    });
    if let Some(kept) = said.flatten()
        && let Err(error) = inner.parts.storage.edges().described(edge, kept).await
    {
        tracing::warn!(%error, edge.id = %edge, "a description can't be kept");
    }
    inner.changed(edge);
}
