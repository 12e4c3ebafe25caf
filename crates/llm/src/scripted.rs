//! A model server that says what a script tells it, in the real wire formats. For tests and demonstrations.
//!
//! It speaks plain HTTP/1.1 itself, so that it can also misbehave: cut an answer in the middle, hang, or split it
//! at any byte. The format follows the path of the request: `…/chat/completions`, `…/responses`, `…/messages`,
//! `…:streamGenerateContent` or `…/api/chat`.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

/// One request that the server got.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its number, from 0.
    pub number: usize,
    /// Its path.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Value,
}

impl Seen {
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether the request is in Anthropic's format.
    pub fn is_anthropic(&self) -> bool {
        self.format() == Format::Anthropic
    }

    /// The format of the request.
    pub fn format(&self) -> Format {
        Format::of_path(&self.path)
    }
}

/// What the server answers to one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Text and calls, in the format of the request.
    Say {
        /// What the model says.
        text: String,
        /// Names and arguments of the calls that it asks for.
        calls: Vec<(String, Value)>,
    },
    /// Bytes as they are.
    Raw(Raw),
    /// Another answer, not before somebody says so.
    Held {
        /// Cancelled when it may come.
        until: CancellationToken,
        /// What comes then.
        then: Box<Self>,
    },
}

impl Answer {
    /// An answer of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Say { text: text.into(), calls: Vec::new() }
    }

    /// An answer of one call.
    pub fn call(name: impl Into<String>, args: Value) -> Self {
        Self::Say { text: String::new(), calls: vec![(name.into(), args)] }
    }

    /// A stream of these bytes, in one piece, ended properly.
    pub fn stream(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Raw(Raw { pieces: vec![bytes.into()], ..Raw::default() })
    }

    /// A refusal.
    pub fn refusal(status: u16, body: &Value) -> Self {
        Self::Raw(Raw {
            status,
            content_type: "application/json".to_owned(),
            pieces: vec![body.to_string().into_bytes()],
            ..Raw::default()
        })
    }
}

