//! The clients against a server on a real socket: time limits, retries, refusals, stopping.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use futures::StreamExt;
use llm::anthropic::Messages;
use llm::openai::ChatCompletions;
use llm::scripted::{self, Answer, End, Raw, ScriptedServer};
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
