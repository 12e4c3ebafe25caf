//! `steadyhand-edge doctor`: what is wrong with this edge, and what to do about it.

mod probe;

use crate::agent::chain;
use crate::signed::Signing;
use crate::{ConnectionPhase, DataDir, EdgeConfig, EdgeError, LastConnection, Options, Refusals};
use admission::Ledger;
use model::{Clock, Timestamp};
use skill::Prerequisite;
use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use tunnel::pki::EdgeIdentity;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Well,
    /// Worth knowing; the edge works.
    Notice,
    /// The edge can't work like this.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What was looked at.
    pub what: &'static str,
    /// A sentence.
    pub text: String,
}

/// Everything that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order in which they matter.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_well(&self) -> bool {
        self.findings.iter().all(|finding| finding.level != Level::Wrong)
    }

    fn add(&mut self, level: Level, what: &'static str, text: impl Into<String>) {
        self.findings.push(Finding { level, what, text: text.into() });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { level, what, text } in &self.findings {
            let mark = match level {
                Level::Well => "ok   ",
                Level::Notice => "note ",
                Level::Wrong => "WRONG",
            };
            writeln!(f, "{mark} {what}: {text}")?;
        }
        Ok(())
    }
}

/// Looks at everything, in the order in which it is needed; also tries the way to the manager, but never disturbs an
/// edge that runs and is connected.
pub async fn examine(config_path: &Path, dir: &DataDir, clock: &Arc<dyn Clock>) -> Report {
    let mut report = Report::default();
    let config = look_at_config(&mut report, config_path);
    look_at_dir(&mut report, dir);
    let identity = look_at_identity(&mut report, dir, clock.now());
    let running = look_at_process(&mut report, dir);
    let last = look_at_last_connection(&mut report, dir, running);
    if let (Some(config), Some(identity)) = (&config, &identity) {
        let connected = running && last.is_some_and(|last| last.phase == ConnectionPhase::Connected);
        if !connected {
            look_at_manager(&mut report, config, identity, clock).await;
        }
    }
    let options = Options::new(config.unwrap_or_default(), config_path.to_owned(), dir.clone());
    look_at_proof(&mut report, &options);
    if let Err(error) = crate::packs::Packs::check(&options) {
        report.add(Level::Wrong, "configuration", error.to_string());
    }
    look_at_host(&mut report, &options);
    look_at_sandbox(&mut report, &options);
    report
}

fn look_at_config(report: &mut Report, path: &Path) -> Option<EdgeConfig> {
    const WHAT: &str = "configuration";
    match EdgeConfig::load(path) {
        Ok(config) if config.tunnel.manager.is_empty() => {
            report.add(
                Level::Wrong,
                WHAT,
                format!(
                    "{} names no manager: set `manager` in [tunnel], or run `steadyhand-edge enroll`",
                    path.display()
                ),
            );
            None
        }
        Ok(config) => {
            report.add(
                Level::Well,
                WHAT,
                format!("{} is fine; the manager is {}", path.display(), config.tunnel.manager),
            );
            Some(config)
        }
        Err(EdgeError::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            report.add(
                Level::Wrong,
                WHAT,
                format!("{} is not there: run `steadyhand-edge enroll`, which writes it", path.display()),
            );
            None
        }
        Err(error) => {
            report.add(Level::Wrong, WHAT, error.to_string());
            None
        }
    }
}

fn look_at_dir(report: &mut Report, dir: &DataDir) {
    const WHAT: &str = "data directory";
    let path = dir.path().display();
    match std::fs::metadata(dir.path()) {
        Ok(meta) if !meta.is_dir() => report.add(Level::Wrong, WHAT, format!("{path} is not a directory")),
        Ok(meta) if meta.permissions().mode() & 0o022 != 0 => {
            let mode = meta.permissions().mode() & 0o777;
            report.add(
                Level::Wrong,
                WHAT,
                format!("others may write to {path} (mode {mode:03o}): run `chmod 700 {path}`"),
            );
        }
        Ok(_) => report.add(Level::Well, WHAT, format!("{path} is this edge's own")),
        Err(error) => {
            report.add(Level::Wrong, WHAT, format!("{path}: {error}; `steadyhand-edge enroll` makes it"))
        }
    }
}

