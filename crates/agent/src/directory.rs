//! What the agent needs to know of models and hosts, and others keep.

use async_trait::async_trait;
use gate::{HostDirectory, HostFacts, HostState};
use llm::{HostRef, Provider};
use model::Reach;
use std::sync::Arc;

/// Finds the model of a chat.
#[async_trait]
pub trait ModelDirectory: Send + Sync {
    /// The model of this name; the default one without a name.
    ///
    /// # Errors
    ///
    /// Fails with a sentence for the operator if there is no such model or it can't be used as it is configured.
    async fn provider_for(&self, session_model: Option<&str>) -> Result<Arc<dyn Provider>, ModelUnavailable>;
}

/// A model can't be used, for this reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelUnavailable(pub String);

/// Tells the hosts.
pub trait HostList: Send + Sync {
    /// Every host within `reach`, in the order in which a model is told of them.
    fn hosts(&self, reach: &Reach) -> Vec<HostRef>;
}

/// The hosts of the inventory: those that can be, or could again be, used.
pub struct Inventory<L> {
    directory: Arc<dyn HostDirectory>,
    is_local: L,
}

impl<L: Fn(&HostFacts) -> bool + Send + Sync> Inventory<L> {
    /// Reads `directory`; `is_local` tells the host on which the manager runs.
    pub fn new(directory: Arc<dyn HostDirectory>, is_local: L) -> Self {
        Self { directory, is_local }
    }
}

impl<L: Fn(&HostFacts) -> bool + Send + Sync> HostList for Inventory<L> {
    fn hosts(&self, reach: &Reach) -> Vec<HostRef> {
        self.directory
            .hosts()
            .into_iter()
            .filter(|host| host.state != HostState::Revoked && reach.includes(host.id, &host.labels))
            .map(|host| HostRef {
                id: host.id.0,
                local: (self.is_local)(&host),
                online: host.state == HostState::Online,
                unmet: host
                    .skills
                    .into_iter()
                    .flatten()
                    .filter(|(_, facts)| !facts.unmet.is_empty())
                    .map(|(key, facts)| (key, facts.unmet))
                    .collect(),
                name: host.name,
                labels: host.labels,
            })
            .collect()
    }
}
