//! W3C trace context in gRPC metadata.

use std::fmt;
use std::str::FromStr;
use tonic::metadata::{MetadataMap, MetadataValue};

const KEY: &str = "traceparent";

/// One `traceparent`, version 00: which trace a call belongs to and which span asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// Id of the whole trace; never all zero.
    pub trace_id: [u8; 16],
    /// Id of the span that asks; never all zero.
    pub span_id: [u8; 8],
    /// Bit 0: the trace is recorded.
    pub flags: u8,
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", hex::encode(self.trace_id), hex::encode(self.span_id), self.flags)
    }
}

impl FromStr for TraceParent {
    type Err = BadTraceParent;

    fn from_str(text: &str) -> Result<Self, BadTraceParent> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(version), Some(trace), Some(span), Some(flags)) => (version, trace, span, flags),
            _ => return Err(BadTraceParent),
        };
        let known = version == "00" && parts.next().is_none();
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let (mut trace_id, mut span_id, mut flag) = ([0; 16], [0; 8], [0; 1]);
        let decoded = hex::decode_to_slice(trace, &mut trace_id).is_ok()
            && hex::decode_to_slice(span, &mut span_id).is_ok()
            && hex::decode_to_slice(flags, &mut flag).is_ok();
        if !known || !lower || !decoded || trace_id == [0; 16] || span_id == [0; 8] {
            return Err(BadTraceParent);
        }
        Ok(Self { trace_id, span_id, flags: flag[0] })
    }
}

/// Puts a trace context into a request's metadata.
pub fn inject(metadata: &mut MetadataMap, parent: &TraceParent) {
    if let Ok(value) = MetadataValue::try_from(parent.to_string()) {
        metadata.insert(KEY, value);
    }
}

/// The trace context of a request, if it carries a valid one. A broken one is as good as none.
pub fn extract(metadata: &MetadataMap) -> Option<TraceParent> {
    metadata.get(KEY)?.to_str().ok()?.parse().ok()
}

/// A text that is no `traceparent` of version 00.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a W3C traceparent of version 00")]
pub struct BadTraceParent;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_context_travels_in_the_metadata() {
        let parent = TraceParent { trace_id: [7; 16], span_id: [9; 8], flags: 1 };
        let mut metadata = MetadataMap::new();
        inject(&mut metadata, &parent);
        assert_eq!(extract(&metadata), Some(parent));
    }

    proptest! {
        #[test]
        fn every_context_reads_back(trace_id in any::<[u8; 16]>(), span_id in any::<[u8; 8]>(), flags in any::<u8>()) {
            prop_assume!(trace_id != [0; 16] && span_id != [0; 8]);
            let parent = TraceParent { trace_id, span_id, flags };
            prop_assert_eq!(parent.to_string().parse::<TraceParent>(), Ok(parent));
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[0-9a-fA-F-]{0,60}") {
            if let Ok(parent) = text.parse::<TraceParent>() {
                prop_assert_eq!(parent.to_string(), text);
            }
        }
    }
}
