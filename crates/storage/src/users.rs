//! Accounts: people who sign in, and the service account of the local command line.

use crate::audit::{self, Actor, AuditEntry};
use crate::{Conn, Storage, StorageError, from_micros, micros, reach};
use model::{Reach, Role, Roles, Timestamp, UserId};
use serde_json::json;
use std::fmt;

/// Who is behind an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserKind {
    /// Somebody who signs in with a password.
    Person,
    /// A program of this machine. It has no password, so nobody can sign in as it.
    Service,
}

impl UserKind {
    /// The word used in the database and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Service => "service",
        }
    }
}

/// One account, without its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its id; never given to another account.
    pub id: UserId,
    /// The name to sign in with, in lower case. Unique among accounts that aren't deleted.
    pub name: String,
    /// The name shown to others.
    pub display_name: String,
    /// Who is behind it.
    pub kind: UserKind,
    /// What it may do.
    pub roles: Roles,
    /// Which hosts it may see and use.
    pub reach: Reach,
    /// Nothing but a change of the password is allowed until it happened.
    pub must_change_password: bool,
    /// Can't sign in, and its tokens don't work.
    pub disabled: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its password was last set.
    pub password_changed_at: Timestamp,
}

/// An account with the hash that a password is checked against.
#[derive(Clone)]
pub struct Credentials {
    /// The account.
    pub user: User,
    /// PHC string; `None` if nobody can sign in as this account.
    pub password_hash: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// What is needed for a new account.
#[derive(Clone)]
pub struct NewUser {
    /// The name to sign in with, in lower case.
    pub name: String,
    /// The name shown to others.
    pub display_name: String,
    /// Who is behind it.
    pub kind: UserKind,
    /// What it may do.
    pub roles: Roles,
    /// PHC string; `None` for a service account.
    pub password_hash: Option<String>,
    /// Whether the password must be changed before anything else works.
    pub must_change_password: bool,
}

/// What may change of an account. `None` leaves it as it is.
#[derive(Clone, Default)]
pub struct UserChange {
    /// The name shown to others.
    pub display_name: Option<String>,
    /// What it may do.
    pub roles: Option<Roles>,
    /// Which hosts it may see and use.
    pub reach: Option<Reach>,
    /// Whether it is shut out.
    pub disabled: Option<bool>,
    /// A new password hash. Ends the account's sign-ins.
    pub password: Option<NewPassword>,
}

/// A new password hash.
#[derive(Clone)]
pub struct NewPassword {
    /// PHC string.
    pub hash: String,
    /// Whether its owner must choose another one first.
    pub must_change: bool,
}

/// How a change of an account ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserOutcome {
    /// It was done; the account as it is after it.
    Done(User),
    /// There is no such account.
    NotFound,
    /// Another account has the name.
    NameTaken,
    /// Nobody would be left to administer the manager.
    LastAdmin,
    /// A service account can't be changed by people.
    Service,
}

/// The accounts.
#[derive(Clone, Copy, Debug)]
pub struct Users<'s>(&'s Storage);

impl Storage {
    /// The accounts.
    pub fn users(&self) -> Users<'_> {
        Users(self)
    }
}

#[derive(sqlx::FromRow)]
pub(crate) struct UserRow {
    pub(crate) id: i64,
    name: String,
    display_name: String,
    kind: String,
    roles: String,
    reach: String,
    password_hash: Option<String>,
    must_change_password: i64,
    disabled: i64,
    created_at: i64,
    password_changed_at: i64,
}

impl UserRow {
    pub(crate) fn read(self) -> Result<Credentials, StorageError> {
        let row = self;
        let user = User {
            id: UserId(row.id),
            name: row.name,
            display_name: row.display_name,
            kind: if row.kind == UserKind::Service.as_str() { UserKind::Service } else { UserKind::Person },
            // Roles that can't be read give no rights.
            roles: serde_json::from_str(&row.roles).unwrap_or_default(),
            reach: reach::read(&row.reach)?,
            must_change_password: row.must_change_password != 0,
            disabled: row.disabled != 0,
            created_at: from_micros(row.created_at)?,
            password_changed_at: from_micros(row.password_changed_at)?,
        };
        Ok(Credentials { user, password_hash: row.password_hash })
    }
}

