//! Exports calls as CSV or JSON lines, read from the database while they are sent.

use crate::auth::Caller;
use crate::auth::rule::Read;
use crate::error::ApiError;
use crate::extract::Query;
use crate::state::AppState;
use crate::v1::calls::CallQuery;
use crate::v1::calls::view::{CallView, Names};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures::stream;
use http::header;
use serde::Deserialize;
use storage::StorageError;
use storage::calls::{CallCursor, CallFilter};
use utoipa::ToSchema;

/// In which form.
#[derive(Deserialize)]
pub struct FormatQuery {
    format: Option<ExportFormat>,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// A header line and one line per call.
    #[default]
    Csv,
    /// One JSON object per line.
    Jsonl,
}

const PAGE: u32 = 500;
const COLUMNS: &str = "id,started_at,finished_at,tool,class,scope,state,edge_id,edge_name,caller,caller_role,\
    on_behalf_of,origin,session_id,turn_id,parent_call_id,policy_decision,duration_ms,args,args_digest,\
    result_bytes,error\n";

/// Exports the calls that fit, newest first, without their results. Viewers get their own.
#[utoipa::path(get, path = "/api/v1/audit/export", operation_id = "export_audit", tag = "audit",
    params(CallQuery, ("format" = Option<ExportFormat>, Query)),
    responses((status = OK, content((String = "text/csv"), (String = "application/x-ndjson")))),
    security(("cookie" = ["viewer"]), ("token" = ["read"])))]
pub(super) async fn handler(
    State(app): State<AppState>,
    caller: Caller<Read>,
    Query(query): Query<CallQuery>,
    Query(format): Query<FormatQuery>,
) -> Result<Response, ApiError> {
    let filter = query.filter(&app, &caller)?;
    let names = Names::load(&app).await?;
    let format = format.format.unwrap_or_default();
    let (content_type, name) = match format {
        ExportFormat::Csv => ("text/csv; charset=utf-8", "calls.csv"),
        ExportFormat::Jsonl => ("application/x-ndjson", "calls.jsonl"),
    };
    let export = Export { app, filter, names, format, place: Place::Start };
    let pages = stream::try_unfold(export, Export::next);
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers =
        [(header::CONTENT_TYPE, content_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, Body::from_stream(pages)).into_response())
}

struct Export {
    app: AppState,
    filter: CallFilter,
    names: Names,
    format: ExportFormat,
    place: Place,
}

enum Place {
    Start,
    After(CallCursor),
    End,
}

impl Export {
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, StorageError> {
        let (cursor, mut text) = match self.place {
            Place::End => return Ok(None),
            Place::After(cursor) => (Some(cursor), String::new()),
            Place::Start if self.format == ExportFormat::Csv => (None, COLUMNS.to_owned()),
            Place::Start => (None, String::new()),
        };
        let rows = self.app.storage.calls().list(&self.filter, cursor, PAGE).await?;
        self.place = match rows.last() {
            Some(last) if rows.len() == PAGE as usize => Place::After(CallCursor::after(last)),
            _ => Place::End,
        };
        for row in rows {
            let view = CallView::of(row, &self.names);
            match self.format {
                ExportFormat::Csv => csv_line(&mut text, &view),
                ExportFormat::Jsonl => {
                    text.push_str(&serde_json::to_string(&view).unwrap_or_default());
                    text.push('\n');
                }
            }
        }
        Ok(Some((Bytes::from(text), self)))
    }
}

fn csv_line(out: &mut String, call: &CallView) {
    let optional = |value: Option<String>| value.unwrap_or_default();
    let fields = [
        call.id.to_string(),
        call.started_at.to_rfc3339(),
        optional(call.finished_at.map(|at| at.to_rfc3339())),
        call.tool.clone(),
        call.class.to_string(),
        call.scope.to_string(),
        call.state.to_string(),
        optional(call.edge_id.map(|id| id.to_string())),
        optional(call.edge_name.clone()),
        call.caller.name.clone(),
        call.caller.role.clone(),
        optional(call.on_behalf_of.as_ref().map(|person| person.name.clone())),
        call.origin.to_string(),
        optional(call.session_id.map(|id| id.to_string())),
        optional(call.turn_id.map(|id| id.to_string())),
        optional(call.parent_call_id.map(|id| id.to_string())),
        call.policy_decision.to_string(),
        optional(call.duration_ms.map(|duration| duration.to_string())),
        call.args.to_string(),
        call.args_digest.clone(),
        call.result_bytes.to_string(),
        optional(call.error.clone()),
    ];
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        csv_field(out, field);
    }
    out.push('\n');
}

/// Quotes a field. A text that a spreadsheet would take for a formula gets an apostrophe in front.
fn csv_field(out: &mut String, field: &str) {
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if !formula && !field.contains([',', '"', '\n', '\r']) {
        out.push_str(field);
        return;
    }
    out.push('"');
    if formula {
        out.push('\'');
    }
    out.push_str(&field.replace('"', "\"\""));
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_disarmed() {
        for (field, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=cmd()", "\"'=cmd()\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            let mut out = String::new();
            csv_field(&mut out, field);
            assert_eq!(out, written);
        }
    }
}