/// The wire formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenAI's chat completions.
    OpenAiChat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`.
    Gemini,
    /// Ollama's chat.
    Ollama,
}

impl Format {
    /// The format of a request to this path; chat completions where the path tells none.
    pub fn of_path(path: &str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        match () {
            () if path.ends_with("/messages") => Self::Anthropic,
            () if path.ends_with("/responses") => Self::Responses,
            () if path.ends_with(":streamGenerateContent") => Self::Gemini,
            () if path.ends_with("/api/chat") => Self::Ollama,
            () => Self::OpenAiChat,
        }
    }
}

/// An answer as bytes.
#[derive(Clone, Debug)]
pub struct Raw {
    /// The HTTP status.
    pub status: u16,
    /// The content type.
    pub content_type: String,
    /// More headers.
    pub headers: Vec<(String, String)>,
    /// The body, each piece sent on its own.
    pub pieces: Vec<Vec<u8>>,
    /// What follows the last piece.
    pub end: End,
}

impl Default for Raw {
    fn default() -> Self {
        Self {
            status: 200,
            content_type: "text/event-stream".to_owned(),
            headers: Vec::new(),
            pieces: Vec::new(),
            end: End::Clean,
        }
    }
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As HTTP wants it.
    Clean,
    /// The connection is cut.
    Cut,
    /// Nothing more comes until the client leaves.
    Hang,
}

type Script = Box<dyn Fn(&Seen) -> Answer + Send + Sync>;

/// The server. It stops when this is dropped.
pub struct ScriptedServer {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    _stop: DropGuard,
}

impl ScriptedServer {
    /// Starts a server on a free port of the loopback address.
    ///
    /// # Errors
    ///
    /// Fails if no port can be had.
    pub async fn start(script: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stop = CancellationToken::new();
        let state = State { script: Arc::new(Box::new(script)), seen: Arc::clone(&seen) };
        tokio::spawn(stop.clone().run_until_cancelled_owned(accept(listener, state, stop.clone())));
        Ok(Self { address, seen, _stop: stop.drop_guard() })
    }

    /// Starts a server that refuses, as real ones do, every request that breaks the rules of its format; the others
    /// are answered by the script.
    ///
    /// # Errors
    ///
    /// Fails if no port can be had.
    pub async fn strict(script: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> io::Result<Self> {
        Self::start(move |seen| match crate::strict::check_request(seen.format(), &seen.body) {
            Ok(()) => script(seen),
            Err(rule) => Answer::refusal(
                400,
                &json!({"error": {"message": rule, "type": "invalid_request_error", "code": 400}}),
            ),
        })
        .await
    }

    /// Starts a server that gives these answers in turn, and a refusal after the last.
    ///
    /// # Errors
    ///
    /// Fails if no port can be had.
    pub async fn with_answers(answers: impl IntoIterator<Item = Answer>) -> io::Result<Self> {
        let answers: Mutex<VecDeque<Answer>> = Mutex::new(answers.into_iter().collect());
        Self::start(move |_| {
            let next = answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            next.unwrap_or_else(|| {
                Answer::refusal(400, &json!({"error": {"message": "the script is at its end"}}))
            })
        })
        .await
    }

    /// The server's address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Clone)]
struct State {
    script: Arc<Script>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

async fn accept(listener: TcpListener, state: State, stop: CancellationToken) {
    while let Ok((stream, _)) = listener.accept().await {
        let serving = serve(stream, state.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
            // A client that leaves in the middle is part of many scripts.
            let _ = serving.await;
        }));
    }
}

async fn serve(stream: TcpStream, state: State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let Some(mut seen) = read_request(&mut stream).await? else { return Ok(()) };
    let answer = {
        let mut all = state.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.number = all.len();
        all.push(seen.clone());
        (state.script)(&seen)
    };
    let raw = raw_of(answer, &seen).await;
    let mut head = format!(
        "HTTP/1.1 {} Scripted\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n",
        raw.status, raw.content_type
    );
    for (name, value) in &raw.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    for piece in raw.pieces.iter().filter(|piece| !piece.is_empty()) {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        stream.write_all(piece).await?;
        stream.write_all(b"\r\n").await?;
        stream.flush().await?;
    }
    match raw.end {
        End::Clean => stream.write_all(b"0\r\n\r\n").await?,
        End::Cut => {}
        End::Hang => {
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await?;
        }
    }
    stream.flush().await
}

/// The bytes of an answer, once it may come.
async fn raw_of(mut answer: Answer, seen: &Seen) -> Raw {
    loop {
        answer = match answer {
            Answer::Raw(raw) => return raw,
            Answer::Say { text, calls } => return said(seen.format(), &text, &calls),
            Answer::Held { until, then } => {
                until.cancelled().await;
                *then
            }
        };
    }
}

/// An answer in the format of the request.
fn said(format: Format, text: &str, calls: &[(String, Value)]) -> Raw {
    let body = match format {
        Format::OpenAiChat => openai(text, calls),
        Format::Responses => responses(text, calls),
        Format::Anthropic => anthropic(text, calls),
        Format::Gemini => gemini(text, calls),
        Format::Ollama => ollama(text, calls),
    };
    let content_type =
        if format == Format::Ollama { "application/x-ndjson" } else { "text/event-stream" }.to_owned();
    Raw { pieces: vec![body.into_bytes()], content_type, ..Raw::default() }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Seen>> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let Some(path) = line.split_whitespace().nth(1).map(str::to_owned) else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut seen = Seen { number: 0, path, headers, body: Value::Null };
    let length = seen.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    seen.body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(seen))
}

/// An answer as the chat completions protocol streams it.
pub fn openai(text: &str, calls: &[(String, Value)]) -> String {
    let mut out = String::new();
    let mut send = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "scripted",
            "choices": choices, "usage": usage,
        });
        out.push_str(&format!("data: {chunk}\n\n"));
    };
    let choice = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    send(choice(json!({"role": "assistant", "content": ""}), Value::Null), Value::Null);
    for word in text.split_inclusive(' ') {
        send(choice(json!({"content": word}), Value::Null), Value::Null);
    }
    for (index, (name, args)) in calls.iter().enumerate() {
        let id = format!("call_scripted_{index}");
        let head = json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]});
        send(choice(head, Value::Null), Value::Null);
        let rest = json!({"tool_calls": [{"index": index, "function": {"arguments": args.to_string()}}]});
        send(choice(rest, Value::Null), Value::Null);
    }
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    send(choice(json!({}), json!(finish)), Value::Null);
    send(json!([]), json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}));
    out.push_str("data: [DONE]\n\n");
    out
}

/// An answer as the Messages protocol streams it.
pub fn anthropic(text: &str, calls: &[(String, Value)]) -> String {
    let mut out = String::new();
    let mut send = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        out.push_str(&format!("event: {kind}\ndata: {data}\n\n"));
    };
    let message = json!({
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 1},
    });
    send("message_start", json!({"message": message}));
    send("ping", json!({}));
    let mut index = 0;
    if !text.is_empty() {
        send("content_block_start", json!({"index": index, "content_block": {"type": "text", "text": ""}}));
        for word in text.split_inclusive(' ') {
            send(
                "content_block_delta",
                json!({"index": index, "delta": {"type": "text_delta", "text": word}}),
            );
        }
        send("content_block_stop", json!({"index": index}));
        index += 1;
    }
    for (name, args) in calls {
        let block =
            json!({"type": "tool_use", "id": format!("toolu_scripted_{index}"), "name": name, "input": {}});
        send("content_block_start", json!({"index": index, "content_block": block}));
        for piece in ["", &args.to_string()] {
            send(
                "content_block_delta",
                json!({"index": index, "delta": {"type": "input_json_delta", "partial_json": piece}}),
            );
        }
        send("content_block_stop", json!({"index": index}));
        index += 1;
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    send(
        "message_delta",
        json!({"delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 5}}),
    );
    send("message_stop", json!({}));
    out
}

/// An answer as the Responses protocol streams it.
pub fn responses(text: &str, calls: &[(String, Value)]) -> String {
    let mut out = String::new();
    let mut number = 0;
    let mut send = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(number);
        number += 1;
        out.push_str(&format!("event: {kind}\ndata: {data}\n\n"));
    };
    let mut output = Vec::new();
    send(
        "response.created",
        json!({"response": {"id": "resp_scripted", "status": "in_progress", "output": []}}),
    );
    if !text.is_empty() {
        let item = |content: Value| json!({"type": "message", "id": "msg_scripted", "role": "assistant", "content": content});
        send("response.output_item.added", json!({"output_index": 0, "item": item(json!([]))}));
        for word in text.split_inclusive(' ') {
            send(
                "response.output_text.delta",
                json!({"item_id": "msg_scripted", "output_index": 0, "content_index": 0, "delta": word}),
            );
        }
        let whole = item(json!([{"type": "output_text", "text": text, "annotations": []}]));
        send("response.output_item.done", json!({"output_index": 0, "item": whole}));
        output.push(whole);
    }
    for (number, (name, args)) in calls.iter().enumerate() {
        let place = output.len();
        let item = |arguments: &str| {
            json!({
                "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_scripted_{number}"),
                "name": name, "arguments": arguments,
            })
        };
        let args = args.to_string();
        send("response.output_item.added", json!({"output_index": place, "item": item("")}));
        send(
            "response.function_call_arguments.delta",
            json!({"item_id": format!("fc_{number}"), "output_index": place, "delta": args}),
        );
        send("response.output_item.done", json!({"output_index": place, "item": item(&args)}));
        output.push(item(&args));
    }
    let response = json!({
        "id": "resp_scripted", "status": "completed", "error": null, "incomplete_details": null, "output": output,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    });
    send("response.completed", json!({"response": response}));
    out
}

/// An answer as Gemini streams it.
pub fn gemini(text: &str, calls: &[(String, Value)]) -> String {
    let mut out = String::new();
    let mut send = |candidate: Value| {
        let chunk = json!({
            "candidates": [candidate], "modelVersion": "scripted",
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        });
        out.push_str(&format!("data: {chunk}\r\n\r\n"));
    };
    for word in text.split_inclusive(' ') {
        send(json!({"content": {"parts": [{"text": word}], "role": "model"}, "index": 0}));
    }
    for (place, (name, args)) in calls.iter().enumerate() {
        let mut part = json!({"functionCall": {"name": name, "args": args}});
        if place == 0 {
            part["thoughtSignature"] = json!("c2NyaXB0ZWQ=");
        }
        send(json!({"content": {"parts": [part], "role": "model"}, "index": 0}));
    }
    send(json!({"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP", "index": 0}));
    out
}

/// An answer as Ollama streams it.
pub fn ollama(text: &str, calls: &[(String, Value)]) -> String {
    let mut out = String::new();
    let mut send = |mut line: Value| {
        line["model"] = json!("scripted");
        out.push_str(&format!("{line}\n"));
    };
    for word in text.split_inclusive(' ') {
        send(json!({"message": {"role": "assistant", "content": word}, "done": false}));
    }
    for (name, args) in calls {
        let call = json!({"function": {"name": name, "arguments": args}});
        send(json!({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": false}));
    }
    send(json!({
        "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 10, "eval_count": 5,
    }));
    out
}
