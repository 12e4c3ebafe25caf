//! Several providers as one: where the first can't answer, the next is asked.

use crate::{LlmError, Message, ModelEvent, ModelLabel, ModelRequest, Provider};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Providers in the order in which they are asked. It goes by the name of the first.
///
/// The next one is asked only where nothing of an answer was passed on, and only for what is the provider's fault:
/// an answer is never made of two, and a request that is wrong is not wrong elsewhere.
pub struct Failover {
    first: Arc<dyn Provider>,
    others: Vec<Arc<dyn Provider>>,
}

impl Failover {
    /// Joins providers.
    pub fn new(first: Arc<dyn Provider>, others: Vec<Arc<dyn Provider>>) -> Self {
        Self { first, others }
    }
}

impl std::fmt::Debug for Failover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Failover").field("first", &self.first.label()).finish_non_exhaustive()
    }
}

type Answer = BoxStream<'static, Result<ModelEvent, LlmError>>;

struct Asking {
    providers: Vec<Arc<dyn Provider>>,
    place: usize,
    request: ModelRequest,
    cancel: CancellationToken,
    answer: Answer,
    /// Whether anything was passed on.
    spoke: bool,
    over: bool,
}

impl Provider for Failover {
    fn label(&self) -> ModelLabel {
        self.first.label()
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> Answer {
        let providers: Vec<Arc<dyn Provider>> =
            std::iter::once(&self.first).chain(&self.others).map(Arc::clone).collect();
        let answer = ask(self.first.as_ref(), 0, &request, &cancel);
        let asking = Asking { providers, place: 0, request, cancel, answer, spoke: false, over: false };
        stream::unfold(asking, |mut asking| async move { asking.next().await.map(|item| (item, asking)) })
            .boxed()
    }
}

impl Asking {
    async fn next(&mut self) -> Option<Result<ModelEvent, LlmError>> {
        if self.over {
            return None;
        }
        loop {
            match self.answer.next().await {
                Some(Ok(ModelEvent::Completed(mut completion))) => {
                    self.over = true;
                    let label = self.providers.get(self.place)?.label();
                    completion.provider_data =
                        completion.provider_data.map(|data| json!({"of": label, "data": data}));
                    if self.place > 0 && completion.answered_by.is_none() {
                        completion.answered_by = Some(label);
                    }
                    return Some(Ok(ModelEvent::Completed(completion)));
                }
                Some(Ok(event)) => {
                    self.spoke = true;
                    return Some(Ok(event));
                }
                Some(Err(error)) => {
                    let next = self.providers.get(self.place + 1).map(Arc::clone);
                    let (Some(next), true) = (next, !self.spoke && error.is_of_the_provider()) else {
                        self.over = true;
                        return Some(Err(error));
                    };
                    let failed = self.providers.get(self.place).map(|provider| provider.label().provider);
                    tracing::warn!(
                        error = %error, model.provider = failed.unwrap_or_default(),
                        next = next.label().provider, "a model gave no answer, asking the next"
                    );
                    self.place += 1;
                    self.answer = ask(next.as_ref(), self.place, &self.request, &self.cancel);
                }
                None => {
                    self.over = true;
                    return None;
                }
            }
        }
    }
}

/// Asks one of them. It gets back only what it gave itself; what the first gave when it was alone isn't marked.
fn ask(provider: &dyn Provider, place: usize, request: &ModelRequest, cancel: &CancellationToken) -> Answer {
    let label = json!(provider.label());
    let mut request = request.clone();
    for message in &mut request.messages {
        if let Message::Assistant { provider_data: data @ Some(_), .. } = message {
            *data = data.take().and_then(|value| match &value {
                Value::Object(fields) if fields.len() == 2 && fields.contains_key("of") => {
                    (fields.get("of") == Some(&label)).then(|| fields.get("data").cloned())?
                }
                _ => (place == 0).then_some(value),
            });
        }
    }
    provider.stream(request, cancel.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Completion, Usage};
    use std::sync::Mutex;

    /// Says what it was told to say, and remembers what it was asked.
    struct Scripted {
        name: &'static str,
        says: Vec<Result<ModelEvent, LlmError>>,
        asked: Mutex<Vec<ModelRequest>>,
    }

    impl Scripted {
        fn new(name: &'static str, says: Vec<Result<ModelEvent, LlmError>>) -> Arc<Self> {
            Arc::new(Self { name, says, asked: Mutex::new(Vec::new()) })
        }

        fn times(&self) -> usize {
            self.asked.lock().unwrap().len()
        }
    }

    impl Provider for Scripted {
        fn label(&self) -> ModelLabel {
            ModelLabel { provider: self.name.to_owned(), model: "m".to_owned(), builtin: false }
        }

        fn stream(&self, request: ModelRequest, _cancel: CancellationToken) -> Answer {
            self.asked.lock().unwrap().push(request);
            stream::iter(self.says.clone()).boxed()
        }
    }

    fn whole(text: &str) -> Vec<Result<ModelEvent, LlmError>> {
        vec![
            Ok(ModelEvent::TextDelta(text.to_owned())),
            Ok(ModelEvent::Completed(Completion {
                text: text.to_owned(),
                usage: Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() },
                provider_data: Some(json!("kept")),
                ..Completion::default()
            })),
        ]
    }

