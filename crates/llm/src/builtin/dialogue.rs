//! Decides what to answer to a conversation: make calls, ask back, look further, or show what came back.

use super::hosts::{self, Placed, ids_of};
use super::render::{self, Outcome};
use super::route::{Language, Route, RouteContext, RoutedCall, follow_up, route};
use crate::{Completion, Finish, Message, ModelRequest, ToolCall};
use serde_json::{Value, json};

/// Most rounds of calls for one question.
const MAX_ROUNDS: usize = 3;
/// Words of an answer to a question, or of a follow-up; longer texts stand alone.
const SHORT: usize = 6;

/// Answers the conversation.
pub(super) fn answer(request: &ModelRequest) -> Completion {
    let Some(at) = request.messages.iter().rposition(|message| matches!(message, Message::User { .. }))
    else {
        return say(String::new());
    };
    let Message::User { text } = &request.messages[at] else { return say(String::new()) };
    let language = Language::of(text);
    let since = &request.messages[at + 1..];
    let outcomes = outcomes(since, request);
    if outcomes.is_empty() {
        return begin(text, &request.messages[..at], request, language);
    }
    let rounds = since
        .iter()
        .filter(|message| matches!(message, Message::Assistant { calls, .. } if !calls.is_empty()))
        .count();
    if request.allow_tools && rounds < MAX_ROUNDS {
        let calls = look_further(text, &outcomes, request);
        if !calls.is_empty() {
            return make(String::new(), calls, rounds);
        }
    }
    let notes = first_notes(since);
    say(render::results(&outcomes, &notes, language))
}

/// A fresh question.
fn begin(text: &str, before: &[Message], request: &ModelRequest, language: Language) -> Completion {
    let (routed, words) = understand(text, before, request);
    if routed.calls.is_empty() {
        return say(routed.reply);
    }
    if !request.allow_tools {
        return say(language
            .pick(
                "I can't call tools at this point. Please ask again.",
                "지금은 도구를 쓸 수 없습니다. 다시 물어봐 주세요.",
            )
            .to_owned());
    }
    let calls = look_up_first(&routed.calls);
    let Placed { calls, notes, question } = hosts::place(&calls, &words, request, language);
    if let Some(question) = question {
        return say(question);
    }
    if calls.is_empty() {
        return say(if notes.is_empty() { routed.reply } else { notes.join("\n") });
    }
    let said = if notes.is_empty() { routed.reply } else { notes.join("\n") };
    make(said, calls, 0)
}

/// Routes a text, together with what it continues: the answer to a question of ours, or "and on web-2?".
fn understand(text: &str, before: &[Message], request: &ModelRequest) -> (Route, String) {
    let names: Vec<String> = request.hosts.iter().map(|host| host.name.clone()).collect();
    let context = RouteContext { tools: &request.tools, hosts: &names, now: request.now };
    let routed = route(text, &context);
    let short = text.split_whitespace().count() <= SHORT;
    let earlier = before.iter().rev().find_map(|message| match message {
        Message::User { text } => Some(text.as_str()),
        _ => None,
    });
    let asked = before.iter().rev().find_map(|message| match message {
        Message::Assistant { text, calls, .. } => {
            Some(calls.is_empty() && text.trim_end().ends_with(['?', '요']))
        }
        _ => None,
    });
    if let (true, Some(earlier)) = (short, earlier) {
        if asked == Some(true) {
            let host = request
                .hosts
                .iter()
                .find(|host| host.name.eq_ignore_ascii_case(text.trim().trim_start_matches('@')));
            let joined = match host {
                Some(host) => format!("@{} {earlier}", host.name),
                None => format!("{earlier} {text}"),
            };
            let again = route(&joined, &context);
            if !again.calls.is_empty() && (routed.calls.is_empty() || host.is_some()) {
                return (again, joined);
            }
        }
        if routed.calls.is_empty()
            && !routed.asks
            && let Some(continued) = follow_up(text, earlier, &context)
        {
            return (continued, earlier.to_owned());
        }
    }
    (routed, text.to_owned())
}

/// A process can only be signalled with its start time, so it is looked up first.
fn look_up_first(calls: &[RoutedCall]) -> Vec<RoutedCall> {
    calls
        .iter()
        .map(|call| {
            if call.tool != "kill_process" || call.args.get("start_time").is_some() {
                return call.clone();
            }
            let mut args = json!({"top_n": 200});
            if let (Some(args), Some(host)) = (args.as_object_mut(), call.args.get("host")) {
                args.insert("host".to_owned(), host.clone());
            }
            RoutedCall { tool: "host_processes".to_owned(), args }
        })
        .collect()
}

