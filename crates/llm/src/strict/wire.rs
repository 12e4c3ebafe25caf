//! Refuses whole requests as the providers do: the order of roles, calls and their results, ids, names, empty words.

use super::check_schema;
use crate::schema::{Dialect, is_legal};
use crate::scripted::Format;
use serde_json::Value;
use std::collections::BTreeSet;

/// Checks the body of a request.
///
/// # Errors
///
/// Fails with the rule that is broken, and where.
pub fn check_request(format: Format, body: &Value) -> Result<(), String> {
    match format {
        Format::OpenAiChat => chat(body),
        Format::Responses => responses(body),
        Format::Anthropic => anthropic(body),
        Format::Gemini => gemini(body),
        Format::Ollama => ollama(body),
    }
}

fn list<'v>(value: &'v Value, field: &str) -> Result<&'v Vec<Value>, String> {
    value.get(field).and_then(Value::as_array).ok_or_else(|| format!("`{field}` must be a list: {value}"))
}

fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str, String> {
    value.get(field).and_then(Value::as_str).ok_or_else(|| format!("`{field}` must be a text: {value}"))
}

fn words<'v>(value: &'v Value, field: &str) -> Result<&'v str, String> {
    let words = text(value, field)?;
    if words.trim().is_empty() { Err(format!("`{field}` is empty: {value}")) } else { Ok(words) }
}

fn name(value: &Value) -> Result<(), String> {
    let name = text(value, "name")?;
    if is_legal(name) { Ok(()) } else { Err(format!("a function may not be called `{name}`")) }
}

/// Ids: letters, digits, `_` and `-`, at most `most` of them; each once.
fn id(id: &str, most: usize, seen: &mut BTreeSet<String>) -> Result<(), String> {
    let is_legal = (1..=most).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if !is_legal {
        return Err(format!("`{id}` is no id"));
    }
    if seen.insert(id.to_owned()) { Ok(()) } else { Err(format!("the id `{id}` comes twice")) }
}

fn arguments(value: &Value) -> Result<(), String> {
    match serde_json::from_str::<Value>(text(value, "arguments")?) {
        Ok(Value::Object(_)) => Ok(()),
        _ => Err(format!("`arguments` must be an object as text: {value}")),
    }
}

/// Tools as both of OpenAI's protocols and Ollama have them.
fn functions<'v>(
    dialect: Dialect,
    functions: impl Iterator<Item = &'v Value>,
    params: &str,
) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for function in functions {
        name(function)?;
        if !names.insert(text(function, "name")?) {
            return Err(format!("two functions have one name: {function}"));
        }
        let strict = function.get("strict") == Some(&Value::Bool(true));
        let dialect = if strict { Dialect::OpenAiStrict } else { dialect };
        check_schema(dialect, strict, function.get(params)).map_err(|what| format!("{what}: {function}"))?;
    }
    Ok(())
}

fn chat(body: &Value) -> Result<(), String> {
    text(body, "model")?;
    if let Some(tools) = body.get("tools").and_then(Value::as_array) {
        functions(Dialect::OpenAiChat, tools.iter().filter_map(|tool| tool.get("function")), "parameters")?;
    }
    let mut ids = BTreeSet::new();
    let mut waiting: Vec<String> = Vec::new();
    let mut last = "";
    for (place, message) in list(body, "messages")?.iter().enumerate() {
        let role = text(message, "role")?;
        if role != "tool" && !waiting.is_empty() {
            return Err(format!("`tool_calls` must be followed by their results, and {waiting:?} have none"));
        }
        match role {
            "system" if place == 0 => {}
            "user" if last != "user" => {
                words(message, "content")?;
            }
            "assistant" if last == "user" || last == "tool" => {
                let calls = message.get("tool_calls").and_then(Value::as_array);
                let has_words = message.get("content").is_some_and(|content| !content.is_null());
                if has_words {
                    words(message, "content")?;
                } else if calls.is_none_or(Vec::is_empty) {
                    return Err(format!("a message of the assistant is empty: {message}"));
                }
                for call in calls.into_iter().flatten() {
                    id(text(call, "id")?, 40, &mut ids)?;
                    let function = call.get("function").unwrap_or(&Value::Null);
                    name(function)?;
                    arguments(function)?;
                    waiting.push(text(call, "id")?.to_owned());
                }
            }
            "tool" => {
                words(message, "content")?;
                let answers = text(message, "tool_call_id")?;
                if waiting.first().map(String::as_str) != Some(answers) {
                    return Err(format!("`{answers}` is the result of no call before it, or out of order"));
                }
                waiting.remove(0);
            }
            other => return Err(format!("`{other}` may not follow `{last}`")),
        }
        last = role;
    }
    finished(&waiting, last)
}

