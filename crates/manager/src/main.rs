//! The manager's binary.

use clap::Parser as _;
use manager::cli::Cli;
use std::process::ExitCode;

/// glibc's arenas make long-lived processes grow.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Started by the manager itself, for the program of a pack: before anything that costs time or starts a thread.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == sandbox::HELPER_ARGUMENT) {
        return ExitCode::from(sandbox::helper(words));
    }
    work()
}

#[tokio::main]
async fn work() -> ExitCode {
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
