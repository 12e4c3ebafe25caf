//! The clients against a server on a real socket: time limits, retries, refusals, stopping.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use futures::StreamExt;
use llm::anthropic::Messages;
use llm::gemini::Gemini;
use llm::ollama::Ollama;
use llm::openai::ChatCompletions;
use llm::probe::probe;
use llm::responses::Responses;
use llm::scripted::{self, Answer, End, Raw, ScriptedServer, Seen};
use llm::{Completion, Endpoint, LlmError, Message, ModelEvent, ModelRequest, Provider, Timeouts};
use secrecy::SecretString;
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn endpoint(server: &ScriptedServer) -> Endpoint {
    // A second installation is refused, which is fine: all are the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = SecretString::from("sk-very-secret");
    Endpoint::new("scripted", server.url().parse().unwrap(), Some(key), "m")
}

fn openai(server: &ScriptedServer) -> Box<dyn Provider> {
    Box::new(ChatCompletions::new(endpoint(server)).unwrap())
}

fn both(server: &ScriptedServer) -> [Box<dyn Provider>; 2] {
    [openai(server), Box::new(Messages::new(endpoint(server)).unwrap())]
}

fn all(server: &ScriptedServer) -> [Box<dyn Provider>; 5] {
    [
        openai(server),
        Box::new(Responses::new(endpoint(server)).unwrap()),
        Box::new(Messages::new(endpoint(server)).unwrap()),
        Box::new(Gemini::new(endpoint(server)).unwrap()),
        Box::new(Ollama::new(endpoint(server)).unwrap()),
    ]
}

fn request() -> ModelRequest {
    ModelRequest { messages: vec![Message::User { text: "hi".to_owned() }], ..ModelRequest::default() }
}

async fn ask(provider: &dyn Provider) -> Result<(String, Completion), LlmError> {
    let mut stream = provider.stream(request(), CancellationToken::new());
    let mut said = String::new();
    let mut completion = None;
    while let Some(event) = stream.next().await {
        assert!(completion.is_none(), "nothing follows the completion");
        match event? {
            ModelEvent::TextDelta(more) => said.push_str(&more),
            ModelEvent::Completed(whole) => completion = Some(whole),
            _ => {}
        }
    }
    Ok((said, completion.unwrap()))
}

#[tokio::test]
async fn text_and_calls_arrive_in_both_formats() {
    let calls = vec![("x".to_owned(), json!({"n": "é"})), ("y".to_owned(), json!({}))];
    let server =
        ScriptedServer::start(move |_| Answer::Say { text: "Let me look.".to_owned(), calls: calls.clone() })
            .await
            .unwrap();
    for provider in both(&server) {
        let (said, completion) = ask(provider.as_ref()).await.unwrap();
        assert_eq!(said, "Let me look.");
        let calls: Vec<_> =
            completion.calls.iter().map(|call| (call.name.as_str(), call.args.clone())).collect();
        assert_eq!(calls, [("x", Ok(json!({"n": "é"}))), ("y", Ok(json!({})))]);
        assert_eq!(completion.usage.input_tokens, 10);
    }
    let seen = server.seen();
    assert_eq!(seen[0].path, "/v1/chat/completions");
    assert_eq!(seen[0].header("authorization"), Some("Bearer sk-very-secret"));
    assert_eq!(seen[1].path, "/v1/messages");
    assert_eq!(seen[1].header("x-api-key"), Some("sk-very-secret"));
}

#[tokio::test]
async fn bytes_that_trickle_in_make_no_difference() {
    let server = ScriptedServer::start(|seen| {
        let calls = [("x".to_owned(), json!({"n": "한국어"}))];
        let body = if seen.is_anthropic() {
            scripted::anthropic("좋아요", &calls)
        } else {
            scripted::openai("좋아요", &calls)
        };
        Answer::Raw(Raw { pieces: body.bytes().map(|byte| vec![byte]).collect(), ..Raw::default() })
    })
    .await
    .unwrap();
    for provider in both(&server) {
        let (said, completion) = ask(provider.as_ref()).await.unwrap();
        assert_eq!(said, "좋아요");
        assert_eq!(completion.calls[0].args, Ok(json!({"n": "한국어"})));
    }
}

