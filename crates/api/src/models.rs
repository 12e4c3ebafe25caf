//! Which model providers there are: the builtin router always, those of the configuration and of the environment,
//! and those that admins added. Where names clash, the first of these wins.

use crate::error::ApiError;
use agent::{ModelDirectory, ModelUnavailable};
use async_trait::async_trait;
use llm::Provider;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::sync::Arc;
use storage::Storage;
use storage::models::ModelRecord;
use utoipa::ToSchema;

/// The name of the builtin router.
pub const BUILTIN: &str = "builtin";
/// The key of the setting that names the default.
pub const DEFAULT_SETTING: &str = "models.default";

/// Which protocol a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// The router that needs no model.
    Builtin,
    /// OpenAI's chat completions, which many servers speak.
    OpenaiChat,
    /// Anthropic's messages.
    Anthropic,
}

impl ModelKind {
    /// The word used in the configuration, the database and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::OpenaiChat => "openai_chat",
            Self::Anthropic => "anthropic",
        }
    }

    /// The vendor's own address.
    pub const fn default_base_url(self) -> &'static str {
        match self {
            Self::Builtin => "",
            Self::OpenaiChat => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }
}

impl FromStr for ModelKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Self::OpenaiChat, Self::Anthropic]
            .into_iter()
            .find(|kind| kind.as_str() == word)
            .ok_or_else(|| format!("`{word}` is not a kind of model provider; use openai_chat or anthropic"))
    }
}

/// Where a provider was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// Compiled in.
    Builtin,
    /// The configuration file.
    Config,
    /// The environment.
    Environment,
    /// Added under Settings.
    Database,
}

/// A provider that this process was started with.
#[derive(Clone, Debug)]
pub struct FixedModel {
    /// How sessions name it.
    pub name: String,
    /// Which protocol it speaks.
    pub kind: ModelKind,
    /// Where it is, if not at its vendor's address.
    pub base_url: Option<String>,
    /// The model's own name.
    pub model: String,
    /// Its key.
    pub api_key: Option<SecretString>,
    /// Where it was named.
    pub source: ModelSource,
}

/// A provider as lists show it. Never holds a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Model)]
pub struct ModelView {
    /// How sessions name it.
    pub name: String,
    /// Which protocol it speaks.
    pub kind: ModelKind,
    /// Where it is, if not at its vendor's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The model's own name.
    pub model: String,
    /// Whether there is a key.
    pub has_key: bool,
    /// Where it was named. Only those from the database can be changed here.
    pub source: ModelSource,
    /// Whether chats use it that name none.
    pub default: bool,
}

/// Makes a provider from its parts. A parameter, so that a test can script one.
pub type MakeProvider = dyn Fn(&str, ModelKind, &str, &str, Option<SecretString>) -> Result<Arc<dyn Provider>, String>
    + Send
    + Sync;

/// The providers.
pub struct ModelBook {
    storage: Storage,
    fixed: Vec<FixedModel>,
    builtin: Arc<dyn Provider>,
    make: Box<MakeProvider>,
}

impl std::fmt::Debug for ModelBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelBook").field("fixed", &self.fixed).finish_non_exhaustive()
    }
}

impl ModelBook {
    /// Joins the parts.
    pub fn new(
        storage: Storage,
        fixed: Vec<FixedModel>,
        builtin: Arc<dyn Provider>,
        make: Box<MakeProvider>,
    ) -> Self {
        Self { storage, fixed, builtin, make }
    }

