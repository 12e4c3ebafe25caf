//! Choosing a backend, and turning what a skill asks for into what the helper does.

use crate::SandboxError;
use crate::accounts;
use crate::cgroup::{Group, Groups};
use crate::config::{Backend, SandboxConfig};
use crate::error::run_name;
use crate::helper::{HELD, sys};
use crate::run::{self, Job};
use crate::spec::{By, HeldLimits, Hold, PRIVATE_TMP, Spec};
use crate::wrap;
use futures::future::BoxFuture;
use skill::SkillError;
use skill::sandbox::{ChildCommand, ChildEnded, ChildLimits, ChildReport, Exit, Opening, Profile, Sandbox};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MIB: u64 = 1024 * 1024;

/// How much is kept of a stream for whoever doesn't say.
const DEFAULT_OUTPUT_BYTES: usize = 2 * 1024 * 1024;

/// What a child in a workspace keeps, so that it can write there whoever owns the files: changing owners, ignoring
/// permissions, acting as owner.
const WORKSPACE_CAPABILITIES: u64 = 0b1011;

/// How long the trial at the start may take.
const PROBE: Duration = Duration::from_secs(20);

/// Runs children, held by the backend that was chosen.
#[derive(Debug)]
pub struct Children {
    config: SandboxConfig,
    backend: Backend,
    /// Why better ones were not taken.
    passed_over: Vec<String>,
    abi: u32,
    root: bool,
    groups: Option<Groups>,
}

