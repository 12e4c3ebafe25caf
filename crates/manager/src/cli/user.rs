//! `steadyhand user`: accounts, straight in the database of this machine, for whoever lost the last password.

use super::{ConfigArgs, local};
use api::auth::first_admin::reset_password;
use api::auth::password::{HashCost, Hasher};
use clap::Subcommand;
use std::fmt::Write as _;

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// List accounts
    List {
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Give an account a new one-time password; ends its sign-ins
    ResetPassword {
        /// The account's name
        name: String,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

impl UserCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List { config } => {
                let storage = local::open(&config).await?;
                let mut text = String::new();
                for user in storage.users().list(0, 10_000).await? {
                    let roles: Vec<&str> = user.roles.iter().map(::model::Role::as_str).collect();
                    let notes =
                        [(user.disabled, "disabled"), (user.must_change_password, "must change password")];
                    let notes: Vec<&str> =
                        notes.iter().filter(|(holds, _)| *holds).map(|(_, note)| *note).collect();
                    let _ = writeln!(
                        text,
                        "{:>4}  {:24} {:8} {:24} {}",
                        user.id.0,
                        user.name,
                        user.kind.as_str(),
                        roles.join(","),
                        notes.join(", ")
                    );
                }
                storage.close().await;
                local::print(&text)
            }
            Self::ResetPassword { name, config } => {
                let storage = local::open(&config).await?;
                let hasher = Hasher::new(HashCost::default())?;
                let password = reset_password(&storage, &hasher, &name.to_lowercase()).await?;
                storage.close().await;
                local::print(&format!("one-time password for {name}: {password}\n"))
            }
        }
    }
}
