//! The manager's binary.

use clap::Parser as _;
use manager::cli::Cli;
use std::process::ExitCode;

/// glibc's arenas make long-lived processes grow.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // One provider of cryptography for everything that doesn't choose its own.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        eprintln!("steadyhand: another provider of cryptography is installed");
        return ExitCode::FAILURE;
    }
    match cli.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("steadyhand: {error:#}");
            ExitCode::FAILURE
        }
    }
}
