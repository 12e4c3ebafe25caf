//! Lists of calls: filters, keyset pages, density over time, whole results.

use super::row::{COLUMNS, StoredCall};
use super::{CallRow, Calls};
use crate::sql::{Bind, Sql, bind_all, contains_pattern};
use crate::{StorageError, from_micros, micros};
use futures::stream::{self, Stream};
use model::{CallId, CallState, Class, EdgeId, Origin, SessionId, Timestamp, TurnId, UserId};
use sqlx::AssertSqlSafe;
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// Which calls. Empty means all.
#[derive(Clone, Debug, Default)]
pub struct CallFilter {
    /// Key of the capability.
    pub tool: Option<String>,
    /// Class.
    pub class: Option<Class>,
    /// State.
    pub state: Option<CallState>,
    /// Host.
    pub edge: Option<EdgeId>,
    /// The person behind it.
    pub person: Option<UserId>,
    /// Chat.
    pub session: Option<SessionId>,
    /// Turn.
    pub turn: Option<TurnId>,
    /// The call that made it.
    pub parent: Option<CallId>,
    /// Entry point.
    pub origin: Option<Origin>,
    /// Received at or after.
    pub from: Option<Timestamp>,
    /// Received before.
    pub to: Option<Timestamp>,
    /// A part of the tool's key, the host's name, the redacted arguments or the error.
    pub text: Option<String>,
    /// What somebody may see who doesn't reach all hosts.
    pub within: Option<Within>,
}

/// The calls of somebody who doesn't reach all hosts: the person's own, and those of others on hosts within reach. What
/// others ran beside the manager isn't among them: its results may be of any host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// The person.
    pub own: UserId,
    /// The hosts.
    pub edges: Vec<EdgeId>,
}

impl Within {
    fn condition(&self) -> String {
        let own = "COALESCE(on_behalf_of, caller_user_id) = ?";
        if self.edges.is_empty() {
            return own.to_owned();
        }
        // Integers of our own, of which there may be more than a statement has places for.
        let edges: Vec<String> = self.edges.iter().map(|edge| edge.0.to_string()).collect();
        format!("({own} OR device_id IN ({}))", edges.join(", "))
    }
}

/// A place in the list of calls, newest first. Written as text, it is what an API client sends back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCursor {
    created_at: i64,
    id: Uuid,
}

impl CallCursor {
    /// The place right after this row.
    pub fn after(row: &CallRow) -> Self {
        Self { created_at: micros(row.created_at), id: row.id.0 }
    }
}

impl fmt::Display for CallCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.created_at, self.id.simple())
    }
}

impl FromStr for CallCursor {
    type Err = StorageError;

    fn from_str(text: &str) -> Result<Self, StorageError> {
        let wrong = || StorageError::corrupt("the cursor");
        let (created_at, id) = text.split_once('.').ok_or_else(wrong)?;
        Ok(Self {
            created_at: created_at.parse().map_err(|_| wrong())?,
            id: Uuid::parse_str(id).map_err(|_| wrong())?,
        })
    }
}

/// Calls of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DensityBucket {
    /// Where the stretch begins.
    pub from: Timestamp,
    /// How many calls were received in it.
    pub count: u64,
    /// How many of them did not succeed: failed, timed out, invalid, refused, denied, expired or unknown.
    pub failed: u64,
}

const FAILED: &str = "'failed', 'timed_out', 'invalid', 'refused', 'denied', 'expired', 'unknown'";

/// The page size of an export.
const EXPORT_PAGE: u32 = 500;

