//! The packs beside the manager: loaded at the start, and again whenever their directories change or SIGHUP comes. They
//! are inert until an admin accepts them; the executor alone runs them.

use crate::config::Config;
use executor::Executor;
use model::Scope;
use packs::{LoadRules, Loaded, PackWatch};
use sandbox::{Backend, Children, SandboxConfig};
use skill::Catalogue;
use skill::sandbox::{NoChildren, Sandbox};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How often is looked whether the machine has come to have what a pack needs, or lacks it.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// What belongs to the product on this machine, beside what the configuration says.
const OWN_PLACES: &[&str] = &["/etc/steadyhand", "/usr/lib/steadyhand"];

/// The packs beside the manager.
pub(crate) struct OwnPacks {
    executor: Executor,
    rules: LoadRules,
    /// The keys that packs can't have are in there.
    base: Arc<Catalogue>,
    children: SandboxConfig,
    sandbox: Option<Arc<dyn Sandbox>>,
    loaded: Arc<Loaded>,
}

impl OwnPacks {
    /// Loads them and puts them in place; `base` is the catalogue without packs.
    ///
    /// # Errors
    ///
    /// Fails if the configuration names a sandbox that can't be used here, and if the database does.
    pub(crate) async fn start(
        config: &Config,
        executor: Executor,
        base: Arc<Catalogue>,
    ) -> anyhow::Result<Self> {
        let mut packs = Self {
            executor,
            rules: config.packs.rules(config.storage.packs()),
            base,
            children: children(config),
            sandbox: None,
            loaded: Arc::default(),
        };
        // Trying a sandbox takes a while; whoever has no packs doesn't wait for it. One that is named is to be there.
        if !matches!(packs.children.backend, Backend::Auto | Backend::None) {
            packs.sandbox = Some(packs.try_sandbox().await?);
        }
        packs.load().await?;
        Ok(packs)
    }

    async fn try_sandbox(&self) -> anyhow::Result<Arc<dyn Sandbox>> {
        let config = self.children.clone();
        let children = tokio::task::spawn_blocking(move || Children::new(config)).await??;
        tracing::info!(backend = children.backend().as_str(), "programs of packs are held");
        Ok(Arc::new(children))
    }

    /// Looks at the directories, and at what the machine has.
    async fn load(&mut self) -> anyhow::Result<()> {
        let (rules, base, before) = (self.rules.clone(), Arc::clone(&self.base), Arc::clone(&self.loaded));
        let now = tokio::task::spawn_blocking(move || {
            let now = packs::load(&rules, &is_builtin(&base), Some(&before));
            now.tell(&before);
            now
        })
        .await?;
        if !now.is_same_as(&self.loaded) {
            self.loaded = Arc::new(now);
        }
        self.put_in_place().await
    }

    async fn put_in_place(&mut self) -> anyhow::Result<()> {
        let has_skills = self.loaded.of_scope(Scope::Manager).next().is_some();
        if has_skills && self.sandbox.is_none() {
            self.sandbox = Some(self.try_sandbox().await?);
        }
        let sandbox = self.sandbox.clone().unwrap_or_else(|| Arc::new(NoChildren));
        Ok(self.executor.replace_packs(Arc::clone(&self.loaded), sandbox).await?)
    }

    /// Follows their changes, and SIGHUP, until `shutdown`.
    ///
    /// # Errors
    ///
    /// Fails if SIGHUP can't be caught.
    pub(crate) fn follow(self, shutdown: CancellationToken) -> anyhow::Result<JoinHandle<()>> {
        let hangup = signal(SignalKind::hangup())?;
        let watch = PackWatch::new(&self.rules.dirs)
            .inspect_err(|error| tracing::warn!(%error, "packs are not watched; SIGHUP loads them again"))
            .ok();
        Ok(tokio::spawn(async move {
            shutdown.run_until_cancelled(self.follow_changes(watch, hangup)).await;
        }))
    }

    async fn follow_changes(mut self, mut watch: Option<PackWatch>, mut hangup: Signal) {
        let mut again = interval(LOOK_AGAIN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        again.reset();
        // Something may have changed between loading and watching.
        let mut result = self.load().await;
        loop {
            if let Err(error) = result {
                tracing::error!(%error, "the packs beside the manager can't be put in place");
            }
            let changed = async {
                match watch.as_mut() {
                    Some(watch) => watch.changed().await,
                    None => std::future::pending().await,
                }
            };
            result = tokio::select! {
                changed = changed => {
                    if let Err(error) = changed {
                        tracing::warn!(%error, "packs are not watched any more; SIGHUP loads them again");
                        watch = None;
                    }
                    self.load().await
                }
                _ = hangup.recv() => {
                    tracing::info!("SIGHUP, looking at the packs again");
                    self.load().await
                }
                _ = again.tick() => self.put_in_place().await,
            };
        }
    }
}

/// The keys that packs can't have: those of everything that is compiled in, whatever its scope, since a model knows
/// tools by their keys alone.
pub(crate) fn is_builtin(base: &Catalogue) -> impl Fn(Scope, &str) -> bool {
    move |_, key| [Scope::Host, Scope::Manager].into_iter().any(|scope| base.get(scope, key).is_some())
}

/// No program may write what the product is made of, nor read what the manager keeps: its keys, its database, its
/// configuration.
fn children(config: &Config) -> SandboxConfig {
    let binary = std::fs::canonicalize("/proc/self/exe").ok();
    let own = OWN_PLACES.iter().map(PathBuf::from).chain(config.packs.dirs.clone()).chain(binary);
    let tls = config.http.tls.iter().map(|files| files.key.clone());
    let secrets = [config.storage.dir.clone()].into_iter().chain(config.file.clone()).chain(tls);
    config.children.sandbox(
        own.filter(|path| path.exists()).collect(),
        secrets.filter_map(|path| std::path::absolute(path).ok()).collect(),
    )
}
