//! Drives one answer from bytes to events. What the bytes mean is the [`Decoder`]'s, which each protocol has.

use crate::http::{self, Answer};
use crate::schema::Toolbox;
use crate::sse::{Event, Lines, Parser};
use crate::{Completion, LlmError, ModelEvent};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Most bytes of text in one answer.
pub(crate) const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Most bytes of an answer that isn't streamed.
const MAX_WHOLE_BYTES: usize = 8 * 1024 * 1024;

/// What a protocol makes of a server's events.
pub(crate) trait Decoder: Send + 'static {
    /// Whether each line is a document, instead of server-sent events.
    const LINES: bool = false;

    /// Takes one event.
    fn event(&mut self, event: &Event) -> Result<Vec<ModelEvent>, LlmError>;

    /// Takes an answer that came as one document.
    fn whole(&mut self, document: &Value) -> Result<Vec<ModelEvent>, LlmError>;

    /// Whether nothing more is to come, so that the connection need not end first.
    fn is_done(&self) -> bool;

    /// Ends the answer. Fails if the server didn't say that it was done.
    fn finish(&mut self) -> Result<Completion, LlmError>;

    /// Whether the answer is whole, though its last formalities may be missing.
    fn is_whole(&self) -> bool;
}

/// Bytes in, events out; no network.
pub(crate) struct Decoding<D> {
    frames: Frames,
    decoder: D,
}

/// How bytes become events.
enum Frames {
    Events(Parser),
    Lines(Lines),
}

impl<D: Decoder> Decoding<D> {
    pub(crate) fn new(decoder: D) -> Self {
        let frames =
            if D::LINES { Frames::Lines(Lines::default()) } else { Frames::Events(Parser::default()) };
        Self { frames, decoder }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<ModelEvent>, LlmError> {
        let mut out = Vec::new();
        let events = match &mut self.frames {
            Frames::Events(parser) => parser.push(bytes)?,
            Frames::Lines(lines) => lines.push(bytes)?,
        };
        for event in events {
            if self.decoder.is_done() {
                break;
            }
            out.extend(self.decoder.event(&event)?);
        }
        Ok(out)
    }

    /// Takes the end of the input.
    pub(crate) fn finish(&mut self) -> Result<Vec<ModelEvent>, LlmError> {
        let mut out = Vec::new();
        let last = match &mut self.frames {
            Frames::Events(parser) => parser.finish()?,
            Frames::Lines(lines) => lines.finish()?,
        };
        if let Some(event) = last
            && !self.decoder.is_done()
        {
            // A last event without its blank line counts only if it is whole.
            match self.decoder.event(&event) {
                Ok(more) => out.extend(more),
                Err(_) if self.decoder.is_whole() => {}
                Err(error) => return Err(error),
            }
        }
        out.push(ModelEvent::Completed(self.decoder.finish()?));
        Ok(out)
    }
}

/// Opens the answer. Boxed, because a provider may have to try more than one form of the request.
pub(crate) type Opening = BoxFuture<'static, Result<Answer, LlmError>>;

enum Stage {
    Opening(Opening),
    Reading(Answer),
    Document(Answer, Vec<u8>),
    Over,
}

struct Driver<D> {
    stage: Stage,
    decoding: Decoding<D>,
    ready: VecDeque<ModelEvent>,
    toolbox: Arc<Toolbox>,
    cancel: CancellationToken,
}

impl<D: Decoder> Driver<D> {
    async fn next(&mut self) -> Option<Result<ModelEvent, LlmError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(told_back(event, &self.toolbox)));
            }
            if matches!(self.stage, Stage::Over) {
                return None;
            }
            if let Err(error) = self.advance().await {
                self.stage = Stage::Over;
                return Some(Err(error));
            }
        }
    }

    async fn advance(&mut self) -> Result<(), LlmError> {
        match &mut self.stage {
            Stage::Over => {}
            Stage::Opening(opening) => {
                let answer = opening.await?;
                self.stage = if answer.is_json() {
                    Stage::Document(answer, Vec::new())
                } else {
                    Stage::Reading(answer)
                };
            }
            Stage::Reading(answer) => {
                let bytes = match answer.next(&self.cancel).await {
                    // All of the answer is there; how the connection ends doesn't matter any more.
                    Err(LlmError::Network(_)) if self.decoding.decoder.is_whole() => None,
                    other => other?,
                };
                if let Some(bytes) = &bytes {
                    self.ready.extend(self.decoding.push(bytes)?);
                }
                if bytes.is_none() || self.decoding.decoder.is_done() {
                    self.stage = Stage::Over;
                    self.ready.extend(self.decoding.finish()?);
                }
            }
            Stage::Document(answer, body) => match answer.next(&self.cancel).await? {
                Some(bytes) if body.len() + bytes.len() > MAX_WHOLE_BYTES => {
                    return Err(LlmError::Protocol("the answer is too large".to_owned()));
                }
                Some(bytes) => body.extend_from_slice(&bytes),
                None => {
                    let document = serde_json::from_slice::<Value>(body).map_err(|error| {
                        LlmError::Protocol(format!("the answer is not valid JSON: {error}"))
                    })?;
                    self.stage = Stage::Over;
                    self.ready.extend(self.decoding.decoder.whole(&document)?);
                    self.ready.push_back(ModelEvent::Completed(self.decoding.decoder.finish()?));
                }
            },
        }
        Ok(())
    }
}

/// An event in the tools' own terms, not in those that the provider was told.
fn told_back(event: ModelEvent, toolbox: &Toolbox) -> ModelEvent {
    match event {
        ModelEvent::CallStarted { index, name } => {
            ModelEvent::CallStarted { index, name: toolbox.original(&name).to_owned() }
        }
        ModelEvent::Completed(mut completion) => {
            for call in &mut completion.calls {
                if let Ok(args) = &mut call.args {
                    *args = toolbox.restored(&call.name, std::mem::take(args));
                }
                call.name = toolbox.original(&call.name).to_owned();
            }
            ModelEvent::Completed(completion)
        }
        other => other,
    }
}

/// Turns an answer that is being opened into the stream that providers return.
pub(crate) fn run<D: Decoder>(
    opening: Opening,
    decoder: D,
    toolbox: Arc<Toolbox>,
    cancel: CancellationToken,
) -> BoxStream<'static, Result<ModelEvent, LlmError>> {
    let driver = Driver {
        stage: Stage::Opening(opening),
        decoding: Decoding::new(decoder),
        ready: VecDeque::new(),
        toolbox,
        cancel,
    };
    stream::unfold(driver, |mut driver| async move { driver.next().await.map(|item| (item, driver)) }).boxed()
}

/// The error that an error document inside of an answer stands for.
pub(crate) fn error_in_stream(document: &Value) -> LlmError {
    let (code, message) = http::error_words(document);
    let message = message.unwrap_or_else(|| "an error without a message".to_owned());
    http::classify(http::status_in(document), &code, &http::shorten(&message), None)
}

/// Adds to the text of an answer, within its bound.
pub(crate) fn append_text(text: &mut String, more: &str) -> Result<(), LlmError> {
    if text.len() + more.len() > MAX_TEXT_BYTES {
        return Err(LlmError::Protocol(format!("the answer is longer than {MAX_TEXT_BYTES} bytes")));
    }
    text.push_str(more);
    Ok(())
}
