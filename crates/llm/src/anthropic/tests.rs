use super::*;
use crate::replay::{completion, replay, summary, truncate};
use crate::{BadArguments, ToolCall, scripted};
use std::collections::BTreeSet;

fn event(kind: &str, mut data: Value) -> String {
    data["type"] = json!(kind);
    format!("event: {kind}\ndata: {data}\n\n")
}

fn start() -> String {
    event(
        "message_start",
        json!({"message": {"usage": {"input_tokens": 7, "cache_read_input_tokens": 100, "output_tokens": 1}}}),
    )
}

fn begin(index: i64, block: &Value) -> String {
    event("content_block_start", json!({"index": index, "content_block": block}))
}

fn delta(index: i64, delta: &Value) -> String {
    event("content_block_delta", json!({"index": index, "delta": delta}))
}

fn json_piece(index: i64, piece: &str) -> String {
    delta(index, &json!({"type": "input_json_delta", "partial_json": piece}))
}

fn end(index: i64) -> String {
    event("content_block_stop", json!({"index": index}))
}

fn text(index: i64, words: &str) -> String {
    begin(index, &json!({"type": "text", "text": ""}))
        + &delta(index, &json!({"type": "text_delta", "text": words}))
        + &end(index)
}

fn call(index: i64, id: &str, pieces: &[&str]) -> String {
    let mut out = begin(index, &json!({"type": "tool_use", "id": id, "name": "x", "input": {}}));
    for piece in pieces {
        out.push_str(&json_piece(index, piece));
    }
    out + &end(index)
}