impl Children {
    /// Chooses a backend and tries it. Starts processes and waits for them, for a second or so.
    ///
    /// # Errors
    ///
    /// Fails if the configuration names a backend that can't be used here.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let abi = sys::landlock_abi();
        let mut children = Self {
            abi: config.landlock_abi.map_or(abi, |wanted| wanted.min(abi)),
            backend: Backend::None,
            passed_over: Vec::new(),
            root: rustix::process::geteuid().is_root(),
            groups: Groups::of_this_process().ok(),
            config,
        };
        match children.config.backend {
            Backend::None => {}
            Backend::Auto => {
                for backend in Backend::HOLDING {
                    match children.try_out(backend) {
                        Ok(()) => return Ok(children),
                        Err(problem) => children.passed_over.push(format!("{backend}: {problem}")),
                    }
                }
                children.backend = Backend::None;
                tracing::warn!(
                    passed_over = children.passed_over.join("; "),
                    "no sandbox works here: commands that are safe elsewhere need an approval"
                );
            }
            backend => children
                .try_out(backend)
                .map_err(|problem| SandboxError::Missing { backend: backend.as_str(), problem })?,
        }
        Ok(children)
    }

    /// The backend that was chosen; never [`Backend::Auto`].
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Why backends that come first were not taken.
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// What a command of class safe could still do here, in sentences.
    pub fn still_possible(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.backend == Backend::None {
            sentences.push(
                "do everything that the agent may: nothing holds it, so none counts as safe here".to_owned(),
            );
            return sentences;
        }
        let user = if self.root {
            format!("the user {} (groups: {})", self.config.safe_user, self.config.safe_groups.join(", "))
        } else {
            "the agent's own user".to_owned()
        };
        sentences.push(format!("read every file that {user} may read, except secrets in the known places"));
        sentences
            .push("see the names and arguments of other processes, and the state of the network".to_owned());
        sentences.push(format!(
            "use {} MiB of memory, {} % of a CPU and {} processes until its time is up",
            self.config.resources.max_memory_mb,
            self.config.resources.max_cpu_percent,
            self.config.resources.max_pids
        ));
        if self.backend == Backend::Landlock {
            sentences.push("take advisory locks on files that it may read, until it ends".to_owned());
        }
        sentences
    }

    fn try_out(&mut self, backend: Backend) -> Result<(), String> {
        match backend {
            Backend::Landlock if self.abi == 0 => return Err("the kernel has no Landlock".to_owned()),
            Backend::Landlock | Backend::None | Backend::Auto => {}
            Backend::Firejail | Backend::Bubblewrap | Backend::Docker => {
                wrap::available(backend)?;
            }
        }
        self.backend = backend;
        let helper = self.config.helper.first().ok_or("no helper program is configured")?;
        let command = ChildCommand {
            program: std::fs::canonicalize(helper).map_err(|error| format!("{helper}: {error}"))?,
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            stdin: None,
            progress: None,
            profile: Profile::ReadOnly,
            openings: BTreeSet::new(),
            limits: ChildLimits { wall: PROBE, ..ChildLimits::default() },
        };
        let ended = std::thread::scope(|scope| {
            let trial = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime
                    .map_err(|error| error.to_string())?
                    .block_on(async { self.run_as(command, true).await.map_err(|error| error.to_string()) })
            };
            scope.spawn(trial).join().unwrap_or_else(|_| Err("the trial met a defect".to_owned()))
        })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let said = text(&ended.stdout.bytes);
        match ended.exit {
            Exit::Code(0) if said == HELD => Ok(()),
            _ if !said.is_empty() => Err(format!("it does not hold: {said}")),
            exit => Err(format!("the trial ended with {exit:?}: {}", text(&ended.stderr.bytes))),
        }
    }

    async fn run_child(&self, command: ChildCommand) -> Result<ChildEnded, SandboxError> {
        self.run_as(command, false).await
    }

    /// `probe`: the child only tries what it may not.
    async fn run_as(&self, mut command: ChildCommand, probe: bool) -> Result<ChildEnded, SandboxError> {
        check(&command)?;
        // Progress is for people to look at; what can't tell of it still runs.
        let is_silent = self.backend == Backend::Docker
            && command.profile != Profile::Full
            && command.progress.take().is_some();
        let (wall, limits) = self.limits(&command.limits);
        let name = run_name();
        let group = match &self.groups {
            Some(groups) => Some(groups.create(&name, &limits, &self.config.resources)?),
            None => None,
        };
        let spec = Spec { probe, ..self.spec(&command, limits, group.as_ref(), &name)? };
        let mut report = self.report(&command, &spec);
        if is_silent {
            report.weaker.push("a container has no descriptor 3, so its progress isn't told".to_owned());
        }
        let most = |asked: usize| {
            let wanted = if asked == 0 { DEFAULT_OUTPUT_BYTES } else { asked };
            wanted.min(self.config.resources.max_output_bytes)
        };
        let job = Job {
            spec,
            stdin: command.stdin,
            progress: command.progress,
            wall,
            stdout_bytes: most(command.limits.stdout_bytes),
            stderr_bytes: most(command.limits.stderr_bytes),
            group,
        };
        let done = run::run(&self.config.helper, job).await?;
        report.weaker.extend(done.weaker);
        Ok(ChildEnded {
            exit: done.exit,
            stdout: done.stdout,
            stderr: done.stderr,
            duration: done.duration,
            report,
        })
    }

    fn report(&self, command: &ChildCommand, spec: &Spec) -> ChildReport {
        let mut weaker = Vec::new();
        if self.backend == Backend::None {
            weaker.push("nothing holds the child: it may do what the agent may".to_owned());
        } else if spec.hold == Hold::Full && spec.by == By::Nothing {
            weaker.push("the agent's own files are protected by their permissions only".to_owned());
        }
        ChildReport {
            backend: self.backend.as_str().to_owned(),
            profile: match spec.hold {
                Hold::ReadOnly => "read_only",
                Hold::Workspace => "workspace",
                Hold::Full => "full",
            }
            .to_owned(),
            openings: command.openings.clone(),
            weaker,
        }
    }

    /// What is asked for, within what is configured.
    fn limits(&self, asked: &ChildLimits) -> (Duration, HeldLimits) {
        let resources = &self.config.resources;
        let capped = |asked: u32, most: u32| u64::from(if asked == 0 { most } else { asked.min(most) });
        let wall = if asked.wall.is_zero() { resources.max_wall } else { asked.wall.min(resources.max_wall) };
        // The share of the CPU, over the whole time.
        let share = wall.as_secs_f64() * f64::from(resources.max_cpu_percent) / 100.0;
        let share = (share.ceil() as u32).max(1);
        let limits = HeldLimits {
            cpu_seconds: capped(asked.cpu_seconds, share),
            memory_bytes: capped(asked.memory_mib, resources.max_memory_mb) * MIB,
            pids: capped(asked.pids, resources.max_pids),
            open_files: capped(asked.open_files, resources.max_open_files),
            file_bytes: capped(asked.file_mib, resources.max_file_mb) * MIB,
        };
        (wall, limits)
    }

    fn spec(
        &self,
        command: &ChildCommand,
        limits: HeldLimits,
        group: Option<&Group>,
        name: &str,
    ) -> Result<Spec, SandboxError> {
        let mut hold = match &command.profile {
            Profile::ReadOnly => Hold::ReadOnly,
            Profile::Workspace { .. } => Hold::Workspace,
            Profile::Full => Hold::Full,
        };
        if self.backend == Backend::None {
            hold = Hold::Full;
        }
        let write = match &command.profile {
            Profile::Workspace { write } => self.roots(write)?,
            Profile::ReadOnly | Profile::Full => Vec::new(),
        };
        let network = command.openings.contains(&Opening::Network);
        let opened: Vec<PathBuf> = command
            .openings
            .iter()
            .filter_map(|opening| match opening {
                Opening::Network => None,
                Opening::Socket(path) | Opening::Read(path) => Some(path.clone()),
            })
            .collect();
        let unix_sockets = command.openings.iter().any(|opening| matches!(opening, Opening::Socket(_)));
        // Only Landlock's mounts can hold the agent's own files against a child that may everything else.
        let wrapped = !matches!(self.backend, Backend::Landlock | Backend::None);
        if unix_sockets && network && hold != Hold::Full && (wrapped || self.abi < 6) {
            return Err(SandboxError::Refused(
                "a socket and the network can't be opened together here: only Landlock from version 6 on closes abstract sockets while the network is open"
                    .to_owned(),
            ));
        }
        if hold != Hold::Full
            && let Some(closed) = command.openings.iter().find(|opening| !self.can_open(opening))
        {
            return Err(SandboxError::Refused(format!("{} can't open {closed:?}", self.backend)));
        }
        let may_hold_full =
            self.abi > 0 && (self.root || hold != Hold::Full || crate::Offers::look().user_namespaces);
        let by = if self.backend == Backend::None || (hold == Hold::Full && !may_hold_full) {
            By::Nothing
        } else {
            By::Landlock
        };
        let (private_tmp, by) = match by {
            By::Nothing => (PathBuf::from("/tmp"), By::Nothing),
            by if hold == Hold::Full && !self.root => {
                let user = rustix::process::geteuid().as_raw();
                (PathBuf::from(format!("/tmp/.steadyhand-sandbox-{user}")), by)
            }
            by if wrapped && hold != Hold::Full => (wrap::private_tmp(self.backend), by),
            by => (PathBuf::from(PRIVATE_TMP), by),
        };
        let held = by != By::Nothing;
        let mut spec = Spec {
            probe: false,
            program: command.program.clone(),
            args: command.args.clone(),
            env: environment(&command.env, held.then_some(private_tmp.as_path())),
            cwd: command.cwd.clone(),
            hold,
            abi: self.abi,
            network,
            unix_sockets,
            opened,
            write,
            identity: (hold == Hold::ReadOnly && self.root)
                .then(|| accounts::identity(&self.config.safe_user, &self.config.safe_groups)),
            capabilities: match hold {
                Hold::ReadOnly => Some(0),
                Hold::Workspace => Some(if self.root { WORKSPACE_CAPABILITIES } else { 0 }),
                Hold::Full => (!self.root && held).then_some(0),
            },
            own: self.config.own.clone(),
            hidden: {
                let own = self.config.own_secrets.iter().map(|path| path.display().to_string());
                // What is everybody's secret may be changed by a child that may change everything.
                let others = self.config.hidden.iter().filter(|_| hold != Hold::Full).cloned();
                own.chain(others).collect()
            },
            private_tmp,
            limits,
            cgroup: group.map(|group| group.path().to_owned()),
            user_namespace: held && !self.root,
            progress: command.progress.is_some(),
            empty_stdin: false,
            token: format!("{name} failed: "),
            by,
        };
        if wrapped && hold != Hold::Full {
            spec.user_namespace = false;
            spec.by = wrap::by(self.backend, &spec, &self.config, name)?;
        }
        Ok(spec)
    }

    /// The roots of a workspace, resolved.
    fn roots(&self, write: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
        let mut roots = Vec::new();
        for root in write {
            let path = std::fs::canonicalize(root).map_err(SandboxError::step(root.display()))?;
            if ["/", "/run", "/dev", "/proc", "/sys"].iter().any(|whole| path == Path::new(whole)) {
                return Err(SandboxError::Invalid(format!("{} can't be a workspace", root.display())));
            }
            if let Some(own) = self
                .config
                .own
                .iter()
                .chain(&self.config.own_secrets)
                .find(|own| own.starts_with(&path) || path.starts_with(own))
            {
                return Err(SandboxError::Refused(format!(
                    "{} can't be a workspace: it holds the agent's own {}",
                    root.display(),
                    own.display()
                )));
            }
            roots.push(path);
        }
        Ok(roots)
    }
}

