//! Makes a conversation one that no server refuses, whatever became of it.
//!
//! Every call has one result, right after its message and in order; ids are unique in the whole conversation and of
//! letters that all servers take; nothing is empty; it begins and ends with what is not the model's; neither two
//! messages of the user nor two of the model follow each other.

use crate::{Message, ToolCall};
use std::collections::{BTreeMap, BTreeSet};

/// Longest id that every server takes, in bytes.
pub(crate) const MAX_ID_BYTES: usize = 40;
/// What stands for words that are not there: servers refuse empty ones.
pub(crate) const NOTHING: &str = "(nothing)";
const BEGINNING: &str = "(The conversation before this was cut.)";
const GO_ON: &str = "Please go on.";
const NO_RESULT: &str = "no result of this call was kept; whether it ran is in the audit";

/// The conversation in that form. One that is in it already stays as it is.
pub(crate) fn prepared(messages: &[Message]) -> Vec<Message> {
    let mut writer = Writer::default();
    for message in messages {
        match message {
            Message::User { text } => writer.user(text),
            Message::Assistant { text, calls, provider_data } => {
                writer.assistant(text, calls, provider_data.clone());
            }
            Message::Tool { .. } => writer.result(message),
        }
    }
    writer.settle();
    if !matches!(writer.out.last(), Some(Message::User { .. } | Message::Tool { .. })) {
        writer.user(GO_ON);
    }
    writer.out
}

#[derive(Default)]
struct Writer {
    out: Vec<Message>,
    ids: BTreeSet<String>,
    /// The calls of the last message, by the ids that their results will name.
    waiting: Vec<(String, ToolCall)>,
    results: BTreeMap<String, Message>,
}

impl Writer {
    fn user(&mut self, text: &str) {
        self.settle();
        let text = if text.trim().is_empty() { NOTHING } else { text };
        if let Some(Message::User { text: before }) = self.out.last_mut() {
            before.push_str("\n\n");
            before.push_str(text);
        } else {
            self.out.push(Message::User { text: text.to_owned() });
        }
    }

    fn assistant(&mut self, text: &str, calls: &[ToolCall], provider_data: Option<serde_json::Value>) {
        self.settle();
        if text.trim().is_empty() && calls.is_empty() {
            return;
        }
        if self.out.is_empty() {
            self.out.push(Message::User { text: BEGINNING.to_owned() });
        }
        let mut renamed = Vec::with_capacity(calls.len());
        for call in calls {
            let id = self.unique(&call.id);
            self.waiting.push((call.id.clone(), ToolCall { id: id.clone(), ..call.clone() }));
            renamed.push(ToolCall { id, ..call.clone() });
        }
        if let Some(Message::Assistant { text: before, calls: old, provider_data: data }) =
            self.out.last_mut()
            && old.is_empty()
        {
            if !text.trim().is_empty() {
                before.push_str("\n\n");
                before.push_str(text);
            }
            *old = renamed;
            *data = provider_data;
            return;
        }
        self.out.push(Message::Assistant { text: text.to_owned(), calls: renamed, provider_data });
    }

    fn result(&mut self, message: &Message) {
        if let Message::Tool { call_id, .. } = message
            && self.waiting.iter().any(|(known, _)| known == call_id)
        {
            self.results.entry(call_id.clone()).or_insert_with(|| message.clone());
        }
    }

    /// Writes the results that the last message waits for.
    fn settle(&mut self) {
        for (known, call) in std::mem::take(&mut self.waiting) {
            let result = match self.results.remove(&known) {
                Some(Message::Tool { content, is_error, data, .. }) => Message::Tool {
                    call_id: call.id,
                    name: call.name,
                    content: if content.trim().is_empty() { NOTHING.to_owned() } else { content },
                    is_error,
                    data,
                },
                _ => Message::Tool {
                    call_id: call.id,
                    name: call.name,
                    content: NO_RESULT.to_owned(),
                    is_error: true,
                    data: None,
                },
            };
            self.out.push(result);
        }
        self.results.clear();
    }

