//! From directories to packs. One that is broken is told of, and hides no other.

use crate::files::{check_entry, is_copy_of, read_manifest, take_in};
use crate::manifest::Manifest;
use crate::problem::{Fault, PackError, Problem};
use crate::skill::PackSkill;
use model::{Class, Scope};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most packs of one process.
const MAX_PACKS: usize = 64;

/// What the configuration says of packs.
#[derive(Clone, Debug)]
pub struct LoadRules {
    /// Each directory in them is a pack. One that isn't there has none.
    pub dirs: Vec<PathBuf>,
    /// Only this one of them; `None`: every one.
    pub only: Option<PathBuf>,
    /// Where the copies are kept from which packs run. Nobody but the agent may write there.
    pub keep: PathBuf,
    /// The class of a skill whose manifest doesn't say.
    pub default_class: Class,
    /// Whether packs may use the network.
    pub network: bool,
    /// Only below these may packs write. Empty: wherever their manifests say.
    pub write_roots: Vec<PathBuf>,
    /// User ids to whom packs may belong.
    pub owners: Vec<u32>,
    /// The variables that a manifest may have handed on.
    pub environment: Environment,
}

impl LoadRules {
    /// Which of `dirs` is, or is in, the place of the agent's own copies, where no pack can be put.
    pub fn dir_of_copies(&self) -> Option<&Path> {
        let real = |path: &Path| {
            // What isn't there yet is where its parent is.
            path.canonicalize().or_else(|_| {
                let parent = path.parent().unwrap_or(path).canonicalize();
                parent.map(|parent| parent.join(path.file_name().unwrap_or_default()))
            })
        };
        let keep = real(&self.keep).unwrap_or_else(|_| self.keep.clone());
        let is_own = |dir: &&PathBuf| real(dir).as_ref().unwrap_or(dir).starts_with(&keep);
        self.dirs.iter().find(is_own).map(PathBuf::as_path)
    }

    /// The strictest rules with packs in `dirs`: of root and of this process, of class dangerous where they don't say.
    pub fn new(dirs: Vec<PathBuf>, keep: PathBuf) -> Self {
        let own = rustix::process::geteuid().as_raw();
        Self {
            dirs,
            only: None,
            keep,
            default_class: Class::Dangerous,
            network: true,
            write_roots: Vec::new(),
            owners: BTreeSet::from([0, own]).into_iter().collect(),
            environment: Environment::default(),
        }
    }
}

/// Variables and their values, which may be secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(pub BTreeMap<String, String>);

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A pack that can run.
#[derive(Debug)]
pub struct Pack {
    /// What it says of itself.
    pub manifest: Manifest,
    /// SHA-256 (hex) over its files.
    pub digest: String,
    /// Where it was found.
    pub found: PathBuf,
    /// The copy from which it runs.
    pub copy: PathBuf,
    /// Sentences about it for people.
    pub warnings: Vec<String>,
    pub(crate) environment: Environment,
}

/// A pack that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPack {
    /// Where it is.
    pub found: PathBuf,
    /// What it is called, as far as can be told: the name of its directory.
    pub name: String,
    /// Why.
    pub error: PackError,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Packs that can run, in the order of the directories and of their names.
    pub packs: Vec<Arc<Pack>>,
    /// Packs that were skipped.
    pub broken: Vec<BrokenPack>,
    /// The skills of the packs.
    pub skills: Vec<Arc<PackSkill>>,
}

impl Loaded {
    /// The skills of one scope.
    pub fn of_scope(&self, scope: Scope) -> impl Iterator<Item = &Arc<PackSkill>> {
        self.skills.iter().filter(move |skill| skill.definition().scope == scope)
    }

    /// The skills of one pack in one scope.
    pub fn skills_of<'a>(
        &'a self,
        pack: &'a Arc<Pack>,
        scope: Scope,
    ) -> impl Iterator<Item = &'a Arc<PackSkill>> {
        self.of_scope(scope).filter(move |skill| Arc::ptr_eq(skill.pack(), pack))
    }

    /// The packs that have skills of one scope.
    pub fn packs_of_scope(&self, scope: Scope) -> impl Iterator<Item = &Arc<Pack>> {
        self.packs.iter().filter(move |pack| self.skills_of(pack, scope).next().is_some())
    }

    /// Whether the same packs were found, and the same are broken.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let digests = |loaded: &Self| loaded.packs.iter().map(|pack| pack.digest.clone()).collect::<Vec<_>>();
        digests(self) == digests(other) && self.broken == other.broken
    }

    /// Tells the log what is new since `before`.
    pub fn tell(&self, before: &Self) {
        for pack in &self.packs {
            if before.packs.iter().any(|other| other.digest == pack.digest) {
                continue;
            }
            let (name, version) = (pack.manifest.name.as_str(), pack.manifest.version.as_str());
            tracing::info!(pack = name, version, digest = pack.digest, "pack loaded");
            for warning in &pack.warnings {
                tracing::warn!(pack = name, "{warning}");
            }
        }
        for pack in self.broken.iter().filter(|pack| !before.broken.contains(pack)) {
            tracing::warn!(path = %pack.found.display(), error = %pack.error, "pack skipped");
        }
        for pack in &before.packs {
            if !self.packs.iter().any(|other| other.manifest.name == pack.manifest.name) {
                tracing::info!(pack = pack.manifest.name, "pack gone");
            }
        }
    }
}

