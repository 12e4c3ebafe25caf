//! Makes model providers from their records.

use api::models::{FixedModel, ModelBook, ModelKind};
use llm::builtin::Builtin;
use llm::{Endpoint, Provider, anthropic, openai};
use secrecy::SecretString;
use std::sync::Arc;
use storage::Storage;
use url::Url;

/// The providers of this process.
pub(crate) fn book(storage: Storage, fixed: Vec<FixedModel>) -> ModelBook {
    ModelBook::new(storage, fixed, Arc::new(Builtin), Box::new(make))
}

pub(crate) fn make(
    name: &str,
    kind: ModelKind,
    base_url: &str,
    model: &str,
    key: Option<SecretString>,
) -> Result<Arc<dyn Provider>, String> {
    let base_url = Url::parse(base_url).map_err(|error| format!("its address can't be read: {error}"))?;
    let endpoint = Endpoint::new(name, base_url, key, model);
    match kind {
        ModelKind::Builtin => Ok(Arc::new(Builtin)),
        ModelKind::OpenaiChat => match openai::ChatCompletions::new(endpoint) {
            Ok(provider) => Ok(Arc::new(provider)),
            Err(error) => Err(error.to_string()),
        },
        ModelKind::Anthropic => match anthropic::Messages::new(endpoint) {
            Ok(provider) => Ok(Arc::new(provider)),
            Err(error) => Err(error.to_string()),
        },
    }
}
