use gate::{RedactedStream, Redactor};
use llm::sse::{Event, Parser};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;

/// What judging the longest command that is looked at may take of a processor, in an optimised build.
const JUDGED_WITHIN: Duration = Duration::from_millis(10);

/// What this thread has had of a processor: other processes don't count, unlike with a watch.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// Any text has a class; reasons and destinations point into it; it takes bounded time.
pub fn shell(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let before = spent();
    let verdict = shellclass::classify(text);
    let took = spent() - before;
    // Without optimisation the tests only see that nothing is out of all proportion.
    let allowed = if cfg!(debug_assertions) { JUDGED_WITHIN * 100 } else { JUDGED_WITHIN };
    assert!(took <= allowed, "judging {} bytes took {took:?}", text.len());
    for reason in &verdict.reasons {
        assert!(text.get(reason.start..reason.end).is_some(), "{reason:?}");
        assert!(reason.class <= verdict.class, "{reason:?}");
    }
    for place in &verdict.destinations {
        assert!(text.get(place.start..place.end).is_some(), "{place:?}");
    }
    assert!(!verdict.reasons.is_empty(), "no reason");
}

/// Any SQL has a class, and a removal put behind it doesn't lower it.
pub fn sql(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let class = shellclass::sql_class(text);
    // Only where the text is whole: inside an open quote or comment nothing is a statement.
    if class == shellclass::sql_class("select 1") {
        let more = shellclass::sql_class(&format!("{text}\n;drop table t;"));
        assert!(more > class, "{text:?}");
    }
}

/// A first line with a schema, and arguments behind it: there is an answer, and it never repeats what was sent.
pub fn schema(data: &[u8]) {
    let Some(at) = data.iter().position(|byte| *byte == b'\n') else { return };
    let (Ok(schema), Ok(args)) =
        (serde_json::from_slice::<Value>(&data[..at]), serde_json::from_slice::<Value>(&data[at + 1..]))
    else {
        return;
    };
    if let Ok(validator) = skill::Validator::new(&schema) {
        let first = validator.check(&args).map_err(|error| error.to_string());
        assert_eq!(first, validator.check(&args).map_err(|error| error.to_string()));
    }
}

/// What a stream says doesn't depend on where the network cut it.
pub fn stream(data: &[u8]) {
    let whole = events(std::iter::once(data));
    let pieces = events(data.chunks(1));
    assert_eq!(whole, pieces);
    let size = data.first().map_or(1, |byte| usize::from(*byte) + 1);
    assert_eq!(whole, events(data.chunks(size)));
}

/// The events up to the first error, and whether there was one.
fn events<'d>(pieces: impl Iterator<Item = &'d [u8]>) -> (Vec<Event>, bool) {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    for piece in pieces {
        match parser.push(piece) {
            Ok(more) => events.extend(more),
            // How many events came before depends on the pieces; that it is an error doesn't.
            Err(_) => return (Vec::new(), true),
        }
    }
    match parser.finish() {
        Ok(last) => {
            events.extend(last);
            (events, false)
        }
        Err(_) => (Vec::new(), true),
    }
}

static REDACTOR: LazyLock<Redactor> =
    LazyLock::new(|| Redactor::new(storage::MasterKey::from_bytes([7; 32]), &[]).unwrap());

/// A text that streams is held back as it is when it comes whole, and nothing is held back twice.
pub fn redact(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let once = REDACTOR.redact(text);
    assert_eq!(REDACTOR.redact(&once), once, "{text:?}");
    let size = data.first().map_or(1, |byte| usize::from(*byte % 16) + 1);
    let mut streamed = RedactedStream::default();
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = (size..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        streamed.push(&rest[..end]);
        shown.push_str(&streamed.take(&REDACTOR));
        rest = &rest[end..];
    }
    shown.push_str(&streamed.rest(&REDACTOR));
    assert_eq!(REDACTOR.redact(&shown), shown, "a secret was shown in pieces of {text:?}");
}

/// A manifest is read or refused with words that say why.
pub fn manifest(data: &[u8]) {
    if let Err(error) = packs::Manifest::parse(data) {
        assert!(!error.problems.is_empty());
        assert!(error.problems.iter().all(|problem| !problem.message.trim().is_empty()), "{error:?}");
    }
}