fn finish(reason: &str) -> String {
    event("message_delta", json!({"delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}))
        + &event("message_stop", json!({}))
}

fn table() -> Vec<(&'static str, String, Value)> {
    vec![
        (
            "plain text",
            start() + &text(0, "It is 좋아요 ✓") + &finish("end_turn"),
            json!(["stop", "It is 좋아요 ✓", []]),
        ),
        (
            "text and parallel calls",
            start()
                + &text(0, "Let me look.")
                + &call(1, "a", &["", "{\"n\"", ":1}"])
                + &call(2, "b", &["{\"n\":", "2}"])
                + &finish("tool_use"),
            json!(["calls", "Let me look.", ["x {\"n\":1}", "x {\"n\":2}"]]),
        ),
        (
            "blocks that overlap, with text in between",
            start()
                + &begin(0, &json!({"type": "tool_use", "id": "a", "name": "x", "input": {}}))
                + &begin(1, &json!({"type": "text", "text": "Hm"}))
                + &begin(2, &json!({"type": "tool_use", "id": "b", "name": "y", "input": {}}))
                + &json_piece(2, "{\"m\":")
                + &json_piece(0, "{\"n\":1}")
                + &delta(1, &json!({"type": "text_delta", "text": "."}))
                + &json_piece(2, "2}")
                + &end(0)
                + &end(1)
                + &end(2)
                + &finish("tool_use"),
            json!(["calls", "Hm.", ["x {\"n\":1}", "y {\"m\":2}"]]),
        ),
        (
            "two calls with one index",
            start() + &call(0, "a", &["{\"n\":1}"]) + &call(0, "b", &["{\"n\":2}"]) + &finish("tool_use"),
            json!(["calls", "", ["x {\"n\":1}", "x {\"n\":2}"]]),
        ),
        (
            "repeated, blank and missing ids",
            start()
                + &call(0, "a", &[])
                + &call(1, "a", &[])
                + &call(2, " ", &[])
                + &begin(3, &json!({"type": "tool_use", "name": "x"}))
                + &end(3)
                + &finish("tool_use"),
            json!(["calls", "", ["x {}", "x {}", "x {}", "x {}"]]),
        ),
        (
            "input in the first event",
            start()
                + &begin(0, &json!({"type": "tool_use", "id": "a", "name": "x", "input": {"n": 1}}))
                + &end(0)
                + &begin(1, &json!({"type": "tool_use", "id": "b", "name": "x", "input": null}))
                + &end(1)
                + &begin(2, &json!({"type": "tool_use", "id": "c", "name": "x", "input": ""}))
                + &end(2)
                + &finish("tool_use"),
            json!(["calls", "", ["x {\"n\":1}", "x {}", "x {}"]]),
        ),
        (
            "arguments that are not JSON or not an object",
            start() + &call(0, "a", &["{\"n\":"]) + &call(1, "b", &["[1]"]) + &finish("tool_use"),
            json!(["calls", "", ["x BAD", "x BAD"]]),
        ),
        (
            "end_turn though there are calls",
            start() + &call(0, "a", &["{}"]) + &finish("end_turn"),
            json!(["calls", "", ["x {}"]]),
        ),
        (
            "cut by the token limit in a call",
            start() + &text(0, "hm") + &call(1, "a", &["{\"n\":"]) + &finish("max_tokens"),
            json!(["length", "hm", []]),
        ),
        ("withheld", start() + &text(0, "I") + &finish("refusal"), json!(["filter", "I", []])),
        ("no terminal event", start() + &text(0, "hi"), json!("Protocol")),
        ("no terminal event after a call", start() + &call(0, "a", &["{}"]), json!("Protocol")),
        ("nothing", String::new(), json!("Protocol")),
        (
            "an error after text",
            start()
                + &text(0, "hi")
                + &event("error", json!({"error": {"type": "overloaded_error", "message": "Overloaded"}})),
            json!("Overloaded"),
        ),
        ("a piece that is not JSON", start() + "event: ping\ndata: {\n\n", json!("Protocol")),
        ("arguments for no call", start() + &json_piece(4, "{}") + &finish("tool_use"), json!("Protocol")),
        (
            "unknown events, blocks and deltas",
            start()
                + ": comment\n\n"
                + &event("ping", json!({}))
                + &event("x_unknown", json!({"x": 1}))
                + &begin(
                    0,
                    &json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
                )
                + &json_piece(0, "{\"q\":1}")
                + &end(0)
                + &begin(1, &json!({"type": "text", "text": ""}))
                + &delta(1, &json!({"type": "citations_delta", "citation": {}}))
                + &delta(1, &json!({"type": "text_delta", "text": "hi"}))
                + &end(1)
                + &finish("end_turn")
                + "data: not read any more\n\n",
            json!(["stop", "hi", []]),
        ),
    ]
}

#[test]
fn every_way_of_answering_comes_to_the_same_however_it_is_cut() {
    for (name, stream, expected) in table() {
        let outcome = replay::<MessagesDecoder>(name, stream.as_bytes());
        assert_eq!(summary(&outcome), expected, "{name}");
        if let Ok(events) = outcome {
            let calls = &completion(&events).calls;
            let ids: BTreeSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids.len(), calls.len(), "{name}: ids are unique");
            assert_eq!(
                completion(&events).usage,
                Usage { input_tokens: 107, output_tokens: 9, cached_input_tokens: 100, ..Usage::default() },
                "{name}"
            );
        }
    }
}

#[test]
fn a_stream_cut_short_never_yields_other_calls() {
    let stream =
        scripted::anthropic("a b", &[("x".to_owned(), json!({"n": "é"})), ("y".to_owned(), json!({}))]);
    truncate::<MessagesDecoder>("scripted", stream.as_bytes());
}

#[test]
fn signed_thinking_is_kept_for_the_next_request() {
    let stream = start()
        + &begin(0, &json!({"type": "thinking", "thinking": "", "signature": ""}))
        + &delta(0, &json!({"type": "thinking_delta", "thinking": "So "}))
        + &delta(0, &json!({"type": "thinking_delta", "thinking": "then."}))
        + &delta(0, &json!({"type": "signature_delta", "signature": "sig"}))
        + &end(0)
        + &call(1, "a", &["{}"])
        + &finish("tool_use");
    let events = replay::<MessagesDecoder>("thinking", stream.as_bytes()).unwrap();
    let thinking = json!([{"type": "thinking", "thinking": "So then.", "signature": "sig"}]);
    assert_eq!(completion(&events).provider_data, Some(thinking));
    assert!(events.contains(&ModelEvent::ReasoningDelta("So ".to_owned())));
}

#[test]
fn a_conversation_alternates_and_results_are_the_users() {
    let bad = BadArguments { raw: "{".to_owned(), reason: "r".to_owned() };
    let result = |id: &str, content: &str, is_error| Message::Tool {
        call_id: id.to_owned(),
        name: "x".to_owned(),
        content: content.to_owned(),
        is_error,
        data: None,
    };
    let history = [
        Message::User { text: "hi".to_owned() },
        Message::Assistant { text: " ".to_owned(), calls: Vec::new(), provider_data: None },
        Message::User { text: "still there?".to_owned() },
        Message::Assistant {
            text: "Yes. ".to_owned(),
            calls: vec![
                ToolCall { id: "a".to_owned(), name: "x".to_owned(), args: Ok(json!({"n": 1})) },
                ToolCall { id: "b".to_owned(), name: "x".to_owned(), args: Err(bad) },
            ],
            provider_data: Some(json!([{"type": "thinking", "thinking": "t", "signature": "s"}])),
        },
        result("a", "", false),
        result("b", "no", true),
        Message::User { text: "thanks".to_owned() },
    ];
    insta::assert_json_snapshot!(messages(&history), @r#"
    [
      {
        "role": "user",
        "content": [
          {
            "type": "text",
            "text": "hi"
          },
          {
            "type": "text",
            "text": "still there?"
          }
        ]
      },
      {
        "role": "assistant",
        "content": [
          {
            "type": "thinking",
            "thinking": "t",
            "signature": "s"
          },
          {
            "type": "text",
            "text": "Yes."
          },
          {
            "type": "tool_use",
            "id": "a",
            "name": "x",
            "input": {
              "n": 1
            }
          },
          {
            "type": "tool_use",
            "id": "b",
            "name": "x",
            "input": {
              "arguments_that_were_not_valid_json": "{"
            }
          }
        ]
      },
      {
        "role": "user",
        "content": [
          {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": "(nothing)",
            "is_error": false
          },
          {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": "no",
            "is_error": true
          },
          {
            "type": "text",
            "text": "thanks"
          }
        ]
      }
    ]
    "#);
}
