//! `steadyhand audit`: reads the database of this machine, whether the manager runs or not.

use super::{ConfigArgs, local};
use ::model::{CallId, Timestamp};
use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::json;
use std::fmt::Write as _;
use storage::Storage;
use storage::audit::{AuditFilter, AuditRow};

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Check every row of the chain, and every call against it
    Verify {
        #[command(flatten)]
        config: ConfigArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List rows of the chain, newest first
    List {
        #[command(flatten)]
        config: ConfigArgs,
        #[command(flatten)]
        filter: FilterArgs,
        /// How many at most
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show all rows of one call, or one row
    Show {
        /// A call's id, or a row's number
        id: String,
        #[command(flatten)]
        config: ConfigArgs,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print all rows of the chain, oldest last, one JSON object per line
    Export {
        #[command(flatten)]
        config: ConfigArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
}

/// Which rows.
#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// What happened; `call.` with the dot at its end means all kinds that begin with it
    #[arg(long)]
    kind: Option<String>,
    /// Of this call
    #[arg(long, value_name = "ID")]
    call: Option<CallId>,
    /// Not before, for example 2026-01-31T00:00:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Before
    #[arg(long, value_name = "TIME")]
    to: Option<Timestamp>,
}

impl FilterArgs {
    fn filter(self) -> AuditFilter {
        AuditFilter { kind: self.kind, call: self.call, from: self.from, to: self.to }
    }
}

const PAGE: u32 = 500;

impl AuditCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Verify { config, json } => verify(&local::open(&config).await?, json).await,
            Self::List { config, filter, limit, json } => {
                let rows = local::open(&config).await?.audit().list(&filter.filter(), None, limit).await?;
                print_rows(&rows, json)
            }
            Self::Show { id, config, json } => {
                let storage = local::open(&config).await?;
                let rows = match (id.parse::<CallId>(), id.parse::<i64>()) {
                    (Ok(call), _) => storage.audit().of_call(call).await?,
                    (_, Ok(seq)) => row(&storage, seq).await?,
                    _ => anyhow::bail!("`{id}` is neither a call's id nor a row's number"),
                };
                anyhow::ensure!(!rows.is_empty(), "the audit has nothing of {id}");
                print_rows(&rows, json)
            }
            Self::Export { config, filter } => export(&local::open(&config).await?, filter.filter()).await,
        }
    }
}

async fn verify(storage: &Storage, as_json: bool) -> anyhow::Result<()> {
    let found = storage.audit().verify().await?;
    if as_json {
        local::print(&format!("{}\n", serde_json::to_string(&found)?))?;
    }
    match found.problem {
        None if as_json => Ok(()),
        None => local::print(&format!(
            "the audit chain is whole: {} rows, through number {}; {} calls are as it says\n",
            found.rows, found.through_seq, found.calls
        )),
        Some(problem) if found.calls > 0 || problem.contains("chat_tool_calls") => anyhow::bail!(
            "the audit chain is whole ({} rows), but the calls aren't as it says: {problem}",
            found.rows
        ),
        Some(problem) => anyhow::bail!(
            "the audit chain is broken: {problem} ({} rows are right, through number {})",
            found.rows,
            found.through_seq
        ),
    }
}

async fn row(storage: &Storage, seq: i64) -> anyhow::Result<Vec<AuditRow>> {
    let rows = storage.audit().list(&AuditFilter::default(), Some(seq.saturating_add(1)), 1).await?;
    Ok(rows.into_iter().filter(|row| row.seq == seq).collect())
}

async fn export(storage: &Storage, filter: AuditFilter) -> anyhow::Result<()> {
    let mut before = None;
    loop {
        let rows = storage.audit().list(&filter, before, PAGE).await?;
        print_rows(&rows, true)?;
        match rows.last() {
            Some(last) if rows.len() == PAGE as usize => before = Some(last.seq),
            _ => return Ok(()),
        }
    }
}

fn print_rows(rows: &[AuditRow], as_json: bool) -> anyhow::Result<()> {
    let mut text = String::new();
    for row in rows {
        if as_json {
            let _ = writeln!(text, "{}", serde_json::to_string(row).context("a row can't be written")?);
        } else {
            let call = row.call_id.map_or_else(|| "-".to_owned(), |id| id.to_string());
            let at = row.at.format("%Y-%m-%d %H:%M:%SZ");
            let payload = if row.payload.is_null() { json!({}) } else { row.payload.clone() };
            let _ =
                writeln!(text, "{:>8}  {at}  {:24} {:36}  {} {payload}", row.seq, row.kind, call, row.actor);
        }
    }
    local::print(&text)
}