fn finished(waiting: &[String], last: &str) -> Result<(), String> {
    if !waiting.is_empty() {
        return Err(format!("{waiting:?} have no results"));
    }
    if matches!(last, "user" | "tool") { Ok(()) } else { Err(format!("it ends with `{last}`")) }
}

fn responses(body: &Value) -> Result<(), String> {
    text(body, "model")?;
    if let Some(tools) = body.get("tools").and_then(Value::as_array) {
        if tools.iter().any(|tool| tool.get("strict").is_none()) {
            return Err("`strict` is on where it isn't said".to_owned());
        }
        functions(Dialect::OpenAiChat, tools.iter(), "parameters")?;
    }
    let mut ids = BTreeSet::new();
    let mut waiting: Vec<String> = Vec::new();
    let mut last = "";
    for item in list(body, "input")? {
        let kind = text(item, "type")?;
        if last == "reasoning" && kind != "function_call" && kind != "reasoning" && kind != "message" {
            return Err(format!("a reasoning item without what it led to, before {item}"));
        }
        match kind {
            "message" => {
                let role = text(item, "role")?;
                let (part, is_user) = match role {
                    "user" => ("input_text", true),
                    "assistant" => ("output_text", false),
                    other => return Err(format!("there is no role `{other}`")),
                };
                if is_user && last == "reasoning" {
                    return Err("a reasoning item without what it led to".to_owned());
                }
                if is_user && !waiting.is_empty() {
                    return Err(format!("no output was found for the calls {waiting:?}"));
                }
                for content in list(item, "content")? {
                    if text(content, "type")? != part {
                        return Err(format!("{role} can't say {content}"));
                    }
                    words(content, "text")?;
                }
            }
            "reasoning" => {
                list(item, "summary")?;
                words(item, "encrypted_content")?;
                words(item, "id")?;
                if item.get("content").is_some() {
                    return Err("a reasoning item may not hold its plain text".to_owned());
                }
            }
            "function_call" => {
                id(text(item, "call_id")?, 64, &mut ids)?;
                name(item)?;
                arguments(item)?;
                waiting.push(text(item, "call_id")?.to_owned());
            }
            "function_call_output" => {
                words(item, "output")?;
                let answers = text(item, "call_id")?;
                let Some(place) = waiting.iter().position(|id| id == answers) else {
                    return Err(format!("no tool call was found for the output `{answers}`"));
                };
                waiting.remove(place);
            }
            other => return Err(format!("there is no item `{other}`")),
        }
        last = kind;
    }
    if waiting.is_empty() { Ok(()) } else { Err(format!("no output was found for the calls {waiting:?}")) }
}

fn anthropic(body: &Value) -> Result<(), String> {
    text(body, "model")?;
    if !body.get("max_tokens").is_some_and(Value::is_u64) {
        return Err("`max_tokens` is missing".to_owned());
    }
    if let Some(tools) = body.get("tools").and_then(Value::as_array) {
        functions(Dialect::Anthropic, tools.iter(), "input_schema")?;
    }
    if body.to_string().matches("\"cache_control\"").count() > 4 {
        return Err("at most 4 blocks may be marked with `cache_control`".to_owned());
    }
    let mut ids = BTreeSet::new();
    let mut waiting: BTreeSet<String> = BTreeSet::new();
    let mut last = "";
    for message in list(body, "messages")? {
        let role = text(message, "role")?;
        if role == last || !matches!(role, "user" | "assistant") || last.is_empty() && role != "user" {
            return Err(format!("`{role}` may not follow `{last}`"));
        }
        let blocks = list(message, "content")?;
        if blocks.is_empty() {
            return Err(format!("a message of `{role}` is empty"));
        }
        let mut results = BTreeSet::new();
        let mut is_past_results = false;
        let mut is_past_thinking = false;
        for block in blocks {
            match (role, text(block, "type")?) {
                (_, "text") => {
                    let words = words(block, "text")?;
                    if role == "assistant"
                        && words.trim_end() != words
                        && std::ptr::eq(block, &blocks[blocks.len() - 1])
                    {
                        return Err("the assistant's words end in white space".to_owned());
                    }
                    is_past_results = true;
                    is_past_thinking = true;
                }
                ("assistant", "tool_use") => {
                    id(text(block, "id")?, 64, &mut ids)?;
                    name(block)?;
                    if !block.get("input").is_some_and(Value::is_object) {
                        return Err(format!("`input` must be an object: {block}"));
                    }
                    is_past_thinking = true;
                }
                ("assistant", "thinking") if !is_past_thinking => {
                    words(block, "signature")?;
                    text(block, "thinking")?;
                }
                ("assistant", "redacted_thinking") if !is_past_thinking => {
                    words(block, "data")?;
                }
                ("user", "tool_result") if !is_past_results => {
                    words(block, "content")?;
                    if !results.insert(text(block, "tool_use_id")?.to_owned()) {
                        return Err(format!("a second result: {block}"));
                    }
                }
                _ => return Err(format!("`{role}` can't say {block} here")),
            }
        }
        if role == "user" && results != waiting {
            return Err(format!("the calls {waiting:?} are followed by the results {results:?}"));
        }
        waiting = blocks
            .iter()
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"))
            .filter_map(|block| block.get("id")?.as_str())
            .map(str::to_owned)
            .collect();
        last = role;
    }
    if last == "user" { Ok(()) } else { Err("the conversation must end with the user".to_owned()) }
}