    fn down() -> LlmError {
        LlmError::Overloaded { message: "down".to_owned(), retry_after: None }
    }

    async fn answer(failover: &Failover, request: ModelRequest) -> Vec<Result<ModelEvent, LlmError>> {
        failover.stream(request, CancellationToken::new()).collect().await
    }

    #[tokio::test]
    async fn the_next_is_asked_where_the_first_gave_nothing_and_its_name_is_told() {
        let first = Scripted::new("first", vec![Err(down())]);
        let second = Scripted::new("second", vec![Err(LlmError::Quota("used up".to_owned()))]);
        let third = Scripted::new("third", whole("hi"));
        let failover = Failover::new(first, vec![second, third.clone()]);
        let events = answer(&failover, ModelRequest::default()).await;
        let Some(Ok(ModelEvent::Completed(done))) = events.last() else { panic!("{events:?}") };
        assert_eq!(done.text, "hi");
        assert_eq!(done.answered_by, Some(third.label()));
        assert_eq!(failover.label().provider, "first");
    }

    #[tokio::test]
    async fn nobody_else_is_asked_once_something_was_said_or_the_request_is_wrong() {
        let begun = vec![Ok(ModelEvent::ReasoningDelta("Hm".to_owned())), Err(down())];
        for says in [
            begun,
            vec![Err(LlmError::BadRequest("no".to_owned()))],
            vec![Err(LlmError::Cancelled)],
            vec![Err(LlmError::ContextTooLong("long".to_owned()))],
            vec![Err(LlmError::ContentFilter("no".to_owned()))],
        ] {
            let expected = says.last().cloned();
            let second = Scripted::new("second", whole("never"));
            let failover = Failover::new(Scripted::new("first", says), vec![second.clone()]);
            assert_eq!(answer(&failover, ModelRequest::default()).await.last().cloned(), expected);
            assert_eq!(second.times(), 0);
        }
    }

    #[tokio::test]
    async fn the_last_error_is_told_where_none_answers() {
        let second = Scripted::new("second", vec![Err(LlmError::Auth("wrong".to_owned()))]);
        let failover = Failover::new(Scripted::new("first", vec![Err(down())]), vec![second]);
        let events = answer(&failover, ModelRequest::default()).await;
        assert_eq!(events, [Err(LlmError::Auth("wrong".to_owned()))]);
    }

    #[tokio::test]
    async fn each_gets_back_only_what_it_gave() {
        let says = |data: Value| Message::Assistant {
            text: "a".to_owned(),
            calls: Vec::new(),
            provider_data: Some(data),
        };
        let of = |name: &str| json!({"of": {"provider": name, "model": "m", "builtin": false}, "data": name});
        let request = ModelRequest {
            messages: vec![says(of("first")), says(of("second")), says(json!("unmarked"))],
            ..ModelRequest::default()
        };
        let first = Scripted::new("first", vec![Err(down())]);
        let second = Scripted::new("second", whole("hi"));
        answer(&Failover::new(first.clone(), vec![second.clone()]), request).await;
        let given = |provider: &Scripted| -> Vec<Option<Value>> {
            provider.asked.lock().unwrap()[0]
                .messages
                .iter()
                .map(|message| match message {
                    Message::Assistant { provider_data, .. } => provider_data.clone(),
                    _ => None,
                })
                .collect()
        };
        assert_eq!(given(&first), [Some(json!("first")), None, Some(json!("unmarked"))]);
        assert_eq!(given(&second), [None, Some(json!("second")), None]);
    }
}
