//! A call that the gate has let through.

use crate::limits::Permit;
use crate::progress::ProgressTeller;
use crate::{CallRequest, Principal};
use model::{CallId, Class, EdgeId, Origin, Timestamp};
use serde_json::Value;
use skill::Capability;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A call that the gate has let through. Only the gate makes one, and only once its `running` row is durable, so
/// holding it proves that the decision is on record.
pub struct AdmittedCall {
    request: CallRequest,
    capability: Arc<Capability>,
    class: Class,
    deadline: Timestamp,
    timeout: Duration,
    seq: Option<u64>,
    approval: Option<String>,
    evidence: Option<Arc<[u8]>>,
    progress: ProgressTeller,
    _permit: Permit,
}

impl fmt::Debug for AdmittedCall {
    /// Without the arguments, which are exact and may hold secrets, and without what people have signed, which holds
    /// them too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmittedCall")
            .field("call_id", &self.request.call_id)
            .field("key", &self.request.key)
            .field("edge", &self.request.edge)
            .field("class", &self.class)
            .field("origin", &self.request.origin)
            .field("deadline", &self.deadline)
            .field("timeout", &self.timeout)
            .field("seq", &self.seq)
            .field("approval", &self.approval)
            .finish_non_exhaustive()
    }
}

impl AdmittedCall {
    pub(crate) fn new(
        request: CallRequest,
        capability: Arc<Capability>,
        class: Class,
        deadline: Timestamp,
        timeout: Duration,
        permit: Permit,
        progress: ProgressTeller,
    ) -> Self {
        Self {
            request,
            capability,
            class,
            deadline,
            timeout,
            seq: None,
            approval: None,
            evidence: None,
            progress,
            _permit: permit,
        }
    }

    /// Adds what a call that isn't safe has: its number on its host, and the approval that lets it run.
    pub(crate) fn with_approval(self, seq: Option<u64>, approval: Option<String>) -> Self {
        Self { seq, approval, ..self }
    }

    /// Adds what people have signed.
    pub(crate) fn with_evidence(self, evidence: Option<Arc<[u8]>>) -> Self {
        Self { evidence, ..self }
    }

    /// Its id.
    pub fn call_id(&self) -> CallId {
        self.request.call_id
    }

    /// Key of the capability.
    pub fn key(&self) -> &str {
        &self.request.key
    }

    /// What is called.
    pub fn capability(&self) -> &Arc<Capability> {
        &self.capability
    }

    /// The exact, validated arguments.
    pub fn args(&self) -> &Value {
        &self.request.args
    }

    /// The host, for scope host.
    pub fn edge(&self) -> Option<EdgeId> {
        self.request.edge
    }

    /// Its class: the stricter of the definition's, the arguments' and the edge's.
    pub fn class(&self) -> Class {
        self.class
    }

    /// When it is to have ended.
    pub fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// How long it may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Its number among the dispatches to its host that aren't safe; `None` for a safe call.
    pub fn seq(&self) -> Option<u64> {
        self.seq
    }

    /// The id of the approval that lets it run; `None` where it needs none.
    pub fn approval(&self) -> Option<&str> {
        self.approval.as_deref()
    }

    /// What people have signed, in the form in which the host checks it; `None` where the manager's word is enough.
    pub fn evidence(&self) -> Option<&[u8]> {
        self.evidence.as_deref()
    }

    /// Tells a line of progress to whoever listens ([`crate::Gate::progress`]). It may hold anything; what is told of it
    /// is short, redacted and plain.
    pub fn tell_progress(&self, line: &str) {
        self.progress.tell(self.request.call_id, line);
    }

    /// The entry point.
    pub fn origin(&self) -> Origin {
        self.request.origin
    }

    /// Who asked.
    pub fn principal(&self) -> &Principal {
        &self.request.caller
    }

    /// The request as it was admitted.
    pub fn request(&self) -> &CallRequest {
        &self.request
    }
}