#[tokio::test]
async fn a_connection_cut_in_the_answer_is_an_error_and_is_not_tried_again() {
    let server = ScriptedServer::start(|seen| {
        let calls = [("x".to_owned(), json!({"n": 1}))];
        let body = if seen.is_anthropic() {
            scripted::anthropic("a", &calls)
        } else {
            scripted::openai("a", &calls)
        };
        let half = body.find(r#"\"n\""#).unwrap();
        Answer::Raw(Raw { pieces: vec![body.as_bytes()[..half].to_vec()], end: End::Cut, ..Raw::default() })
    })
    .await
    .unwrap();
    for provider in both(&server) {
        assert!(matches!(ask(provider.as_ref()).await, Err(LlmError::Network(_))));
    }
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_stream_that_ends_too_early_is_an_error() {
    let server = ScriptedServer::start(|_| Answer::stream("data: {}\n\n")).await.unwrap();
    for provider in both(&server) {
        assert!(matches!(ask(provider.as_ref()).await, Err(LlmError::Protocol(_))));
    }
}

#[tokio::test]
async fn what_may_pass_is_asked_again_where_nothing_had_arrived() {
    let overloaded = |status| {
        Answer::Raw(Raw {
            status,
            headers: vec![("retry-after".to_owned(), "0".to_owned())],
            pieces: vec![b"{\"error\":{\"message\":\"busy\"}}".to_vec()],
            ..Raw::default()
        })
    };
    let server = ScriptedServer::with_answers([overloaded(429), overloaded(529), Answer::text("at last")])
        .await
        .unwrap();
    assert_eq!(ask(openai(&server).as_ref()).await.unwrap().0, "at last");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn refusals_have_types_and_never_show_the_key() {
    let refusal = |message: &str, code: &str| json!({"error": {"message": message, "code": code}});
    for (status, message, code, expected) in [
        (401, "Incorrect API key provided: sk-very-secret", "invalid_api_key", "Auth"),
        (403, "no", "", "Auth"),
        (429, "You exceeded your current quota", "insufficient_quota", "Quota"),
        (400, "This model's maximum context length is 4096 tokens", "", "ContextTooLong"),
        (400, "prompt is too long: 9 tokens > 8 maximum", "", "ContextTooLong"),
        (400, "bad field", "", "BadRequest"),
        (404, "no such model", "", "BadRequest"),
        (302, "elsewhere", "", "BadRequest"),
        (503, "down", "", "Overloaded"),
    ] {
        let server =
            ScriptedServer::start(move |_| Answer::refusal(status, &refusal(message, code))).await.unwrap();
        let endpoint = Endpoint { retries: 0, ..endpoint(&server) };
        let error = ask(&ChatCompletions::new(endpoint).unwrap()).await.unwrap_err();
        assert!(format!("{error:?}").starts_with(expected), "{status} {message}: {error:?}");
        assert!(!error.to_string().contains("sk-very-secret"), "{error}");
    }
}

#[tokio::test]
async fn a_long_retry_after_is_told_and_not_waited_for() {
    let server = ScriptedServer::start(|_| {
        Answer::Raw(Raw {
            status: 429,
            headers: vec![("retry-after".to_owned(), "3600".to_owned())],
            ..Raw::default()
        })
    })
    .await
    .unwrap();
    let error = ask(openai(&server).as_ref()).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_server_without_stream_options_is_asked_without() {
    let server = ScriptedServer::start(|seen| {
        if seen.body.get("stream_options").is_some() {
            return Answer::refusal(400, &json!({"error": {"message": "Unknown field: stream_options"}}));
        }
        Answer::text("fine")
    })
    .await
    .unwrap();
    let provider = openai(&server);
    assert_eq!(ask(provider.as_ref()).await.unwrap().0, "fine");
    assert_eq!(ask(provider.as_ref()).await.unwrap().0, "fine");
    assert_eq!(server.seen().len(), 3, "the lesson is learnt once");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let server = ScriptedServer::start(|seen| {
        let body = if seen.is_anthropic() {
            json!({"type": "message", "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "a", "name": "x", "input": {"n": 1}}], "stop_reason": "tool_use"})
        } else {
            json!({"choices": [{"message": {"content": "hi", "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{\"n\":1}"}}]}, "finish_reason": "tool_calls"}]})
        };
        Answer::refusal(200, &body)
    })
    .await
    .unwrap();
    for provider in both(&server) {
        let (said, completion) = ask(provider.as_ref()).await.unwrap();
        assert_eq!((said.as_str(), &completion.calls[0].args), ("hi", &Ok(json!({"n": 1}))));
    }
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let server = ScriptedServer::start(|seen| {
        let pieces = if seen.number == 0 { vec![] } else { vec![b"data: {}\n\n".to_vec()] };
        Answer::Raw(Raw { pieces, end: End::Hang, ..Raw::default() })
    })
    .await
    .unwrap();
    let short = Duration::from_millis(50);
    let timeouts = Timeouts { first_byte: short, silence: short, ..Timeouts::default() };
    let endpoint = Endpoint { timeouts, retries: 0, ..endpoint(&server) };
    let provider = ChatCompletions::new(endpoint).unwrap();
    let before_the_first_byte = ask(&provider).await.unwrap_err();
    assert!(before_the_first_byte.to_string().contains("no answer within"), "{before_the_first_byte}");
    let after_it = ask(&provider).await.unwrap_err();
    assert!(after_it.to_string().contains("silent"), "{after_it}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error() {
    let server = ScriptedServer::with_answers([]).await.unwrap();
    let endpoint = Endpoint { retries: 1, ..endpoint(&server) };
    drop(server);
    let error = ask(&ChatCompletions::new(endpoint).unwrap()).await.unwrap_err();
    assert!(matches!(error, LlmError::Network(_)), "{error}");
}

#[tokio::test]
async fn stopping_ends_the_request_at_once() {
    let server = ScriptedServer::start(|_| {
        let body = scripted::openai("a", &[]);
        let first = body.split_inclusive("\n\n").take(2).collect::<String>().into_bytes();
        Answer::Raw(Raw { pieces: vec![first], end: End::Hang, ..Raw::default() })
    })
    .await
    .unwrap();
    let cancel = CancellationToken::new();
    let mut stream = openai(&server).stream(request(), cancel.clone());
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::TextDelta("a".to_owned()))));
    cancel.cancel();
    assert_eq!(stream.next().await, Some(Err(LlmError::Cancelled)));
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn each_protocol_has_its_path_and_its_way_to_tell_the_key() {
    let server = ScriptedServer::strict(|_| Answer::call("x", json!({"n": "é"}))).await.unwrap();
    for provider in all(&server) {
        let (_, completion) = ask(provider.as_ref()).await.unwrap();
        assert_eq!(completion.calls[0].args, Ok(json!({"n": "é"})));
        assert_eq!((completion.usage.input_tokens, completion.usage.output_tokens), (10, 5));
    }
    let bearer = Some("Bearer sk-very-secret");
    let seen = server.seen();
    let told = |header: &str| -> Vec<Option<&str>> { seen.iter().map(|seen| seen.header(header)).collect() };
    let paths: Vec<&str> = seen.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/messages",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            "/api/chat"
        ]
    );
    assert_eq!(told("authorization"), [bearer, bearer, None, None, bearer]);
    assert_eq!(told("x-goog-api-key"), [None, None, None, Some("sk-very-secret"), None]);
}

