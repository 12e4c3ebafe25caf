use super::*;
use crate::replay::{completion, replay, summary, truncate};
use crate::scripted;

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn message(message: &Value) -> String {
    line(&json!({"model": "m", "message": message, "done": false}))
}

fn end(reason: &str) -> String {
    line(&json!({
        "model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "prompt_eval_count": 11, "eval_count": 7, "total_duration": 1,
    }))
}

fn table() -> Vec<(&'static str, String, Value)> {
    let call = |name: &str, args: Value| json!({"function": {"name": name, "arguments": args}});
    vec![
        (
            "plain text",
            message(&json!({"content": "It is "})) + &message(&json!({"content": "좋아요 ✓"})) + &end("stop"),
            json!(["stop", "It is 좋아요 ✓", []]),
        ),
        (
            "thinking, then parallel calls in one line",
            message(&json!({"content": "", "thinking": "Hm"}))
                + &message(
                    &json!({"content": "", "tool_calls": [call("x", json!({"n": 1})), call("x", json!({"n": 1}))]}),
                )
                + &end("stop"),
            json!(["calls", "", ["x {\"n\":1}", "x {\"n\":1}"]]),
        ),
        (
            "calls in lines of their own, one with its arguments as text, one without",
            message(&json!({"tool_calls": [call("x", json!("{\"n\":2}"))]}))
                + &message(&json!({"tool_calls": [{"function": {"name": "y"}}]}))
                + &message(&json!({"tool_calls": [call("z", json!("{"))]}))
                + &end("stop"),
            json!(["calls", "", ["x {\"n\":2}", "y {}", "z BAD"]]),
        ),
        (
            "cut by the token limit",
            message(&json!({"content": "a"})) + &end("length"),
            json!(["length", "a", []]),
        ),
        ("the model was only loaded", end("load"), json!("Protocol")),
        ("nothing", String::new(), json!("Protocol")),
        ("no end", message(&json!({"content": "hi"})), json!("Protocol")),
        (
            "an error after text",
            message(&json!({"content": "hi"}))
                + &line(&json!({"error": "an error was encountered while running the model"})),
            json!("Protocol"),
        ),
        ("a line that is not JSON", "{\"message\":\n".to_owned(), json!("Protocol")),
        (
            "blank lines, carriage returns and no last line end",
            "\n\r\n".to_owned()
                + &message(&json!({"content": "hi"})).replace('\n', "\r\n")
                + end("stop").trim_end(),
            json!(["stop", "hi", []]),
        ),
        (
            "lines after the end",
            message(&json!({"content": "hi"})) + &end("stop") + "not read any more\n",
            json!(["stop", "hi", []]),
        ),
    ]
}

#[test]
fn every_way_of_answering_comes_to_the_same_however_it_is_cut() {
    for (name, stream, expected) in table() {
        let outcome = replay::<OllamaDecoder>(name, stream.as_bytes());
        assert_eq!(summary(&outcome), expected, "{name}");
        if let Ok(events) = outcome {
            let usage = Usage { input_tokens: 11, output_tokens: 7, ..Usage::default() };
            assert_eq!(completion(&events).usage, usage, "{name}");
        }
    }
}

#[test]
fn a_stream_cut_short_never_yields_other_calls() {
    let stream = scripted::ollama("a b", &[("x".to_owned(), json!({"n": "é"})), ("y".to_owned(), json!({}))]);
    truncate::<OllamaDecoder>("scripted", stream.as_bytes());
}

#[test]
fn the_window_holds_the_whole_request_and_goes_in_steps() {
    let endpoint = Endpoint::new("o", "http://127.0.0.1:1".parse().unwrap(), None, "m");
    let of = |words: usize| {
        let messages = vec![Message::User { text: "word ".repeat(words) }];
        let request = ModelRequest { messages, ..ModelRequest::default() };
        body(&endpoint, &request, &Toolbox::default())["options"]["num_ctx"].as_u64().unwrap()
    };
    assert_eq!([of(1), of(10_000), of(20_000), of(1_000_000)], [16_384, 32_768, 65_536, 131_072]);
    let fixed = Endpoint { context_tokens: 8_192, ..endpoint.clone() };
    assert_eq!(window(&fixed, 1_000_000, 1), 8_192);
}

#[test]
fn the_address_of_its_other_protocol_works_too() {
    for base in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/api/", "http://h:1/sub/v1/"] {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = Ollama::new(Endpoint::new("o", base.parse().unwrap(), None, "m")).unwrap().url();
        let expected = if base.contains("sub") { "http://h:1/sub/api/chat" } else { "http://h:1/api/chat" };
        assert_eq!(url.as_str(), expected, "{base}");
    }
}
