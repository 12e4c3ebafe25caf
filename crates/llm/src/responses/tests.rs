use super::*;
use crate::replay::{completion, replay, summary, truncate};
use crate::scripted;

fn event(kind: &str, mut data: Value) -> String {
    data["type"] = json!(kind);
    format!("event: {kind}\ndata: {data}\n\n")
}

fn text(place: i64, words: &str) -> String {
    event(
        "response.output_item.added",
        json!({"output_index": place, "item": {"type": "message", "content": []}}),
    ) + &event("response.output_text.delta", json!({"output_index": place, "delta": words}))
        + &event("response.output_text.done", json!({"output_index": place, "text": words}))
        + &event(
            "response.output_item.done",
            json!({
                "output_index": place, "item": {"type": "message", "content": [{"type": "output_text", "text": words}]},
            }),
        )
}

fn call(place: i64, id: &str, pieces: &[&str]) -> String {
    let all = pieces.concat();
    let mut out = event(
        "response.output_item.added",
        json!({
            "output_index": place, "item": {"type": "function_call", "call_id": id, "name": "x", "arguments": ""},
        }),
    );
    for piece in pieces {
        out +=
            &event("response.function_call_arguments.delta", json!({"output_index": place, "delta": piece}));
    }
    out + &event("response.function_call_arguments.done", json!({"output_index": place, "arguments": all}))
        + &event(
            "response.output_item.done",
            json!({
                "output_index": place, "item": {"type": "function_call", "call_id": id, "name": "x", "arguments": all},
            }),
        )
}

fn end(kind: &str, mut response: Value) -> String {
    response["usage"] =
        json!({"input_tokens": 30, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 16}});
    event(kind, json!({"response": response}))
}

fn completed() -> String {
    end("response.completed", json!({"status": "completed", "error": null}))
}

