//! The busiest processes of several hosts at once.

use crate::support::batch;
use crate::{Tool, ToolContext};
use async_trait::async_trait;
use gate::AdmittedCall;
use model::{Class, Scope};
use serde_json::{Value, json};
use skill::{Metadata, SkillError};

pub(crate) struct HostProcesses;

static METADATA: Metadata = Metadata {
    key: "host_processes",
    name: "Processes of hosts",
    description: "List the processes that use most CPU, memory, disk I/O or file descriptors on up to 16 hosts at once. \
                  Hosts that can't answer are listed with the reason.",
    class: Class::Safe,
    scope: Scope::Manager,
    category: "fleet",
    result_preview: "web-1: nginx (pid 812) 23 % CPU, 410 MiB; db-1: offline",
    prerequisites: &[],
};

#[async_trait]
impl Tool for HostProcesses {
    fn metadata(&self) -> &'static Metadata {
        &METADATA
    }

    fn params(&self) -> Value {
        batch::params(&json!({
            "top_n": {
                "type": "integer", "minimum": 1, "maximum": 200, "default": 20,
                "description": "How many processes to list per host."
            },
            "sort_by": {
                "type": "string", "enum": ["cpu", "mem", "io", "fds"], "default": "cpu",
                "description": "What to sort by: `cpu` (percent of one core), `mem` (resident memory), `io` (bytes read \
                                and written per second) or `fds` (open file descriptors)."
            },
            "name": {
                "type": "string", "minLength": 1, "maxLength": 256,
                "description": "Only processes whose name or command line contains this text (case ignored)."
            },
            "user": {
                "type": "string", "minLength": 1, "maxLength": 64,
                "description": "Only processes of this user: a name or a numeric id."
            },
        }))
    }

    fn classify(&self) -> fn(&Value) -> Class {
        |_| Class::Safe
    }

    async fn run(&self, cx: &ToolContext, call: &AdmittedCall) -> Result<Value, SkillError> {
        batch::run(cx, call.args(), METADATA.key).await
    }
}
