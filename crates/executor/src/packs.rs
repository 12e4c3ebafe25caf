//! Packs beside the manager: the program of a skill is started for an admitted call, in the sandbox, from the copy that
//! was made when the pack was loaded.

use crate::executor::Stops;
use crate::run::{answered, cut, cut_short, failed};
use crate::{Executor, OwnTime};
use futures::FutureExt;
use gate::{AdmittedCall, FinishedCall, OwnPacks, PackFacts};
use model::{Clock, Scope, Timestamp};
use packs::{BrokenPack, Loaded, PROGRESS_LINES, Pack, PackRequest, PackSkill};
use skill::sandbox::{NoChildren, Noted, Sandbox};
use skill::{Host, SkillErrorKind};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use storage::StorageError;
use tokio::sync::mpsc;

/// The bodies of the manager's own packs, and what holds them.
pub(crate) struct PackBodies {
    loaded: Arc<Loaded>,
    sandbox: Arc<dyn Sandbox>,
}

impl Default for PackBodies {
    fn default() -> Self {
        Self { loaded: Arc::default(), sandbox: Arc::new(NoChildren) }
    }
}

/// The machine on which the manager runs, as packs see it.
#[derive(Debug)]
struct OwnMachine(Arc<dyn Clock>);

impl Host for OwnMachine {
    fn root(&self) -> &Path {
        Path::new("/")
    }

    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

impl Executor {
    /// Puts the packs that lie beside the manager in place of those that did. Their skills of scope manager can be
    /// called where an admin has accepted them; calls that run keep theirs.
    ///
    /// # Errors
    ///
    /// Fails only if the database does; then what was accepted of them can't be called.
    pub async fn replace_packs(
        &self,
        loaded: Arc<Loaded>,
        sandbox: Arc<dyn Sandbox>,
    ) -> Result<(), StorageError> {
        let machine = self.own_machine();
        let broken = loaded.broken.iter().map(facts_of_broken);
        let own = OwnPacks {
            packs: loaded
                .packs_of_scope(Scope::Manager)
                .map(|pack| facts(&loaded, pack))
                .chain(broken)
                .collect(),
            unmet: loaded
                .of_scope(Scope::Manager)
                .map(|skill| (skill.hash().to_owned(), skill.lacks(&machine)))
                .filter(|(_, unmet)| !unmet.is_empty())
                .collect::<BTreeMap<_, _>>(),
            holds_read_only: sandbox.holds_read_only(),
        };
        // Whoever is admitted for a new skill finds its body.
        self.inner.packs.store(Arc::new(PackBodies { loaded, sandbox }));
        if *self.inner.gate.packs().own() == own {
            return Ok(());
        }
        self.inner.gate.packs().replace_own(own).await
    }

    fn own_machine(&self) -> OwnMachine {
        OwnMachine(Arc::clone(self.inner.storage.clock()))
    }

    pub(crate) async fn run_pack(
        &self,
        call: &AdmittedCall,
        stops: &Stops,
        own_time: &OwnTime,
    ) -> FinishedCall {
        let bodies = self.inner.packs.load_full();
        // What was admitted is what runs, also where it was replaced a moment ago.
        let same = |skill: &&Arc<PackSkill>| {
            skill.definition().key == call.key() && skill.hash() == call.capability().hash()
        };
        let Some(skill) = bodies.loaded.of_scope(Scope::Manager).find(same) else {
            let reason = format!("`{}` changed as it was to run; try again", call.key());
            return failed(SkillErrorKind::NotFound, reason);
        };
        let noted = Noted::new(Arc::clone(&bodies.sandbox));
        let body = AssertUnwindSafe(self.start_pack(call, skill, &noted)).catch_unwind();
        let finished = tokio::select! {
            biased;
            answer = body => answer.unwrap_or_else(|_| {
                failed(SkillErrorKind::Failed, format!("`{}` failed because of a defect in the manager", call.key()))
            }),
            // Dropped, the child and all that it started end.
            cut = cut(call, stops, own_time, Duration::ZERO) => cut_short(cut, call),
        };
        FinishedCall { sandbox: noted.held(), ..finished }
    }

    async fn start_pack(
        &self,
        call: &AdmittedCall,
        skill: &PackSkill,
        sandbox: &dyn Sandbox,
    ) -> FinishedCall {
        let request = PackRequest {
            call_id: call.call_id(),
            args: call.args(),
            class: call.class(),
            time_left: call.timeout(),
        };
        let (progress, mut lines) = mpsc::channel(PROGRESS_LINES);
        let command = skill.command(&request, &self.own_machine(), sandbox.holds_read_only(), Some(progress));
        let follow = async {
            while let Some(line) = lines.recv().await {
                tracing::debug!(call.id = %call.call_id(), tool = call.key(), line, "progress");
                call.tell_progress(&line);
            }
        };
        // The lines end with the child.
        let (ended, ()) = tokio::join!(sandbox.run(command), follow);
        answered(ended.and_then(|ended| skill.answer(&ended)))
    }
}

/// What the gate is told of a pack: its skills of scope manager.
fn facts(loaded: &Loaded, pack: &Arc<Pack>) -> PackFacts {
    PackFacts {
        name: pack.manifest.name.clone(),
        version: pack.manifest.version.clone(),
        digest: pack.digest.clone(),
        description: pack.manifest.description.clone(),
        beside_manager: true,
        definitions: loaded.skills_of(pack, Scope::Manager).map(|skill| skill.definition().clone()).collect(),
        reach: pack.manifest.reach(),
        warnings: pack.warnings.clone(),
        path: pack.found.display().to_string(),
        error: String::new(),
    }
}

fn facts_of_broken(pack: &BrokenPack) -> PackFacts {
    PackFacts {
        name: pack.name.clone(),
        beside_manager: true,
        path: pack.found.display().to_string(),
        error: pack.error.to_string(),
        ..PackFacts::default()
    }
}
