//! The calls of one round: planned, made through the one door, and recorded.

use crate::events::{self, CallCard};
use crate::history::{Said, SaidCall, failure_data};
use crate::prompt;
use crate::results::{self, Ended};
use crate::runner::{Fault, Runner};
use crate::service::stopped_before;
use futures::future::join_all;
use gate::{CallRequest, NamedStep, Narrowing, Principal, Taint, TurnRef};
use llm::{BadArguments, ToolCall};
use model::{CallId, CallState, Class, EdgeId, Origin, Scope};
use serde_json::{Value, json};
use skill::Capability;
use std::sync::Arc;
use storage::chats::NewEvent;
use storage::turns::{NewMessage, TurnWrite};
use tokio::time::sleep;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use uuid::Uuid;

/// Bytes that a token stands for, about.
const BYTES_PER_TOKEN: usize = 4;

/// A call that is about to be made.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) id: CallId,
    pub(crate) tool: String,
    /// As the model or the person wrote them, redacted.
    shown: Result<Value, BadArguments>,
    /// Exact, without `edge_id`.
    args: Result<Value, BadArguments>,
    capability: Option<Arc<Capability>>,
    edge: Option<i64>,
    /// The step of a procedure that it names.
    sop: Option<NamedStep>,
    /// Whether it is a person's own call.
    by_person: bool,
    pub(crate) card: CallCard,
}

impl Planned {
    /// Its form in the kept message.
    pub(crate) fn said(&self) -> SaidCall {
        SaidCall { id: self.id, tool: self.tool.clone(), args: self.shown.clone() }
    }

    fn is_safe(&self) -> bool {
        self.card.class.is_none_or(|class| class == Class::Safe)
    }

    fn guarded_args(&self) -> Value {
        match &self.shown {
            Ok(args) => args.clone(),
            Err(bad) => json!(bad.raw),
        }
    }
}

impl Runner {
    /// Plans a model's call.
    pub(crate) fn plan(&self, call: ToolCall) -> Planned {
        self.plan_as(CallId::generate(), call.name, call.args, false)
    }

    /// Plans a person's own call.
    pub(crate) fn plan_command(&self, capability: &Capability, edge: Option<i64>, args: Value) -> Planned {
        let mut fields = serde_json::Map::new();
        if let Some(edge) = edge {
            fields.insert("edge_id".to_owned(), json!(edge));
        }
        fields.extend(args.as_object().cloned().unwrap_or_default());
        let tool = capability.definition().key.clone();
        self.plan_as(CallId::generate(), tool, Ok(Value::Object(fields)), true)
    }

    pub(crate) fn plan_as(
        &self,
        id: CallId,
        tool: String,
        args: Result<Value, BadArguments>,
        by_person: bool,
    ) -> Planned {
        let redactor = &self.inner.redactor;
        let shown = match &args {
            Ok(args) => Ok(redactor.redact_value(args)),
            Err(bad) => {
                Err(BadArguments { raw: redactor.redact(&bad.raw).into_owned(), reason: bad.reason.clone() })
            }
        };
        let catalogue = self.inner.catalogue.load();
        let names_edge = args.as_ref().is_ok_and(|args| args.get("edge_id").is_some());
        let on_host = if names_edge { catalogue.get(Scope::Host, &tool) } else { None };
        let capability = on_host.or_else(|| catalogue.for_llm_name(&tool)).cloned();
        let scope = capability.as_ref().map(|capability| capability.definition().scope);
        let (edge, sop, args) = match (args, &capability) {
            (Ok(args), Some(capability)) if scope == Some(Scope::Host) => {
                let (edge, args) = take_edge(args);
                let (sop, args) = take_sop(args, capability);
                (edge, sop, Ok(args))
            }
            (other, _) => (None, None, other),
        };
        // Where classing panics, the gate will refuse and record the call.
        let class = capability.as_ref().and_then(|capability| match &args {
            Ok(args) => capability.try_class_of(args),
            Err(_) => Some(capability.definition().class),
        });
        let card = CallCard {
            id,
            tool: tool.clone(),
            scope,
            class,
            host: events::host_of(edge, &self.hosts()),
            args: match &shown {
                Ok(args) => args.clone(),
                Err(bad) => json!(bad.raw),
            },
            parent: None,
        };
        Planned { id, tool, shown, args, capability, edge, sop, by_person, card }
    }

