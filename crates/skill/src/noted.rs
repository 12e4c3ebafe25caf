//! What held the programs that one call ran, for its end on record.

use crate::SkillError;
use crate::sandbox::{ChildCommand, ChildEnded, Opening, Profile, Sandbox};
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs programs in another sandbox, and keeps what held them.
#[derive(Debug)]
pub struct Noted {
    inner: Arc<dyn Sandbox>,
    /// Each once, in order.
    held: Mutex<Vec<String>>,
}

impl Noted {
    /// Runs them in `inner`.
    pub fn new(inner: Arc<dyn Sandbox>) -> Self {
        Self { inner, held: Mutex::default() }
    }

    /// What held the programs so far; `None` if none was started.
    pub fn held(&self) -> Option<String> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        (!held.is_empty()).then(|| held.join("; then "))
    }

    fn note(&self, words: String) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.contains(&words) {
            held.push(words);
        }
    }
}

/// Notes a program that is ended with its call: nobody hears from the sandbox what held it.
struct Cut<'a> {
    noted: &'a Noted,
    /// What was asked for; `None` once the sandbox has answered.
    asked: Option<&'static str>,
}

impl Drop for Cut<'_> {
    fn drop(&mut self) {
        if let Some(asked) = self.asked {
            self.noted.note(format!("{asked}, ended with the call"));
        }
    }
}

impl Sandbox for Noted {
    fn holds_read_only(&self) -> bool {
        self.inner.holds_read_only()
    }

    fn can_open(&self, opening: &Opening) -> bool {
        self.inner.can_open(opening)
    }

    fn run(&self, command: ChildCommand) -> BoxFuture<'_, Result<ChildEnded, SkillError>> {
        let asked = match command.profile {
            Profile::ReadOnly => "read_only",
            Profile::Workspace { .. } => "workspace",
            Profile::Full => "full",
        };
        Box::pin(async move {
            let mut cut = Cut { noted: self, asked: Some(asked) };
            let ended = self.inner.run(command).await;
            cut.asked = None;
            // One that could not be started was held by nothing.
            if let Ok(ended) = &ended {
                self.note(ended.report.to_string());
            }
            ended
        })
    }
}
