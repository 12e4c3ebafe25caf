//! Measures what the product adds to bare parts, in the same process and the same run: a call through the tunnel with and
//! without its audit row, beside a bare tonic call with mutual TLS and a bare `fdatasync`.
//!
//! What counts are the ratios; absolute times belong to the machine.

mod audited;
mod bare;
mod echo;
mod sample;
mod tunnelled;

use anyhow::Result;
use clap::Parser;
use sample::Sample;
use std::path::PathBuf;

#[derive(Parser)]
#[command(name = "bench", about = "Latency and throughput of calls, as ratios to bare parts")]
struct Arguments {
    /// Calls of each kind, one after the other.
    #[arg(long, default_value_t = 2000)]
    calls: usize,
    /// Calls of each kind, this many at once.
    #[arg(long, default_value_t = 32)]
    at_once: usize,
    /// Folder on the disk that is to be measured.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run(arguments))
}

async fn run(Arguments { calls, at_once, dir }: Arguments) -> Result<()> {
    let folder = tempfile::tempdir_in(dir)?;
    println!("{calls} calls of each kind, after a tenth of that to warm up; times in microseconds\n");
    println!("{}", Sample::HEADER);

    let sync = bare::fdatasync(folder.path(), calls)?;
    println!("{}", sync.row("bare fdatasync of 512 bytes", None));
    let unary = bare::Unary::start().await?;
    let bare = unary.measure(calls, 1).await?;
    println!("{}", bare.row("bare tonic unary, mutual TLS", None));
    let link = tunnelled::Tunnelled::start(&folder.path().join("tunnel")).await?;
    let tunnel = link.measure(calls, 1).await?;
    println!("{}", tunnel.row("call through the tunnel, no row", Some(&bare)));
    let product = audited::Audited::start(&folder.path().join("audited")).await?;
    let audited = product.measure(calls, 1).await?;
    println!("{}", audited.row("call through the gate, audited", Some(&bare)));
    println!(
        "\naudited call / (tunnel call + 2 fdatasync), medians: {:.2}\n",
        audited.median() / (tunnel.median() + 2.0 * sync.median())
    );

    println!("{at_once} at once");
    println!("{}", Sample::HEADER);
    let bare = unary.measure(calls, at_once).await?;
    println!("{}", bare.row("bare tonic unary, mutual TLS", None));
    let tunnel = link.measure(calls, at_once).await?;
    println!("{}", tunnel.row("call through the tunnel, no row", Some(&bare)));
    let audited = product.measure(calls, at_once).await?;
    println!("{}", audited.row("call through the gate, audited", Some(&bare)));
    product.stop().await;
    Ok(())
}
