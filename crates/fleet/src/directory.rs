//! The inventory as the gate and the tools see it.

use crate::Fleet;
use crate::hosts::Host;
use crate::view::state_of;
use gate::{HostDirectory, HostFacts};
use model::{EdgeId, Timestamp};
use tokio::sync::broadcast;

fn facts(host: &Host, now: Timestamp) -> HostFacts {
    let record = &host.record;
    let said = host.described.as_deref();
    let (state, state_reason) = state_of(host);
    HostFacts {
        id: record.id,
        name: record.name.clone(),
        hostname: Some(record.hostname.clone()),
        labels: record.labels.clone(),
        state,
        state_reason,
        os: said.map(|said| said.os.clone()),
        arch: said.map(|said| said.arch.clone()),
        version: said.map(|said| said.version.clone()),
        connected_at: host.live.as_ref().map(|live| live.since),
        last_seen_at: if host.live.is_some() { Some(now) } else { record.last_seen_at },
        skills: said.map(|said| said.facts()),
        signing: said.and_then(|said| said.signing.clone()),
        instance: host
            .live
            .as_ref()
            .map(|live| live.instance_id.clone())
            .or_else(|| record.instance_id.clone()),
    }
}

impl HostDirectory for Fleet {
    fn host(&self, id: EdgeId) -> Option<HostFacts> {
        let now = self.inner().now();
        self.inner().hosts.with(id, |host| facts(host, now))
    }

    fn hosts(&self) -> Vec<HostFacts> {
        let now = self.inner().now();
        self.inner().hosts.read().values().map(|host| facts(host, now)).collect()
    }

    fn changes(&self) -> Option<broadcast::Receiver<EdgeId>> {
        Some(Self::changes(self))
    }
}
