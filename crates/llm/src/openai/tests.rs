use super::*;
use crate::replay::{completion, replay, summary, truncate};
use crate::scripted;
use std::collections::BTreeSet;

/// A chunk with a delta.
fn delta(delta: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

/// A chunk with one piece of a call; `piece` is a piece of `tool_calls`.
fn piece(piece: &Value) -> String {
    delta(&json!({"tool_calls": [piece]}))
}

fn finish(reason: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

const DONE: &str = "data: [DONE]\n\n";

fn table() -> Vec<(&'static str, String, Value)> {
    let function = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let two_pieces_of = |index: i64| {
        piece(
            &json!({"index": index, "id": format!("c{index}"), "function": function("load", json!("{\"edge_"))}),
        ) + &piece(&json!({"index": index, "function": {"arguments": "id\":1}"}}))
    };
    vec![
        (
            "plain text",
            delta(&json!({"role": "assistant", "content": ""}))
                + &delta(&json!({"content": "It is "}))
                + &delta(&json!({"content": "좋아요 ✓"}))
                + &finish("stop")
                + DONE,
            json!(["stop", "It is 좋아요 ✓", []]),
        ),
        (
            "parallel calls",
            two_pieces_of(0) + &two_pieces_of(1) + &finish("tool_calls") + DONE,
            json!(["calls", "", ["load {\"edge_id\":1}", "load {\"edge_id\":1}"]]),
        ),
        (
            "parallel calls, interleaved with each other and with text",
            delta(&json!({"content": "Let me "}))
                + &piece(&json!({"index": 0, "id": "a", "function": function("x", json!("{\"n\":"))}))
                + &piece(&json!({"index": 1, "id": "b", "function": function("y", json!("{\"m\":"))}))
                + &delta(&json!({"content": "look"}))
                + &piece(&json!({"index": 0, "function": {"arguments": "1}"}}))
                + &piece(&json!({"index": 1, "function": {"arguments": "2}"}}))
                + &finish("tool_calls")
                + DONE,
            json!(["calls", "Let me look", ["x {\"n\":1}", "y {\"m\":2}"]]),
        ),
        (
            "two calls with one index",
            piece(&json!({"index": 0, "id": "a", "function": function("x", json!("{\"n\":1}"))}))
                + &piece(&json!({"index": 0, "id": "b", "function": function("x", json!("{\"n\":2}"))}))
                + &finish("tool_calls")
                + DONE,
            json!(["calls", "", ["x {\"n\":1}", "x {\"n\":2}"]]),
        ),
        (
            "two calls with one index in one chunk, in pieces",
            delta(&json!({"tool_calls": [
                {"index": 0, "id": "a", "function": function("x", json!(""))},
                {"index": 0, "id": "b", "function": function("y", json!("{\"n\":"))},
            ]})) + &piece(&json!({"index": 0, "function": {"arguments": "2}"}}))
                + &finish("tool_calls")
                + DONE,
            json!(["calls", "", ["x {}", "y {\"n\":2}"]]),
        ),
        (
            "two calls with one index and one id",
            piece(&json!({"index": 0, "id": "a", "function": function("x", json!("{\"n\":1}"))}))
                + &piece(&json!({"index": 0, "id": "a", "function": function("x", json!("{\"n\":2}"))}))
                + &finish("tool_calls")
                + DONE,
            json!(["calls", "", ["x {\"n\":1}", "x {\"n\":2}"]]),
        ),
        (
            "repeated, blank and missing ids",
            piece(&json!({"index": 0, "id": "a", "function": function("x", json!("{}"))}))
                + &piece(&json!({"index": 1, "id": "a", "function": function("x", json!("{}"))}))
                + &piece(&json!({"index": 2, "id": " ", "function": function("x", json!("{}"))}))
                + &piece(&json!({"index": 3, "function": function("x", json!("{}"))}))
                + &finish("tool_calls")
                + DONE,
            json!(["calls", "", ["x {}", "x {}", "x {}", "x {}"]]),
        ),
        (
            "no index at all, whole calls",
            delta(&json!({"tool_calls": [
                {"function": function("x", json!({"n": 1}))}, {"function": function("x", json!({"n": 2}))},
            ]})) + &finish("stop")
                + DONE,
            json!(["calls", "", ["x {\"n\":1}", "x {\"n\":2}"]]),
        ),
        (
            "no index at all, in pieces",
            piece(&json!({"id": "a", "function": function("x", json!("{\"n\""))}))
                + &piece(&json!({"function": {"arguments": ":1}"}}))
                + &piece(&json!({"id": "b", "function": function("y", json!("{\"n\""))}))
                + &piece(&json!({"id": "b", "function": {"arguments": ":2}"}}))
                + &finish("tool_calls")
                + DONE,
            json!(["calls", "", ["x {\"n\":1}", "y {\"n\":2}"]]),
        ),
        (
            "id and name repeated in every piece",
            piece(&json!({"index": 0, "id": "a", "function": function("x", json!("{\"n\""))}))
                + &piece(&json!({"index": 0, "id": "a", "function": function("x", json!(":1}"))}))
                + &piece(&json!({"index": 0, "id": "a", "function": function("x", json!(""))}))
                + &finish("tool_calls")
                + DONE,
            json!(["calls", "", ["x {\"n\":1}"]]),
        ),
        (
            "arguments empty, null, absent, an object",
            piece(&json!({"index": 0, "id": "a", "function": function("x", json!(""))}))
                + &piece(&json!({"index": 1, "id": "b", "function": function("x", Value::Null)}))
                + &piece(&json!({"index": 2, "id": "c", "function": {"name": "x"}}))
                + &piece(&json!({"index": 3, "id": "d", "function": function("x", json!({"n": {"m": 1}}))}))
                + &piece(&json!({"index": 4, "id": "e", "function": function("x", json!("null"))}))
                + &finish("tool_calls")
                + DONE,
            json!(["calls", "", ["x {}", "x {}", "x {}", "x {\"n\":{\"m\":1}}", "x {}"]]),
        ),
        (
            "arguments that are not JSON, not an object, or both forms at once",
            piece(&json!({"index": 0, "id": "a", "function": function("x", json!("{\"n\":1"))}))
                + &piece(&json!({"index": 1, "id": "b", "function": function("x", json!("[1]"))}))
                + &piece(&json!({"index": 2, "id": "c", "function": function("x", json!({"n": 1}))}))
                + &piece(&json!({"index": 2, "function": {"arguments": "{\"n\":1}"}}))
                + &finish("tool_calls")
                + DONE,
            json!(["calls", "", ["x BAD", "x BAD", "x BAD"]]),
        ),
        (
            "stop though there are calls",
            two_pieces_of(0) + &finish("stop") + DONE,
            json!(["calls", "", ["load {\"edge_id\":1}"]]),
        ),
        (
            "tool_calls though there are none",
            delta(&json!({"content": "hi"})) + &finish("tool_calls") + DONE,
            json!(["stop", "hi", []]),
        ),
        (
            "cut by the token limit in a call",
            delta(&json!({"content": "hm"}))
                + &two_pieces_of(0)
                + &piece(&json!({"index": 1, "id": "b", "function": function("x", json!("{\"n\":"))}))
                + &finish("length")
                + DONE,
            json!(["length", "hm", []]),
        ),
        (
            "withheld",
            delta(&json!({"content": "I"})) + &finish("content_filter") + DONE,
            json!(["filter", "I", []]),
        ),
        (
            "the form before tool_calls",
            delta(&json!({"function_call": {"name": "x", "arguments": "{\"n\""}}))
                + &delta(&json!({"function_call": {"arguments": ":1}"}}))
                + &finish("function_call")
                + DONE,
            json!(["calls", "", ["x {\"n\":1}"]]),
        ),
        (
            "no [DONE], but a finish",
            delta(&json!({"content": "hi"})) + &finish("stop"),
            json!(["stop", "hi", []]),
        ),
        (
            "[DONE] without its blank line",
            delta(&json!({"content": "hi"})) + &finish("stop") + "data: [DONE]",
            json!(["stop", "hi", []]),
        ),
        ("no terminal event after text", delta(&json!({"content": "hi"})), json!("Protocol")),
        ("no terminal event after a call", two_pieces_of(0), json!("Protocol")),
        ("nothing", String::new(), json!("Protocol")),
        (
            "an error after text",
            delta(&json!({"content": "hi"}))
                + "data: {\"error\":{\"message\":\"The server is overloaded\",\"type\":\"server_error\"}}\n\n",
            json!("Overloaded"),
        ),
        (
            "a named error event",
            "event: error\ndata: {\"message\":\"rate_limit reached\"}\n\n".to_owned(),
            json!("RateLimited"),
        ),
        ("an error that says nothing", "data: {\"error\":{}}\n\n".to_owned(), json!("Protocol")),
        ("a chunk that is not JSON", "data: {\"choices\":[\n\n".to_owned(), json!("Protocol")),
        (
            "unknown events, comments and odd chunks",
            ": OPENROUTER PROCESSING\n\nevent: x.unknown\ndata: {\"x\":1}\n\ndata: {}\n\ndata: 7\n\ndata:\n\n"
                .to_owned()
                + "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n"
                + &delta(&json!({"content": null, "audio": 1}))
                + &delta(&json!({"content": "hi", "reasoning_content": "hmm"}))
                + "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}}]}\n\n"
                + &finish("stop")
                + DONE + "data: not read any more\n\n",
            json!(["stop", "hi", []]),
        ),
    ]
}

#[test]
fn every_way_of_answering_comes_to_the_same_however_it_is_cut() {
    for (name, stream, expected) in table() {
        let outcome = replay::<ChatDecoder>(name, stream.as_bytes());
        assert_eq!(summary(&outcome), expected, "{name}");
        if let Ok(events) = outcome {
            let calls = &completion(&events).calls;
            let ids: BTreeSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids.len(), calls.len(), "{name}: ids are unique");
            assert!(ids.iter().all(|id| !id.trim().is_empty()), "{name}: ids are not blank");
        }
    }
}

#[test]
fn crlf_line_ends_make_no_difference() {
    for (name, stream, expected) in table() {
        let outcome = replay::<ChatDecoder>(name, stream.replace('\n', "\r\n").as_bytes());
        assert_eq!(summary(&outcome), expected, "{name}");
    }
}

#[test]
fn a_stream_cut_short_never_yields_other_calls() {
    let stream = scripted::openai("a b", &[("x".to_owned(), json!({"n": "é"})), ("y".to_owned(), json!({}))]);
    truncate::<ChatDecoder>("scripted", stream.as_bytes());
}

#[test]
fn usage_is_taken_from_the_last_chunk() {
    let events = replay::<ChatDecoder>("scripted", scripted::openai("hi", &[]).as_bytes()).unwrap();
    assert_eq!(completion(&events).usage, Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() });
}

