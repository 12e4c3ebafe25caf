//! The OpenAPI document, made from the routes. A committed copy (`docs/openapi.json`) is what the console's client
//! is generated from; a test keeps it current.

use crate::error::Problem;
use crate::state::AppState;
use crate::v1;
use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use http::header;
use utoipa::OpenApi as _;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, OpenApi, Ref, RefOr, ResponseBuilder};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Steadyhand",
        description = "The manager's API. Browsers send the cookie `steadyhand_session` and, with every request that \
            isn't a GET, the header `x-steadyhand-csrf`; programs send `Authorization: Bearer shp_…`. The word beside \
            the scheme `cookie` is the role that a person needs, beside `token` the scope that a token needs. \
            Errors are problem details (RFC 9457).",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    // Only query parameters name these, and parameters bring no schemas along.
    components(schemas(Problem, v1::audit::ExportFormat, v1::approvals::Waiting)),
    tags(
        (name = "account", description = "Signing in and out, and one's own account"),
        (name = "hosts", description = "Hosts and how they join"),
        (name = "capabilities", description = "What can be run, and where"),
        (name = "calls", description = "Running capabilities, and what was run"),
        (name = "approvals", description = "What waits for a person, deciding, and standing approvals"),
        (name = "signing", description = "Procedures, and who may sign"),
        (name = "audit", description = "The audit chain and the timeline over calls"),
        (name = "chat", description = "One's own chats and the live stream"),
        (name = "models", description = "Model providers"),
        (name = "users", description = "Accounts, for admins"),
        (name = "tokens", description = "One's own API tokens"),
        (name = "settings", description = "Other settings"),
    )
)]
struct Frame;

/// The document.
pub fn openapi() -> OpenApi {
    let (_, routes) = v1::routes().split_for_parts();
    let mut document = Frame::openapi();
    document.merge(routes);
    let components = document.components.get_or_insert_with(Components::new);
    let cookie = SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(crate::auth::cookie::NAME)));
    components.add_security_scheme("cookie", cookie);
    components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        operations.into_iter().flatten().for_each(add_problem);
    }
    document
}

/// Every operation can fail, always in the same form.
fn add_problem(operation: &mut Operation) {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let problem = ResponseBuilder::new()
        .description("What went wrong")
        .content("application/problem+json", content)
        .build();
    operation.responses.responses.insert("default".to_owned(), RefOr::T(problem));
}

/// The document as pretty JSON, without a newline at its end.
pub fn openapi_json() -> String {
    openapi().to_pretty_json().unwrap_or_default()
}

pub(crate) fn routes() -> Router<AppState> {
    Router::new().route("/api/v1/openapi.json", get(serve))
}

/// Anybody may read what is in the repository anyway.
async fn serve() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], openapi_json())
}