#[tokio::test]
async fn azure_has_its_own_path_version_and_header() {
    let server = ScriptedServer::start(|_| Answer::text("hi")).await.unwrap();
    for (base, path) in [
        ("", "/openai/deployments/m/chat/completions?api-version=2024-10-21"),
        ("/openai?api-version=2025-01-01", "/openai/deployments/m/chat/completions?api-version=2025-01-01"),
        ("/openai/v1", "/openai/v1/chat/completions"),
    ] {
        let base_url = format!("{}{base}", server.url()).parse().unwrap();
        let provider = ChatCompletions::azure(Endpoint { base_url, ..endpoint(&server) }).unwrap();
        ask(&provider).await.unwrap();
        let seen = server.seen().pop().unwrap();
        assert_eq!(seen.path, path);
        assert_eq!((seen.header("api-key"), seen.header("authorization")), (Some("sk-very-secret"), None));
    }
}

#[tokio::test]
async fn the_next_key_is_used_where_one_is_used_up_and_stays_in_use() {
    let server = ScriptedServer::start(|seen| match seen.header("authorization") {
        Some("Bearer k3") => Answer::text("hi"),
        Some("Bearer k2") => Answer::refusal(401, &json!({"error": {"message": "revoked: k2"}})),
        _ => Answer::refusal(429, &json!({"error": {"message": "slow down"}})),
    })
    .await
    .unwrap();
    let keyed = |keys: &[&str]| Endpoint {
        api_key: None,
        more_keys: keys.iter().map(|key| SecretString::from(*key)).collect(),
        retries: 0,
        ..endpoint(&server)
    };
    let provider = ChatCompletions::new(keyed(&["k1", "k2", "k3"])).unwrap();
    assert_eq!(ask(&provider).await.unwrap().0, "hi");
    assert_eq!(server.seen().len(), 3);
    assert_eq!(ask(&provider).await.unwrap().0, "hi");
    assert_eq!(server.seen().len(), 4, "the good key is kept");
    let error = ask(&ChatCompletions::new(keyed(&["k1", "k2"])).unwrap()).await.unwrap_err();
    assert!(matches!(&error, LlmError::Auth(text) if !text.contains("k2")), "{error}");
}

