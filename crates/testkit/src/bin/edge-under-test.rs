//! A real edge that can be made to die at any step of its journal. Only tests start it.

use admission::{Point, Watcher};
use anyhow::Context as _;
use clap::Parser;
use edge::{DataDir, EdgeConfig, Options};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use testkit::{CountEffects, GoDown, die};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Parser)]
struct Cli {
    /// Its data directory.
    #[arg(long)]
    dir: PathBuf,
    /// Its configuration.
    #[arg(long)]
    config: PathBuf,
    /// The step of the journal at which it dies.
    #[arg(long)]
    die_at: Option<Point>,
    /// How often the step is reached until then; from 1.
    #[arg(long, default_value_t = 1)]
    nth: u32,
    /// The host's boot; by default what the kernel says.
    #[arg(long)]
    boot_id: Option<String>,
}

#[derive(Debug)]
struct Dies {
    at: Option<Point>,
    left: AtomicU32,
}

impl Watcher for Dies {
    fn reach(&self, point: Point) -> io::Result<()> {
        if self.at == Some(point) && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            die();
        }
        Ok(())
    }
}

fn main() -> anyhow::Result<()> {
    let Cli { dir, config, die_at, nth, boot_id } = Cli::parse();
    let loaded = EdgeConfig::load(&config).context("the configuration")?;
    let built = Options::new(loaded, config, DataDir::new(dir));
    let options = Options {
        registry: built.registry.clone().with(CountEffects).with(GoDown),
        watcher: Arc::new(Dies { at: die_at, left: AtomicU32::new(nth) }),
        boot_id,
        ..built
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(edge::run(options, CancellationToken::new())).context("the edge")
}
