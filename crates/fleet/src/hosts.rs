//! Every host in memory: what is on record, and the connection if there is one.

use crate::described::Described;
use model::{CallId, EdgeId, Timestamp};
use proto::v1::LoadSample;
use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use storage::edges::{CertificateRecord, EdgeRecord};
use tunnel::{ConnectionHandle, EdgeClient};

/// One host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) record: EdgeRecord,
    pub(crate) certificate: Option<CertificateRecord>,
    pub(crate) described: Option<Arc<Described>>,
    pub(crate) live: Option<Live>,
    /// Why it could not connect, since it was last connected.
    pub(crate) problem: Option<String>,
    /// Calls whose connection was lost; how they ended is asked for when it is back.
    pub(crate) lost: Vec<CallId>,
    /// Held while a connection of this edge is being judged, so that two are judged one after the other.
    pub(crate) judging: Arc<tokio::sync::Mutex<()>>,
    /// Held while it is told which of its calls are final.
    pub(crate) acknowledging: Arc<tokio::sync::Mutex<()>>,
}

/// A connection that is fully up.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    /// Larger for a later connection, of any host.
    pub(crate) generation: u64,
    pub(crate) instance_id: String,
    pub(crate) address: String,
    pub(crate) since: Timestamp,
    pub(crate) load: Option<LoadSample>,
    pub(crate) client: EdgeClient,
    pub(crate) handle: ConnectionHandle,
}

impl Host {
    pub(crate) fn new(record: EdgeRecord, certificate: Option<CertificateRecord>) -> Self {
        let described = record
            .description
            .as_ref()
            .and_then(|kept| serde_json::from_value::<Described>(kept.clone()).ok())
            .map(Arc::new);
        Self {
            record,
            certificate,
            described,
            live: None,
            problem: None,
            lost: Vec::new(),
            judging: Arc::default(),
            acknowledging: Arc::default(),
        }
    }
}

/// Every host, by id.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    map: RwLock<BTreeMap<EdgeId, Host>>,
}

impl Hosts {
    pub(crate) fn load(
        records: Vec<EdgeRecord>,
        mut certificates: HashMap<EdgeId, CertificateRecord>,
    ) -> Self {
        let hosts = records.into_iter().map(|record| {
            let certificate = certificates.remove(&record.id);
            (record.id, Host::new(record, certificate))
        });
        Self { map: RwLock::new(hosts.collect()) }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, BTreeMap<EdgeId, Host>> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<EdgeId, Host>> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at one host.
    pub(crate) fn with<T>(&self, id: EdgeId, look: impl FnOnce(&Host) -> T) -> Option<T> {
        self.read().get(&id).map(look)
    }

    /// Changes one host.
    pub(crate) fn change<T>(&self, id: EdgeId, change: impl FnOnce(&mut Host) -> T) -> Option<T> {
        self.write().get_mut(&id).map(change)
    }

    /// The connection of a host.
    pub(crate) fn live(&self, id: EdgeId) -> Option<Live> {
        self.with(id, |host| host.live.clone()).flatten()
    }

    /// Puts what is on record in place of what was.
    pub(crate) fn put(&self, record: EdgeRecord) {
        let mut map = self.write();
        match map.get_mut(&record.id) {
            Some(host) => host.record = record,
            None => {
                map.insert(record.id, Host::new(record, None));
            }
        }
    }
}
