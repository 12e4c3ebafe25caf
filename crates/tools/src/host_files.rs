//! Files and disk use of several hosts at once.

use crate::support::batch;
use crate::{Tool, ToolContext};
use async_trait::async_trait;
use gate::AdmittedCall;
use model::{Class, Scope};
use serde_json::{Value, json};
use skill::{Metadata, SkillError};

pub(crate) struct HostFiles;

static METADATA: Metadata = Metadata {
    key: "host_files",
    name: "Files and disk use of hosts",
    description: "Find out what takes disk space below folders (du), find the largest files, list folders, or describe \
                  files (size, mode, owner, times) on up to 16 hosts at once. Hosts that can't answer are listed with \
                  the reason.",
    class: Class::Safe,
    scope: Scope::Manager,
    category: "fleet",
    result_preview: "web-1: /var 12.4 GiB: lib 9.1 GiB, log 2.8 GiB; db-1: offline",
    prerequisites: &[],
};

#[async_trait]
impl Tool for HostFiles {
    fn metadata(&self) -> &'static Metadata {
        &METADATA
    }

    fn params(&self) -> Value {
        let own = json!({
            "action": {
                "type": "string", "enum": ["find_large", "du", "stat", "list"],
                "description": "What to do: `du` (what takes space, by folder), `find_large` (the largest files), `list` \
                                (what is in a folder) or `stat` (size, mode, owner and times of single files)."
            },
            "paths": {
                "type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 4096},
                "minItems": 1, "maxItems": 16,
                "description": "Absolute paths, for example `/var`."
            },
            "top_n": {
                "type": "integer", "minimum": 1, "maximum": 1000,
                "description": "Most entries to list: for each path, of `find_large` for all together. 20 if left out, \
                                200 for `list`."
            },
            "depth": {
                "type": "integer", "minimum": 1, "maximum": 5,
                "description": "How many folders deep: of `du` what is listed (all is counted), of `find_large` and \
                                `list` what is looked at. 1 if left out; `find_large` then looks everywhere."
            },
            "min_size": {
                "type": "integer", "minimum": 0, "default": 0,
                "description": "List only what takes at least this many bytes."
            },
            "exclude": {
                "type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 256}, "maxItems": 32, "default": [],
                "description": "Leave these out with all that is below: names or absolute paths, with `*`, `**` and `?`."
            },
            "cross_filesystems": {
                "type": "boolean", "default": false,
                "description": "Whether to walk other file systems that are mounted below too."
            },
        });
        batch::params_with(&own, &["action", "paths"])
    }

    fn classify(&self) -> fn(&Value) -> Class {
        |_| Class::Safe
    }

    async fn run(&self, cx: &ToolContext, call: &AdmittedCall) -> Result<Value, SkillError> {
        batch::run(cx, call.args(), METADATA.key).await
    }
}
