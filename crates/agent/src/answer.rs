//! One request to the model, shown while it is being answered.

use crate::history::{self, Said};
use crate::runner::{Answer, Asked, Ending, Fault, Runner};
use crate::{events, prompt};
use futures::StreamExt;
use gate::RedactedStream;
use llm::{Completion, Finish, LlmError, ModelEvent, ModelRequest};
use model::ErrorKind;
use opentelemetry::trace::TraceContextExt as _;
use storage::chats::NewEvent;
use storage::turns::TurnWrite;
use tokio::time::{Instant, sleep_until};
use tracing::Instrument as _;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use uuid::Uuid;

/// What came of a model's stream.
struct Heard {
    /// All of the text that came, whole or not. Not redacted.
    text: String,
    /// Whether it began a call.
    began_call: bool,
    /// Whether anything of it was shown.
    shown: bool,
    outcome: Result<Completion, LlmError>,
}

/// Text that waits to be shown. What may be the beginning of a secret waits for its end.
#[derive(Default)]
struct Pending {
    text: RedactedStream,
    reasoning: RedactedStream,
    /// Bytes that came since something was shown.
    fresh: usize,
    since: Option<Instant>,
}

impl Pending {
    fn add(&mut self, text: &str, reasoning: &str) {
        self.text.push(text);
        self.reasoning.push(reasoning);
        self.fresh += text.len() + reasoning.len();
        self.since.get_or_insert_with(Instant::now);
    }
}

impl Runner {
    /// Asks the model once. Its message is kept, with its calls, before this returns.
    pub(crate) async fn ask(&mut self, may_call: bool) -> Result<Asked, Fault> {
        let Some(provider) = self.provider.clone() else {
            return Ok(Asked::Ended(Ending::failed("the chat has no model")));
        };
        self.requests += 1;
        self.write(TurnWrite {
            request_begins: true,
            events: vec![events::phase("model", self.requests)],
            ..TurnWrite::default()
        })
        .await?;
        let id = Uuid::now_v7();
        let stop = self.stop();
        let span = tracing::info_span!(
            "model request",
            otel.kind = "client",
            gen_ai.provider.name = %self.label.provider,
            gen_ai.request.model = %self.label.model,
            request.number = self.requests,
            gen_ai.usage.input_tokens = tracing::field::Empty,
            gen_ai.usage.output_tokens = tracing::field::Empty,
        );
        self.asked = Some(span.context()).filter(|context| context.span().span_context().is_valid());
        let stream = span.in_scope(|| provider.stream(self.request(may_call), stop.token.clone()));
        let heard = self.listen(id, stream).instrument(span.clone()).await?;
        if let Ok(completion) = &heard.outcome {
            span.record("gen_ai.usage.input_tokens", completion.usage.input_tokens);
            span.record("gen_ai.usage.output_tokens", completion.usage.output_tokens);
        }
        // It ends here, not with the calls that it asks for.
        drop(span);
        match heard.outcome {
            Ok(completion) => self.settle(id, completion, may_call, heard.began_call, heard.shown).await,
            Err(error) => {
                self.keep_partial(id, &heard.text, heard.shown).await?;
                let ending = self
                    .cut()
                    .unwrap_or_else(|| Ending::failed(self.inner.redactor.redact(&error.to_string())));
                if error.kind_is_ours() {
                    tracing::warn!(error = %error, "a model gave no answer");
                }
                Ok(Asked::Ended(ending))
            }
        }
    }

    fn request(&self, may_call: bool) -> ModelRequest {
        let hosts = self.hosts();
        let limits = &self.inner.limits;
        let tools = self.inner.catalogue.load().llm_tools();
        // The router is told of all, because it explains what a host lacks.
        let tools = if self.label.builtin { tools } else { events::offered(tools, &hosts) };
        ModelRequest {
            system: prompt::system(&self.user_name, self.inner.clock.now(), &hosts, may_call),
            messages: history::told(&self.said, &self.label, &self.data, limits.history_bytes),
            tools,
            allow_tools: may_call,
            max_output_tokens: limits.output_tokens,
            hosts,
            now: Some(self.inner.clock.now()),
        }
    }

    /// Reads a model's stream to its end and shows its text in pieces.
    async fn listen(
        &self,
        id: Uuid,
        mut stream: futures::stream::BoxStream<'static, Result<ModelEvent, LlmError>>,
    ) -> Result<Heard, Fault> {
        let limits = &self.inner.limits;
        let (mut began_call, mut shown) = (false, false);
        let mut pending = Pending::default();
        let outcome = loop {
            let flush_at = pending.since.map(|since| since + limits.delta_every);
            tokio::select! {
                biased;
                () = sleep_until(flush_at.unwrap_or_else(Instant::now)), if flush_at.is_some() => {
                    shown |= self.show(id, &mut pending).await?;
                }
                next = stream.next() => match next {
                    Some(Ok(ModelEvent::TextDelta(more))) => pending.add(&more, ""),
                    Some(Ok(ModelEvent::ReasoningDelta(more))) => pending.add("", &more),
                    Some(Ok(ModelEvent::CallStarted { .. })) => began_call = true,
                    Some(Ok(ModelEvent::Completed(completion))) => break Ok(completion),
                    Some(Err(error)) => break Err(error),
                    None => break Err(LlmError::Protocol("the answer ended before it was complete".to_owned())),
                },
            }
            if pending.fresh >= limits.delta_bytes {
                shown |= self.show(id, &mut pending).await?;
            }
        };
        // The rest isn't shown: the message that replaces all of it comes next.
        Ok(Heard { text: pending.text.raw().to_owned(), began_call, shown, outcome })
    }