/// Checks one pack where it lies, with the same eyes as [`load`]; keeps nothing.
///
/// # Errors
///
/// Tells everything that is wrong with it.
pub fn lint(pack: &Path, rules: &LoadRules) -> Result<(Manifest, String), PackError> {
    let manifest = Manifest::parse(&read_manifest(pack)?)?;
    check_entry(pack, &manifest.entry)?;
    let digest = take_in(pack, &rules.owners, None)?;
    check_default(&manifest, rules.default_class)?;
    Ok((manifest, digest))
}

/// Loads every pack of every directory. `is_builtin` tells the keys that packs can't have; `before` is what was loaded
/// before in this process, whose copies are still in use.
pub fn load(rules: &LoadRules, is_builtin: &dyn Fn(Scope, &str) -> bool, before: Option<&Loaded>) -> Loaded {
    let mut loaded = Loaded::default();
    for place in places(rules, &mut loaded.broken) {
        let result = if loaded.packs.len() >= MAX_PACKS {
            let message = format!("there are more than {MAX_PACKS} packs; this one is left out");
            Err(Problem::new(Fault::TooManyItems, "", message).into())
        } else {
            load_one(&place, rules, is_builtin, &loaded, before)
        };
        match result {
            Ok((pack, skills)) => {
                loaded.packs.push(pack);
                loaded.skills.extend(skills);
            }
            Err(error) => loaded.broken.push(broken(place, error)),
        }
    }
    sweep(rules, &loaded, before);
    loaded
}

fn broken(found: PathBuf, error: PackError) -> BrokenPack {
    let name = found.file_name().unwrap_or_default().to_string_lossy();
    let name = name.chars().filter(|character| !character.is_control()).take(64).collect();
    BrokenPack { name, found, error }
}

/// The directories that are to be packs, in order.
fn places(rules: &LoadRules, broken_ones: &mut Vec<BrokenPack>) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for dir in &rules.dirs {
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let problem = Problem::new(Fault::NotReadable, "", error.to_string());
                broken_ones.push(broken(dir.clone(), problem.into()));
                continue;
            }
        };
        let is_hidden =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let mut found: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_dir() && !is_hidden(path))
            .filter(|path| rules.only.as_ref().is_none_or(|only| only == path))
            .collect();
        model::order::sort(&mut found);
        places.extend(found);
    }
    places
}

type Made = (Arc<Pack>, Vec<Arc<PackSkill>>);