/// What the results call for: the journal of a failed unit, a longer look back, the kill that was asked for.
fn look_further(text: &str, outcomes: &[Outcome<'_>], request: &ModelRequest) -> Vec<(String, Value)> {
    let offered = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    let mut calls = Vec::new();
    let names: Vec<String> = request.hosts.iter().map(|host| host.name.clone()).collect();
    let routed = route(text, &RouteContext { tools: &request.tools, hosts: &names, now: request.now });
    for outcome in outcomes.iter().filter(|outcome| !outcome.is_error) {
        let Some(data) = outcome.data else { continue };
        match outcome.tool {
            "read_journal" if data.get("entries").and_then(Value::as_array).is_some_and(Vec::is_empty) => {
                let limited = outcome.args.get("since").is_none() && outcome.args.get("boot").is_none();
                let tried = outcomes
                    .iter()
                    .filter(|other| {
                        other.tool == "read_journal"
                            && other.args.get("unit") == outcome.args.get("unit")
                            && other.args.get("edge_id") == outcome.args.get("edge_id")
                    })
                    .count()
                    > 1;
                if limited && !tried {
                    let mut args = outcome.args.clone();
                    if let Some(args) = args.as_object_mut() {
                        args.insert("since".to_owned(), json!("1d"));
                    }
                    calls.push(("read_journal".to_owned(), args));
                }
            }
            "service_status" if offered("read_journal") => {
                let failed = render::failed_units(data);
                let asked = outcome.args.get("service").is_some();
                for unit in failed.into_iter().take(if asked { 1 } else { 0 }) {
                    let edge = ids_of(outcome.args).first().copied();
                    let known = outcomes.iter().any(|other| {
                        other.tool == "read_journal" && ids_of(other.args).first().copied() == edge
                    });
                    let able = request
                        .hosts
                        .iter()
                        .find(|host| Some(host.id) == edge)
                        .is_some_and(|host| host.unmet.get("read_journal").is_none_or(Vec::is_empty));
                    if !known
                        && able
                        && let Some(edge) = edge
                    {
                        calls.push((
                            "read_journal".to_owned(),
                            json!({"edge_id": edge, "unit": unit, "since": "1d", "lines": 50}),
                        ));
                    }
                }
            }
            "host_processes"
                if routed.calls.iter().any(|call| call.tool == "kill_process") && offered("kill_process") =>
            {
                let tried = outcomes.iter().any(|other| other.tool == "kill_process");
                for call in routed.calls.iter().filter(|call| call.tool == "kill_process" && !tried) {
                    let Some(pid) = call.args.get("pid").and_then(Value::as_u64) else { continue };
                    let start = render::start_time(data, pid);
                    if let (Some(start), Some(edge)) = (start, ids_of(outcome.args).first()) {
                        let mut args = json!({"edge_id": edge});
                        if let (Some(args), Some(more)) = (args.as_object_mut(), call.args.as_object()) {
                            args.extend(
                                more.iter()
                                    .filter(|(key, _)| *key != "host")
                                    .map(|(key, value)| (key.clone(), value.clone())),
                            );
                            args.insert("start_time".to_owned(), start);
                        }
                        calls.push(("kill_process".to_owned(), args));
                    }
                }
            }
            _ => {}
        }
    }
    calls
}

/// The calls since the question, with what came back.
fn outcomes<'a>(since: &'a [Message], request: &'a ModelRequest) -> Vec<Outcome<'a>> {
    let mut outcomes = Vec::new();
    let mut calls: &[ToolCall] = &[];
    for message in since {
        match message {
            Message::Assistant { calls: made, .. } => calls = made,
            Message::Tool { call_id, name, content, is_error, data } => {
                static NOTHING: Value = Value::Null;
                let args = calls
                    .iter()
                    .find(|call| call.id == *call_id)
                    .and_then(|call| call.args.as_ref().ok())
                    .unwrap_or(&NOTHING);
                let hosts = ids_of(args)
                    .into_iter()
                    .map(|id| {
                        request
                            .hosts
                            .iter()
                            .find(|host| host.id == id)
                            .map_or_else(|| format!("edge {id}"), |host| host.name.clone())
                    })
                    .collect();
                outcomes.push(Outcome {
                    tool: name,
                    args,
                    hosts,
                    content,
                    is_error: *is_error,
                    data: data.as_ref(),
                    several_hosts: request.hosts.len() > 1,
                });
            }
            Message::User { .. } => {}
        }
    }
    outcomes
}

/// What was said about hosts that lack something, so that the answer says it too.
fn first_notes(since: &[Message]) -> Vec<String> {
    since
        .iter()
        .find_map(|message| match message {
            Message::Assistant { text, .. } => Some(
                text.lines()
                    .filter(|line| {
                        line.starts_with('`') && line.contains("can't run on")
                            || line.contains("실행할 수 없습니다")
                    })
                    .map(str::to_owned)
                    .collect(),
            ),
            _ => None,
        })
        .unwrap_or_default()
}

fn say(text: String) -> Completion {
    Completion { text, finish: Finish::Stop, ..Completion::default() }
}

fn make(text: String, calls: Vec<(String, Value)>, round: usize) -> Completion {
    let calls = calls
        .into_iter()
        .take(super::MAX_CALLS)
        .enumerate()
        .map(|(index, (name, args))| ToolCall {
            id: format!("builtin-{round}-{index}"),
            name,
            args: Ok(args),
        })
        .collect();
    Completion { text, calls, finish: Finish::ToolCalls, ..Completion::default() }
}