    async fn show(&self, id: Uuid, pending: &mut Pending) -> Result<bool, Fault> {
        (pending.fresh, pending.since) = (0, None);
        let redactor = &self.inner.redactor;
        let (text, reasoning) = (pending.text.take(redactor), pending.reasoning.take(redactor));
        let mut shown: Vec<NewEvent> = Vec::new();
        if !reasoning.is_empty() {
            shown.push(events::reasoning_delta(id, &reasoning));
        }
        if !text.is_empty() {
            shown.push(events::text_delta(id, &text));
        }
        let any = !shown.is_empty();
        if any {
            self.write_events(shown).await?;
        }
        Ok(any)
    }

    /// Decides what a whole answer means, and keeps it.
    async fn settle(
        &mut self,
        id: Uuid,
        completion: Completion,
        may_call: bool,
        began_call: bool,
        shown: bool,
    ) -> Result<Asked, Fault> {
        let text = self.inner.redactor.redact(&completion.text).into_owned();
        let mut write = TurnWrite {
            input_tokens: i64::try_from(completion.usage.input_tokens).unwrap_or(i64::MAX),
            output_tokens: i64::try_from(completion.usage.output_tokens).unwrap_or(i64::MAX),
            ..TurnWrite::default()
        };
        if let Some(other) = &completion.answered_by {
            write.events.push(events::notice(&format!(
                "{} gave no answer; {} ({}) stood in for it.",
                self.label.provider, other.provider, other.model
            )));
        }
        let has_text = !text.trim().is_empty();
        let wants_calls = !completion.calls.is_empty();
        let ending = match completion.finish {
            Finish::Length if began_call => Some(Ending::limited(
                "the model's answer was cut by its token limit in a call, which was not made",
            )),
            Finish::Length if has_text => {
                write.events.push(events::notice("The answer was cut by the model's token limit."));
                Some(Ending::answered())
            }
            Finish::Length => Some(Ending::limited("the model reached its token limit before it answered")),
            Finish::ContentFilter => Some(Ending::failed("the model's provider withheld the answer")),
            Finish::Stop | Finish::ToolCalls if wants_calls && may_call => None,
            Finish::Stop | Finish::ToolCalls if has_text => {
                if wants_calls {
                    write
                        .events
                        .push(events::notice("The model asked for more calls than a turn has room for."));
                }
                Some(Ending::answered())
            }
            Finish::Stop | Finish::ToolCalls if wants_calls => {
                let limit = self.inner.limits.model_requests;
                Some(Ending::limited(format!("the model gave no answer within {limit} requests")))
            }
            Finish::Stop | Finish::ToolCalls => Some(Ending::failed("the model gave an empty answer")),
        };
        let Some(ending) = ending else {
            let planned: Vec<_> = completion.calls.into_iter().map(|call| self.plan(call)).collect();
            let answer = Answer { id, text: &text, calls: &planned, provider_data: completion.provider_data };
            self.commit_answer(answer, write).await?;
            return Ok(Asked::Calls(planned));
        };
        if has_text {
            let answer = Answer { id, text: &text, calls: &[], provider_data: None };
            self.commit_answer(answer, write).await?;
        } else {
            self.drop_shown(id, shown, write).await?;
        }
        Ok(Asked::Ended(ending))
    }

    /// Keeps what came of an answer that broke off. Calls are never kept: they may be half.
    async fn keep_partial(&mut self, id: Uuid, text: &str, shown: bool) -> Result<(), Fault> {
        if text.trim().is_empty() {
            return self.drop_shown(id, shown, TurnWrite::default()).await;
        }
        let text = self.inner.redactor.redact(text).into_owned();
        self.commit_answer(Answer { id, text: &text, calls: &[], provider_data: None }, TurnWrite::default())
            .await
    }

    /// Takes back what was shown of a message that comes to nothing.
    async fn drop_shown(&self, id: Uuid, shown: bool, mut write: TurnWrite) -> Result<(), Fault> {
        if shown {
            write.drop_deltas_of = Some(id);
            write.events.insert(0, events::superseded(id));
        }
        if write == TurnWrite::default() { Ok(()) } else { self.write(write).await }
    }
}

/// Whether an error is for the log too, because the operator of the chat can't mend it.
trait Ours {
    fn kind_is_ours(&self) -> bool;
}

impl Ours for LlmError {
    fn kind_is_ours(&self) -> bool {
        use model::Classify;
        matches!(self.kind(), ErrorKind::Unavailable | ErrorKind::Internal)
    }
}

/// The texts of the operator's messages.
pub(crate) fn last_user_text(said: &[Said]) -> Option<&str> {
    said.iter().rev().find_map(|message| match message {
        Said::User { text } => Some(text.as_str()),
        _ => None,
    })
}
