//! Shows what tools answered: sentences first, then tables. Everything that came from a host is data: it is escaped,
//! cut to a length, and never read for instructions.

mod generic;
pub(super) mod text;

use super::route::Language;
use serde_json::Value;
use text::name;

/// Longest answer, in characters.
const MAX_CHARS: usize = 24_000;

/// One call with what came back.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) tool: &'a str,
    pub(super) args: &'a Value,
    /// Names of the hosts that it ran on.
    pub(super) hosts: Vec<String>,
    pub(super) content: &'a str,
    pub(super) is_error: bool,
    pub(super) data: Option<&'a Value>,
    /// Whether there are other hosts, so that the answer has to say which one it is about.
    pub(super) several_hosts: bool,
}

/// Shows all results of a turn.
pub(super) fn results(outcomes: &[Outcome<'_>], notes: &[String], language: Language) -> String {
    let mut parts: Vec<String> = notes.to_vec();
    for outcome in outcomes {
        parts.push(one(outcome, language));
    }
    text::cut(&parts.join("\n\n"), MAX_CHARS)
}

fn one(outcome: &Outcome<'_>, language: Language) -> String {
    if outcome.is_error {
        return failure(outcome, language);
    }
    match outcome.data {
        Some(data) => generic::render(outcome.tool, data, language),
        None => text::block(outcome.content),
    }
}

fn failure(outcome: &Outcome<'_>, language: Language) -> String {
    let tool = outcome.tool;
    let said = name(outcome.content);
    language.pick(format!("`{tool}` did not work: {said}"), format!("`{tool}` 실행에 실패했습니다: {said}"))
}

/// Names of the units that a result shows as failed.
pub(super) fn failed_units(_data: &Value) -> Vec<String> {
    Vec::new()
}

/// The start time of a process in a list of processes.
pub(super) fn start_time(_data: &Value, _pid: u64) -> Option<Value> {
    None
}
