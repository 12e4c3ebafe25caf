//! The conversation: how it is kept, and how it is told to a model.
//!
//! Whatever happened (a stop, a crash, a cut), a model is told a conversation in which every call has exactly one
//! result, right after the message that asked for it.

use crate::results::unmarked;
use llm::{BadArguments, Message, ModelLabel, ToolCall};
use model::CallId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use storage::chats::StoredMessage;

/// A message as it is kept. Redacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(crate) enum Said {
    User {
        text: String,
    },
    Assistant {
        text: String,
        calls: Vec<SaidCall>,
        /// What its provider wants back, and whose it is: no other provider understands it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_data: Option<(ModelLabel, Value)>,
    },
    Tool {
        call: CallId,
        tool: String,
        content: String,
        is_error: bool,
    },
}

/// A call as it is kept. Its id is ours, and the one that the model is told: servers reuse theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SaidCall {
    pub(crate) id: CallId,
    pub(crate) tool: String,
    pub(crate) args: Result<Value, BadArguments>,
}

impl Said {
    pub(crate) fn body(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// Reads a kept message; `None` if it is of a form that this version doesn't know.
    pub(crate) fn of(stored: &StoredMessage) -> Option<Self> {
        serde_json::from_value(stored.body.clone()).ok()
    }

    fn bytes(&self) -> usize {
        match self {
            Self::User { text } => text.len(),
            Self::Assistant { text, calls, .. } => {
                let args = |call: &SaidCall| match &call.args {
                    Ok(args) => args.to_string().len(),
                    Err(bad) => bad.raw.len(),
                };
                text.len() + calls.iter().map(|call| call.tool.len() + args(call)).sum::<usize>()
            }
            Self::Tool { content, .. } => content.len(),
        }
    }
}

/// A call's id on the wire: letters and digits, which every provider takes.
pub(crate) fn wire_id(call: CallId) -> String {
    call.0.simple().to_string()
}

/// Tells a conversation to a model: the newest whole turns that fit `max_bytes`, the last one always.
pub(crate) fn told(
    said: &[Said],
    label: &ModelLabel,
    data: &BTreeMap<CallId, Value>,
    max_bytes: usize,
) -> Vec<Message> {
    let mut begin = said.len();
    let mut bytes = 0;
    for (position, message) in said.iter().enumerate().rev() {
        bytes += message.bytes();
        let is_last_turn = begin == said.len();
        if bytes > max_bytes && !is_last_turn {
            break;
        }
        if matches!(message, Said::User { .. }) {
            begin = position;
        }
    }
    repaired(said.get(begin..).unwrap_or_default().iter().map(|message| tell(message, label, data)).collect())
}

fn tell(message: &Said, label: &ModelLabel, data: &BTreeMap<CallId, Value>) -> Message {
    match message {
        Said::User { text } => Message::User { text: text.clone() },
        Said::Assistant { text, calls, provider_data } => Message::Assistant {
            text: text.clone(),
            calls: calls
                .iter()
                .map(|call| ToolCall {
                    id: wire_id(call.id),
                    name: call.tool.clone(),
                    args: call.args.clone(),
                })
                .collect(),
            provider_data: provider_data
                .as_ref()
                .filter(|(whose, _)| whose == label)
                .map(|(_, data)| data.clone()),
        },
        Said::Tool { call, tool, content, is_error } => Message::Tool {
            call_id: wire_id(*call),
            name: tool.clone(),
            // The router follows no instructions and shows the text to people, for whom the marks mean nothing.
            content: if label.builtin { unmarked(content).to_owned() } else { content.clone() },
            is_error: *is_error,
            data: data.get(call).cloned(),
        },
    }
}

/// Makes a conversation valid for every provider: the results of a message's calls follow it in the order of the
/// calls, exactly one for each; results of nothing are dropped.
pub fn repaired(messages: Vec<Message>) -> Vec<Message> {
    let mut out = Vec::with_capacity(messages.len());
    let mut waiting: Vec<ToolCall> = Vec::new();
    let mut results: BTreeMap<String, Message> = BTreeMap::new();
    for message in messages {
        match message {
            Message::Tool { ref call_id, .. } => {
                if waiting.iter().any(|call| call.id == *call_id) {
                    results.entry(call_id.clone()).or_insert(message);
                }
            }
            other => {
                settle(&mut out, &mut waiting, &mut results);
                if let Message::Assistant { calls, .. } = &other {
                    waiting.clone_from(calls);
                }
                out.push(other);
            }
        }
    }
    settle(&mut out, &mut waiting, &mut results);
    out
}

fn settle(out: &mut Vec<Message>, waiting: &mut Vec<ToolCall>, results: &mut BTreeMap<String, Message>) {
    for call in waiting.drain(..) {
        let result = results.remove(&call.id).unwrap_or_else(|| Message::Tool {
            call_id: call.id,
            name: call.name,
            content: "no result of this call was kept; whether it ran is in the audit".to_owned(),
            is_error: true,
            data: None,
        });
        out.push(result);
    }
    results.clear();
}

/// The data that the builtin router reads of a call that didn't succeed.
pub(crate) fn failure_data(state: model::CallState, error: Option<&str>, kind: Option<&str>) -> Value {
    json!({"state": state, "error": error, "error_kind": kind})
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(id: u8) -> ToolCall {
        ToolCall { id: format!("c{id}"), name: "t".to_owned(), args: Ok(json!({})) }
    }

    fn any_message() -> impl Strategy<Value = Message> {
        prop_oneof![
            Just(Message::User { text: "u".to_owned() }),
            prop::collection::btree_set(0_u8..6, 0..4).prop_map(|ids| Message::Assistant {
                text: "a".to_owned(),
                calls: ids.into_iter().map(call).collect(),
                provider_data: None,
            }),
            (0_u8..6).prop_map(|id| Message::Tool {
                call_id: format!("c{id}"),
                name: "t".to_owned(),
                content: "r".to_owned(),
                is_error: false,
                data: None,
            }),
        ]
    }

    /// What every provider wants of a conversation.
    fn assert_valid(messages: &[Message]) {
        let mut rest = messages.iter();
        while let Some(message) = rest.next() {
            match message {
                Message::Assistant { calls, .. } => {
                    for call in calls {
                        match rest.next() {
                            Some(Message::Tool { call_id, .. }) => assert_eq!(call_id, &call.id),
                            other => panic!("{call:?} is followed by {other:?}"),
                        }
                    }
                }
                Message::Tool { .. } => panic!("a result of nothing: {message:?}"),
                Message::User { .. } => {}
            }
        }
    }

    proptest! {
        #[test]
        fn any_history_becomes_valid_and_a_valid_one_stays(messages in prop::collection::vec(any_message(), 0..20)) {
            let once = repaired(messages.clone());
            assert_valid(&once);
            prop_assert_eq!(repaired(once.clone()), once.clone());
            let spoken = |messages: &[Message]| messages.iter().filter(|m| !matches!(m, Message::Tool { .. })).count();
            prop_assert_eq!(spoken(&once), spoken(&messages));
        }

        #[test]
        fn a_history_is_cut_between_turns_and_keeps_the_last(sizes in prop::collection::vec(0_usize..60, 1..10)) {
            let said: Vec<Said> = sizes.iter().flat_map(|size| [
                Said::User { text: "u".repeat(*size) },
                Said::Assistant { text: "a".repeat(*size), calls: Vec::new(), provider_data: None },
            ]).collect();
            let label = ModelLabel { provider: "p".to_owned(), model: "m".to_owned(), builtin: false };
            let messages = told(&said, &label, &BTreeMap::new(), 100);
            let is_whole_turns = matches!(messages.first(), Some(Message::User { .. })) && messages.len().is_multiple_of(2);
            prop_assert!(is_whole_turns);
            let bytes: usize = said.iter().rev().take(messages.len()).map(Said::bytes).sum();
            prop_assert!(bytes <= 100 || messages.len() == 2);
        }
    }
}
