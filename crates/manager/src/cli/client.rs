//! A client of the API, for commands that need the manager to be running.

use super::ConfigArgs;
use super::local;
use anyhow::Context as _;
use clap::Args;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;

/// Which manager, and as whom.
#[derive(Clone, Debug, Args)]
pub(super) struct ClientArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The manager's address [default: the manager of this machine]
    #[arg(long, value_name = "URL", requires = "token_file")]
    url: Option<String>,
    /// A file with an API token [default: the one that the manager of this machine wrote]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// A client of the API.
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
}

#[derive(Deserialize)]
struct ProblemText {
    detail: String,
    request_id: String,
}

impl ClientArgs {
    pub(super) fn connect(&self) -> anyhow::Result<Client> {
        let (base, token_file) = match (&self.url, &self.token_file) {
            (Some(url), Some(file)) => (url.trim_end_matches('/').to_owned(), file.clone()),
            (_, own_file) => {
                let config = local::load(&self.config)?;
                let address =
                    std::fs::read_to_string(config.storage.console_address()).with_context(|| {
                        format!("no manager is running with data in {}", config.storage.dir.display())
                    })?;
                (address.trim().to_owned(), own_file.clone().unwrap_or_else(|| config.storage.cli_token()))
            }
        };
        let token = std::fs::read_to_string(&token_file)
            .with_context(|| format!("the token file {} can't be read", token_file.display()))?;
        let mut headers = HeaderMap::new();
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {}", token.trim())).context("the token isn't one")?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        headers.insert("x-steadyhand-origin", HeaderValue::from_static("cli"));
        let http = reqwest::Client::builder()
            .default_headers(headers)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        Ok(Client { http, base })
    }
}

impl Client {
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/api/v1{path}", self.base))
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.json(self.request(Method::POST, path).json(body)).await
    }

    pub(super) async fn json(&self, request: RequestBuilder) -> anyhow::Result<Value> {
        let response = self.send(request).await?;
        Ok(response.json().await?)
    }

    /// The id of the host with this id or name, and whether it is online.
    pub(super) async fn find_host(&self, wanted: &str) -> anyhow::Result<(i64, bool)> {
        let mut cursor: Option<String> = None;
        loop {
            let mut request = self.request(Method::GET, "/hosts").query(&[("limit", "200")]);
            if let Some(cursor) = &cursor {
                request = request.query(&[("cursor", cursor)]);
            }
            let page = self.json(request).await?;
            for host in page["items"].as_array().into_iter().flatten() {
                let id = host["id"].as_i64().context("a host without id")?;
                if host["name"] == wanted || id.to_string() == wanted {
                    return Ok((id, host["state"] == "online"));
                }
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => anyhow::bail!("there is no host `{wanted}`"),
            }
        }
    }

    /// Sends a request; a problem becomes an error with its sentence.
    pub(super) async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let response =
            request.send().await.with_context(|| format!("the manager at {} doesn't answer", self.base))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        match response.json::<ProblemText>().await {
            Ok(problem) => anyhow::bail!("{} (request {})", problem.detail, problem.request_id),
            Err(_) => anyhow::bail!("the manager answered {status}"),
        }
    }
}