fn table() -> Vec<(&'static str, String, Value)> {
    let begun = event("response.created", json!({"response": {"status": "in_progress"}}));
    vec![
        (
            "plain text",
            begun.clone() + &text(0, "It is 좋아요 ✓") + &completed(),
            json!(["stop", "It is 좋아요 ✓", []]),
        ),
        (
            "text and parallel calls",
            text(0, "Look.")
                + &call(1, "a", &["{\"n\"", ":1}"])
                + &call(2, "b", &["{\"n\":1}"])
                + &completed(),
            json!(["calls", "Look.", ["x {\"n\":1}", "x {\"n\":1}"]]),
        ),
        (
            "calls that overlap",
            event(
                "response.output_item.added",
                json!({"output_index": 0, "item": {"type": "function_call", "call_id": "a", "name": "x"}}),
            ) + &event(
                "response.output_item.added",
                json!({"output_index": 1, "item": {"type": "function_call", "call_id": "b", "name": "y"}}),
            ) + &event(
                "response.function_call_arguments.delta",
                json!({"output_index": 1, "delta": "{\"m\":2}"}),
            ) + &event(
                "response.function_call_arguments.delta",
                json!({"output_index": 0, "delta": "{\"n\":1}"}),
            ) + &completed(),
            json!(["calls", "", ["x {\"n\":1}", "y {\"m\":2}"]]),
        ),
        (
            "items that come only whole",
            event(
                "response.output_item.done",
                json!({"output_index": 0, "item": {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}}),
            ) + &event(
                "response.output_item.done",
                json!({"output_index": 1, "item": {"type": "function_call", "call_id": "a", "name": "x", "arguments": "{\"n\":1}"}}),
            ) + &completed(),
            json!(["calls", "hi", ["x {\"n\":1}"]]),
        ),
        (
            "everything in the last event",
            end(
                "response.completed",
                json!({"status": "completed", "output": [
                    {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
                    {"type": "function_call", "call_id": "a", "name": "x", "arguments": "{}"},
                ]}),
            ),
            json!(["calls", "hi", ["x {}"]]),
        ),
        (
            "arguments that are not JSON",
            call(0, "a", &["{\"n\":"]) + &completed(),
            json!(["calls", "", ["x BAD"]]),
        ),
        (
            "a refusal",
            event("response.refusal.delta", json!({"output_index": 0, "delta": "I can't."})) + &completed(),
            json!(["stop", "I can't.", []]),
        ),
        (
            "cut by the token limit in a call",
            text(0, "hm")
                + &call(1, "a", &["{\"n\":"])
                + &end(
                    "response.incomplete",
                    json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
                ),
            json!(["length", "hm", []]),
        ),
        (
            "withheld",
            text(0, "I")
                + &end(
                    "response.incomplete",
                    json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}),
                ),
            json!(["filter", "I", []]),
        ),
        (
            "failed with its reason",
            text(0, "hi")
                + &end(
                    "response.failed",
                    json!({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow down"}}),
                ),
            json!("RateLimited"),
        ),
        ("failed without one", end("response.failed", json!({"status": "failed"})), json!("Protocol")),
        (
            "an error event",
            text(0, "hi")
                + &event("error", json!({"code": "server_error", "message": "The server had an error"})),
            json!("Overloaded"),
        ),
        ("nothing", String::new(), json!("Protocol")),
        ("no end", text(0, "hi"), json!("Protocol")),
        ("no end after a call", call(0, "a", &["{}"]), json!("Protocol")),
        ("a piece that is not JSON", "data: {\n\n".to_owned(), json!("Protocol")),
        (
            "comments, unknown events and more after the end",
            ": keep-alive\n\n".to_owned()
                + &event("response.web_search_call.searching", json!({"output_index": 0}))
                + &event("response.reasoning_summary_text.delta", json!({"output_index": 0, "delta": "Hm"}))
                + &text(1, "hi")
                + &completed()
                + "data: not read any more\n\n",
            json!(["stop", "hi", []]),
        ),
    ]
}

#[test]
fn every_way_of_answering_comes_to_the_same_however_it_is_cut() {
    for (name, stream, expected) in table() {
        let outcome = replay::<ResponsesDecoder>(name, stream.as_bytes());
        assert_eq!(summary(&outcome), expected, "{name}");
        if let Ok(events) = outcome {
            let usage =
                Usage { input_tokens: 30, output_tokens: 4, cached_input_tokens: 16, ..Usage::default() };
            assert_eq!(completion(&events).usage, usage, "{name}");
        }
    }
}

#[test]
fn a_stream_cut_short_never_yields_other_calls() {
    let stream =
        scripted::responses("a b", &[("x".to_owned(), json!({"n": "é"})), ("y".to_owned(), json!({}))]);
    truncate::<ResponsesDecoder>("scripted", stream.as_bytes());
}

#[test]
fn encrypted_reasoning_comes_back_before_what_it_led_to_and_nothing_else_does() {
    let item = |fields: Value| event("response.output_item.done", json!({"output_index": 0, "item": fields}));
    let stream = item(
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc", "status": "completed"}),
    ) + &call(1, "a", &["{}"])
        + &completed();
    let events = replay::<ResponsesDecoder>("reasoning", stream.as_bytes()).unwrap();
    let done = completion(&events).clone();
    let request = ModelRequest {
        messages: vec![
            Message::User { text: "hi".to_owned() },
            Message::Assistant { text: String::new(), calls: done.calls, provider_data: done.provider_data },
        ],
        ..ModelRequest::default()
    };
    let kinds = |encrypted| -> Vec<String> {
        let body = body("m", &request, &Toolbox::default(), encrypted);
        body["input"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["type"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(kinds(true), ["message", "reasoning", "function_call", "function_call_output"]);
    assert_eq!(kinds(false), ["message", "function_call", "function_call_output"]);
    let sent = body("m", &request, &Toolbox::default(), true);
    assert_eq!(
        sent["input"][1],
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"})
    );
    assert_eq!(sent["store"], false);
}
