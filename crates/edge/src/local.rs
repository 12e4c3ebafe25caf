//! Running a skill on the host itself, without the manager: for trying, and for when the manager is away.

use crate::state::DurableState;
use crate::{EdgeError, Options};
use admission::{Journal, Request};
use model::{CallState, Class};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Lists the skills and what this host lacks for them, as JSON.
///
/// # Errors
///
/// Fails if the skills don't make a catalogue.
pub fn list(options: &Options) -> Result<Value, EdgeError> {
    let runner = options.local_runner(Journal::in_memory())?;
    let host = runner.host();
    let skills = options.registry.iter().map(|skill| {
        let capability = skill.capability();
        let definition = capability.definition();
        let least = runner.admission().least_class(capability);
        let class = match capability.classed_by() {
            Some(parameter) if least < Class::Dangerous => format!("by {parameter}, at least {least}"),
            _ => least.to_string(),
        };
        json!({
            "key": definition.key,
            "name": definition.name,
            "class": class,
            "description": definition.description,
            "unmet": skill.unmet(host),
            "params": definition.params,
        })
    });
    Ok(Value::Array(skills.collect()))
}

/// What came of a local run.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalOutcome {
    /// How it ended; `refused` if it didn't begin.
    pub state: CallState,
    /// Everything as JSON: state, and result or error.
    pub report: Value,
}

/// Runs a skill through the same door as the manager's calls, with origin `local`. What isn't safe is for root, and in a
/// journal of its own before it runs; an edge that runs tells the manager of it afterwards.
///
/// # Errors
///
/// Fails if the skills don't make a catalogue, or the data directory can't be used. How the call ended is in the answer.
pub async fn run(
    options: &Options,
    key: &str,
    args: Value,
    timeout: Duration,
) -> Result<LocalOutcome, EdgeError> {
    let euid = rustix::process::geteuid().as_raw();
    let request = Request::local(key, args, euid, timeout);
    // Only root gets as far as the journal.
    let journal = if euid == 0 {
        options.dir.create()?;
        options
            .local_calls()
            .journal(request.call_id, Arc::clone(&options.clock))
            .map_err(|source| EdgeError::File { path: options.dir.local(), source })?
    } else {
        Journal::in_memory()
    };
    let runner = Arc::new(options.local_runner(journal)?);
    runner.admission().freeze(DurableState::load(options.dir.clone())?.get().frozen);
    let call_id = request.call_id;
    let (state, report) = match runner.start(request) {
        Err(refusal) => {
            let class = refusal.class.map(Class::as_str);
            (
                CallState::Refused,
                json!({"call_id": call_id, "state": "refused", "class": class, "error": refusal.reason}),
            )
        }
        Ok(started) => {
            let class = started.class;
            let Some(ended) = started.end.await else { return Err(EdgeError::CallLost) };
            let mut report = Map::new();
            report.insert("call_id".to_owned(), json!(call_id));
            report.insert("state".to_owned(), json!(ended.state));
            report.insert("class".to_owned(), json!(class));
            report.insert("duration_ms".to_owned(), json!(ended.duration.as_millis() as u64));
            if let Some(result) =
                ended.result.as_ref().and_then(|text| serde_json::from_slice::<Value>(text).ok())
            {
                report.insert("result".to_owned(), result);
            }
            if let Some(sandbox) = &ended.sandbox {
                report.insert("sandbox".to_owned(), json!(sandbox));
            }
            if let Some(error) = &ended.error {
                report.insert("error_kind".to_owned(), json!(ended.error_kind));
                report.insert("error".to_owned(), json!(error));
            }
            (ended.state, Value::Object(report))
        }
    };
    Ok(LocalOutcome { state, report })
}

/// Makes arguments of `key=value` words: as the skill's schema wants them where it says so, else as JSON if it reads
/// as such, else as text.
///
/// # Errors
///
/// Fails on a word without `=`.
pub fn arguments(options: &Options, key: &str, words: &[String]) -> Result<Value, String> {
    let schema = options.registry.get(key).map(|skill| &skill.capability().definition().params);
    let mut args = Map::new();
    for word in words {
        let (name, text) =
            word.split_once('=').ok_or_else(|| format!("`{word}` must be written as name=value"))?;
        let wanted = schema.map(|schema| &schema["properties"][name]);
        args.insert(name.to_owned(), typed(text, wanted));
    }
    Ok(Value::Object(args))
}

fn typed(text: &str, schema: Option<&Value>) -> Value {
    let takes_text = schema.is_some_and(|schema| match &schema["type"] {
        Value::String(one) => one == "string",
        Value::Array(several) => several.iter().any(|one| one == "string"),
        _ => !schema["enum"].is_null() || !schema["oneOf"].is_null(),
    });
    if takes_text {
        return Value::String(text.to_owned());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_whose_class_depends_on_its_arguments_is_listed_so() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(
            crate::EdgeConfig::default(),
            folder.path().join("edge.toml"),
            crate::DataDir::new(folder.path()),
        );
        let listed = list(&options).unwrap();
        let class = |key: &str| {
            listed.as_array().unwrap().iter().find(|skill| skill["key"] == key).unwrap()["class"].clone()
        };
        // Nothing holds programs here.
        assert_eq!(class("bash"), "by command, at least mutating");
        assert!(class("git_operations").as_str().unwrap().starts_with("by operation, at least "));
        assert_eq!(class("probe_http"), "by headers, at least safe");
        assert_eq!(class("host_load"), "safe");
        assert_eq!(class("reboot_host"), "dangerous");
    }

    #[test]
    fn a_word_becomes_what_the_schema_wants() {
        let text = json!({"type": ["string", "null"]});
        assert_eq!(typed("22", Some(&text)), json!("22"));
        assert_eq!(typed("22", Some(&json!({"type": "integer"}))), json!(22));
        assert_eq!(typed("true", None), json!(true));
        assert_eq!(typed("a=b", None), json!("a=b"));
    }
}
