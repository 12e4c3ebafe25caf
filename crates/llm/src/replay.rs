//! Replays fixtures in every way in which a network can cut them.

use crate::stream::{Decoder, Decoding};
use crate::{Completion, Finish, LlmError, ModelEvent};
use serde_json::{Value, json};

/// Feeds the pieces and returns every event.
fn feed<D: Decoder>(decoder: D, pieces: &[&[u8]]) -> Result<Vec<ModelEvent>, LlmError> {
    let mut decoding = Decoding::new(decoder);
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(decoding.push(piece)?);
    }
    events.extend(decoding.finish()?);
    Ok(events)
}

/// Replays a stream whole, byte by byte and split at every boundary; all must come to the same, which is returned.
pub(crate) fn replay<D: Decoder + Default>(name: &str, stream: &[u8]) -> Result<Vec<ModelEvent>, LlmError> {
    let whole = feed(D::default(), &[stream]);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(feed(D::default(), &bytes), whole, "{name}, byte by byte");
    for cut in 0..=stream.len() {
        let (first, second) = stream.split_at(cut);
        assert_eq!(feed(D::default(), &[first, second]), whole, "{name}, cut at {cut}");
    }
    if let Ok(events) = &whole {
        let completed = events.iter().filter(|event| matches!(event, ModelEvent::Completed(_))).count();
        assert_eq!(completed, 1, "{name}");
        let said: String = events.iter().filter_map(text_of).collect();
        assert_eq!(said, completion(events).text, "{name}: the deltas are the text");
    }
    whole
}

/// A stream that is cut short anywhere before its end must be an error, or be whole already.
pub(crate) fn truncate<D: Decoder + Default>(name: &str, stream: &[u8]) {
    let whole = feed(D::default(), &[stream]).map(|events| completion(&events).calls.clone()).unwrap();
    for cut in 0..stream.len() {
        if let Ok(events) = feed(D::default(), &[&stream[..cut]]) {
            assert_eq!(completion(&events).calls, whole, "{name}: cut at {cut}");
        }
    }
}

fn text_of(event: &ModelEvent) -> Option<&str> {
    match event {
        ModelEvent::TextDelta(text) => Some(text),
        _ => None,
    }
}

pub(crate) fn completion(events: &[ModelEvent]) -> &Completion {
    match events.last() {
        Some(ModelEvent::Completed(completion)) => completion,
        other => panic!("the last event is {other:?}"),
    }
}

/// What a stream came to, short enough for a table: finish, text, and calls as `name args` or `name BAD`.
pub(crate) fn summary(outcome: &Result<Vec<ModelEvent>, LlmError>) -> Value {
    match outcome {
        Ok(events) => {
            let completion = completion(events);
            let calls: Vec<String> = completion
                .calls
                .iter()
                .map(|call| match &call.args {
                    Ok(args) => format!("{} {args}", call.name),
                    Err(_) => format!("{} BAD", call.name),
                })
                .collect();
            let finish = match completion.finish {
                Finish::Stop => "stop",
                Finish::ToolCalls => "calls",
                Finish::Length => "length",
                Finish::ContentFilter => "filter",
            };
            json!([finish, completion.text, calls])
        }
        Err(error) => {
            let text = format!("{error:?}");
            json!(text.split(|c: char| !c.is_alphanumeric()).next())
        }
    }
}
