//! Calls that root made on this host, as the manager is told of them.

use crate::execute::outcome;
use admission::{Asked, LocalCall};
use proto::v1;

/// A local call as it travels.
pub(crate) fn local_call(call: LocalCall) -> v1::LocalCall {
    let LocalCall { accepted, ended } = call;
    let Asked { args, definition_hash } =
        accepted.asked.unwrap_or(Asked { args: None, definition_hash: String::new() });
    v1::LocalCall {
        call_id: accepted.call_id.to_string(),
        skill: accepted.skill,
        class: accepted.class.to_string(),
        args_json: args.map(|args| args.to_string()).unwrap_or_default(),
        definition_hash,
        started_at: accepted.at.to_rfc3339(),
        outcome: Some(outcome(&ended)),
        result: ended.result.unwrap_or_default(),
    }
}
