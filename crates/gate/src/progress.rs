//! Lines of progress of calls that run, for people who wait. They come from hosts and packs, so they are made harmless
//! here; nobody waits for whoever reads them, and no model does.

use crate::Redactor;
use model::CallId;
use std::fmt;
use std::sync::Arc;
use tokio::sync::broadcast;

/// Most characters of a line that are told.
const MAX_CHARS: usize = 200;

/// Most characters of a line that are looked at.
const MAX_READ: usize = 2000;

/// Lines that wait for a slow reader; it misses the oldest beyond them.
const WAITING: usize = 256;

/// One line of progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallProgress {
    /// Whose.
    pub call_id: CallId,
    /// One line without control characters, redacted and short.
    pub line: String,
}

/// Tells lines of progress to whoever listens.
#[derive(Clone)]
pub(crate) struct ProgressTeller {
    lines: broadcast::Sender<CallProgress>,
    redactor: Arc<Redactor>,
}

impl fmt::Debug for ProgressTeller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressTeller").finish_non_exhaustive()
    }
}

impl ProgressTeller {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self { lines: broadcast::Sender::new(WAITING), redactor }
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<CallProgress> {
        self.lines.subscribe()
    }

    pub(crate) fn tell(&self, call_id: CallId, text: &str) {
        let line = short(&self.redactor.redact(&plain(text)));
        if !line.is_empty() {
            // Nobody may listen.
            let _ = self.lines.send(CallProgress { call_id, line });
        }
    }
}

/// One line of what would show: without control sequences and characters that show nothing or turn the text around.
fn plain(text: &str) -> String {
    let mut line = String::new();
    let mut rest = text.chars().take(MAX_READ);
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_sequence(&mut rest),
            shows_nothing if is_hidden(shows_nothing) => {}
            space if space.is_whitespace() || space.is_control() => {
                if !line.is_empty() && !line.ends_with(' ') {
                    line.push(' ');
                }
            }
            other => line.push(other),
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Passes over the rest of a terminal's control sequence.
fn skip_sequence(rest: &mut impl Iterator<Item = char>) {
    match rest.next() {
        Some('[') => drop(rest.find(|character| ('@'..='~').contains(character))),
        Some(']') => drop(rest.find(|character| matches!(character, '\u{7}' | '\u{9c}' | '\\'))),
        _ => {}
    }
}

fn is_hidden(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

fn short(line: &str) -> String {
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use storage::MasterKey;

    fn told(text: &str) -> Option<String> {
        let redactor = Redactor::new(MasterKey::from_bytes([7; 32]), &[]).unwrap();
        let teller = ProgressTeller::new(Arc::new(redactor));
        let mut lines = teller.listen();
        teller.tell(CallId::generate(), text);
        lines.try_recv().ok().map(|progress| progress.line)
    }

    #[test]
    fn a_line_is_made_harmless_before_anybody_sees_it() {
        assert_eq!(told("step 2 of 3\r\n").as_deref(), Some("step 2 of 3"));
        assert_eq!(
            told("\u{1b}[2J\u{1b}[1;31mred\u{1b}[0m\u{7} a\tb\u{1b}]0;title\u{7}c").as_deref(),
            Some("red a bc")
        );
        assert_eq!(told("invoice\u{202e}fdp\u{200b}.exe").as_deref(), Some("invoicefdp.exe"));
        assert_eq!(told(" \n\u{1b}[m"), None);
        let secret = told("login with password=\u{200b}hunter2hunter2 now").unwrap();
        assert!(!secret.contains("hunter2"), "{secret}");
        let long = told(&"x".repeat(5000)).unwrap();
        assert_eq!((long.chars().count(), long.ends_with('…')), (MAX_CHARS + 1, true));
    }

    proptest! {
        #[test]
        fn no_text_shows_more_than_one_short_line(text in ".{0,300}") {
            if let Some(line) = told(&text) {
                prop_assert!(line.chars().count() <= MAX_CHARS + 1);
                prop_assert!(!line.chars().any(|character| character.is_control() || is_hidden(character)));
            }
        }
    }
}