    /// Makes the calls of one answer. Returns the reason to end the turn, if the loop guard has one.
    pub(crate) async fn make_calls(&mut self, planned: Vec<Planned>) -> Result<Option<String>, Fault> {
        let notes: Vec<(CallId, String, Value)> =
            planned.iter().map(|call| (call.id, call.tool.clone(), call.guarded_args())).collect();
        let results = self.run_all(planned).await?;
        let mut reason = None;
        for (id, tool, args) in notes {
            let failed = !results.iter().any(|(call, ended)| *call == id && ended.succeeded());
            reason = reason.or(self.guard.note(&tool, &args, failed));
        }
        Ok(reason)
    }

    /// Makes calls and records each as it ends: safe ones side by side, the others after them in order, and those
    /// beyond the limit not at all.
    pub(crate) async fn run_all(&mut self, planned: Vec<Planned>) -> Result<Vec<(CallId, Ended)>, Fault> {
        let limit = self.inner.limits.calls_per_round;
        let taint = Taint { untrusted: self.untrusted, named_places: self.named_places() };
        let this = &*self;
        let (within, beyond) = planned.split_at(planned.len().min(limit));
        let safe = within.iter().filter(|call| call.is_safe()).map(|call| this.run_one(call, &taint));
        let mut done = join_all(safe).await;
        for call in within.iter().filter(|call| !call.is_safe()) {
            done.push(this.run_one(call, &taint).await);
        }
        for call in beyond {
            let reason = format!(
                "it was not run: at most {limit} calls are made in one round; ask for it again if it is still needed"
            );
            let ended = this.refuse(call, &taint, reason).await;
            done.push(this.record(call, ended).await);
        }
        let done = done.into_iter().collect::<Result<Vec<_>, Fault>>()?;
        self.take_in(done)
    }

    /// Takes recorded results into the conversation.
    pub(crate) fn take_in(&mut self, done: Vec<Recorded>) -> Result<Vec<(CallId, Ended)>, Fault> {
        let mut results = Vec::with_capacity(done.len());
        for Recorded { call, ended, said, untrusted } in done {
            self.untrusted |= untrusted;
            let data = match &ended.result {
                Some(result) if ended.succeeded() => result.clone(),
                _ => failure_data(ended.state, ended.error.as_deref(), ended.error_kind.as_deref()),
            };
            self.data.insert(call, data);
            self.said.push(said);
            results.push((call, ended));
        }
        Ok(results)
    }

    async fn run_one(&self, call: &Planned, taint: &Taint) -> Result<Recorded, Fault> {
        let ended = self.make(call, taint).await;
        self.record(call, ended).await
    }

    /// Puts a call on record that won't be made.
    async fn refuse(&self, call: &Planned, taint: &Taint, reason: String) -> Ended {
        let args = call.args.clone().unwrap_or_else(|bad| json!(bad.raw));
        let request = self.request_of(call, args, taint);
        match self.inner.executor.refuse(request, reason.clone()).await {
            Ok(outcome) => Ended::from(outcome),
            Err(problem) => {
                tracing::error!(error = %problem, call.id = %call.id, "a refused call could not be recorded");
                Ended::not_run(CallState::Refused, reason)
            }
        }
    }

    /// Makes one call, or says why it isn't made.
    async fn make(&self, call: &Planned, taint: &Taint) -> Ended {
        let stop = self.stop();
        if stop.token.is_cancelled() {
            return stopped_before();
        }
        let args = match &call.args {
            Ok(args) => args.clone(),
            // The gate refuses and audits them; they are told to it as the text that they are.
            Err(bad) => {
                let text = json!(bad.raw);
                let refused =
                    call.capability.as_ref().is_none_or(|capability| capability.check(&text).is_err());
                if !refused {
                    return Ended::not_run(CallState::Invalid, bad.reason.clone());
                }
                text
            }
        };
        let bad = call.args.as_ref().err();
        let request = self.request_of(call, args, taint);
        let span = executor::call_span(&request);
        if let Some(asked) = &self.asked {
            // Without a tracer there is nothing to attach it to.
            let _ = span.set_parent(asked.clone());
        }
        let lines = self.inner.executor.progress();
        let work = self.inner.executor.request_in(
            span,
            request,
            stop.token.clone(),
            std::slice::from_ref(&self.own_time),
        );
        tokio::pin!(work);
        let outcome = tokio::select! {
            biased;
            outcome = &mut work => outcome,
            never = self.show_progress(call.id, lines) => match never {},
            () = async { stop.token.cancelled().await; sleep(self.inner.limits.stop_grace).await } => {
                return Ended::not_run(CallState::Unknown, "it was stopped, and has not said how it ended");
            }
        };
        match outcome {
            Ok(outcome) => {
                let mut ended = Ended::from(outcome);
                if let Some(bad) = bad {
                    ended.error = Some(bad.reason.clone());
                }
                ended
            }
            Err(problem) => {
                tracing::error!(error = %problem, call.id = %call.id, "a call could not be admitted");
                Ended::not_run(CallState::Failed, "it was not run: it could not be recorded in the audit")
            }
        }
    }

