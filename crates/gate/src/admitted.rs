//! A call that the gate has let through.

use crate::limits::Permit;
use crate::{CallRequest, Principal};
use model::{CallId, Class, EdgeId, Origin, Timestamp};
use serde_json::Value;
use skill::Capability;
use std::sync::Arc;
use std::time::Duration;

/// A call that the gate has let through. Only the gate makes one, and only once its `running` row is durable, so
/// holding it proves that the decision is on record.
#[derive(Debug)]
pub struct AdmittedCall {
    request: CallRequest,
    capability: Arc<Capability>,
    class: Class,
    deadline: Timestamp,
    timeout: Duration,
    _permit: Permit,
}

impl AdmittedCall {
    pub(crate) fn new(
        request: CallRequest,
        capability: Arc<Capability>,
        class: Class,
        deadline: Timestamp,
        timeout: Duration,
        permit: Permit,
    ) -> Self {
        Self { request, capability, class, deadline, timeout, _permit: permit }
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
