//! A new certificate over the live connection.

use crate::{DataDir, EdgeError};
use arc_swap::ArcSwap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;
use tunnel::pki::{EdgeIdentity, EdgeKey, PkiError};

/// Who this edge is, and the key that waits for its certificate.
#[derive(Debug)]
pub(crate) struct Identity {
    dir: DataDir,
    current: ArcSwap<EdgeIdentity>,
    pending: Mutex<Option<EdgeKey>>,
    replaced: Notify,
}

impl Identity {
    pub(crate) fn load(dir: DataDir) -> Result<Self, EdgeError> {
        let path = dir.identity();
        let identity = EdgeIdentity::load(&path)?.ok_or(EdgeError::NotEnrolled { path })?;
        Ok(Self {
            dir,
            current: ArcSwap::from_pointee(identity),
            pending: Mutex::new(None),
            replaced: Notify::new(),
        })
    }

    /// The identity as it is now.
    pub(crate) fn current(&self) -> Arc<EdgeIdentity> {
        self.current.load_full()
    }

    /// Makes a fresh key and the request for it. A key that waits already is thrown away.
    pub(crate) fn begin(&self) -> Result<Vec<u8>, PkiError> {
        let key = EdgeKey::generate()?;
        let request = key.request()?;
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = Some(key);
        Ok(request)
    }

    /// Takes the certificate for the waiting key: on the disk, then in use.
    pub(crate) fn finish(&self, chain: Vec<Vec<u8>>, ca: Vec<u8>) -> Result<(), PkiError> {
        let bad = |reason: &str| PkiError::BadCertificate { reason: reason.to_owned() };
        let key = self.pending.lock().unwrap_or_else(PoisonError::into_inner).take();
        let fresh = EdgeIdentity::assemble(key.ok_or_else(|| bad("no key waits for it"))?, chain, ca)?;
        let old = self.current();
        if fresh.edge() != old.edge() || fresh.deployment() != old.deployment() {
            return Err(bad("it is for another edge"));
        }
        if fresh.ca() != old.ca() {
            return Err(bad("it is of another authority than this edge's"));
        }
        self.replace(fresh)
    }

    /// Puts another identity in place.
    pub(crate) fn replace(&self, fresh: EdgeIdentity) -> Result<(), PkiError> {
        fresh.store(&self.dir.identity())?;
        tracing::info!(serial = fresh.serial(), not_after = %fresh.not_after(), "certificate renewed");
        self.current.store(Arc::new(fresh));
        self.replaced.notify_one();
        Ok(())
    }

    /// Ends when the identity is another one than that with this serial number. Cancel safe.
    pub(crate) async fn replaced_since(&self, serial: &str) {
        while self.current.load().serial() == serial {
            self.replaced.notified().await;
        }
    }
}