impl CallFilter {
    fn apply(&self, sql: &mut Sql) {
        let text = |value: &str| Bind::Text(value.to_owned());
        let conditions = [
            ("tool_name = ?", self.tool.as_deref().map(text)),
            ("class = ?", self.class.map(|class| text(class.as_str()))),
            ("status = ?", self.state.map(|state| text(state.as_str()))),
            ("device_id = ?", self.edge.map(|edge| Bind::Int(edge.0))),
            ("COALESCE(on_behalf_of, caller_user_id) = ?", self.person.map(|user| Bind::Int(user.0))),
            ("session_id = ?", self.session.map(|id| Bind::Id(id.0))),
            ("turn_id = ?", self.turn.map(|id| Bind::Id(id.0))),
            ("parent_call_id = ?", self.parent.map(|id| Bind::Id(id.0))),
            ("origin = ?", self.origin.map(|origin| text(origin.as_str()))),
            ("created_at >= ?", self.from.map(|at| Bind::Int(micros(at)))),
            ("created_at < ?", self.to.map(|at| Bind::Int(micros(at)))),
            (
                "(tool_name LIKE ? ESCAPE '\\' OR device_name LIKE ? ESCAPE '\\' OR args_json LIKE ? ESCAPE '\\' \
                 OR error LIKE ? ESCAPE '\\')",
                self.text.as_deref().map(|part| Bind::Text(contains_pattern(part))),
            ),
        ];
        for (condition, value) in conditions {
            if let Some(value) = value {
                sql.filter(condition, value);
            }
        }
        if let Some(within) = &self.within {
            sql.filter(&within.condition(), Bind::Int(within.own.0));
        }
    }
}

fn list_sql(filter: &CallFilter, cursor: Option<CallCursor>, limit: u32) -> (String, Vec<Bind>) {
    let mut sql = Sql::new(&format!("SELECT {COLUMNS} FROM chat_tool_calls"));
    filter.apply(&mut sql);
    if let Some(cursor) = cursor {
        // Two plain conditions instead of a row comparison: the first can use the index on SQLite too.
        sql.filter("created_at <= ?", Bind::Int(cursor.created_at));
        sql.push(" AND (created_at < ").bind(Bind::Int(cursor.created_at));
        sql.push(" OR id < ").bind(Bind::Id(cursor.id)).push(")");
    }
    sql.push(" ORDER BY created_at DESC, id DESC LIMIT ").bind(Bind::Int(i64::from(limit)));
    sql.finish()
}

