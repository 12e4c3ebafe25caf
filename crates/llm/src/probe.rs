//! Asks a model three real things, and tells what works.

use crate::{Completion, LlmError, Message, ModelEvent, ModelRequest, Provider, Usage};
use futures::StreamExt;
use model::Scope;
use serde_json::json;
use skill::LlmTool;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What it said last.
    pub text: String,
    /// Whether its text came in pieces.
    pub streams: bool,
    /// Whether it called the tool that it was asked to call, with the arguments that it was asked to give.
    pub calls_tools: bool,
    /// Whether it made both calls at once.
    pub calls_at_once: bool,
    /// Whether it took the results and answered.
    pub takes_results: bool,
    /// From the first request to the first piece of its answer.
    pub first_token: Option<Duration>,
    /// What all requests cost together.
    pub usage: Usage,
    /// What doesn't work, in sentences.
    pub problems: Vec<String>,
    /// Why it gave no answer at all.
    pub error: Option<LlmError>,
}

/// One answer, and how it came.
struct Heard {
    completion: Completion,
    pieces: usize,
    first: Option<Duration>,
}

/// Asks a provider. Each of the three requests may take `patience`.
pub async fn probe(provider: &dyn Provider, patience: Duration) -> Report {
    let mut report = Report::default();
    match ask(provider, plain(), patience).await {
        Ok(heard) => {
            report.streams = heard.pieces > 1;
            report.first_token = heard.first;
            report.usage.add(heard.completion.usage);
            if !report.streams {
                report.problems.push("Its answer came in one piece: it does not stream.".to_owned());
            }
            if heard.completion.usage == Usage::default() {
                report.problems.push("It does not tell how many tokens it used.".to_owned());
            }
            report.text = heard.completion.text;
        }
        Err(error) => {
            report.error = Some(error);
            return report;
        }
    }
    let request = with_tool();
    match ask(provider, request.clone(), patience).await {
        Ok(heard) => {
            report.usage.add(heard.completion.usage);
            judge_calls(&heard.completion, &mut report);
            if report.calls_tools {
                take_results(provider, request, heard.completion, patience, &mut report).await;
            }
        }
        Err(error) => report.problems.push(format!("It does not take tools: {error}.")),
    }
    report
}

fn judge_calls(completion: &Completion, report: &mut Report) {
    let words: Vec<&str> = completion
        .calls
        .iter()
        .filter(|call| call.name == "ping")
        .filter_map(|call| call.args.as_ref().ok()?.get("word")?.as_str())
        .collect();
    report.calls_tools = !words.is_empty();
    report.calls_at_once = words.len() > 1;
    if completion.calls.is_empty() {
        report.problems.push("It was told to call a tool, and called none.".to_owned());
    } else if words.is_empty() {
        report.problems.push("It called a tool with arguments that do not fit.".to_owned());
    } else if words.len() == 1 {
        report.problems.push("It was told to make two calls at once, and made one.".to_owned());
    }
}

async fn take_results(
    provider: &dyn Provider,
    mut request: ModelRequest,
    completion: Completion,
    patience: Duration,
    report: &mut Report,
) {
    let results: Vec<Message> = completion
        .calls
        .iter()
        .map(|call| Message::Tool {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: "pong".to_owned(),
            is_error: false,
            data: None,
        })
        .collect();
    request.messages.push(Message::Assistant {
        text: completion.text,
        calls: completion.calls,
        provider_data: completion.provider_data,
    });
    request.messages.extend(results);
    request.allow_tools = false;
    match ask(provider, request, patience).await {
        Ok(heard) => {
            report.usage.add(heard.completion.usage);
            report.takes_results = !heard.completion.text.trim().is_empty();
            if report.takes_results {
                report.text = heard.completion.text;
            } else {
                report.problems.push("It said nothing after it got the tool's results.".to_owned());
            }
        }
        Err(error) => report.problems.push(format!("It does not take the results of its calls: {error}.")),
    }
}

async fn ask(provider: &dyn Provider, request: ModelRequest, patience: Duration) -> Result<Heard, LlmError> {
    let cancel = CancellationToken::new();
    let _cancel_at_the_end = cancel.clone().drop_guard();
    let started = Instant::now();
    let mut events = provider.stream(request, cancel);
    let (mut pieces, mut first) = (0, None);
    let listening = async {
        while let Some(event) = events.next().await {
            first.get_or_insert_with(|| started.elapsed());
            match event? {
                ModelEvent::Completed(completion) => return Ok(completion),
                ModelEvent::TextDelta(_) | ModelEvent::ReasoningDelta(_) => pieces += 1,
                ModelEvent::CallStarted { .. } => {}
            }
        }
        Err(LlmError::Protocol("the answer ended without an end".to_owned()))
    };
    let completion = tokio::time::timeout(patience, listening).await.unwrap_or_else(|_| {
        Err(LlmError::Network(format!("no whole answer within {} s", patience.as_secs())))
    })?;
    Ok(Heard { completion, pieces, first })
}

fn plain() -> ModelRequest {
    ModelRequest {
        system: "You are being tested. Answer in one line.".to_owned(),
        messages: vec![Message::User { text: "Count from one to ten, in words.".to_owned() }],
        max_output_tokens: 512,
        ..ModelRequest::default()
    }
}

fn with_tool() -> ModelRequest {
    ModelRequest {
        system: "You are being tested. Do exactly what is asked, by calling the tool.".to_owned(),
        messages: vec![Message::User {
            text: "Call the tool `ping` twice, both calls at once: with the word `steady` and with the word `hand`."
                .to_owned(),
        }],
        tools: vec![LlmTool {
            name: "ping".to_owned(),
            description: "Answers to a word.".to_owned(),
            params: json!({
                "type": "object",
                "properties": {
                    "word": {"type": "string", "description": "The word"},
                    "times": {"type": "integer", "minimum": 1, "maximum": 3, "description": "How often", "default": 1},
                },
                "required": ["word"],
                "additionalProperties": false,
            }),
            scope: Scope::Manager,
        }],
        allow_tools: true,
        max_output_tokens: 1_024,
        ..ModelRequest::default()
    }
}