/// The child's environment: what was asked for, with the fixed search path and the private temporary directory.
fn environment(asked: &[(String, String)], tmp: Option<&Path>) -> Vec<(String, String)> {
    let fixed = |name: &str| name == "PATH" || (name == "TMPDIR" && tmp.is_some());
    let mut env: Vec<_> = asked.iter().filter(|(name, _)| !fixed(name)).cloned().collect();
    env.push(("PATH".to_owned(), skill::host::PROGRAM_PATH.to_owned()));
    env.extend(tmp.map(|tmp| ("TMPDIR".to_owned(), tmp.display().to_string())));
    env
}

fn check(command: &ChildCommand) -> Result<(), SandboxError> {
    let invalid = |text: String| Err(SandboxError::Invalid(text));
    let roots = match &command.profile {
        Profile::Workspace { write } => write.as_slice(),
        Profile::ReadOnly | Profile::Full => &[],
    };
    let opened = command.openings.iter().filter_map(|opening| match opening {
        Opening::Network => None,
        Opening::Socket(path) | Opening::Read(path) => Some(path),
    });
    for path in [&command.program].into_iter().chain(&command.cwd).chain(roots).chain(opened) {
        if !path.is_absolute() {
            return invalid(format!("{} must begin with /", path.display()));
        }
    }
    if command.args.iter().any(|arg| arg.contains('\0')) {
        return invalid("an argument holds a zero byte, which no program can be given".to_owned());
    }
    for (name, value) in &command.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return invalid(format!("`{}` can't be a variable of the environment", name.escape_debug()));
        }
    }
    Ok(())
}

impl Sandbox for Children {
    fn holds_read_only(&self) -> bool {
        self.backend != Backend::None
    }

    fn can_open(&self, opening: &Opening) -> bool {
        match (self.backend, opening) {
            (Backend::Firejail, Opening::Socket(_)) => false,
            (_, Opening::Network | Opening::Socket(_) | Opening::Read(_)) => true,
        }
    }

    fn run(&self, command: ChildCommand) -> BoxFuture<'_, Result<ChildEnded, SkillError>> {
        Box::pin(async move { self.run_child(command).await.map_err(SkillError::from) })
    }
}