    fn request_of(&self, call: &Planned, args: Value, taint: &Taint) -> CallRequest {
        let caller = if call.by_person {
            Principal::person_at_browser(self.user, self.roles.clone())
        } else {
            Principal::model_for(self.user, self.roles.clone())
        };
        let caller = Principal { token: self.token.clone(), ..caller };
        CallRequest {
            call_id: call.id,
            scope: call.card.scope.unwrap_or(Scope::Manager),
            key: call.tool.clone(),
            edge: call.edge.map(EdgeId),
            args,
            caller,
            origin: Origin::Chat,
            session: Some(self.session),
            turn: Some(TurnRef { id: self.lease.turn, epoch: self.lease.epoch }),
            parent: None,
            timeout: None,
            taint: if call.by_person { Taint::default() } else { taint.clone() },
            narrowing: Narrowing::All,
            sop: call.sop.clone(),
        }
    }

    /// Keeps a call's end: the result in the conversation and its event, in one transaction.
    pub(crate) async fn record(&self, call: &Planned, ended: Ended) -> Result<Recorded, Fault> {
        let source = match &call.card.host {
            Some((_, name)) => format!("{} on {}", prompt::word(&call.tool), prompt::word(name)),
            None => prompt::word(&call.tool),
        };
        let max_bytes = self.inner.limits.result_tokens.saturating_mul(BYTES_PER_TOKEN);
        let told = results::for_model(&call.tool, call.id, &source, &ended, max_bytes);
        let said = Said::Tool {
            call: call.id,
            tool: call.tool.clone(),
            content: told.content,
            is_error: !ended.succeeded(),
        };
        let mut events = self.child_events(call.id, &ended.children).await?;
        events.push(events::tool_result(call.id, &ended));
        self.write(TurnWrite {
            messages: vec![NewMessage { id: Uuid::now_v7(), body: said.body(), untrusted: told.untrusted }],
            events,
            untrusted: told.untrusted,
            drop_deltas_of: Some(call.id.0),
            ..TurnWrite::default()
        })
        .await?;
        Ok(Recorded { call: call.id, ended, said, untrusted: told.untrusted })
    }

    /// What is shown of the calls that a tool made.
    async fn child_events(&self, parent: CallId, children: &[CallId]) -> Result<Vec<NewEvent>, Fault> {
        let mut out = Vec::new();
        for id in children {
            let Some(row) = self.inner.storage.calls().find(*id).await? else { continue };
            let name = row.edge_name.clone().unwrap_or_default();
            // One that waited for a person was shown then, with its question.
            if self.inner.storage.approvals().of_call(*id).await?.is_some() {
                out.push(events::tool_result(*id, &Ended::of_row(&row, None)));
                continue;
            }
            out.push(events::tool_call(&CallCard {
                id: *id,
                tool: row.tool.clone(),
                scope: Some(row.scope),
                class: Some(row.class),
                host: row.edge.map(|edge| (edge.0, name)),
                args: row.args.clone(),
                parent: Some(parent),
            }));
            out.push(events::tool_result(*id, &Ended::of_row(&row, None)));
        }
        Ok(out)
    }
}

/// A call whose end is kept.
pub(crate) struct Recorded {
    call: CallId,
    ended: Ended,
    said: Said,
    untrusted: bool,
}

/// Takes the procedure and its step out of a host skill's arguments, where the skill has no parameter of that name. What
/// is no such name stays, for the gate to refuse; models leave optional texts empty.
fn take_sop(args: Value, capability: &Capability) -> (Option<NamedStep>, Value) {
    let Value::Object(mut fields) = args else { return (None, args) };
    let own = capability.definition().params.pointer("/properties/sop").is_some();
    if own {
        return (None, Value::Object(fields));
    }
    let sop = match fields.get("sop") {
        Some(Value::String(text)) if text.trim().is_empty() => Some(None),
        Some(Value::String(text)) => text.parse::<NamedStep>().ok().map(Some),
        Some(Value::Null) => Some(None),
        _ => None,
    };
    if sop.is_some() {
        fields.shift_remove("sop");
    }
    (sop.flatten(), Value::Object(fields))
}

/// Takes the host out of a host skill's arguments. What is no integer stays, for the gate to refuse.
fn take_edge(args: Value) -> (Option<i64>, Value) {
    let Value::Object(mut fields) = args else { return (None, args) };
    let edge = fields.get("edge_id").and_then(Value::as_i64);
    if edge.is_some() {
        fields.shift_remove("edge_id");
    }
    (edge, Value::Object(fields))
}
