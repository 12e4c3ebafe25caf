//! What handlers work with.

use crate::auth::password::Hasher;
use crate::auth::throttle::{Throttle, ThrottleLimits};
use crate::health::Readiness;
use crate::models::ModelBook;
use agent::{AccessMode, Agent};
use arc_swap::ArcSwap;
use executor::Executor;
use fleet::Fleet;
use metrics_exporter_prometheus::PrometheusHandle;
use skill::Catalogue;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use storage::Storage;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How the API behaves. Made by the manager from its configuration.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Whether browsers reach the console over TLS, directly or through a proxy: cookies are then `Secure`.
    pub secure_cookies: bool,
    /// Host names (without port) under which the console may be asked for. Empty takes any: only right behind TLS,
    /// where a foreign name has no certificate.
    pub allowed_hosts: Vec<String>,
    /// Proxies whose `x-forwarded-for` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// A sign-in that isn't used for so long ends. Default: 12 h.
    pub idle_timeout: Duration,
    /// A sign-in ends after so long, used or not. Default: 7 d.
    pub absolute_timeout: Duration,
    /// How long a request may take; calls have their own deadline. Default: 30 s.
    pub request_timeout: Duration,
    /// Who may chat, pinned by `TOOLS_ACCESS_MODE`.
    pub pinned_access: Option<AccessMode>,
    /// Who may chat until somebody chooses.
    pub default_access: AccessMode,
    /// Limits of attempts to sign in.
    pub throttle: ThrottleLimits,
}

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            secure_cookies: false,
            allowed_hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            idle_timeout: Duration::from_secs(12 * 3600),
            absolute_timeout: Duration::from_secs(7 * 24 * 3600),
            request_timeout: Duration::from_secs(30),
            pinned_access: None,
            default_access: AccessMode::Off,
            throttle: ThrottleLimits::default(),
        }
    }
}

/// Tells what is wrong with a part, if anything.
pub type ReadinessCheck = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// The parts that the manager has started.
#[derive(Clone)]
pub struct AppParts {
    /// The database.
    pub storage: Storage,
    /// The one door.
    pub executor: Executor,
    /// The hosts.
    pub fleet: Fleet,
    /// The chat loop.
    pub agent: Agent,
    /// Every capability.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    /// Model providers.
    pub models: Arc<ModelBook>,
    /// Hashes passwords.
    pub hasher: Hasher,
    /// What `/metrics` shows; `None` where no recorder is installed.
    pub metrics: Option<PrometheusHandle>,
    /// More that `/readyz` tries, by name; each tells what is wrong, if anything.
    pub checks: Vec<(&'static str, ReadinessCheck)>,
    /// Fires when the manager stops: event streams end.
    pub shutdown: CancellationToken,
    /// How the API behaves.
    pub config: ApiConfig,
}

/// What handlers work with. Cheap to clone.
#[derive(Clone)]
pub struct AppState(Arc<AppInner>);

/// The inside of [`AppState`].
pub struct AppInner {
    parts: AppParts,
    /// Counts attempts to sign in.
    pub throttle: Throttle,
    /// What was last answered to `/readyz`.
    pub readiness: tokio::sync::Mutex<Option<Readiness>>,
    /// Held while the audit chain is being checked.
    pub verifying: tokio::sync::Mutex<()>,
    /// Raised whenever a sign-in or token ends, so that event streams look again at once.
    pub access_changed: watch::Sender<u64>,
}

impl AppState {
    /// Joins the parts.
    pub fn new(parts: AppParts) -> Self {
        let throttle = Throttle::new(parts.config.throttle);
        Self(Arc::new(AppInner {
            parts,
            throttle,
            readiness: tokio::sync::Mutex::default(),
            verifying: tokio::sync::Mutex::default(),
            access_changed: watch::Sender::new(0),
        }))
    }

    /// Lets event streams look again whether their caller still may.
    pub fn access_has_changed(&self) {
        self.0.access_changed.send_modify(|count| *count += 1);
    }
}

impl Deref for AppState {
    type Target = AppInner;

    fn deref(&self) -> &AppInner {
        &self.0
    }
}

impl Deref for AppInner {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.parts
    }
}
