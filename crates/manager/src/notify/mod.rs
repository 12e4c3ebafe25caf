//! Tells people outside of the console when a call waits for one of them: by a signed POST to a program, a push message
//! and mail. Each links to the card and nothing more: arguments aren't sent, and deciding takes a person who is signed in.

mod mail;
mod push;
mod webhook;

use crate::config::NotifyConfig;
use anyhow::Context as _;
use mail::Mail;
use model::{ApprovalId, ApprovalState};
use push::Push;
use secrecy::{ExposeSecret as _, SecretString};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use storage::Storage;
use storage::approvals::Approval;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use webhook::Webhook;

/// How long whoever is told may take to answer.
const LIMIT: Duration = Duration::from_secs(10);
/// How long until it is told again; after the last one it is given up.
const AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(20)];
/// Longest secret that is read, in bytes.
const MAX_SECRET_BYTES: u64 = 4096;

/// One way to tell it.
enum Way {
    Webhook(Webhook),
    Push(Push),
    Mail(Mail),
}

impl Way {
    const fn name(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "webhook",
            Self::Push(_) => "push",
            Self::Mail(_) => "mail",
        }
    }

    /// Tells it once. The error holds no secret and no URL; a mail server's answer may name a mailbox.
    async fn tell(&self, asked: &Asked<'_>) -> Result<(), String> {
        match self {
            Self::Webhook(webhook) => {
                webhook.tell(asked).await.map_err(|error| error.without_url().to_string())
            }
            Self::Push(push) => push.tell(asked).await.map_err(|error| error.without_url().to_string()),
            Self::Mail(mail) => mail.tell(asked).await,
        }
    }
}

/// What is told.
struct Asked<'a> {
    approval: &'a Approval,
    /// Where the card is.
    url: String,
    now: model::Timestamp,
}

impl Asked<'_> {
    /// One line, such as "Restart a service on web-1 waits for a decision".
    fn title(&self) -> String {
        let host =
            self.approval.call.edge_name.as_ref().map(|name| format!(" on {name}")).unwrap_or_default();
        format!("{}{host} waits for a decision", self.approval.tool_label)
    }

    /// Who asked, and until when.
    fn text(&self) -> String {
        let Approval { person_name, decide_by, call, .. } = self.approval;
        let until = decide_by.format("%Y-%m-%d %H:%M:%S UTC");
        format!("Asked for by {}. It is {}. Decide until {until}.", person_name, call.class)
    }
}

/// Tells of waiting calls.
#[derive(Clone)]
pub(crate) struct Notifier {
    ways: Arc<Vec<Way>>,
    console: String,
    storage: Storage,
}

impl Notifier {
    /// Reads the secrets and makes ready; `None` if nobody is to be told. `console` is the address at which people open
    /// the console.
    ///
    /// # Errors
    ///
    /// Fails if a secret can't be read or is too short.
    pub(crate) fn new(
        config: &NotifyConfig,
        console: &str,
        storage: Storage,
    ) -> anyhow::Result<Option<Self>> {
        let mut ways = Vec::new();
        if let Some(webhook) = &config.webhook {
            ways.push(Way::Webhook(Webhook::new(webhook)?));
        }
        if let Some(push) = &config.push {
            ways.push(Way::Push(Push::new(push)?));
        }
        if let Some(mail) = &config.mail {
            ways.push(Way::Mail(Mail::new(mail)?));
        }
        let console = console.trim_end_matches('/').to_owned();
        Ok((!ways.is_empty()).then(|| Self { ways: Arc::new(ways), console, storage }))
    }

    /// Tells of every approval that is asked for from now on, until `shutdown`.
    pub(crate) fn follow(self, shutdown: CancellationToken) {
        let mut changes = self.storage.approval_changes();
        tokio::spawn(async move {
            let telling = async {
                loop {
                    match changes.recv().await {
                        Ok(change) if change.asks => {
                            for way in 0..self.ways.len() {
                                let (notifier, stop) = (self.clone(), shutdown.clone());
                                tokio::spawn(async move {
                                    stop.run_until_cancelled(notifier.tell(way, change.approval_id)).await
                                });
                            }
                        }
                        Ok(_) => {}
                        Err(RecvError::Lagged(missed)) => {
                            tracing::warn!(
                                missed,
                                "too many approvals at once: nobody outside was told of some"
                            );
                        }
                        Err(RecvError::Closed) => return,
                    }
                }
            };
            shutdown.run_until_cancelled(telling).await;
        });
    }

    /// Tells of one approval in one way, again if that fails.
    async fn tell(&self, way: usize, id: ApprovalId) {
        let Some(way) = self.ways.get(way) else { return };
        for wait in AGAIN.iter().map(Some).chain([None]) {
            let problem = match self.storage.approvals().find(id).await {
                Ok(Some(approval)) if approval.state == ApprovalState::Pending => {
                    let url = format!("{}/approvals/{id}", self.console);
                    let asked = Asked { approval: &approval, url, now: self.storage.now() };
                    match way.tell(&asked).await {
                        Ok(()) => return,
                        Err(problem) => problem,
                    }
                }
                // Decided meanwhile, so nobody has to come.
                Ok(_) => return,
                Err(error) => error.to_string(),
            };
            tracing::warn!(approval.id = %id, by = way.name(), problem, again = wait.is_some(), "nobody outside was told that a call waits");
            if let Some(wait) = wait {
                tokio::time::sleep(*wait).await;
            }
        }
    }
}

/// What speaks HTTP with whoever is told.
fn http() -> anyhow::Result<reqwest::Client> {
    Ok(reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(LIMIT).build()?)
}

/// Reads a secret of at least `least` bytes from its file; blanks around it don't count.
fn read_secret(key: &str, path: &Path, least: usize) -> anyhow::Result<SecretString> {
    let read = || -> std::io::Result<String> {
        let mut secret = String::new();
        std::fs::File::open(path)?.take(MAX_SECRET_BYTES).read_to_string(&mut secret)?;
        Ok(secret)
    };
    let secret = read().with_context(|| format!("{key}: {} can't be read", path.display()))?;
    let secret = SecretString::from(secret.trim());
    anyhow::ensure!(
        secret.expose_secret().len() >= least,
        "{key}: the secret in {} must be at least {least} bytes long",
        path.display()
    );
    Ok(secret)
}
