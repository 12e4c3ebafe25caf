//! Standing approvals: what a person allowed beyond one call.

use crate::audit::{self, Actor, AuditEntry};
use crate::{Conn, MasterKey, Storage, StorageError, from_micros, micros};
use model::{ApprovalId, Class, EdgeId, GrantId, Scope, SessionId, Timestamp, UserId, canonical};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, FromRow};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use uuid::Uuid;

/// On which hosts a grant covers calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantEdges {
    /// On this one, which had this name.
    This(EdgeId, String),
    /// On those with all of these labels.
    Labels(BTreeMap<String, String>),
    /// On any; also that of a tool of the manager.
    Any,
}

/// A grant that is given with a decision.
#[derive(Clone, Debug)]
pub struct NewGrant {
    /// Its id.
    pub id: GrantId,
    /// Whose calls it covers.
    pub person: UserId,
    /// Key of the capability.
    pub tool: String,
    /// Where that runs.
    pub scope: Scope,
    /// The highest class that it covers: safe or mutating.
    pub class: Class,
    /// Hash of the capability's definition.
    pub definition_hash: String,
    /// Only in this chat.
    pub session: Option<SessionId>,
    /// Only on these hosts.
    pub edges: GrantEdges,
    /// Only with these arguments: the exact ones, and what may be shown of them.
    pub args: Option<(Value, Value)>,
    /// How long it holds.
    pub holds: Option<Duration>,
    /// How many calls it covers.
    pub uses: Option<u32>,
}

/// A grant as it is read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// Whose calls it covers.
    pub person: UserId,
    /// Who that is, by name.
    pub person_name: String,
    /// Key of the capability.
    pub tool: String,
    /// Where that runs.
    pub scope: Scope,
    /// The highest class that it covers.
    pub class: Class,
    /// Hash of the definition that it was given for.
    pub definition_hash: String,
    /// Only in this chat.
    pub session: Option<SessionId>,
    /// What that chat is called now.
    pub session_title: Option<String>,
    /// Only on these hosts.
    pub edges: GrantEdges,
    /// Only with these arguments, redacted.
    pub args: Option<Value>,
    /// The digest of the exact ones, keyed by the grant.
    pub args_digest: Option<String>,
    /// The question that it answered.
    pub approval: ApprovalId,
    /// When it was given.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: UserId,
    /// By whom, by name.
    pub created_by_name: String,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// How many calls it let run.
    pub uses: u64,
    /// How many more it covers.
    pub uses_left: Option<u64>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// When somebody took it back.
    pub revoked_at: Option<Timestamp>,
}

/// A place in the list of grants, newest first. Written as text, it is what an API client sends back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantCursor {
    created_at: i64,
    id: Uuid,
}

impl GrantCursor {
    /// The place right after this one.
    pub fn after(grant: &Grant) -> Self {
        Self { created_at: micros(grant.created_at), id: grant.id.0 }
    }
}

impl fmt::Display for GrantCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.created_at, self.id.simple())
    }
}

impl FromStr for GrantCursor {
    type Err = StorageError;

    fn from_str(text: &str) -> Result<Self, StorageError> {
        let wrong = || StorageError::conflict("the cursor is none of this list");
        let (created_at, id) = text.split_once('.').ok_or_else(wrong)?;
        let created_at: i64 = created_at.parse().map_err(|_| wrong())?;
        from_micros(created_at).map_err(|_| wrong())?;
        Ok(Self { created_at, id: Uuid::parse_str(id).map_err(|_| wrong())? })
    }
}

const COLUMNS: &str = "g.*, \
     (SELECT COALESCE(NULLIF(display_name, ''), name) FROM users WHERE users.id = g.person_id) AS person_name, \
     (SELECT COALESCE(NULLIF(display_name, ''), name) FROM users WHERE users.id = g.created_by) AS created_by_name, \
     (SELECT title FROM sessions WHERE sessions.id = g.session_id) AS session_title";

