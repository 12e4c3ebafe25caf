//! `[models.NAME]`, and the variables that the vendors' own tools read.

use super::environment::Environment;
use super::reader::Reader;
use api::models::{BUILTIN, FixedModel, ModelKind, ModelSource};
use secrecy::SecretString;
use url::Url;

const ANTHROPIC_MODEL: &str = "claude-sonnet-4-5";
const OPENAI_MODEL: &str = "gpt-4.1";
const OLLAMA_MODEL: &str = "llama3.1";

/// The providers of the file, then those of the environment. The first is the default until an admin chooses.
pub(super) fn fixed_models(reader: &mut Reader<'_>, environment: &dyn Environment) -> Vec<FixedModel> {
    let mut models: Vec<FixedModel> =
        reader.names("models").into_iter().filter_map(|name| configured(reader, name)).collect();
    for model in from_environment(reader, environment) {
        if !models.iter().any(|known| known.name == model.name) {
            models.push(model);
        }
    }
    models
}

fn configured(reader: &mut Reader<'_>, name: String) -> Option<FixedModel> {
    let key = |field: &str| format!("models.{name}.{field}");
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    if name == BUILTIN || name.len() > 64 || !name.bytes().all(legal) {
        reader.problem(
            &format!("models.{name}"),
            "must be named with 1 to 64 of a-z, 0-9, `_` and `-`, not `builtin`",
        );
        return None;
    }
    let kind: Option<ModelKind> = reader.parsed(&key("kind"), "\"openai_chat\" or \"anthropic\"");
    let base_url = reader.text(&key("base_url"));
    if base_url.as_deref().is_some_and(|address| !is_web_address(address)) {
        reader.problem(&key("base_url"), "must be an http or https address");
    }
    let model = reader.text(&key("model")).filter(|model| !model.is_empty());
    if model.is_none() {
        reader.problem(&key("model"), "must name the provider's model");
    }
    let api_key = reader.text(&key("api_key")).filter(|text| !text.is_empty()).map(SecretString::from);
    let Some(kind) = kind else {
        reader.problem(&key("kind"), "must be \"openai_chat\" or \"anthropic\"");
        return None;
    };
    Some(FixedModel { kind, base_url, model: model?, api_key, source: ModelSource::Config, name })
}

fn from_environment(reader: &mut Reader<'_>, environment: &dyn Environment) -> Vec<FixedModel> {
    let variable = |name: &str| environment.get(name).filter(|value| !value.trim().is_empty());
    let mut models = Vec::new();
    if let Some(key) = variable("ANTHROPIC_API_KEY") {
        models.push(FixedModel {
            name: "anthropic".to_owned(),
            kind: ModelKind::Anthropic,
            base_url: address(reader, "ANTHROPIC_BASE_URL", variable("ANTHROPIC_BASE_URL")),
            model: variable("ANTHROPIC_MODEL").unwrap_or_else(|| ANTHROPIC_MODEL.to_owned()),
            api_key: Some(SecretString::from(key)),
            source: ModelSource::Environment,
        });
    }
    let base_url = address(reader, "OPENAI_BASE_URL", variable("OPENAI_BASE_URL"));
    let key = variable("OPENAI_API_KEY");
    // Servers of one's own often want no key.
    if key.is_some() || base_url.is_some() {
        models.push(FixedModel {
            name: "openai".to_owned(),
            kind: ModelKind::OpenaiChat,
            base_url,
            model: variable("OPENAI_MODEL").unwrap_or_else(|| OPENAI_MODEL.to_owned()),
            api_key: key.map(SecretString::from),
            source: ModelSource::Environment,
        });
    }
    if let Some(host) = variable("OLLAMA_HOST") {
        let with_scheme = if host.contains("://") { host } else { format!("http://{host}") };
        // Ollama itself takes a bare host and adds its port.
        let with_port = match Url::parse(&with_scheme) {
            Ok(mut url) if url.scheme() == "http" && url.port().is_none() => {
                let _ = url.set_port(Some(11434));
                url.to_string()
            }
            _ => with_scheme,
        };
        if let Some(root) = address(reader, "OLLAMA_HOST", Some(with_port)) {
            models.push(FixedModel {
                name: "ollama".to_owned(),
                kind: ModelKind::OpenaiChat,
                base_url: Some(format!("{}/v1", root.trim_end_matches('/'))),
                model: variable("OLLAMA_MODEL").unwrap_or_else(|| OLLAMA_MODEL.to_owned()),
                api_key: None,
                source: ModelSource::Environment,
            });
        }
    }
    models
}

fn address(reader: &mut Reader<'_>, variable: &str, value: Option<String>) -> Option<String> {
    let value = value?;
    if !is_web_address(&value) {
        reader.problem(variable, "must be an http or https address");
        return None;
    }
    Some(value)
}

fn is_web_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some())
}