fn look_at_identity(report: &mut Report, dir: &DataDir, now: Timestamp) -> Option<EdgeIdentity> {
    const WHAT: &str = "certificate";
    let path = dir.identity();
    let identity = match EdgeIdentity::load(&path) {
        Ok(Some(identity)) => identity,
        Ok(None) => {
            report.add(Level::Wrong, WHAT, EdgeError::NotEnrolled { path }.to_string());
            return None;
        }
        Err(error) => {
            report.add(Level::Wrong, WHAT, chain(&error));
            return None;
        }
    };
    let date = |at: Timestamp| at.format("%Y-%m-%d %H:%M UTC").to_string();
    let (from, to) = (identity.facts().not_before, identity.not_after());
    let edge = identity.edge();
    let (level, text) = if now < from {
        (
            Level::Wrong,
            format!(
                "edge {edge}'s certificate is valid from {} only, and this host's clock says {}: set the clock",
                date(from),
                date(now)
            ),
        )
    } else if now > to {
        (
            Level::Wrong,
            format!(
                "edge {edge}'s certificate ran out at {}, and this host's clock says {}: if the clock is right, let an administrator allow this edge to rejoin (Hosts → this host), or enrol it again",
                date(to),
                date(now)
            ),
        )
    } else if now > identity.renew_at() {
        (
            Level::Notice,
            format!(
                "edge {edge}'s certificate is good until {}; the manager should have renewed it at {}, which it does while this edge is connected",
                date(to),
                date(identity.renew_at())
            ),
        )
    } else {
        (Level::Well, format!("edge {edge} of deployment {}, good until {}", identity.deployment(), date(to)))
    };
    report.add(level, WHAT, text);
    Some(identity)
}

fn look_at_process(report: &mut Report, dir: &DataDir) -> bool {
    const WHAT: &str = "agent";
    match dir.lock() {
        Err(EdgeError::AlreadyRunning { .. }) => {
            report.add(Level::Well, WHAT, "it runs");
            true
        }
        Ok(_lock) => {
            report.add(
                Level::Notice,
                WHAT,
                "it doesn't run: start it with `systemctl start steadyhand-edge`, or `steadyhand-edge run`",
            );
            false
        }
        Err(error) => {
            report.add(Level::Notice, WHAT, format!("whether it runs can't be told: {error}"));
            false
        }
    }
}

fn look_at_last_connection(report: &mut Report, dir: &DataDir, running: bool) -> Option<LastConnection> {
    const WHAT: &str = "last connection";
    let Some(last) = LastConnection::load(dir) else {
        report.add(Level::Notice, WHAT, "this edge has never run here");
        return None;
    };
    let level = match last.phase {
        ConnectionPhase::Connected if running => Level::Well,
        ConnectionPhase::Connected | ConnectionPhase::Ended => Level::Notice,
        ConnectionPhase::Refused | ConnectionPhase::Failed => Level::Wrong,
    };
    report.add(level, WHAT, format!("{} — {}", last.at.format("%Y-%m-%d %H:%M:%S UTC"), last.detail));
    Some(last)
}

async fn look_at_manager(
    report: &mut Report,
    config: &EdgeConfig,
    identity: &EdgeIdentity,
    clock: &Arc<dyn Clock>,
) {
    const WHAT: &str = "manager";
    let dial = match config.dial() {
        Ok(dial) => dial,
        Err(error) => return report.add(Level::Wrong, WHAT, chain(&error)),
    };
    match tunnel::dial(&dial, identity, clock).await {
        Err(error) => report.add(Level::Wrong, WHAT, chain(&error)),
        Ok(link) => match probe::ask(link, clock).await {
            probe::Answer::Wanted => {
                report.add(Level::Well, WHAT, format!("{} accepts this edge", dial.address))
            }
            probe::Answer::Refused(reason) => {
                report.add(Level::Wrong, WHAT, format!("{} refuses this edge: {reason}", dial.address));
            }
            probe::Answer::Ended(ended) => {
                report.add(
                    Level::Wrong,
                    WHAT,
                    format!("{} took the connection and ended it: {ended}", dial.address),
                );
            }
        },
    }
}