    /// All providers with the default marked.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn list(&self) -> Result<Vec<ModelView>, ApiError> {
        let records = self.storage.models().list().await?;
        let chosen: Option<String> = self.storage.settings().get(DEFAULT_SETTING).await?;
        let mut views: Vec<ModelView> = vec![builtin_view()];
        views.extend(self.fixed.iter().map(fixed_view));
        for record in records {
            if !views.iter().any(|view| view.name == record.name) {
                views.push(record_view(record));
            }
        }
        let default = chosen
            .filter(|name| views.iter().any(|view| view.name == *name))
            .or_else(|| self.fixed.first().map(|fixed| fixed.name.clone()))
            .unwrap_or_else(|| BUILTIN.to_owned());
        for view in &mut views {
            view.default = view.name == default;
        }
        Ok(views)
    }

    /// Whether a name is that of the builtin router or of a provider that can't be changed here.
    pub fn is_fixed(&self, name: &str) -> bool {
        name == BUILTIN || self.fixed.iter().any(|fixed| fixed.name == name)
    }

    /// Makes the provider of this name, or the default one.
    ///
    /// # Errors
    ///
    /// Fails if there is none of this name, or its record can't be used.
    pub async fn provider(&self, name: Option<&str>) -> Result<Arc<dyn Provider>, ApiError> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => self
                .list()
                .await?
                .into_iter()
                .find(|view| view.default)
                .map_or_else(|| BUILTIN.to_owned(), |view| view.name),
        };
        if name == BUILTIN {
            return Ok(Arc::clone(&self.builtin));
        }
        let (kind, base_url, model, key) = self.parts(&name).await?;
        let base_url = base_url.unwrap_or_else(|| kind.default_base_url().to_owned());
        (self.make)(&name, kind, &base_url, &model, key)
            .map_err(|reason| ApiError::conflict(format!("the model `{name}` can't be used: {reason}")))
    }

    async fn parts(
        &self,
        name: &str,
    ) -> Result<(ModelKind, Option<String>, String, Option<SecretString>), ApiError> {
        if let Some(fixed) = self.fixed.iter().find(|fixed| fixed.name == name) {
            return Ok((fixed.kind, fixed.base_url.clone(), fixed.model.clone(), fixed.api_key.clone()));
        }
        let record = self.storage.models().find(name).await?.ok_or_else(|| ApiError::not_found("model"))?;
        let kind = ModelKind::from_str(&record.kind).map_err(ApiError::conflict)?;
        let key = self.storage.models().key(name).await?;
        let key = key.map(|key| SecretString::from(key.as_str().to_owned()));
        Ok((kind, record.base_url, record.model, key))
    }
}

fn builtin_view() -> ModelView {
    ModelView {
        name: BUILTIN.to_owned(),
        kind: ModelKind::Builtin,
        base_url: None,
        model: BUILTIN.to_owned(),
        has_key: false,
        source: ModelSource::Builtin,
        default: false,
    }
}

fn fixed_view(fixed: &FixedModel) -> ModelView {
    ModelView {
        name: fixed.name.clone(),
        kind: fixed.kind,
        base_url: fixed.base_url.as_deref().map(without_credentials),
        model: fixed.model.clone(),
        has_key: fixed.api_key.as_ref().is_some_and(|key| !key.expose_secret().is_empty()),
        source: fixed.source,
        default: false,
    }
}

fn record_view(record: ModelRecord) -> ModelView {
    ModelView {
        kind: ModelKind::from_str(&record.kind).unwrap_or(ModelKind::OpenaiChat),
        name: record.name,
        base_url: record.base_url.as_deref().map(without_credentials),
        model: record.model,
        has_key: record.has_key,
        source: ModelSource::Database,
        default: false,
    }
}

/// Some people write `https://user:password@host`; lists don't show that.
fn without_credentials(address: &str) -> String {
    let Ok(mut url) = url::Url::parse(address) else { return address.to_owned() };
    if url.username().is_empty() && url.password().is_none() {
        return address.to_owned();
    }
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

#[async_trait]
impl ModelDirectory for ModelBook {
    async fn provider_for(&self, session_model: Option<&str>) -> Result<Arc<dyn Provider>, ModelUnavailable> {
        self.provider(session_model).await.map_err(|error| ModelUnavailable(error.detail))
    }
}
