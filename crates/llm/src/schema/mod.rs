//! Makes tools fit for model servers: schemas that each provider takes, names that all of them take, and the way back
//! from what a model calls to what the tool wants.
//!
//! A schema only tells the model what to write; what it writes is checked against the full schema by the gate. So
//! whatever a provider has no keyword for may become words, and nothing may make a request fail.

mod dialect;
mod names;
mod node;
mod read;
mod render;
mod restore;
#[cfg(test)]
mod tests;
mod unite;
mod words;

pub use dialect::Dialect;
pub use names::{MAX_NAME_BYTES, Names, is_legal, legal};

use restore::Restore;
use serde_json::Value;
use skill::LlmTool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Largest schema that is sent for one tool, in bytes of JSON.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// Longest description of a tool, in characters: OpenAI refuses longer ones.
const MAX_DESCRIPTION_CHARS: usize = 1_000;
/// Most tools in one request: OpenAI refuses more.
const MAX_TOOLS: usize = 128;
/// Most warnings that are remembered, so that each is logged once.
const MAX_WARNED: usize = 1_000;

/// How one provider is told of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// The parameters; `None` where the provider wants nothing for a tool that takes nothing.
    pub params: Option<Value>,
    /// Whether the provider may be asked to keep to it strictly.
    pub strict: bool,
    restore: Restore,
}

/// A tool that a provider can't be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The tool.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// The form of a parameter schema for a provider.
///
/// # Errors
///
/// Fails with the reason if the provider can't be told of such parameters at all.
pub fn form(dialect: Dialect, params: &Value) -> Result<Form, String> {
    let node = read::read(params);
    let write = |dialect| {
        let (params, restore) = render::parameters(&node, dialect).map_err(|unfit| unfit.0)?;
        let bytes = params.as_ref().map_or(0, |params| params.to_string().len());
        if bytes > MAX_SCHEMA_BYTES {
            return Err(format!("its schema is larger than {MAX_SCHEMA_BYTES} bytes"));
        }
        Ok(Form { params, strict: dialect == Dialect::OpenAiStrict, restore })
    };
    match write(dialect) {
        Err(_) if dialect == Dialect::OpenAiStrict => write(Dialect::OpenAiChat),
        other => other,
    }
}

/// A tool as a provider is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SentTool {
    /// The name that it is sent by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its parameters.
    pub form: Form,
}

/// The tools of one request, and the way back.
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    /// The tools that are told.
    pub tools: Vec<SentTool>,
    /// Those that can't be.
    pub left_out: Vec<LeftOut>,
    names: Names,
    by_name: BTreeMap<String, usize>,
}

impl Toolbox {
    /// Prepares tools for a provider. What is left out is logged, each once.
    pub fn new(dialect: Dialect, tools: &[LlmTool]) -> Self {
        let mut out = Self::default();
        for tool in tools {
            if let Err(reason) = out.add(dialect, tool) {
                warn_once(dialect, &tool.name, &reason);
                out.left_out.push(LeftOut { tool: tool.name.clone(), reason });
            }
        }
        out
    }

    fn add(&mut self, dialect: Dialect, tool: &LlmTool) -> Result<(), String> {
        if self.tools.len() >= MAX_TOOLS {
            return Err(format!("a request has room for {MAX_TOOLS} tools"));
        }
        let form = form(dialect, &tool.params)?;
        let name =
            self.names.add(&tool.name).ok_or_else(|| "another tool has its name already".to_owned())?;
        let description = words::shortened(tool.description.trim().to_owned(), MAX_DESCRIPTION_CHARS);
        self.by_name.insert(name.clone(), self.tools.len());
        self.tools.push(SentTool { name, description, form });
        Ok(())
    }

    /// The tool that a model means.
    pub fn original<'a>(&'a self, sent: &'a str) -> &'a str {
        self.names.original(sent)
    }

    /// The arguments as the tool wants them, from those that a model wrote for the form that it was told.
    pub fn restored(&self, sent: &str, args: Value) -> Value {
        match self.by_name.get(sent).and_then(|place| self.tools.get(*place)) {
            Some(tool) => tool.form.restore.apply(args),
            None => args,
        }
    }
}

/// Logs once per tool and reason.
fn warn_once(dialect: Dialect, tool: &str, reason: &str) {
    static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    if warned.len() < MAX_WARNED && warned.insert(format!("{} {tool} {reason}", dialect.as_str())) {
        tracing::warn!(tool, reason, dialect = dialect.as_str(), "the model is not told of a tool");
    }
}