/// What changes here rest on, what is pinned for that, and what was refused.
fn look_at_proof(report: &mut Report, options: &Options) {
    const WHAT: &str = "approvals";
    let config = &options.config;
    // What is wrong with them was told with the configuration.
    let Ok(pins) = config.pins() else { return };
    let signing = Signing::new(config, &pins, Ledger::open(options.dir.signed()));
    let now = signing.now();
    let problem = signing.ledger.problem();
    for note in signing.notes(&now) {
        let level = if problem.as_ref() == Some(&note) { Level::Wrong } else { Level::Notice };
        report.add(level, WHAT, note);
    }
    let said = signing.describe(&now);
    if said.dangerous {
        report.add(
            Level::Notice,
            WHAT,
            "dangerous calls can run here, under a signed procedure and two people's signatures",
        );
    }
    if !said.sop_key_fingerprints.is_empty() {
        let keys = said.sop_key_fingerprints.join(", ");
        report.add(Level::Well, WHAT, format!("procedures count if one of these keys signed them: {keys}"));
    }
    if !said.approver_root_fingerprint.is_empty() {
        let version = match said.approver_list_version {
            0 => "none was seen yet".to_owned(),
            version => format!("the highest version seen is {version}"),
        };
        let root = said.approver_root_fingerprint;
        report.add(
            Level::Well,
            WHAT,
            format!("the list of approvers counts if the key {root} signed it; {version}"),
        );
        let passkeys = if said.origin.is_empty() {
            "passkeys don't count here, key files do ([security.approvers] origin, rp_id)".to_owned()
        } else {
            format!("passkeys of {} count if they were used on {}", said.rp_id, said.origin)
        };
        report.add(Level::Well, WHAT, passkeys);
        if said.min_independent_signatures > 0 {
            let count = said.min_independent_signatures;
            report.add(
                Level::Well,
                WHAT,
                format!("at least {count} of a call's signatures must come from a key file"),
            );
        }
    }
    let labels: Vec<String> = config.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let labels = if labels.is_empty() { "none ([labels])".to_owned() } else { labels.join(", ") };
    report.add(Level::Well, "labels", format!("for procedures: {labels}"));
    for path in config.security.sop.files().iter().chain([&options.config_path]) {
        look_who_may_write(report, path);
    }
    match Refusals::load(&options.dir) {
        Ok(Refusals { total: 0, .. }) => {}
        Ok(found) => {
            let last = found.last.back().map(|last| format!("; the last: {last}")).unwrap_or_default();
            let text =
                format!("{} for their evidence (`steadyhand-edge refusals` lists them){last}", found.total);
            report.add(Level::Notice, "refused calls", text);
        }
        Err(error) => report.add(Level::Notice, "refused calls", error.to_string()),
    }
}

/// Whoever can write a pinned key or the configuration decides what counts here.
fn look_who_may_write(report: &mut Report, path: &Path) {
    let Ok(meta) = std::fs::metadata(path) else { return };
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o022 != 0 {
        let path = path.display();
        let text = format!("others may write to {path} (mode {mode:03o}): run `chmod go-w {path}`");
        report.add(Level::Wrong, "configuration", text);
    }
}

fn look_at_host(report: &mut Report, options: &Options) {
    let host = options.host();
    for (what, need, without) in [
        ("systemd", Prerequisite::Systemd, "not running here: services can't be looked at"),
        ("journal", Prerequisite::Journal, "not here: log files can still be read"),
    ] {
        if host.meets(need) {
            report.add(Level::Well, what, "is there");
        } else {
            report.add(Level::Notice, what, without);
        }
    }
    for skill in options.registry.iter() {
        let unmet = skill.unmet(host.as_ref());
        if !unmet.is_empty() {
            report.add(
                Level::Notice,
                "skill",
                format!("`{}` can't run on this host, it lacks: {}", skill.key(), unmet.join(", ")),
            );
        }
    }
}

/// What the kernel offers to hold child processes, what does, and what a command of class safe could still do.
fn look_at_sandbox(report: &mut Report, options: &Options) {
    const WHAT: &str = "sandbox";
    for (good, sentence) in sandbox::Offers::look().sentences() {
        report.add(if good { Level::Well } else { Level::Notice }, "kernel", sentence);
    }
    match options.children() {
        Err(error) => report.add(Level::Wrong, WHAT, error.to_string()),
        Ok(children) => {
            let tried = children.passed_over().join("; ");
            if children.backend() == sandbox::Backend::None {
                let why = if tried.is_empty() { "it is switched off".to_owned() } else { tried };
                report.add(
                    Level::Notice,
                    WHAT,
                    format!("nothing holds child processes ({why}): commands that are safe elsewhere need an approval here"),
                );
            } else {
                let backend = children.backend();
                report.add(Level::Well, WHAT, format!("{backend} holds safe commands, as tried just now"));
            }
            for sentence in children.still_possible() {
                report.add(Level::Notice, "safe commands", format!("can still {sentence}"));
            }
        }
    }
}