impl Users<'_> {
    pub(crate) fn storage(&self) -> &Storage {
        self.0
    }

    /// Looks up an account; `None` if there is none or it was deleted.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn find(&self, id: UserId) -> Result<Option<User>, StorageError> {
        let row: Option<UserRow> = sqlx::query_as("SELECT * FROM users WHERE id = $1 AND deleted_at IS NULL")
            .bind(id.0)
            .fetch_optional(self.0.read())
            .await?;
        row.map(|row| Ok(row.read()?.user)).transpose()
    }

    /// Looks up an account with its password hash; `None` if there is none with this name.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn credentials(&self, name: &str) -> Result<Option<Credentials>, StorageError> {
        let row: Option<UserRow> =
            sqlx::query_as("SELECT * FROM users WHERE name = $1 AND deleted_at IS NULL")
                .bind(name)
                .fetch_optional(self.0.read())
                .await?;
        row.map(UserRow::read).transpose()
    }

    /// Accounts in the order of their ids, from after `after`.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn list(&self, after: i64, limit: i64) -> Result<Vec<User>, StorageError> {
        let rows: Vec<UserRow> =
            sqlx::query_as("SELECT * FROM users WHERE deleted_at IS NULL AND id > $1 ORDER BY id LIMIT $2")
                .bind(after)
                .bind(limit)
                .fetch_all(self.0.read())
                .await?;
        rows.into_iter().map(|row| Ok(row.read()?.user)).collect()
    }

    /// The shown names of accounts, deleted ones too, for lists that name who did something.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn names(&self) -> Result<std::collections::BTreeMap<i64, String>, StorageError> {
        let rows: Vec<(i64, String)> =
            sqlx::query_as("SELECT id, name FROM users").fetch_all(self.0.read()).await?;
        Ok(rows.into_iter().collect())
    }

    /// Makes an account.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn create(&self, new: NewUser, actor: Actor) -> Result<UserOutcome, StorageError> {
        let now = self.0.now();
        self.0.write(move |conn| Box::pin(async move { insert(conn, now, &new, actor).await })).await
    }

    /// Makes the first account, unless there is one already: of any number of managers that start, one makes it.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn create_first(&self, new: NewUser) -> Result<Option<User>, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let (people,): (i64,) =
                        sqlx::query_as("SELECT COUNT(*) FROM users WHERE kind = 'person'")
                            .fetch_one(&mut *conn)
                            .await?;
                    if people > 0 {
                        return Ok(None);
                    }
                    match insert(conn, now, &new, Actor::System).await? {
                        UserOutcome::Done(user) => Ok(Some(user)),
                        _ => Ok(None),
                    }
                })
            })
            .await
    }

    /// Changes an account. Taking rights, shutting out and a new password end its sign-ins.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn change(
        &self,
        id: UserId,
        change: UserChange,
        actor: Actor,
    ) -> Result<UserOutcome, StorageError> {
        let storage = self.0.clone();
        // On a task of its own: what is durable must come to memory too, whether or not anybody waits for it.
        let changed = tokio::spawn(async move {
            let _turn = storage.reaches.changing.lock().await;
            let now = storage.now();
            let (outcome, reaches) = storage
                .write(move |conn| {
                    Box::pin(async move {
                        let outcome = update(conn, now, id, change, actor).await?;
                        Ok((outcome, reach::load(conn).await?))
                    })
                })
                .await?;
            storage.reaches.set(reaches);
            Ok(outcome)
        });
        changed.await.unwrap_or(Err(StorageError::Closed))
    }

    /// Sets the password that its owner chose. Ends all of the account's sign-ins: the caller makes a new one.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn choose_password(&self, id: UserId, hash: String) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    set_password(conn, now, id, &NewPassword { hash, must_change: false }).await?;
                    let entry = AuditEntry {
                        kind: "user.password_changed",
                        call_id: None,
                        actor: Actor::User(id),
                        payload: json!({"user_id": id}),
                    };
                    audit::append(conn, now, entry).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Marks an account as deleted; its sign-ins and tokens end with it.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn delete(&self, id: UserId, actor: Actor) -> Result<UserOutcome, StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let Some(user) = find_for_change(conn, id).await? else {
                        return Ok(UserOutcome::NotFound);
                    };
                    if user.kind == UserKind::Service {
                        return Ok(UserOutcome::Service);
                    }
                    sqlx::query("UPDATE users SET deleted_at = $2, password_hash = NULL WHERE id = $1")
                        .bind(id.0)
                        .bind(micros(now))
                        .execute(&mut *conn)
                        .await?;
                    if !has_admin(conn).await? {
                        sqlx::query("UPDATE users SET deleted_at = NULL WHERE id = $1")
                            .bind(id.0)
                            .execute(&mut *conn)
                            .await?;
                        return Ok(UserOutcome::LastAdmin);
                    }
                    end_access(conn, now, id, true).await?;
                    let entry = AuditEntry {
                        kind: "user.deleted",
                        call_id: None,
                        actor,
                        payload: json!({"user_id": id, "name": user.name}),
                    };
                    audit::append(conn, now, entry).await?;
                    Ok(UserOutcome::Done(user))
                })
            })
            .await
    }
}

