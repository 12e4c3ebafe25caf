//! Every capability there is, in a fixed order, and both bridges: skills as LLM tools, tools as capabilities.

use crate::{Capability, Definition};
use model::{Class, Scope};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every capability there is. The order is fixed, so that the tool list that a model sees does not move.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    entries: Vec<Arc<Capability>>,
    index: BTreeMap<(Scope, String), usize>,
    versions: BTreeMap<String, Arc<Capability>>,
}

/// Two capabilities of one scope with one key, or a key that isn't legal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DuplicateKey {
    /// The key is taken in this scope.
    #[error("the key `{key}` is taken in scope {scope}")]
    Taken {
        /// The key.
        key: String,
        /// The scope.
        scope: Scope,
    },
    /// The key is not 1–64 of `[a-z0-9_]`.
    #[error("the key `{0}` must be 1 to 64 of a-z, 0-9 and _")]
    Illegal(String),
}

/// A capability in the form in which an LLM is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmTool {
    /// The name that the model calls: the capability's key.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Parameter schema. A host skill has a required integer `edge_id` in front.
    pub params: Value,
    /// Where it runs.
    pub scope: Scope,
}

impl Catalogue {
    /// Collects capabilities, keeping their order.
    ///
    /// # Errors
    ///
    /// Fails on an illegal key and on the second use of a key in one scope.
    pub fn new(entries: impl IntoIterator<Item = Arc<Capability>>) -> Result<Self, DuplicateKey> {
        let mut catalogue = Self::default();
        for entry in entries {
            let Definition { key, scope, .. } = entry.definition();
            if !Definition::is_legal_key(key) {
                return Err(DuplicateKey::Illegal(key.clone()));
            }
            let (key, scope) = (key.clone(), *scope);
            if catalogue.index.insert((scope, key.clone()), catalogue.entries.len()).is_some() {
                return Err(DuplicateKey::Taken { key, scope });
            }
            catalogue.entries.push(entry);
        }
        Ok(catalogue)
    }

    /// Adds other versions of what is listed, which some hosts have. They are found by their hash only.
    #[must_use]
    pub fn with_versions(mut self, versions: impl IntoIterator<Item = Arc<Capability>>) -> Self {
        self.versions = versions.into_iter().map(|version| (version.hash().to_owned(), version)).collect();
        self
    }

    /// Looks up a version by its hash.
    pub fn version(&self, hash: &str) -> Option<&Arc<Capability>> {
        self.versions.get(hash)
    }

    /// Looks one up.
    pub fn get(&self, scope: Scope, key: &str) -> Option<&Arc<Capability>> {
        self.index.get(&(scope, key.to_owned())).and_then(|position| self.entries.get(*position))
    }

