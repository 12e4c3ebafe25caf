//! The command line.

mod approvals;
mod approve;
mod approvers;
mod audit;
mod call;
mod client;
mod config;
mod enroll_token;
mod freeze;
mod keyfile;
mod local;
mod model;
mod packs;
mod policy;
mod sop;
mod user;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Steadyhand's manager.
#[derive(Debug, Parser)]
#[command(
    name = "steadyhand",
    version,
    about = "Run a fleet of hosts by talking to it, with a gate before every call"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Which configuration.
#[derive(Clone, Debug, Args)]
pub struct ConfigArgs {
    /// The configuration file [default: steadyhand.toml, then /etc/steadyhand/steadyhand.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the manager
    Serve(ConfigArgs),
    /// Look at what waits for the approval of people
    #[command(subcommand)]
    Approvals(approvals::ApprovalsCommand),
    /// Look at what is to be signed for a call, and sign it with a key file
    Approve(approve::ApproveArgs),
    /// Look at standing approvals
    #[command(subcommand)]
    Grants(approvals::GrantsCommand),
    /// Read and check the audit
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Run a skill or a tool through the gate and print its result
    Call(call::CallArgs),
    /// Ask models
    #[command(subcommand)]
    Model(model::ModelCommand),
    /// Check and list packs
    #[command(subcommand)]
    Packs(packs::PacksCommand),
    /// Make, sign, check and import procedures, which dangerous calls must be covered by
    #[command(subcommand)]
    Sop(sop::SopCommand),
    /// Make, sign, check and import the list of approvers
    #[command(subcommand)]
    Approvers(approvers::ApproversCommand),
    /// Tell what the gate makes of a call
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Stop all changes, on all hosts
    Freeze(freeze::FreezeArgs),
    /// Allow changes again; takes an admin's token
    Unfreeze(freeze::UnfreezeArgs),
    /// Look at the configuration
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Print the OpenAPI document of this version
    Openapi,
    /// Manage accounts on this machine
    #[command(subcommand)]
    User(user::UserCommand),
    /// Make tokens with which hosts join
    #[command(subcommand)]
    EnrollToken(enroll_token::EnrollTokenCommand),
}

impl Cli {
    /// Does what was asked for.
    ///
    /// # Errors
    ///
    /// Fails with a sentence for the person at the terminal.
    pub async fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Serve(args) => {
                let config = local::load(&args)?;
                crate::serve::run(config).await
            }
            Command::Approvals(command) => command.run().await,
            Command::Approve(args) => args.run().await,
            Command::Grants(command) => command.run().await,
            Command::Audit(command) => command.run().await,
            Command::Call(args) => args.run().await,
            Command::Model(command) => command.run().await,
            Command::Packs(command) => command.run().await,
            Command::Sop(command) => command.run().await,
            Command::Approvers(command) => command.run().await,
            Command::Policy(command) => command.run().await,
            Command::Freeze(args) => args.run().await,
            Command::Unfreeze(args) => args.run().await,
            Command::Config(command) => command.run(),
            Command::Openapi => local::print(&(api::openapi_json() + "\n")),
            Command::User(command) => command.run().await,
            Command::EnrollToken(command) => command.run().await,
        }
    }
}