#[test]
fn a_request_has_the_form_of_the_protocol() {
    let taste = Taste::of(Flavour::Other);
    let bad = crate::BadArguments { raw: "{".to_owned(), reason: "r".to_owned() };
    let request = ModelRequest {
        system: "be brief".to_owned(),
        messages: vec![
            Message::User { text: "hi".to_owned() },
            Message::Assistant {
                text: String::new(),
                calls: vec![
                    ToolCall { id: "a".to_owned(), name: "x".to_owned(), args: Ok(json!({"n": 1})) },
                    ToolCall { id: "b".to_owned(), name: "x".to_owned(), args: Err(bad) },
                ],
                provider_data: None,
            },
            Message::Tool {
                call_id: "a".to_owned(),
                name: "x".to_owned(),
                content: "ok".to_owned(),
                is_error: false,
                data: None,
            },
        ],
        tools: vec![skill::LlmTool {
            name: "x".to_owned(),
            description: "d".to_owned(),
            params: json!({"type": "object"}),
            scope: ::model::Scope::Host,
        }],
        allow_tools: true,
        max_output_tokens: 100,
        hosts: Vec::new(),
        now: None,
    };
    let toolbox = Toolbox::new(Dialect::OpenAiChat, &request.tools);
    insta::assert_json_snapshot!(body("m", &request, &toolbox, Flavour::Other, &taste), @r#"
    {
      "model": "m",
      "messages": [
        {
          "role": "system",
          "content": "be brief"
        },
        {
          "role": "user",
          "content": "hi"
        },
        {
          "role": "assistant",
          "content": null,
          "tool_calls": [
            {
              "id": "a",
              "type": "function",
              "function": {
                "name": "x",
                "arguments": "{\"n\":1}"
              }
            },
            {
              "id": "b",
              "type": "function",
              "function": {
                "name": "x",
                "arguments": "{\"arguments_that_were_not_valid_json\":\"{\"}"
              }
            }
          ]
        },
        {
          "role": "tool",
          "tool_call_id": "a",
          "content": "ok"
        },
        {
          "role": "tool",
          "tool_call_id": "b",
          "content": "no result of this call was kept; whether it ran is in the audit"
        }
      ],
      "stream": true,
      "stream_options": {
        "include_usage": true
      },
      "max_tokens": 100,
      "tools": [
        {
          "type": "function",
          "function": {
            "name": "x",
            "description": "d",
            "parameters": {
              "type": "object",
              "properties": {}
            }
          }
        }
      ]
    }
    "#);
    let without = ModelRequest { allow_tools: false, ..request };
    let without = body("m", &without, &toolbox, Flavour::Other, &taste);
    assert!(without.get("tools").is_none());
}
