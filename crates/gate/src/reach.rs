//! Which hosts a person may see and use, and the inventory as that person sees it.

use crate::{Gate, HostDirectory, HostFacts};
use model::{EdgeId, Reach, UserId};
use std::sync::Arc;
use tokio::sync::broadcast;

/// The inventory without the hosts that a person doesn't reach: for that person they aren't there.
pub(crate) struct Reached {
    hosts: Arc<dyn HostDirectory>,
    reach: Arc<Reach>,
}

impl Reached {
    pub(crate) fn new(hosts: Arc<dyn HostDirectory>, reach: Arc<Reach>) -> Self {
        Self { hosts, reach }
    }
}

impl HostDirectory for Reached {
    fn host(&self, id: EdgeId) -> Option<HostFacts> {
        self.hosts.host(id).filter(|host| self.reach.includes(host.id, &host.labels))
    }

    fn hosts(&self) -> Vec<HostFacts> {
        let mut hosts = self.hosts.hosts();
        hosts.retain(|host| self.reach.includes(host.id, &host.labels));
        hosts
    }

    fn changes(&self) -> Option<broadcast::Receiver<EdgeId>> {
        self.hosts.changes()
    }
}

impl Gate {
    /// The inventory as a person sees it.
    pub fn hosts_of(&self, person: UserId) -> Arc<dyn HostDirectory> {
        Arc::new(Reached::new(Arc::clone(&self.hosts), self.storage.users().reach_of(person)))
    }

    /// Whether a person reaches the host of a call. A call that runs beside the manager has none to reach.
    pub fn reaches(&self, person: UserId, edge: Option<EdgeId>) -> bool {
        let Some(edge) = edge else { return true };
        let reach = self.storage.users().reach_of(person);
        if reach.is_everywhere() || reach.edges.contains(&edge) {
            return true;
        }
        // Nobody knows the labels of a host that is gone.
        self.hosts.host(edge).is_some_and(|host| reach.includes(edge, &host.labels))
    }

    /// Why a person can't decide on a call; `None` if they reach its host.
    pub(crate) fn out_of_reach(&self, person: UserId, edge: Option<EdgeId>) -> Option<String> {
        (!self.reaches(person, edge)).then(|| {
            let reach = self.storage.users().reach_of(person);
            format!("Your account is restricted to {reach}, and the host of this call is none of them.")
        })
    }
}