fn load_one(
    place: &Path,
    rules: &LoadRules,
    is_builtin: &dyn Fn(Scope, &str) -> bool,
    others: &Loaded,
    before: Option<&Loaded>,
) -> Result<Made, PackError> {
    // The one that it leads to, if the pack itself is a link.
    let found =
        place.canonicalize().map_err(|error| Problem::new(Fault::NotReadable, "", error.to_string()))?;
    // Where it lies, so that what is wrong is told by the name that its author knows, and nothing broken is copied.
    check_entry(&found, &Manifest::parse(&read_manifest(&found)?)?.entry)?;
    let (digest, copy) = keep(&found, rules, before)?;
    // From here on only the copy counts.
    let manifest = Manifest::parse(&read_manifest(&copy)?)?;
    check_entry(&copy, &manifest.entry)?;
    check_default(&manifest, rules.default_class)?;
    check_names(&manifest, is_builtin, others)?;
    let environment = Environment(
        manifest
            .env_allow
            .iter()
            .filter_map(|name| rules.environment.0.get_key_value(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    );
    let warnings = manifest
        .skills
        .iter()
        .filter(|skill| skill.class.is_none())
        .map(|skill| format!("`{}` has no class in skill.json, so it is {}", skill.key, rules.default_class))
        .collect();
    let pack = Arc::new(Pack { manifest, digest, found: place.to_owned(), copy, warnings, environment });
    let skills: Result<Vec<_>, _> =
        (0..pack.manifest.skills.len()).map(|index| PackSkill::new(&pack, index, rules)).collect();
    Ok((Arc::clone(&pack), skills?.into_iter().map(Arc::new).collect()))
}

/// Makes the copy from which the pack runs, under the name of its digest. Where the disk takes none, one that was made
/// before serves, if it is still the same.
fn keep(pack: &Path, rules: &LoadRules, before: Option<&Loaded>) -> Result<(String, PathBuf), PackError> {
    let error = match make_copy(pack, rules, before) {
        Err(error) if error.problems.iter().all(|problem| problem.fault == Fault::NotKept) => error,
        made => return made,
    };
    let digest = take_in(pack, &rules.owners, None)?;
    let copy = rules.keep.join(&digest);
    if !is_copy_of(&copy, pack, &rules.owners) {
        return Err(error);
    }
    tracing::warn!(pack = %pack.display(), %error, "the pack runs from an earlier copy");
    Ok((digest, copy))
}

fn make_copy(
    pack: &Path,
    rules: &LoadRules,
    before: Option<&Loaded>,
) -> Result<(String, PathBuf), PackError> {
    let failed =
        |error: io::Error| Problem::new(Fault::NotKept, "", format!("{}: {error}", rules.keep.display()));
    fs::create_dir_all(&rules.keep).map_err(failed)?;
    let fresh = rules.keep.join(".new");
    remove(&fresh).map_err(failed)?;
    let taken = take_in(pack, &rules.owners, Some(&fresh));
    let digest = match taken {
        Ok(digest) => digest,
        Err(error) => {
            // What is left of it is removed with the next one too.
            let _ = remove(&fresh);
            return Err(error);
        }
    };
    let copy = rules.keep.join(&digest);
    if before.is_some_and(|before| before.packs.iter().any(|pack| pack.digest == digest)) {
        // This process made that one, and calls may run from it.
        remove(&fresh).map_err(failed)?;
    } else {
        remove(&copy).map_err(failed)?;
        fs::rename(&fresh, &copy).map_err(failed)?;
    }
    Ok((digest, copy))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes copies that no pack runs from, nor did before.
fn sweep(rules: &LoadRules, loaded: &Loaded, before: Option<&Loaded>) {
    let packs = loaded.packs.iter().chain(before.into_iter().flat_map(|before| &before.packs));
    let used: BTreeSet<&str> = packs.map(|pack| pack.digest.as_str()).collect();
    let Ok(entries) = fs::read_dir(&rules.keep) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if !used.contains(name.to_string_lossy().as_ref())
            && let Err(error) = remove(&entry.path())
        {
            tracing::warn!(path = %entry.path().display(), %error, "an old copy of a pack can't be removed");
        }
    }
}

/// A skill that the configuration calls safe must be one that the kernel can keep safe, as if it had said so itself.
fn check_default(manifest: &Manifest, default: Class) -> Result<(), Problem> {
    let writes =
        |skill: &&crate::SkillManifest| skill.class.is_none() && !skill.sandbox.write_paths.is_empty();
    match manifest.skills.iter().find(writes) {
        Some(skill) if default == Class::Safe => {
            let message = format!(
                "`{}` has no class and packs.default_class is safe, so it may write nowhere",
                skill.key
            );
            Err(Problem::new(Fault::SafeSkillWrites, "sandbox.write_paths", message))
        }
        _ => Ok(()),
    }
}

fn check_names(
    manifest: &Manifest,
    is_builtin: &dyn Fn(Scope, &str) -> bool,
    others: &Loaded,
) -> Result<(), PackError> {
    let mut problems = Vec::new();
    if let Some(other) = others.packs.iter().find(|pack| pack.manifest.name == manifest.name) {
        let message = format!("`{}` is the name of {} already", manifest.name, other.found.display());
        problems.push(Problem::new(Fault::NameTaken, "name", message));
    }
    for (index, skill) in manifest.skills.iter().enumerate() {
        let place = format!("skills[{index}].key");
        let taken = others
            .skills
            .iter()
            .find(|other| other.definition().key == skill.key && other.definition().scope == skill.scope);
        if is_builtin(skill.scope, &skill.key) {
            let message = format!("`{}` is a builtin skill, which nothing replaces", skill.key);
            problems.push(Problem::new(Fault::KeyTaken, place, message));
        } else if let Some(other) = taken {
            let message =
                format!("`{}` is a skill of the pack {} already", skill.key, other.pack().manifest.name);
            problems.push(Problem::new(Fault::KeyTaken, place, message));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(PackError { problems }) }
}
