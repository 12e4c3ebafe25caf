//! Lists of approvals.

use super::row::{COLUMNS, StoredApproval, name_column};
use super::{Approval, Approvals};
use crate::calls::prefixed_columns;
use crate::sql::{Bind, Sql, bind_all};
use crate::{StorageError, from_micros, micros};
use model::{ApprovalId, CallId, TurnId, UserId};
use sqlx::AssertSqlSafe;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use uuid::Uuid;

/// Which approvals. Empty means all.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApprovalFilter {
    /// Only those that wait, or only those that don't.
    pub pending: Option<bool>,
    /// Only those of this person's calls.
    pub person: Option<UserId>,
}

/// A place in the list of approvals, newest first. Written as text, it is what an API client sends back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalCursor {
    asked_at: i64,
    id: Uuid,
}

impl ApprovalCursor {
    /// The place right after this one.
    pub fn after(approval: &Approval) -> Self {
        Self { asked_at: micros(approval.asked_at), id: approval.id.0 }
    }
}

impl fmt::Display for ApprovalCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.asked_at, self.id.simple())
    }
}

impl FromStr for ApprovalCursor {
    type Err = StorageError;

    fn from_str(text: &str) -> Result<Self, StorageError> {
        let wrong = || StorageError::conflict("the cursor is none of this list");
        let (asked_at, id) = text.split_once('.').ok_or_else(wrong)?;
        let asked_at: i64 = asked_at.parse().map_err(|_| wrong())?;
        from_micros(asked_at).map_err(|_| wrong())?;
        Ok(Self { asked_at, id: Uuid::parse_str(id).map_err(|_| wrong())? })
    }
}

fn select() -> Sql {
    let name = name_column();
    Sql::new(&format!(
        "SELECT {COLUMNS}, {}, \
         (SELECT {name} FROM users WHERE users.id = a.person_id) AS person_name, \
         (SELECT {name} FROM users WHERE users.id = a.decided_by) AS decided_by_name \
         FROM approvals a JOIN chat_tool_calls c ON c.id = a.call_id \
         LEFT JOIN approval_signing s ON s.approval_id = a.id",
        prefixed_columns("c")
    ))
}

impl Approvals<'_> {
    /// Looks one up; `None` if there is none with this id.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn find(&self, id: ApprovalId) -> Result<Option<Approval>, StorageError> {
        let mut sql = select();
        sql.filter("a.id = ?", Bind::Id(id.0));
        Ok(self.fetch(sql).await?.pop())
    }

    /// The approval of a call; `None` if nobody was asked.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn of_call(&self, call: CallId) -> Result<Option<Approval>, StorageError> {
        let mut sql = select();
        sql.filter("a.call_id = ?", Bind::Id(call.0));
        Ok(self.fetch(sql).await?.pop())
    }

    /// Lists approvals, newest first, after `cursor`. Up to `limit` rows.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn list(
        &self,
        filter: &ApprovalFilter,
        cursor: Option<ApprovalCursor>,
        limit: u32,
    ) -> Result<Vec<Approval>, StorageError> {
        let mut sql = select();
        if let Some(person) = filter.person {
            sql.filter("a.person_id = ?", Bind::Int(person.0));
        }
        if let Some(pending) = filter.pending {
            let operator = if pending { "=" } else { "<>" };
            sql.filter(&format!("a.state {operator} ?"), Bind::Text("pending".to_owned()));
        }
        if let Some(cursor) = cursor {
            // Two plain conditions instead of a row comparison: the first can use the index on SQLite too.
            sql.filter("a.asked_at <= ?", Bind::Int(cursor.asked_at));
            sql.push(" AND (a.asked_at < ").bind(Bind::Int(cursor.asked_at));
            sql.push(" OR a.id < ").bind(Bind::Id(cursor.id)).push(")");
        }
        sql.push(" ORDER BY a.asked_at DESC, a.id DESC LIMIT ").bind(Bind::Int(i64::from(limit)));
        self.fetch(sql).await
    }

    /// The calls that wait for a decision, or were approved and have not started. Oldest first.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn waiting(&self) -> Result<Vec<CallId>, StorageError> {
        let ids: Vec<Uuid> = sqlx::query_scalar(
            "SELECT id FROM chat_tool_calls WHERE status = 'awaiting_approval' ORDER BY created_at, id",
        )
        .fetch_all(self.0.read())
        .await?;
        Ok(ids.into_iter().map(CallId).collect())
    }

    /// How many calls of a person wait for a decision.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn pending_of(&self, person: UserId) -> Result<u64, StorageError> {
        let count: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM approvals WHERE state = 'pending' AND person_id = $1")
                .bind(person.0)
                .fetch_one(self.0.read())
                .await?;
        Ok(count.unsigned_abs())
    }

    /// How long a turn has waited for people so far.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn waited_in(&self, turn: TurnId) -> Result<Duration, StorageError> {
        let waited: i64 = sqlx::query_scalar(
            "SELECT COALESCE(SUM(COALESCE(a.decided_at, $2) - a.asked_at), 0) FROM approvals a
             JOIN chat_tool_calls c ON c.id = a.call_id WHERE c.turn_id = $1",
        )
        .bind(turn.0)
        .bind(micros(self.0.now()))
        .fetch_one(self.0.read())
        .await?;
        Ok(Duration::from_micros(u64::try_from(waited).unwrap_or_default()))
    }

    async fn fetch(&self, sql: Sql) -> Result<Vec<Approval>, StorageError> {
        let (text, binds) = sql.finish();
        let query = sqlx::query_as::<_, StoredApproval>(AssertSqlSafe(text));
        let rows = bind_all!(query, binds).fetch_all(self.0.read()).await?;
        let mut found = rows.into_iter().map(StoredApproval::read).collect::<Result<Vec<_>, _>>()?;
        for approval in &mut found {
            if let Some(signing) = &mut approval.signing {
                signing.signatures = self.signatures(approval.id).await?;
            }
        }
        Ok(found)
    }
}