    /// What a model means by this tool name: the manager's tool if there is one, else the host skill.
    pub fn for_llm_name(&self, name: &str) -> Option<&Arc<Capability>> {
        self.get(Scope::Manager, name).or_else(|| self.get(Scope::Host, name))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Capability>> {
        self.entries.iter()
    }

    /// The tools that an LLM is told of, in order. A manager tool with a host skill's key is its batch form and
    /// stands for it. One whose machine lacks something is left out.
    pub fn llm_tools(&self) -> Vec<LlmTool> {
        self.entries
            .iter()
            .filter(|entry| {
                let definition = entry.definition();
                let stands =
                    definition.scope == Scope::Manager || self.get(Scope::Manager, &definition.key).is_none();
                stands && entry.unmet().is_empty()
            })
            .map(|entry| llm_tool(entry))
            .collect()
    }
}

const SOP_WORDS: &str = "Only where the call is dangerous: the procedure and step that cover it, as ID/STEP. A refusal \
                         names those that do.";

/// The LLM's view of one capability.
fn llm_tool(capability: &Capability) -> LlmTool {
    let definition = capability.definition();
    let may_be_dangerous = capability.least_class() == Class::Dangerous || capability.classed_by().is_some();
    let params = match definition.scope {
        Scope::Manager => definition.params.clone(),
        Scope::Host => with_edge_id(&definition.params, may_be_dangerous),
    };
    LlmTool {
        name: definition.key.clone(),
        description: definition.description.clone(),
        params,
        scope: definition.scope,
    }
}

/// Puts a required integer `edge_id` in front of the parameters of a host skill, and behind them, where a call may be
/// dangerous and no parameter has that name, an optional `sop`.
fn with_edge_id(params: &Value, may_be_dangerous: bool) -> Value {
    let mut schema = params.as_object().cloned().unwrap_or_default();
    let mut properties = Map::new();
    properties.insert(
        "edge_id".to_owned(),
        json!({"type": "integer", "minimum": 1, "description": "Id of the host to run on; query_edges lists them."}),
    );
    if let Some(Value::Object(own)) = schema.get("properties") {
        properties.extend(own.clone());
    }
    if may_be_dangerous && !properties.contains_key("sop") {
        properties.insert("sop".to_owned(), json!({"type": "string", "description": SOP_WORDS}));
    }
    let mut required = vec![json!("edge_id")];
    if let Some(Value::Array(own)) = schema.get("required") {
        required.extend(own.iter().cloned());
    }
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), Value::Array(required));
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metadata, Source};
    use model::Class;

    fn capability(key: &'static str, scope: Scope) -> Arc<Capability> {
        let metadata = Metadata {
            key,
            name: key,
            description: "d",
            class: Class::Safe,
            scope,
            category: "test",
            result_preview: "",
            prerequisites: &[],
        };
        let params = json!({"type": "object", "properties": {"absolute": {"type": "boolean"}, "path": {"type": "string"}}, "required": ["path"], "additionalProperties": false});
        Arc::new(
            Capability::new(Definition::new(&metadata, params), |_| Class::Safe, Source::Builtin).unwrap(),
        )
    }

    #[test]
    fn a_host_skill_is_offered_with_a_required_edge_id_in_front() {
        let catalogue = Catalogue::new([capability("read_file", Scope::Host)]).unwrap();
        let tools = catalogue.llm_tools();
        assert_eq!(tools[0].params["required"], json!(["edge_id", "path"]));
        assert_eq!(tools[0].params["properties"].as_object().unwrap().keys().next().unwrap(), "edge_id");
        assert_eq!(tools[0].params["additionalProperties"], json!(false));
    }

    #[test]
    fn a_skill_that_may_be_dangerous_takes_the_procedure_that_covers_the_call() {
        let dangerous =
            Definition { class: Class::Dangerous, ..capability("remove", Scope::Host).definition().clone() };
        let dangerous = Capability::new(dangerous, |_| Class::Dangerous, Source::Builtin).unwrap();
        let catalogue = Catalogue::new([Arc::new(dangerous), capability("read_file", Scope::Host)]).unwrap();
        let tools = catalogue.llm_tools();
        assert_eq!(tools[0].params["properties"]["sop"]["type"], "string");
        assert_eq!(tools[0].params["required"], json!(["edge_id", "path"]));
        assert!(tools[1].params["properties"].get("sop").is_none());
    }

    #[test]
    fn a_batch_tool_stands_for_its_skill() {
        let catalogue =
            Catalogue::new([capability("host_load", Scope::Host), capability("host_load", Scope::Manager)])
                .unwrap();
        let tools = catalogue.llm_tools();
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].scope, Scope::Manager);
        assert_eq!(catalogue.for_llm_name("host_load").unwrap().definition().scope, Scope::Manager);
    }

    #[test]
    fn a_key_is_used_once_per_scope() {
        let error = Catalogue::new([capability("a", Scope::Host), capability("a", Scope::Host)]).unwrap_err();
        assert_eq!(error, DuplicateKey::Taken { key: "a".to_owned(), scope: Scope::Host });
    }

    #[test]
    fn an_illegal_key_is_refused() {
        assert!(matches!(
            Catalogue::new([capability("Bad-Key", Scope::Host)]),
            Err(DuplicateKey::Illegal(_))
        ));
    }

    #[test]
    fn unknown_keys_wrong_types_and_missing_ones_are_all_told() {
        let entry = capability("read_file", Scope::Host);
        let problems = entry.check(&json!({"path": 7, "pth": "/x"})).unwrap_err();
        let text = problems.to_string();
        assert!(text.contains("path") && text.contains("pth"), "{text}");
        assert!(entry.check(&json!({})).unwrap_err().to_string().contains("\"path\" is a required property"));
        entry.check(&json!({"path": "/etc/hosts"})).unwrap();
    }
}