#[derive(FromRow)]
struct StoredGrant {
    id: Uuid,
    person_id: i64,
    person_name: Option<String>,
    tool: String,
    scope: String,
    class: String,
    definition_hash: String,
    session_id: Option<Uuid>,
    session_title: Option<String>,
    edge_id: Option<i64>,
    edge_name: Option<String>,
    labels: Option<String>,
    args_digest: Option<String>,
    args_json: Option<String>,
    approval_id: Uuid,
    created_at: i64,
    created_by: i64,
    created_by_name: Option<String>,
    expires_at: Option<i64>,
    uses: i64,
    uses_left: Option<i64>,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl StoredGrant {
    fn read(self) -> Result<Grant, StorageError> {
        let wrong = || StorageError::corrupt(format!("grant {}", self.id));
        let edges = match (self.edge_id, &self.labels) {
            (Some(id), _) => GrantEdges::This(EdgeId(id), self.edge_name.unwrap_or_default()),
            (None, Some(labels)) => GrantEdges::Labels(serde_json::from_str(labels).map_err(|_| wrong())?),
            (None, None) => GrantEdges::Any,
        };
        Ok(Grant {
            id: GrantId(self.id),
            person: UserId(self.person_id),
            person_name: self.person_name.unwrap_or_default(),
            scope: self.scope.parse().map_err(|_| wrong())?,
            class: self.class.parse().map_err(|_| wrong())?,
            args: self.args_json.as_deref().map(serde_json::from_str).transpose().map_err(|_| wrong())?,
            tool: self.tool,
            definition_hash: self.definition_hash,
            session: self.session_id.map(SessionId),
            session_title: self.session_title.filter(|title| !title.is_empty()),
            edges,
            args_digest: self.args_digest,
            approval: ApprovalId(self.approval_id),
            created_at: from_micros(self.created_at)?,
            created_by: UserId(self.created_by),
            created_by_name: self.created_by_name.unwrap_or_default(),
            expires_at: self.expires_at.map(from_micros).transpose()?,
            uses: self.uses.unsigned_abs(),
            uses_left: self.uses_left.map(i64::unsigned_abs),
            last_used_at: self.last_used_at.map(from_micros).transpose()?,
            revoked_at: self.revoked_at.map(from_micros).transpose()?,
        })
    }
}

/// The digest of exact arguments, keyed by the grant, so that they can't be guessed from it.
fn args_digest(keys: &MasterKey, id: GrantId, args: &Value) -> String {
    keys.keyed_digest("arguments of a grant", id.0.as_bytes(), canonical::to_string(args).as_bytes())
}

impl Grant {
    /// Whether it covers calls with these exact arguments.
    pub fn covers_args(&self, keys: &MasterKey, args: &Value) -> bool {
        self.args_digest.as_ref().is_none_or(|digest| *digest == args_digest(keys, self.id, args))
    }
}

impl Storage {
    /// The grants.
    pub fn grants(&self) -> Grants<'_> {
        Grants(self)
    }
}

/// The grants.
#[derive(Clone, Copy, Debug)]
pub struct Grants<'s>(&'s Storage);

impl Grants<'_> {
    /// Looks one up; `None` if there is none with this id.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn find(&self, id: GrantId) -> Result<Option<Grant>, StorageError> {
        let sql = format!("SELECT {COLUMNS} FROM grants g WHERE g.id = $1");
        let row: Option<StoredGrant> =
            sqlx::query_as(AssertSqlSafe(sql)).bind(id.0).fetch_optional(self.0.read()).await?;
        row.map(StoredGrant::read).transpose()
    }

    /// Lists grants, newest first, after `cursor`: those for one person's calls, or all. Up to `limit` rows.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn list(
        &self,
        person: Option<UserId>,
        cursor: Option<GrantCursor>,
        limit: u32,
    ) -> Result<Vec<Grant>, StorageError> {
        let place = cursor.unwrap_or(GrantCursor { created_at: i64::MAX, id: Uuid::max() });
        let sql = format!(
            "SELECT {COLUMNS} FROM grants g WHERE ($1 IS NULL OR g.person_id = $1) AND g.created_at <= $2 \
             AND (g.created_at < $2 OR g.id < $3) ORDER BY g.created_at DESC, g.id DESC LIMIT $4"
        );
        let rows: Vec<StoredGrant> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(person.map(|person| person.0))
            .bind(place.created_at)
            .bind(place.id)
            .bind(i64::from(limit))
            .fetch_all(self.0.read())
            .await?;
        rows.into_iter().map(StoredGrant::read).collect()
    }

    /// Those for calls of a tool by a person that are neither revoked nor over nor used up. Those that aren't counted
    /// come first, then the oldest.
    ///
    /// # Errors
    ///
    /// Fails only if the database does, or holds what can't be read.
    pub async fn open_for(
        &self,
        person: UserId,
        scope: Scope,
        tool: &str,
    ) -> Result<Vec<Grant>, StorageError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM grants g WHERE g.person_id = $1 AND g.tool = $2 AND g.scope = $3 \
             AND g.revoked_at IS NULL AND (g.expires_at IS NULL OR g.expires_at > $4) \
             AND (g.uses_left IS NULL OR g.uses_left > 0) ORDER BY g.uses_left IS NOT NULL, g.created_at, g.id"
        );
        let rows: Vec<StoredGrant> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(person.0)
            .bind(tool)
            .bind(scope.as_str())
            .bind(micros(self.0.now()))
            .fetch_all(self.0.read())
            .await?;
        rows.into_iter().map(StoredGrant::read).collect()
    }

    /// Takes a grant back, with its audit entry. `false` if it was taken back before.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn revoke(&self, id: GrantId, by: UserId) -> Result<bool, StorageError> {
        let now = self.0.now();
        self.0.write(move |conn| Box::pin(revoke(conn, now, id, by))).await
    }
}