fn gemini(body: &Value) -> Result<(), String> {
    for tool in body.get("tools").and_then(Value::as_array).into_iter().flatten() {
        functions(Dialect::Gemini, list(tool, "functionDeclarations")?.iter(), "parameters")?;
    }
    let mut called: Vec<String> = Vec::new();
    let mut last = "";
    for content in list(body, "contents")? {
        let role = text(content, "role")?;
        if role == "model" && last != "user" || !matches!(role, "user" | "model") {
            return Err(format!("`{role}` may not follow `{last}`"));
        }
        let parts = list(content, "parts")?;
        if parts.is_empty() {
            return Err(format!("a message of `{role}` is empty"));
        }
        let mut answered = Vec::new();
        let mut calls = Vec::new();
        for part in parts {
            if let Some(call) = part.get("functionCall").filter(|_| role == "model") {
                name(call)?;
                if !call.get("args").is_some_and(Value::is_object) {
                    return Err(format!("`args` must be an object: {call}"));
                }
                calls.push(text(call, "name")?.to_owned());
            } else if let Some(response) = part.get("functionResponse").filter(|_| role == "user") {
                name(response)?;
                if !response.get("response").is_some_and(Value::is_object) {
                    return Err(format!("`response` must be an object: {response}"));
                }
                answered.push(text(response, "name")?.to_owned());
            } else {
                words(part, "text")?;
            }
        }
        if answered != called {
            return Err(format!("the calls of {called:?} are followed by the responses of {answered:?}"));
        }
        if !answered.is_empty() && answered.len() != parts.len() {
            return Err("responses and words may not be in one message".to_owned());
        }
        called = calls;
        last = role;
    }
    if last == "user" { Ok(()) } else { Err("the conversation must end with the user".to_owned()) }
}

fn ollama(body: &Value) -> Result<(), String> {
    text(body, "model")?;
    if let Some(tools) = body.get("tools").and_then(Value::as_array) {
        functions(Dialect::Ollama, tools.iter().filter_map(|tool| tool.get("function")), "parameters")?;
    }
    let mut waiting: Vec<String> = Vec::new();
    let mut last = "";
    for (place, message) in list(body, "messages")?.iter().enumerate() {
        let role = text(message, "role")?;
        if role != "tool" && !waiting.is_empty() {
            return Err(format!("{waiting:?} have no results"));
        }
        match role {
            "system" if place == 0 => {}
            "user" if last != "user" => {
                words(message, "content")?;
            }
            "assistant" if last == "user" || last == "tool" => {
                let calls = message.get("tool_calls").and_then(Value::as_array);
                text(message, "content")?;
                if calls.is_none_or(Vec::is_empty) {
                    words(message, "content")?;
                }
                for call in calls.into_iter().flatten() {
                    let function = call.get("function").unwrap_or(&Value::Null);
                    name(function)?;
                    if !function.get("arguments").is_some_and(Value::is_object) {
                        return Err(format!("`arguments` must be an object: {call}"));
                    }
                    waiting.push(text(function, "name")?.to_owned());
                }
            }
            "tool" => {
                words(message, "content")?;
                let answers = text(message, "tool_name")?;
                if waiting.first().map(String::as_str) != Some(answers) {
                    return Err(format!("the result of `{answers}` answers no call, or is out of order"));
                }
                waiting.remove(0);
            }
            other => return Err(format!("`{other}` may not follow `{last}`")),
        }
        last = role;
    }
    finished(&waiting, last)
}
