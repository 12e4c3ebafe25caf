//! The load of several hosts at once.

use crate::support::batch;
use crate::{Tool, ToolContext};
use async_trait::async_trait;
use gate::AdmittedCall;
use model::{Class, Scope};
use serde_json::{Value, json};
use skill::{Metadata, SkillError};

pub(crate) struct HostLoad;

static METADATA: Metadata = Metadata {
    key: "host_load",
    name: "Load of hosts",
    description: "Report CPU, load, memory, swap, pressure, disks, filesystems, network and uptime of up to 16 hosts at \
                  once. Hosts that can't answer are listed with the reason.",
    class: Class::Safe,
    scope: Scope::Manager,
    category: "fleet",
    result_preview: "web-1: load 0.42, CPU 7 %, memory 38 %; db-1: offline",
    prerequisites: &[],
};

#[async_trait]
impl Tool for HostLoad {
    fn metadata(&self) -> &'static Metadata {
        &METADATA
    }

    fn params(&self) -> Value {
        batch::params(&json!({}))
    }

    fn classify(&self) -> fn(&Value) -> Class {
        |_| Class::Safe
    }

    async fn run(&self, cx: &ToolContext, call: &AdmittedCall) -> Result<Value, SkillError> {
        batch::run(cx, call.args(), METADATA.key).await
    }
}
