//! The packs of this edge: loaded at the start, and again whenever their directories change or SIGHUP comes.

use crate::execute::Runner;
use crate::{EdgeError, Options};
use model::Scope;
use packs::{Findings, LoadRules, Loaded, PackSkill, PackWatch};
use proto::v1::PackDescription;
use skills::Registry;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{SignalKind, signal};

/// The packs of this edge.
#[derive(Debug)]
pub struct Packs {
    rules: LoadRules,
    base: Registry,
    loaded: Mutex<Arc<Loaded>>,
    generation: AtomicU64,
}

impl Packs {
    /// The packs that the configuration names, beside the skills of `options`; none is loaded yet.
    pub fn new(options: &Options) -> Self {
        Self::with_rules(options, options.config.packs.rules(options.dir.packs()))
    }

    fn with_rules(options: &Options, rules: LoadRules) -> Self {
        Self {
            rules,
            base: options.registry.clone(),
            loaded: Mutex::default(),
            generation: AtomicU64::new(0),
        }
    }

    /// Refuses a configuration whose packs could only be the edge's own copies of packs.
    ///
    /// # Errors
    ///
    /// Says which directory it is, and why it can't be.
    pub(crate) fn check(options: &Options) -> Result<(), EdgeError> {
        let rules = options.config.packs.rules(options.dir.packs());
        match rules.dir_of_copies() {
            None => Ok(()),
            Some(dir) => Err(EdgeError::Config {
                path: options.config_path.clone(),
                problem: format!(
                    "packs.dirs: {} is where this edge keeps its own copies of packs, and removes what it didn't put there; put packs somewhere else, for example into /etc/steadyhand/packs",
                    dir.display()
                ),
            }),
        }
    }

    /// How often they have changed.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// What was found the last time.
    pub fn loaded(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at the directories again. Answers with all skills of this edge if something has changed.
    pub(crate) fn reload(&self) -> Option<Registry> {
        let before = self.loaded();
        let is_builtin = |scope: Scope, key: &str| scope == Scope::Host && self.base.get(key).is_some();
        let now = packs::load(&self.rules, &is_builtin, Some(&before));
        if now.is_same_as(&before) {
            return None;
        }
        now.tell(&before);
        let now = Arc::new(now);
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&now);
        self.generation.fetch_add(1, Ordering::SeqCst);
        Some(registry(&self.base, &now))
    }
}

/// Begins to watch the directories; `None`, with a line in the log, where that can't be done.
pub(crate) fn watch(packs: &Packs) -> Option<PackWatch> {
    PackWatch::new(&packs.rules.dirs)
        .inspect_err(|error| tracing::warn!(%error, "packs are not watched; SIGHUP loads them again"))
        .ok()
}

/// Loads the packs as they are now, and gives their skills to the runner.
pub(crate) async fn put_in_place(packs: &Arc<Packs>, runner: &Runner) {
    let again = Arc::clone(packs);
    let Ok(Some(registry)) = tokio::task::spawn_blocking(move || again.reload()).await else { return };
    if let Err(error) = runner.replace_registry(registry) {
        tracing::error!(%error, "the skills of packs can't be put together");
    }
}