    fn unique(&mut self, id: &str) -> String {
        let mut base: String = id
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
            .take(MAX_ID_BYTES)
            .collect();
        if base.is_empty() {
            base.push_str("call");
        }
        let mut unique = base.clone();
        let mut counter = 1;
        while !self.ids.insert(unique.clone()) {
            counter += 1;
            let suffix = format!("_{counter}");
            let kept: String = base.chars().take(MAX_ID_BYTES - suffix.len()).collect();
            unique = kept + &suffix;
        }
        unique
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::BadArguments;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn any_data() -> impl Strategy<Value = Option<Value>> {
        prop_oneof![
            3 => Just(None),
            1 => Just(Some(json!([{"type": "thinking", "thinking": "t", "signature": "s"}]))),
            1 => Just(Some(json!({"reasoning_content": "hm"}))),
            1 => Just(Some(json!({"parts": [{"text": "a", "thoughtSignature": "c2ln"}]}))),
            1 => Just(Some(json!([{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}]))),
            1 => Just(Some(json!("nonsense"))),
            1 => Just(Some(json!([{"type": "unheard_of"}, 7, null]))),
        ]
    }

    fn any_call() -> impl Strategy<Value = ToolCall> {
        let args = prop_oneof![
            Just(Ok(json!({"n": 1}))),
            Just(Ok(json!({}))),
            Just(Err(BadArguments { raw: "{".to_owned(), reason: "r".to_owned() })),
        ];
        ("(a|b|call 1|호출|x{45}||[0-9a-f]{32})", "(load|net-tools/nft|도구|)", args)
            .prop_map(|(id, name, args)| ToolCall { id, name, args })
    }

    /// Any conversation, whether or not it makes sense.
    pub(crate) fn any_history() -> impl Strategy<Value = Vec<Message>> {
        let text = "( ||a|좋아요|two\nlines)";
        let message = prop_oneof![
            text.prop_map(|text| Message::User { text }),
            (text, prop::collection::vec(any_call(), 0..4), any_data())
                .prop_map(|(text, calls, provider_data)| Message::Assistant { text, calls, provider_data }),
            ("(a|b|call 1|호출|x{45}|)", "( |r|한)", any::<bool>()).prop_map(
                |(call_id, content, is_error)| {
                    Message::Tool { call_id, name: "load".to_owned(), content, is_error, data: None }
                }
            ),
        ];
        prop::collection::vec(message, 0..14)
    }

    proptest! {
        #[test]
        fn any_conversation_becomes_sendable_and_then_stays(messages in any_history()) {
            let once = prepared(&messages);
            prop_assert_eq!(&prepared(&once), &once);
            let begins_with_the_user = matches!(once.first(), Some(Message::User { .. }));
            let ends_with_the_model = matches!(once.last(), Some(Message::Assistant { .. }));
            prop_assert!(begins_with_the_user && !ends_with_the_model, "{:?}", once);
            let calls = |messages: &[Message]| messages.iter().map(|message| match message {
                Message::Assistant { calls, .. } => calls.len(),
                _ => 0,
            }).sum::<usize>();
            prop_assert_eq!(calls(&once), calls(&messages), "no call is lost");
            let results = once.iter().filter(|message| matches!(message, Message::Tool { .. })).count();
            prop_assert_eq!(results, calls(&once));
        }
    }

    #[test]
    fn results_go_to_their_own_calls_though_ids_come_again() {
        let call = |id: &str| ToolCall { id: id.to_owned(), name: "x".to_owned(), args: Ok(json!({})) };
        let asks =
            |id: &str| Message::Assistant { text: String::new(), calls: vec![call(id)], provider_data: None };
        let tells = |id: &str, content: &str| Message::Tool {
            call_id: id.to_owned(),
            name: "x".to_owned(),
            content: content.to_owned(),
            is_error: false,
            data: None,
        };
        let user = Message::User { text: "u".to_owned() };
        let out = prepared(&[
            user,
            asks("a"),
            tells("a", "first"),
            tells("a", "again"),
            asks("a"),
            tells("a", "second"),
        ]);
        let results: Vec<(&str, &str)> = out
            .iter()
            .filter_map(|message| match message {
                Message::Tool { call_id, content, .. } => Some((call_id.as_str(), content.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(results, [("a", "first"), ("a_2", "second")]);
    }
}