async fn insert(
    conn: &mut Conn,
    now: Timestamp,
    new: &NewUser,
    actor: Actor,
) -> Result<UserOutcome, StorageError> {
    let row: Option<UserRow> = sqlx::query_as(
        "INSERT INTO users (name, display_name, kind, roles, password_hash, must_change_password, disabled, created_at, \
         password_changed_at) SELECT $1, $2, $3, $4, $5, $6, 0, $7, $7 \
         WHERE NOT EXISTS (SELECT 1 FROM users WHERE name = $1 AND deleted_at IS NULL) RETURNING *",
    )
    .bind(&new.name)
    .bind(&new.display_name)
    .bind(new.kind.as_str())
    .bind(roles_text(&new.roles))
    .bind(&new.password_hash)
    .bind(i64::from(new.must_change_password))
    .bind(micros(now))
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = row else { return Ok(UserOutcome::NameTaken) };
    let user = row.read()?.user;
    let entry = AuditEntry {
        kind: "user.created",
        call_id: None,
        actor,
        payload: json!({"user_id": user.id, "name": user.name, "roles": user.roles, "kind": user.kind.as_str()}),
    };
    audit::append(conn, now, entry).await?;
    Ok(UserOutcome::Done(user))
}

async fn update(
    conn: &mut Conn,
    now: Timestamp,
    id: UserId,
    change: UserChange,
    actor: Actor,
) -> Result<UserOutcome, StorageError> {
    let Some(before) = find_for_change(conn, id).await? else { return Ok(UserOutcome::NotFound) };
    if before.kind == UserKind::Service {
        return Ok(UserOutcome::Service);
    }
    let roles = change.roles.unwrap_or_else(|| before.roles.clone());
    let disabled = change.disabled.unwrap_or(before.disabled);
    let stays_admin = roles.include(Role::Admin) && !disabled;
    if before.roles.include(Role::Admin)
        && !before.disabled
        && !stays_admin
        && !has_other_admin(conn, id).await?
    {
        return Ok(UserOutcome::LastAdmin);
    }
    let reach = change.reach.unwrap_or_else(|| before.reach.clone());
    sqlx::query("UPDATE users SET display_name = $2, roles = $3, disabled = $4, reach = $5 WHERE id = $1")
        .bind(id.0)
        .bind(change.display_name.as_ref().unwrap_or(&before.display_name))
        .bind(roles_text(&roles))
        .bind(i64::from(disabled))
        .bind(reach::write(&reach)?)
        .execute(&mut *conn)
        .await?;
    if let Some(password) = &change.password {
        set_password(conn, now, id, password).await?;
    }
    if disabled != before.disabled || roles != before.roles {
        end_access(conn, now, id, false).await?;
    }
    let entry = AuditEntry {
        kind: "user.changed",
        call_id: None,
        actor,
        payload: json!({
            "user_id": id, "name": before.name, "roles": roles, "disabled": disabled,
            "password_reset": change.password.is_some(), "hosts": reach,
        }),
    };
    audit::append(conn, now, entry).await?;
    Ok(find_for_change(conn, id).await?.map_or(UserOutcome::NotFound, UserOutcome::Done))
}

async fn find_for_change(conn: &mut Conn, id: UserId) -> Result<Option<User>, StorageError> {
    let row: Option<UserRow> = sqlx::query_as("SELECT * FROM users WHERE id = $1 AND deleted_at IS NULL")
        .bind(id.0)
        .fetch_optional(conn)
        .await?;
    row.map(|row| Ok(row.read()?.user)).transpose()
}

async fn set_password(
    conn: &mut Conn,
    now: Timestamp,
    id: UserId,
    password: &NewPassword,
) -> Result<(), StorageError> {
    sqlx::query(
        "UPDATE users SET password_hash = $2, must_change_password = $3, password_changed_at = $4 WHERE id = $1",
    )
    .bind(id.0)
    .bind(&password.hash)
    .bind(i64::from(password.must_change))
    .bind(micros(now))
    .execute(&mut *conn)
    .await?;
    end_access(conn, now, id, false).await
}

/// Ends the sign-ins of an account and, where asked for, its tokens.
async fn end_access(
    conn: &mut Conn,
    now: Timestamp,
    id: UserId,
    tokens_too: bool,
) -> Result<(), StorageError> {
    sqlx::query("DELETE FROM signins WHERE user_id = $1").bind(id.0).execute(&mut *conn).await?;
    if tokens_too {
        sqlx::query("UPDATE api_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL")
            .bind(id.0)
            .bind(micros(now))
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

async fn has_admin(conn: &mut Conn) -> Result<bool, StorageError> {
    has_other_admin(conn, UserId(-1)).await
}

async fn has_other_admin(conn: &mut Conn, id: UserId) -> Result<bool, StorageError> {
    let (count,): (i64,) = sqlx::query_as(
        "SELECT COUNT(*) FROM users WHERE roles LIKE '%\"admin\"%' AND kind = 'person' AND disabled = 0 \
         AND deleted_at IS NULL AND id <> $1",
    )
    .bind(id.0)
    .fetch_one(conn)
    .await?;
    Ok(count > 0)
}

fn roles_text(roles: &Roles) -> String {
    serde_json::to_string(roles).unwrap_or_else(|_| "[]".to_owned())
}