/// Follows the changes of packs, and SIGHUP, for as long as it is polled.
pub(crate) async fn follow(mut watch: Option<PackWatch>, packs: Arc<Packs>, runner: Arc<Runner>) {
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => hangup,
        Err(error) => {
            return tracing::warn!(%error, "SIGHUP can't be caught; packs are loaded at the start only");
        }
    };
    loop {
        let changed = async {
            match watch.as_mut() {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        let broken = tokio::select! {
            changed = changed => changed.err(),
            _ = hangup.recv() => {
                tracing::info!("SIGHUP, looking at the packs again");
                None
            }
        };
        if let Some(error) = broken {
            tracing::warn!(%error, "packs are not watched any more; SIGHUP loads them again");
            watch = None;
        }
        put_in_place(&packs, &runner).await;
    }
}

/// What the manager is told of the packs.
pub(crate) fn descriptions(loaded: &Loaded) -> Vec<PackDescription> {
    // One that has skills for the manager only is none of this host's.
    let good = loaded.packs_of_scope(Scope::Host).map(|pack| {
        let own = loaded.skills_of(pack, Scope::Host);
        PackDescription {
            name: pack.manifest.name.clone(),
            version: pack.manifest.version.clone(),
            digest: pack.digest.clone(),
            description: pack.manifest.description.clone(),
            definitions_json: own.map(|skill| serde_json::json!(skill.definition()).to_string()).collect(),
            reach: pack.manifest.reach(),
            warnings: pack.warnings.clone(),
            path: pack.found.display().to_string(),
            error: String::new(),
        }
    });
    let broken = loaded.broken.iter().map(|pack| PackDescription {
        name: pack.name.clone(),
        path: pack.found.display().to_string(),
        error: pack.error.to_string(),
        ..PackDescription::default()
    });
    good.chain(broken).collect()
}

fn registry(base: &Registry, loaded: &Loaded) -> Registry {
    loaded.of_scope(Scope::Host).fold(base.clone(), |registry, skill| {
        registry.with_dynamic(Arc::clone(skill) as Arc<dyn admission::AnySkill>)
    })
}

/// Packs of a process that looks at them once, such as a command line. Its copies are its own, beside those of an
/// edge that may be running, and go with it.
#[derive(Debug)]
pub struct LocalPacks {
    packs: Packs,
    keep: PathBuf,
}

impl LocalPacks {
    /// Loads the packs that the configuration names, or the one in `only`, and adds their skills to `options`.
    ///
    /// # Errors
    ///
    /// Fails if `only` is not a pack.
    pub fn add_to(options: &mut Options, only: Option<&Path>) -> Result<Self, EdgeError> {
        Packs::check(options)?;
        let keep = room_for_copies(options.dir.local_packs(std::process::id()));
        let mut rules = options.config.packs.rules(keep.clone());
        if let Some(pack) = only {
            let wrong = |problem: String| EdgeError::Pack { path: pack.to_owned(), problem };
            packs::lint(pack, &rules).map_err(|error| wrong(error.to_string()))?;
            let place = pack.canonicalize().map_err(|error| wrong(error.to_string()))?;
            let parent = place.parent().ok_or_else(|| wrong("is no pack".to_owned()))?;
            rules.dirs = vec![parent.to_owned()];
            rules.only = Some(place);
        }
        let packs = Packs::with_rules(options, rules);
        let local = Self { keep, packs };
        if let Some(registry) = local.packs.reload() {
            options.registry = registry;
        }
        if let (Some(pack), Some(broken)) = (only, local.packs.loaded().broken.first()) {
            return Err(EdgeError::Pack { path: pack.to_owned(), problem: broken.error.to_string() });
        }
        Ok(local)
    }

    /// Whether one of them has a host skill with this key.
    pub fn has(&self, key: &str) -> bool {
        self.packs.loaded().of_scope(Scope::Host).any(|skill| skill.definition().key == key)
    }

    /// All of them as JSON, with what this host lacks for each skill.
    pub fn list(&self, options: &Options) -> serde_json::Value {
        list(&self.packs.loaded(), options.host().as_ref())
    }
}

/// Where copies can be kept: in the edge's own place, or, for whoever tries a pack without rights on that, in a
/// directory of its own below `/tmp`.
fn room_for_copies(own: PathBuf) -> PathBuf {
    if fs::create_dir_all(&own).is_ok() {
        return own;
    }
    let elsewhere = PathBuf::from(format!("/tmp/steadyhand-packs.{}", uuid::Uuid::now_v7()));
    match fs::DirBuilder::new().mode(0o700).create(&elsewhere) {
        Ok(()) => elsewhere,
        Err(_) => own,
    }
}

/// Looks at a pack where it lies.
pub fn lint(options: &Options, pack: &Path) -> Findings {
    let rules = options.config.packs.rules(options.dir.packs());
    let is_builtin = |scope: Scope, key: &str| scope == Scope::Host && options.registry.get(key).is_some();
    packs::examine(pack, &rules, &is_builtin)
}

impl Drop for LocalPacks {
    fn drop(&mut self) {
        // What is left is removed when the edge starts.
        let _ = fs::remove_dir_all(&self.keep);
    }
}

/// Removes what command lines left behind that ended badly.
pub(crate) fn sweep_local(dir: &crate::DataDir) {
    for entry in fs::read_dir(dir.path()).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix("packs.")?.parse::<u32>().ok());
        if process.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn list(loaded: &Loaded, host: &dyn skill::Host) -> serde_json::Value {
    use serde_json::json;
    let skill = |skill: &Arc<PackSkill>| {
        let definition = skill.definition();
        json!({
            "key": definition.key,
            "class": definition.class,
            "scope": definition.scope,
            "unmet": admission::AnySkill::unmet(skill.as_ref(), host),
        })
    };
    let packs = loaded.packs.iter().map(|pack| {
        let own = loaded.skills.iter().filter(|skill| Arc::ptr_eq(skill.pack(), pack));
        json!({
            "name": pack.manifest.name,
            "version": pack.manifest.version,
            "digest": pack.digest,
            "path": pack.found,
            "reach": pack.manifest.reach(),
            "warnings": pack.warnings,
            "skills": own.map(skill).collect::<Vec<_>>(),
        })
    });
    let broken = loaded.broken.iter().map(|pack| {
        let problems: Vec<String> = pack.error.problems.iter().map(ToString::to_string).collect();
        json!({"path": pack.found, "problems": problems})
    });
    json!({"packs": packs.collect::<Vec<_>>(), "broken": broken.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataDir, EdgeConfig};
    use admission::Journal;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    fn edge_with_packs(folder: &Path) -> Options {
        let mut config = EdgeConfig::default();
        config.packs.dirs = vec![folder.join("packs")];
        Options::new(config, folder.join("edge.toml"), DataDir::new(folder.join("state")))
    }

    fn put_pack(folder: &Path, name: &str, key: &str, answer: u32) {
        let pack = folder.join("packs").join(name);
        fs::create_dir_all(&pack).unwrap();
        let manifest = serde_json::json!({
            "name": name, "version": "1.0.0", "description": "A pack of a test.", "entry": "run",
            "skills": [{"key": key, "name": "Look", "description": "Looks.", "class": "safe"}],
        });
        fs::write(pack.join("run"), format!("#!/bin/sh\necho {answer}\n")).unwrap();
        fs::set_permissions(pack.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(pack.join("skill.json"), manifest.to_string()).unwrap();
    }

    /// Waits until the runner's skills are as wanted.
    async fn until(runner: &Runner, wanted: impl Fn(&Registry) -> bool) {
        let look = async {
            while !wanted(&runner.registry()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), look).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn packs_come_change_and_go_while_the_edge_runs() {
        let folder = tempfile::tempdir().unwrap();
        put_pack(folder.path(), "alpha", "alpha_look", 1);
        let options = edge_with_packs(folder.path());
        let (packs, runner) =
            (Arc::new(Packs::new(&options)), Arc::new(options.local_runner(Journal::in_memory()).unwrap()));
        let watched = watch(&packs);
        put_in_place(&packs, &runner).await;
        let first = runner.registry().get("alpha_look").unwrap().capability().hash().to_owned();
        let following = tokio::spawn(follow(watched, Arc::clone(&packs), Arc::clone(&runner)));

        put_pack(folder.path(), "beta", "beta_look", 1);
        until(&runner, |registry| registry.get("beta_look").is_some()).await;
        // The door hears of it with the registry, but not in the same instant.
        until(&runner, |_| runner.admission().catalogue().get(Scope::Host, "beta_look").is_some()).await;

        put_pack(folder.path(), "alpha", "alpha_look", 2);
        until(&runner, |registry| registry.get("alpha_look").unwrap().capability().hash() != first).await;
        assert!(packs.generation() >= 3, "the manager is told to look again");

        fs::remove_dir_all(folder.path().join("packs/beta")).unwrap();
        until(&runner, |registry| registry.get("beta_look").is_none()).await;
        assert!(runner.registry().get("host_load").is_some(), "builtins stay");
        following.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_hangup_makes_the_edge_look_at_its_packs_again() {
        // Caught from here on in the whole process, which would end of it otherwise.
        let _caught = signal(SignalKind::hangup()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = edge_with_packs(folder.path());
        let (packs, runner) =
            (Arc::new(Packs::new(&options)), Arc::new(options.local_runner(Journal::in_memory()).unwrap()));
        put_in_place(&packs, &runner).await;
        let following = tokio::spawn(follow(None, Arc::clone(&packs), Arc::clone(&runner)));
        put_pack(folder.path(), "alpha", "alpha_look", 1);
        until(&runner, |registry| {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
            registry.get("alpha_look").is_some()
        })
        .await;
        following.abort();
    }

    #[tokio::test]
    async fn packs_in_the_place_of_the_edge_s_own_copies_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = edge_with_packs(folder.path());
        assert!(Packs::check(&options).is_ok());
        fs::create_dir_all(folder.path().join("state/packs/x")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("state/packs"), folder.path().join("link")).unwrap();
        for dir in ["state/packs", "state/packs/x", "packs/../state/packs", "state/packs/not-yet", "link"] {
            options.config.packs.dirs = vec!["/etc/steadyhand/packs".into(), folder.path().join(dir)];
            fs::create_dir_all(folder.path().join("packs")).unwrap();
            let error = Packs::check(&options).unwrap_err().to_string();
            assert!(
                error.contains("packs.dirs") && error.contains("its own copies of packs"),
                "{dir}: {error}"
            );
            let error = LocalPacks::add_to(&mut options, None).unwrap_err().to_string();
            assert!(error.contains("its own copies of packs"), "{dir}: {error}");
        }
    }

    #[tokio::test]
    async fn where_nothing_can_be_written_packs_run_from_the_copies_of_before_if_they_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["alpha", "beta", "gamma"] {
            put_pack(folder.path(), name, &format!("{name}_look"), 1);
        }
        let options = edge_with_packs(folder.path());
        let keys = |packs: &Packs| {
            packs.reload();
            let loaded = packs.loaded();
            loaded.skills.iter().map(|skill| skill.definition().key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(keys(&Packs::new(&options)).len(), 3);
        // With this no copy can be made, as on a disk that can't be written.
        fs::write(folder.path().join("state/packs/.new"), "").unwrap();
        put_pack(folder.path(), "beta", "beta_look", 2);
        let again = Packs::new(&options);
        assert_eq!(keys(&again), ["alpha_look", "gamma_look"]);
        assert!(
            again.loaded().broken[0].error.to_string().contains("not_kept"),
            "{:?}",
            again.loaded().broken
        );

        let copy = again.loaded().packs[1].copy.join("run");
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&copy, "#!/bin/sh\necho 3\n").unwrap();
        assert_eq!(keys(&Packs::new(&options)), ["alpha_look"], "a copy that was changed is none");
    }

    #[tokio::test]
    async fn a_pack_for_the_manager_only_is_none_of_a_host_s() {
        let folder = tempfile::tempdir().unwrap();
        put_pack(folder.path(), "alpha", "alpha_look", 1);
        let manifest = folder.path().join("packs/alpha/skill.json");
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, text.replace("\"class\":\"safe\"", "\"class\":\"safe\",\"scope\":\"manager\""))
            .unwrap();
        let options = edge_with_packs(folder.path());
        let packs = Arc::new(Packs::new(&options));
        let runner = options.local_runner(Journal::in_memory()).unwrap();
        put_in_place(&packs, &runner).await;
        assert_eq!(packs.loaded().packs.len(), 1);
        assert!(descriptions(&packs.loaded()).is_empty());
        assert!(runner.registry().get("alpha_look").is_none());
    }

    #[tokio::test]
    async fn a_pack_with_the_key_of_a_builtin_is_told_as_broken() {
        let folder = tempfile::tempdir().unwrap();
        put_pack(folder.path(), "alpha", "host_load", 1);
        let options = edge_with_packs(folder.path());
        let packs = Arc::new(Packs::new(&options));
        put_in_place(&packs, &options.local_runner(Journal::in_memory()).unwrap()).await;
        let told = descriptions(&packs.loaded());
        assert!(told[0].error.contains("key_taken") && told[0].digest.is_empty(), "{told:?}");
    }

    #[test]
    fn what_a_command_line_loads_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        put_pack(folder.path(), "alpha", "alpha_look", 1);
        let mut options = edge_with_packs(folder.path());
        let state = folder.path().join("state");
        let local = LocalPacks::add_to(&mut options, Some(&folder.path().join("packs/alpha"))).unwrap();
        assert!(local.has("alpha_look") && fs::read_dir(&state).unwrap().count() == 1);
        drop(local);
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
        fs::create_dir(state.join("packs.4000000000")).unwrap();
        sweep_local(&options.dir);
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    }
}
