//! Chores of the repository: new files from templates, generated files, checks of what no compiler checks.

mod check;
mod generate;
mod new_skill;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};

#[derive(Parser)]
#[command(name = "xtask", about = "Chores of this repository")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes new files from a template, registered where they must be.
    New {
        #[command(subcommand)]
        what: What,
    },
    /// Writes the generated files anew (OpenAPI document, TypeScript client).
    Gen,
    /// Checks the crate graph, licences, bans, sources, and that generated files are current.
    Check,
}

#[derive(Subcommand)]
enum What {
    /// A host skill: `crates/skills/src/NAME.rs` and its two lines in `lib.rs`.
    Skill {
        /// The key: 1 to 64 of a-z, 0-9 and _.
        name: String,
    },
}

fn main() -> Result<()> {
    let root = repository_root()?;
    match Arguments::parse().command {
        Command::New { what: What::Skill { name } } => new_skill::run(&root, &name),
        Command::Gen => generate::run(&root),
        Command::Check => check::run(&root),
    }
}

/// The repository that this program was built from.
fn repository_root() -> Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .context("no repository root")
}
