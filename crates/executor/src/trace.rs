//! The span of one call.

use gate::CallRequest;
use model::CallState;
use storage::calls::CallRow;
use tracing::{Span, field, info_span};

/// The span of a call that is asked for, as a child of the current one. What the request says goes into it only
/// once it was checked: a model may write anything where a key belongs.
pub fn call_span(request: &CallRequest) -> Span {
    info_span!(
        "call",
        call.id = %request.call_id,
        call.origin = %request.origin,
        edge.id = request.edge.map(field::display),
        tool = field::Empty,
        call.class = field::Empty,
        call.state = field::Empty,
    )
}

/// The span of a call that an earlier manager left waiting.
pub(crate) fn call_span_of(call: &CallRow) -> Span {
    info_span!(
        "call",
        call.id = %call.id,
        call.origin = %call.origin,
        edge.id = call.edge.map(field::display),
        tool = field::Empty,
        call.class = field::Empty,
        call.state = field::Empty,
    )
}

/// Notes in the current span how its call ended.
pub(crate) fn note_end(state: CallState) {
    Span::current().record("call.state", state.as_str());
}
