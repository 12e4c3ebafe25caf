use super::*;
use crate::replay::{completion, replay, summary, truncate};
use crate::scripted;

fn chunk(value: &Value) -> String {
    format!("data: {value}\r\n\r\n")
}

fn parts(parts: &Value) -> String {
    chunk(&json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}]}))
}

fn finish(reason: &str) -> String {
    chunk(&json!({
        "candidates": [{"content": {"parts": [], "role": "model"}, "finishReason": reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "cachedContentTokenCount": 8},
    }))
}

fn call(name: &str, args: &Value) -> Value {
    json!({"functionCall": {"name": name, "args": args}})
}

fn table() -> Vec<(&'static str, String, Value)> {
    vec![
        (
            "plain text",
            parts(&json!([{"text": "It is "}])) + &parts(&json!([{"text": "좋아요 ✓"}])) + &finish("STOP"),
            json!(["stop", "It is 좋아요 ✓", []]),
        ),
        (
            "parallel calls in one chunk, with text before",
            parts(&json!([{"text": "Look."}, call("x", &json!({"n": 1})), call("x", &json!({"n": 1}))]))
                + &finish("STOP"),
            json!(["calls", "Look.", ["x {\"n\":1}", "x {\"n\":1}"]]),
        ),
        (
            "parallel calls in chunks of their own, without arguments",
            parts(&json!([call("x", &json!({}))]))
                + &parts(&json!([{"functionCall": {"name": "y"}}]))
                + &finish("STOP"),
            json!(["calls", "", ["x {}", "y {}"]]),
        ),
        (
            "thoughts",
            parts(&json!([{"text": "Hm", "thought": true}]))
                + &parts(&json!([{"text": "Yes"}]))
                + &finish("STOP"),
            json!(["stop", "Yes", []]),
        ),
        (
            "cut by the token limit, with a call",
            parts(&json!([{"text": "a"}, call("x", &json!({}))])) + &finish("MAX_TOKENS"),
            json!(["length", "a", []]),
        ),
        ("withheld", parts(&json!([{"text": "I"}])) + &finish("SAFETY"), json!(["filter", "I", []])),
        ("recited", finish("RECITATION"), json!(["filter", "", []])),
        ("a call that the model wrote wrongly", finish("MALFORMED_FUNCTION_CALL"), json!("Protocol")),
        (
            "the request was refused",
            chunk(&json!({"promptFeedback": {"blockReason": "SAFETY"}})),
            json!("ContentFilter"),
        ),
        ("nothing", String::new(), json!("Protocol")),
        ("no end", parts(&json!([{"text": "hi"}])), json!("Protocol")),
        ("no end after a call", parts(&json!([call("x", &json!({}))])), json!("Protocol")),
        (
            "an error after text",
            parts(&json!([{"text": "hi"}]))
                + &chunk(
                    &json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
                ),
            json!("Overloaded"),
        ),
        (
            "a limit after text",
            parts(&json!([{"text": "hi"}]))
                + &chunk(
                    &json!({"error": {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED"}}),
                ),
            json!("RateLimited"),
        ),
        ("a piece that is not JSON", "data: {\"candidates\":[\n\n".to_owned(), json!("Protocol")),
        (
            "comments, usage alone, other candidates and odd parts",
            ": ping\n\n".to_owned()
                + &chunk(&json!({"usageMetadata": {"promptTokenCount": 1}, "modelVersion": "m"}))
                + &parts(&json!([{"text": ""}, {"executableCode": {"code": "1"}}, {"inlineData": {}}]))
                + &chunk(&json!({"candidates": []}))
                + &parts(&json!([{"text": "hi"}]))
                + &finish("STOP"),
            json!(["stop", "hi", []]),
        ),
    ]
}

#[test]
fn every_way_of_answering_comes_to_the_same_however_it_is_cut() {
    for (name, stream, expected) in table() {
        let outcome = replay::<GeminiDecoder>(name, stream.as_bytes());
        assert_eq!(summary(&outcome), expected, "{name}");
        if let Ok(events) = outcome {
            let usage =
                Usage { input_tokens: 20, output_tokens: 8, cached_input_tokens: 8, ..Usage::default() };
            assert_eq!(completion(&events).usage, usage, "{name}");
        }
    }
}

#[test]
fn a_stream_cut_short_never_yields_other_calls() {
    let stream = scripted::gemini("a b", &[("x".to_owned(), json!({"n": "é"})), ("y".to_owned(), json!({}))]);
    truncate::<GeminiDecoder>("scripted", stream.as_bytes());
}

#[test]
fn signatures_come_back_on_the_parts_that_they_came_with() {
    let stream = parts(&json!([{"text": "Look.", "thoughtSignature": "dGV4dA=="}]))
        + &parts(&json!([
            {"functionCall": {"name": "x", "args": {}}, "thoughtSignature": "Y2FsbA=="}, call("y", &json!({})),
        ]))
        + &finish("STOP");
    let events = replay::<GeminiDecoder>("signed", stream.as_bytes()).unwrap();
    let done = completion(&events).clone();
    let history = [
        Message::User { text: "hi".to_owned() },
        Message::Assistant { text: done.text, calls: done.calls, provider_data: done.provider_data },
    ];
    let sent = contents("gemini-3-pro", &history);
    assert_eq!(
        sent[1]["parts"],
        json!([
            {"text": "Look.", "thoughtSignature": "dGV4dA=="},
            {"functionCall": {"name": "x", "args": {}}, "thoughtSignature": "Y2FsbA=="},
            {"functionCall": {"name": "y", "args": {}}},
        ])
    );
}

#[test]
fn calls_of_another_model_are_marked_where_signatures_are_wanted() {
    let call = |id: &str| crate::ToolCall { id: id.to_owned(), name: "x".to_owned(), args: Ok(json!({})) };
    let history = [
        Message::User { text: "hi".to_owned() },
        Message::Assistant {
            text: String::new(),
            calls: vec![call("a"), call("b")],
            provider_data: Some(json!([{"type": "thinking"}])),
        },
    ];
    let signatures = |model: &str| -> Vec<Value> {
        contents(model, &history)[1]["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["thoughtSignature"].clone())
            .collect()
    };
    assert_eq!(signatures("gemini-3-flash"), [json!(FOREIGN_SIGNATURE), Value::Null]);
    assert_eq!(signatures("gemini-2.5-pro"), [Value::Null, Value::Null]);
}
