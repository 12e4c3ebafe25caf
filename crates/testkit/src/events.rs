//! The live event stream, read as a browser reads it.

use anyhow::{Context, Result};
use serde_json::Value;

/// One event of the stream.
#[derive(Clone, Debug)]
pub struct LiveEvent {
    /// Its id; durable events have one.
    pub id: Option<i64>,
    /// Its kind.
    pub kind: String,
    /// Its JSON.
    pub data: Value,
}

/// An open stream.
pub struct EventStream {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

impl EventStream {
    pub(crate) fn new(response: reqwest::Response) -> Self {
        Self { response, buffer: Vec::new() }
    }

    /// The next event; comments are passed over.
    ///
    /// # Errors
    ///
    /// Fails when the stream ends.
    pub async fn next(&mut self) -> Result<LiveEvent> {
        loop {
            while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                if let Some(event) = parse(&String::from_utf8_lossy(&block)) {
                    return Ok(event);
                }
            }
            let chunk = self.response.chunk().await?.context("the event stream ended")?;
            self.buffer.extend_from_slice(&chunk);
        }
    }

    /// The next event of one kind; others are passed over.
    ///
    /// # Errors
    ///
    /// Fails when the stream ends.
    pub async fn next_of(&mut self, kind: &str) -> Result<LiveEvent> {
        loop {
            let event = self.next().await.with_context(|| format!("waiting for {kind}"))?;
            if event.kind == kind {
                return Ok(event);
            }
        }
    }
}

/// Reads one block of `field: value` lines; `None` if it holds no data.
fn parse(block: &str) -> Option<LiveEvent> {
    let field = |name: &str| {
        block
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(|value| value.trim_start().to_owned())
    };
    let data = field("data")?;
    Some(LiveEvent {
        id: field("id").and_then(|id| id.parse().ok()),
        kind: field("event").unwrap_or_default(),
        data: serde_json::from_str(&data).unwrap_or(Value::Null),
    })
}