#[tokio::test]
async fn when_to_ask_again_is_read_in_every_form() {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let details = json!({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
    ]}});
    for (headers, body, millis) in [
        (vec![header("retry-after", "33")], json!({}), Some(33_000)),
        (vec![header("retry-after-ms", "30500")], json!({}), Some(30_500)),
        (
            vec![
                header("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"),
                header("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ],
            json!({}),
            Some(60_000),
        ),
        (vec![header("retry-after", "soon")], json!({}), None),
        (vec![], details.clone(), Some(34_500)),
        (vec![], json!([details]), Some(34_500)),
    ] {
        let server = ScriptedServer::start(move |_| {
            Answer::Raw(Raw {
                status: 429,
                headers: headers.clone(),
                pieces: vec![body.to_string().into_bytes()],
                ..Raw::default()
            })
        })
        .await
        .unwrap();
        let provider = Gemini::new(Endpoint { retries: 0, ..endpoint(&server) }).unwrap();
        let error = ask(&provider).await.unwrap_err();
        assert!(matches!(error, LlmError::RateLimited { .. }), "{error}");
        assert_eq!(error.retry_after(), millis.map(Duration::from_millis));
    }
}

#[tokio::test]
async fn every_vendors_refusals_have_types() {
    let google = |code: u16, status: &str, message: &str, detail: serde_json::Value| json!({"error": {"code": code, "message": message, "status": status, "details": [detail]}});
    for (status, body, expected) in [
        (
            400,
            google(400, "INVALID_ARGUMENT", "API key not valid.", json!({"reason": "API_KEY_INVALID"})),
            "Auth",
        ),
        (
            400,
            google(
                400,
                "INVALID_ARGUMENT",
                "The input token count (9) exceeds the maximum number of tokens allowed (8).",
                json!({}),
            ),
            "ContextTooLong",
        ),
        (
            429,
            google(
                429,
                "RESOURCE_EXHAUSTED",
                "quota",
                json!({"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}),
            ),
            "Quota",
        ),
        (503, google(503, "UNAVAILABLE", "overloaded", json!({})), "Overloaded"),
        (403, google(403, "PERMISSION_DENIED", "no", json!({})), "Auth"),
        (
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}),
            "Quota",
        ),
        (
            529,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "Overloaded",
        ),
        (413, json!({"error": {"type": "request_too_large", "message": "too large"}}), "ContextTooLong"),
        (
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds the available context size"}}),
            "ContextTooLong",
        ),
        (402, json!({"error": {"message": "Insufficient Balance", "type": "unknown_error"}}), "Quota"),
        (
            400,
            json!({"error": {"code": "content_filter", "message": "The response was filtered"}}),
            "ContentFilter",
        ),
        (404, json!({"error": "model 'm' not found"}), "BadRequest"),
        (400, json!({"error": "m does not support tools"}), "BadRequest"),
        (
            502,
            json!({"error": {"code": 502, "message": "Provider returned error", "metadata": {"raw": "upstream fell over"}}}),
            "Overloaded",
        ),
    ] {
        let text = body.to_string();
        let server = ScriptedServer::start(move |_| Answer::refusal(status, &body)).await.unwrap();
        let provider = Ollama::new(Endpoint { retries: 0, ..endpoint(&server) }).unwrap();
        let error = ask(&provider).await.unwrap_err();
        assert!(format!("{error:?}").starts_with(expected), "{status} {text}: {error:?}");
    }
}

#[tokio::test]
async fn a_proxy_is_gone_through_and_a_bad_ca_file_is_told() {
    let proxy = ScriptedServer::start(|_| Answer::text("through the proxy")).await.unwrap();
    let base_url = "http://model.invalid/v1".parse().unwrap();
    let through = Endpoint { base_url, proxy: Some(proxy.url().parse().unwrap()), ..endpoint(&proxy) };
    assert_eq!(ask(&ChatCompletions::new(through).unwrap()).await.unwrap().0, "through the proxy");
    assert_eq!(proxy.seen()[0].path, "http://model.invalid/v1/chat/completions");
    let bad = Endpoint { ca_pem: Some(std::sync::Arc::from(&b"no certificate"[..])), ..endpoint(&proxy) };
    let error = ChatCompletions::new(bad).unwrap_err().to_string();
    assert!(error.contains("CA file"), "{error}");
}

/// Does what the probe asks for.
fn obedient(seen: &Seen) -> Answer {
    let body = seen.body.to_string();
    let ping = |word: &str| ("ping".to_owned(), json!({"word": word}));
    if body.contains("Count from one") {
        Answer::text("one two three")
    } else if body.contains("pong") {
        Answer::text("both said pong")
    } else {
        Answer::Say { text: String::new(), calls: vec![ping("steady"), ping("hand")] }
    }
}

#[tokio::test]
async fn a_probe_tells_what_works_over_every_protocol() {
    let server = ScriptedServer::strict(obedient).await.unwrap();
    for provider in all(&server) {
        let report = probe(provider.as_ref(), Duration::from_secs(10)).await;
        assert_eq!(report.problems, Vec::<String>::new(), "{:?}", provider.label());
        assert!(report.streams && report.calls_tools && report.calls_at_once && report.takes_results);
        assert_eq!(report.usage.input_tokens, 30);
        assert!(report.first_token.is_some());
    }
    assert_eq!(server.seen().len(), 15);
}

#[tokio::test]
async fn a_probe_tells_what_does_not_work_and_why() {
    let server = ScriptedServer::start(|seen| match seen.body.to_string() {
        body if body.contains("Count from one") => Answer::text("numbers"),
        _ => Answer::refusal(400, &json!({"error": "m does not support tools"})),
    })
    .await
    .unwrap();
    let report = probe(&Ollama::new(endpoint(&server)).unwrap(), Duration::from_secs(10)).await;
    assert!(report.error.is_none() && !report.calls_tools);
    assert!(report.problems.iter().any(|problem| problem.contains("does not support tools")), "{report:?}");
    assert!(report.problems.iter().any(|problem| problem.contains("does not stream")), "{report:?}");
    let nobody = ScriptedServer::start(|_| Answer::refusal(401, &json!({"error": "no"}))).await.unwrap();
    let report = probe(&Ollama::new(endpoint(&nobody)).unwrap(), Duration::from_secs(10)).await;
    assert!(matches!(report.error, Some(LlmError::Auth(_))), "{report:?}");
}
