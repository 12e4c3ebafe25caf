//! The builtin router as a [`Provider`].

use super::dialogue;
use crate::{Completion, LlmError, ModelEvent, ModelLabel, ModelRequest, Provider, Usage};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio_util::sync::CancellationToken;

/// Length of one piece of streamed text, in characters.
const PIECE_CHARS: usize = 400;

/// The builtin router. No language model: it matches words against the catalogue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Builtin;

impl Provider for Builtin {
    fn label(&self) -> ModelLabel {
        ModelLabel { provider: "builtin".to_owned(), model: "rules".to_owned(), builtin: true }
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<ModelEvent, LlmError>> {
        if cancel.is_cancelled() {
            return stream::iter([Err(LlmError::Cancelled)]).boxed();
        }
        let answer = dialogue::answer(&request);
        stream::iter(events(answer).into_iter().map(Ok)).boxed()
    }
}

/// The answer as a model would stream it.
fn events(answer: Completion) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    let letters: Vec<char> = answer.text.chars().collect();
    for piece in letters.chunks(PIECE_CHARS) {
        events.push(ModelEvent::TextDelta(piece.iter().collect()));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        events.push(ModelEvent::CallStarted { index, name: call.name.clone() });
    }
    events.push(ModelEvent::Completed(Completion { usage: Usage::default(), ..answer }));
    events
}
