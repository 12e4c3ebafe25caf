//! `steadyhand-edge`: the command line around the agent.

mod cli;

use anyhow::{Context as _, bail};
use cli::{Cli, Command, Enroll, Read};
use edge::{DataDir, EdgeConfig, Options, Refusals};
use model::{CallState, Clock, SystemClock};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tunnel::JoinToken;

// One heap for all threads, without arenas that let long-lived agents grow: see docs/decisions/0007.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    // Started by the agent itself, for a child process: before anything that costs time or starts a thread.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == sandbox::HELPER_ARGUMENT) {
        return ExitCode::from(sandbox::helper(words));
    }
    let cli = match cli::read(std::env::args_os().skip(1)) {
        Ok(Read::Do(cli)) => *cli,
        Ok(Read::Say(text)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("steadyhand-edge: {problem}");
            return ExitCode::from(2);
        }
    };
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("steadyhand-edge: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    if let Command::BashClassify { commands, stdin } = cli.command {
        let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
        edge::classify::run(&commands, stdin.then_some(input), output)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Command::Refusals { json } = cli.command {
        return print_refusals(&DataDir::new(cli.dir), json);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Files and /proc are read there; with the workers the process stays at single-digit threads.
        .max_blocking_threads(4)
        .enable_all()
        .build()
        .context("the runtime can't start")?;
    let Cli { config, dir, command } = cli;
    runtime.block_on(async move {
        let dir = DataDir::new(dir);
        match command {
            Command::Enroll(enroll) => enroll_host(enroll, config, dir).await,
            Command::Run => run_agent(config, dir).await,
            Command::SkillsList | Command::SkillsRun { .. } => run_skills(command, config, dir).await,
            Command::PacksLint { .. } | Command::PacksList | Command::PacksRun { .. } => {
                run_packs(command, config, dir).await
            }
            // Answered before the runtime started.
            Command::BashClassify { .. } | Command::Refusals { .. } => Ok(ExitCode::SUCCESS),
            Command::Doctor => {
                let clock: Arc<dyn Clock> = Arc::new(SystemClock);
                let report = edge::doctor::examine(&config, &dir, &clock).await;
                print!("{report}");
                Ok(if report.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
        }
    })
}

fn print_refusals(dir: &DataDir, json: bool) -> anyhow::Result<ExitCode> {
    let found = Refusals::load(dir).map_err(flat)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    for refused in &found.last {
        println!("{refused}");
    }
    let listed = found.last.len();
    println!("{} refused for their evidence, {listed} of them listed", found.total);
    Ok(ExitCode::SUCCESS)
}

async fn enroll_host(args: Enroll, path: PathBuf, dir: DataDir) -> anyhow::Result<ExitCode> {
    let token: JoinToken = args.token.parse()?;
    if args.ca_pin.is_some_and(|pin| pin != token.pin()) {
        bail!("the pin given with --ca-pin is not the one in the token: one of them is another manager's");
    }
    let mut config = EdgeConfig::load_or_default(&path)?;
    config.tunnel.manager = args.manager;
    if args.proxy.is_some() {
        config.tunnel.proxy = args.proxy;
    }
    let name = args.name.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let edge = edge::enroll(&config, &path, &dir, &token, &name, &clock).await.map_err(flat)?;
    println!("enrolled as edge {edge} with {}", config.tunnel.manager);
    println!("start it with: systemctl enable --now steadyhand-edge (or: steadyhand-edge run)");
    Ok(ExitCode::SUCCESS)
}

async fn run_agent(path: PathBuf, dir: DataDir) -> anyhow::Result<ExitCode> {
    let config = EdgeConfig::load(&path).map_err(flat)?;
    start_log(&config)?;
    let shutdown = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate()).context("signals can't be caught")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("signals can't be caught")?;
    let stop = shutdown.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop.cancel();
    });
    edge::run(Options::new(config, path, dir).with_children().map_err(flat)?, shutdown)
        .await
        .map_err(flat)?;
    Ok(ExitCode::SUCCESS)
}

async fn run_skills(command: Command, path: PathBuf, dir: DataDir) -> anyhow::Result<ExitCode> {
    let config = EdgeConfig::load_or_default(&path).map_err(flat)?;
    let mut options = Options::new(config, path, dir);
    let _packs = edge::packs::LocalPacks::add_to(&mut options, None)?;
    if let Command::SkillsRun { key, params, timeout } = command {
        return run_local(options, &key, &params, timeout).await;
    }
    println!("{:#}", edge::local::list(&options)?);
    Ok(ExitCode::SUCCESS)
}

async fn run_packs(command: Command, path: PathBuf, dir: DataDir) -> anyhow::Result<ExitCode> {
    let config = EdgeConfig::load_or_default(&path).map_err(flat)?;
    let mut options = Options::new(config, path, dir);
    match command {
        Command::PacksLint { pack } => {
            let findings = edge::packs::lint(&options, &pack);
            print!("{}", findings.text);
            Ok(if findings.is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::PacksRun { key, from, params, timeout } => {
            let packs = edge::packs::LocalPacks::add_to(&mut options, from.as_deref())?;
            if !packs.has(&key) {
                bail!("no pack here has a skill `{key}`; `steadyhand-edge packs list` tells which there are");
            }
            run_local(options, &key, &params, timeout).await
        }
        _ => {
            let packs = edge::packs::LocalPacks::add_to(&mut options, None)?;
            println!("{:#}", packs.list(&options));
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn run_local(
    options: Options,
    key: &str,
    params: &[String],
    timeout: Duration,
) -> anyhow::Result<ExitCode> {
    let options = options.with_children().map_err(flat)?;
    let args = edge::local::arguments(&options, key, params).map_err(anyhow::Error::msg)?;
    let outcome = edge::local::run(&options, key, args, timeout).await?;
    println!("{:#}", outcome.report);
    Ok(if outcome.state == CallState::Succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// An error whose text holds its sources already.
fn flat(error: edge::EdgeError) -> anyhow::Error {
    anyhow::Error::new(error)
}

fn start_log(config: &EdgeConfig) -> anyhow::Result<()> {
    let filter: Targets = config
        .log
        .level
        .parse()
        .with_context(|| format!("log.level: `{}` is no filter", config.log.level))?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    match config.log.format {
        edge::LogFormat::Text => tracing_subscriber::registry().with(lines.with_filter(filter)).init(),
        edge::LogFormat::Json => tracing_subscriber::registry().with(lines.json().with_filter(filter)).init(),
    }
    Ok(())
}