async fn revoke(conn: &mut Conn, now: Timestamp, id: GrantId, by: UserId) -> Result<bool, StorageError> {
    let changed = sqlx::query(
        "UPDATE grants SET revoked_at = $1, revoked_by = $2 WHERE id = $3 AND revoked_at IS NULL",
    )
    .bind(micros(now))
    .bind(by.0)
    .bind(id.0)
    .execute(&mut *conn)
    .await?
    .rows_affected();
    if changed == 1 {
        let payload = json!({"grant_id": id});
        let entry = AuditEntry { kind: "grant.revoked", call_id: None, actor: Actor::User(by), payload };
        audit::append(conn, now, entry).await?;
    }
    Ok(changed == 1)
}

/// Counts one use of a grant that covers calls at this time. `false` if it doesn't any more.
pub(crate) async fn take_use(conn: &mut Conn, now: Timestamp, id: GrantId) -> Result<bool, StorageError> {
    let changed = sqlx::query(
        "UPDATE grants SET uses = uses + 1, uses_left = uses_left - 1, last_used_at = $1
         WHERE id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)
             AND (uses_left IS NULL OR uses_left > 0)",
    )
    .bind(micros(now))
    .bind(id.0)
    .execute(conn)
    .await?
    .rows_affected();
    Ok(changed == 1)
}

/// Writes a new grant and its audit entry.
pub(crate) async fn insert(
    conn: &mut Conn,
    keys: &MasterKey,
    now: Timestamp,
    by: UserId,
    approval: ApprovalId,
    grant: &NewGrant,
) -> Result<(), StorageError> {
    let expires_at = grant.holds.map(|hold| now + hold);
    let (edge, edge_name, labels) = match &grant.edges {
        GrantEdges::This(edge, name) => (Some(edge.0), Some(name.as_str()), None),
        GrantEdges::Labels(labels) => (None, None, Some(json!(labels))),
        GrantEdges::Any => (None, None, None),
    };
    sqlx::query(
        "INSERT INTO grants (id, person_id, tool, scope, class, definition_hash, session_id, edge_id, edge_name, labels,
             args_digest, args_json, approval_id, created_at, created_by, expires_at, uses_left)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    )
    .bind(grant.id.0)
    .bind(grant.person.0)
    .bind(&grant.tool)
    .bind(grant.scope.as_str())
    .bind(grant.class.as_str())
    .bind(&grant.definition_hash)
    .bind(grant.session.map(|session| session.0))
    .bind(edge)
    .bind(edge_name)
    .bind(labels.as_ref().map(Value::to_string))
    .bind(grant.args.as_ref().map(|(exact, _)| args_digest(keys, grant.id, exact)))
    .bind(grant.args.as_ref().map(|(_, shown)| shown.to_string()))
    .bind(approval.0)
    .bind(micros(now))
    .bind(by.0)
    .bind(expires_at.map(micros))
    .bind(grant.uses.map(i64::from))
    .execute(&mut *conn)
    .await?;
    let mut payload = json!({
        "grant_id": grant.id, "approval_id": approval, "person": grant.person, "tool": grant.tool,
        "scope": grant.scope, "class": grant.class, "definition_hash": grant.definition_hash,
        "session_id": grant.session, "device_id": edge, "labels": labels, "exact_args": grant.args.is_some(),
        "expires_at": expires_at, "uses": grant.uses,
    });
    if let Value::Object(fields) = &mut payload {
        fields.retain(|_, value| !value.is_null());
    }
    let entry = AuditEntry { kind: "grant.created", call_id: None, actor: Actor::User(by), payload };
    audit::append(conn, now, entry).await?;
    Ok(())
}
