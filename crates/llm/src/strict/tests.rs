use super::*;
use crate::history::tests::any_history;
use crate::schema::{Dialect, Toolbox};
use crate::scripted::Format;
use crate::{Endpoint, Message, ModelRequest, anthropic, gemini, ollama, openai, responses};
use proptest::prelude::*;
use serde_json::{Value, json};
use skill::LlmTool;

/// Every body that a provider would send for a request.
fn bodies(request: &ModelRequest) -> Vec<(Format, &'static str, Value)> {
    let toolbox = |dialect| Toolbox::new(dialect, &request.tools);
    let endpoint = Endpoint::new("o", "http://127.0.0.1:1".parse().unwrap(), None, "m");
    let mut out: Vec<(Format, &'static str, Value)> =
        openai::bodies(request).into_iter().map(|(what, body)| (Format::OpenAiChat, what, body)).collect();
    for encrypted in [true, false] {
        let body = responses::body("m", request, &toolbox(Dialect::OpenAiStrict), encrypted);
        out.push((Format::Responses, "responses", body));
    }
    let body = anthropic::body("m", request, &toolbox(Dialect::Anthropic));
    out.push((Format::Anthropic, "anthropic", body));
    for model in ["gemini-2.5-pro", "gemini-3-pro"] {
        out.push((Format::Gemini, model, gemini::body(model, request, &toolbox(Dialect::Gemini))));
    }
    let body = ollama::body(&endpoint, request, &toolbox(Dialect::Ollama));
    out.push((Format::Ollama, "ollama", body));
    out
}

fn request(messages: Vec<Message>, allow_tools: bool) -> ModelRequest {
    let tool = |name: &str| LlmTool {
        name: name.to_owned(),
        description: "d".to_owned(),
        params: json!({"type": "object", "properties": {"n": {"type": ["integer", "string"]}, "키": {}}}),
        scope: ::model::Scope::Host,
    };
    ModelRequest {
        system: "be brief".to_owned(),
        messages,
        tools: vec![tool("load"), tool("net-tools/nft")],
        allow_tools,
        max_output_tokens: 100,
        ..ModelRequest::default()
    }
}

proptest! {
    #[test]
    fn no_conversation_is_sent_that_a_provider_refuses(messages in any_history(), allow_tools in any::<bool>()) {
        let request = request(messages, allow_tools);
        for (format, what, body) in bodies(&request) {
            let verdict = check_request(format, &body);
            prop_assert!(verdict.is_ok(), "{}: {}\n{:#}", what, verdict.unwrap_err(), body);
        }
    }
}

#[test]
fn the_checks_refuse_what_real_servers_refuse() {
    let user = json!({"role": "user", "content": "hi"});
    let call = json!({"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}});
    let asks = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let tells = json!({"role": "tool", "tool_call_id": "a", "content": "ok"});
    for (messages, told) in [
        (json!([user, asks]), "have no results"),
        (json!([user, asks, user]), "must be followed"),
        (json!([user, asks, tells, tells]), "no call"),
        (json!([user, tells]), "no call"),
        (json!([user, {"role": "assistant", "content": ""}, user]), "empty"),
        (json!([user, {"role": "assistant", "content": "a"}]), "ends with"),
        (json!([user, user]), "may not follow"),
        (json!([user, asks, tells, asks, tells]), "comes twice"),
        (json!([{"role": "user", "content": " "}]), "empty"),
    ] {
        let refused = check_request(Format::OpenAiChat, &json!({"model": "m", "messages": messages}));
        assert!(refused.as_ref().is_err_and(|what| what.contains(told)), "{messages}: {refused:?}");
    }
    let say = |role: &str, blocks: Value| json!({"role": role, "content": blocks});
    let hi = json!({"type": "text", "text": "hi"});
    let uses = json!({"type": "tool_use", "id": "a", "name": "x", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "ok"});
    for (messages, told) in [
        (json!([say("assistant", json!([hi]))]), "may not follow"),
        (
            json!([say("user", json!([hi])), say("assistant", json!([uses])), say("user", json!([hi]))]),
            "followed by the results",
        ),
        (
            json!([
                say("user", json!([hi])),
                say("assistant", json!([uses])),
                say("user", json!([hi, result]))
            ]),
            "can't say",
        ),
        (json!([say("user", json!([result]))]), "followed by the results"),
        (json!([say("user", json!([{"type": "text", "text": ""}]))]), "empty"),
        (
            json!([
                say("user", json!([hi])),
                say("assistant", json!([{"type": "thinking", "thinking": "t", "signature": ""}]))
            ]),
            "empty",
        ),
        (json!([say("user", json!([hi])), say("assistant", json!([hi]))]), "must end with the user"),
    ] {
        let refused =
            check_request(Format::Anthropic, &json!({"model": "m", "max_tokens": 1, "messages": messages}));
        assert!(refused.as_ref().is_err_and(|what| what.contains(told)), "{messages}: {refused:?}");
    }
    let content = |role: &str, part: Value| json!({"role": role, "parts": [part]});
    let calls = content("model", json!({"functionCall": {"name": "x", "args": {}}}));
    let says = content("user", json!({"text": "hi"}));
    for (contents, told) in [
        (json!([calls]), "may not follow"),
        (json!([says, calls]), "end with the user"),
        (json!([says, calls, says]), "followed by the responses"),
        (json!([says, {"role": "user", "parts": []}]), "empty"),
    ] {
        let refused = check_request(Format::Gemini, &json!({"contents": contents}));
        assert!(refused.as_ref().is_err_and(|what| what.contains(told)), "{contents}: {refused:?}");
    }
    let called = json!({"type": "function_call", "call_id": "a", "name": "x", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "ok"});
    for (input, told) in [
        (json!([called]), "no output was found"),
        (json!([output]), "no tool call was found"),
        (
            json!([{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}, output]),
            "without what it led to",
        ),
    ] {
        let refused = check_request(Format::Responses, &json!({"model": "m", "input": input}));
        assert!(refused.as_ref().is_err_and(|what| what.contains(told)), "{input}: {refused:?}");
    }
}