impl Calls<'_> {
    /// Looks one up; `None` if there is none with this id.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn find(&self, id: CallId) -> Result<Option<CallRow>, StorageError> {
        let sql = format!("SELECT {COLUMNS} FROM chat_tool_calls WHERE id = $1");
        let row: Option<StoredCall> =
            sqlx::query_as(AssertSqlSafe(sql)).bind(id.0).fetch_optional(self.0.read()).await?;
        row.map(StoredCall::read).transpose()
    }

    /// The whole result as JSON text; `None` if there is no such call or it has none.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn result_text(&self, id: CallId) -> Result<Option<String>, StorageError> {
        let row: Option<(Option<String>, Option<Uuid>)> =
            sqlx::query_as("SELECT result_json, result_artifact_id FROM chat_tool_calls WHERE id = $1")
                .bind(id.0)
                .fetch_optional(self.0.read())
                .await?;
        match row {
            Some((Some(inline), _)) => Ok(Some(inline)),
            Some((None, Some(artifact))) => {
                let data = self.0.artifacts().read(artifact).await?;
                data.map(String::from_utf8)
                    .transpose()
                    .map_err(|_| StorageError::corrupt(format!("the result of call {id}")))
            }
            _ => Ok(None),
        }
    }

    /// Lists calls, newest first, after `cursor`. Up to `limit` rows; results are left out.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn list(
        &self,
        filter: &CallFilter,
        cursor: Option<CallCursor>,
        limit: u32,
    ) -> Result<Vec<CallRow>, StorageError> {
        let (text, binds) = list_sql(filter, cursor, limit);
        let query = sqlx::query_as::<_, StoredCall>(AssertSqlSafe(text));
        let rows = bind_all!(query, binds).fetch_all(self.0.read()).await?;
        rows.into_iter().map(StoredCall::read).collect()
    }

    /// All calls that fit, newest first, read page by page, so that memory doesn't grow with their number.
    pub fn export(self, filter: &CallFilter) -> impl Stream<Item = Result<CallRow, StorageError>> + Send {
        let pages = stream::try_unfold((Some(None), filter.clone()), move |(place, filter)| async move {
            let Some(cursor) = place else { return Ok(None) };
            let page = self.list(&filter, cursor, EXPORT_PAGE).await?;
            let next = match page.last() {
                Some(last) if page.len() == EXPORT_PAGE as usize => Some(Some(CallCursor::after(last))),
                _ => None,
            };
            Ok::<_, StorageError>(Some((stream::iter(page.into_iter().map(Ok)), (next, filter))))
        });
        futures::TryStreamExt::try_flatten(pages)
    }

    /// Counts calls per stretch of time: `buckets` (1–1000) equal stretches from `from` to `to`, empty ones included.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn density(
        &self,
        filter: &CallFilter,
        from: Timestamp,
        to: Timestamp,
        buckets: u32,
    ) -> Result<Vec<DensityBucket>, StorageError> {
        let buckets = i64::from(buckets.clamp(1, 1000));
        let (start, end) = (micros(from), micros(to).max(micros(from) + 1));
        let width = ((end - start) + buckets - 1) / buckets;
        let mut sql = Sql::new("SELECT (created_at - ");
        sql.bind(Bind::Int(start)).push(") / ").bind(Bind::Int(width)).push(" AS bucket, COUNT(*), ");
        sql.push(&format!("SUM(CASE WHEN status IN ({FAILED}) THEN 1 ELSE 0 END) FROM chat_tool_calls"));
        let narrowed = CallFilter {
            from: Some(filter.from.map_or(from, |own| own.max(from))),
            to: Some(filter.to.map_or(to, |own| own.min(to))),
            ..filter.clone()
        };
        narrowed.apply(&mut sql);
        sql.push(" GROUP BY bucket");
        let (text, binds) = sql.finish();
        let query = sqlx::query_as::<_, (i64, i64, i64)>(AssertSqlSafe(text));
        let counted = bind_all!(query, binds).fetch_all(self.0.read()).await?;
        (0..buckets)
            .map(|bucket| {
                let found = counted.iter().find(|(position, ..)| *position == bucket);
                let (count, failed) = found.map_or((0, 0), |(_, count, failed)| (*count, *failed));
                Ok(DensityBucket {
                    from: from_micros(start + bucket * width)?,
                    count: count.unsigned_abs(),
                    failed: failed.unsigned_abs(),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MasterKey, Storage};
    use model::SystemClock;
    use sqlx::Row;
    use std::sync::Arc;

    #[tokio::test]
    async fn every_filter_of_the_audit_page_is_answered_from_an_index_without_sorting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let storage =
            Storage::open(&path, Arc::new(SystemClock), MasterKey::from_bytes([1; 32])).await.unwrap();
        let all = CallFilter::default;
        let cursor = CallCursor { created_at: 5, id: Uuid::nil() };
        for (filter, index) in [
            (all(), "time"),
            (CallFilter { tool: Some(String::new()), ..all() }, "tool"),
            (CallFilter { class: Some(Class::Safe), ..all() }, "class"),
            (CallFilter { state: Some(CallState::Running), ..all() }, "status"),
            (CallFilter { edge: Some(EdgeId(1)), ..all() }, "device"),
            (CallFilter { person: Some(UserId(1)), ..all() }, "person"),
            (CallFilter { session: Some(SessionId(Uuid::nil())), ..all() }, "session"),
            (CallFilter { turn: Some(TurnId(Uuid::nil())), ..all() }, "turn"),
            (CallFilter { parent: Some(CallId(Uuid::nil())), ..all() }, "parent"),
        ] {
            let (text, binds) = list_sql(&filter, Some(cursor), 50);
            let query = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}")));
            let plan = bind_all!(query, binds).fetch_all(storage.read()).await.unwrap();
            let plan: Vec<String> = plan.iter().map(|step| step.get("detail")).collect();
            let plan = plan.join("; ");
            assert!(plan.contains(&format!("USING INDEX chat_tool_calls_{index} ")), "{index}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{index}: {plan}");
        }
    }
}
