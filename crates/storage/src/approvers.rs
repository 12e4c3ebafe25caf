//! Lists of approvers as they were imported, and the keys that people offer for the next one.

use crate::audit::{self, Actor, AuditEntry};
use crate::{Conn, Storage, StorageError, from_micros, micros};
use model::{Timestamp, UserId, canonical};
use serde_json::json;
use uuid::Uuid;

/// Keys that one person may offer.
const MAX_OFFERS: i64 = 16;

/// A list of approvers as it was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredApprovers {
    /// Its version.
    pub version: u64,
    /// As it was signed.
    pub document: Vec<u8>,
    /// The detached signature.
    pub signature: Vec<u8>,
    /// When it was imported.
    pub imported_at: Timestamp,
    /// By whom.
    pub imported_by: UserId,
    /// That person's name for people.
    pub imported_by_name: Option<String>,
}

/// A key that somebody offers.
#[derive(Clone, Debug)]
pub struct NewOffer {
    /// `ed25519` or `webauthn`.
    pub kind: String,
    /// SubjectPublicKeyInfo.
    pub public: Vec<u8>,
    /// The first 16 hex digits of its SHA-256.
    pub key_id: String,
    /// What the browser calls a passkey by.
    pub credential_id: Option<String>,
    /// Where the person says it is.
    pub label: String,
}

/// A key that somebody offered for the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyOffer {
    /// The offer's id.
    pub id: Uuid,
    /// Whose it is.
    pub user: UserId,
    /// The name of that account.
    pub person: String,
    /// `ed25519` or `webauthn`.
    pub kind: String,
    /// SubjectPublicKeyInfo.
    pub public: Vec<u8>,
    /// The first 16 hex digits of its SHA-256.
    pub key_id: String,
    /// What the browser calls a passkey by.
    pub credential_id: Option<String>,
    /// Where the person says it is.
    pub label: String,
    /// When it was offered.
    pub offered_at: Timestamp,
}

/// Lists of approvers, and keys that are offered.
#[derive(Clone, Copy, Debug)]
pub struct ApproverLists<'s>(&'s Storage);

impl Storage {
    /// Lists of approvers, and keys that are offered.
    pub fn approver_lists(&self) -> ApproverLists<'_> {
        ApproverLists(self)
    }
}

type ListRow = (i64, Vec<u8>, Vec<u8>, i64, i64, Option<String>);

#[derive(sqlx::FromRow)]
struct OfferRow {
    id: Uuid,
    user_id: i64,
    person: String,
    kind: String,
    public: Vec<u8>,
    key_id: String,
    credential_id: Option<String>,
    label: String,
    offered_at: i64,
}

impl OfferRow {
    fn read(self) -> Result<KeyOffer, StorageError> {
        Ok(KeyOffer {
            id: self.id,
            user: UserId(self.user_id),
            person: self.person,
            kind: self.kind,
            public: self.public,
            key_id: self.key_id,
            credential_id: self.credential_id,
            label: self.label,
            offered_at: from_micros(self.offered_at)?,
        })
    }
}

impl ApproverLists<'_> {
    /// The list with the highest version; `None` before the first.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn latest(&self) -> Result<Option<StoredApprovers>, StorageError> {
        let row: Option<ListRow> = sqlx::query_as(
            "SELECT version, document, signature, imported_at, imported_by,
                 (SELECT COALESCE(NULLIF(display_name, ''), name) FROM users WHERE users.id = imported_by)
             FROM approver_lists ORDER BY version DESC LIMIT 1",
        )
        .fetch_optional(self.0.read())
        .await?;
        row.map(|(version, document, signature, at, by, name)| {
            Ok(StoredApprovers {
                version: version.cast_unsigned(),
                document,
                signature,
                imported_at: from_micros(at)?,
                imported_by: UserId(by),
                imported_by_name: name,
            })
        })
        .transpose()
    }

    /// Imports a list whose signature the caller has checked.
    ///
    /// # Errors
    ///
    /// Fails as a conflict if its version isn't above that of the present one, and if the database does.
    pub async fn import(
        &self,
        version: u64,
        document: Vec<u8>,
        signature: Vec<u8>,
        by: UserId,
        actor: Actor,
    ) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let present: Option<i64> = sqlx::query_scalar("SELECT MAX(version) FROM approver_lists")
                        .fetch_one(&mut *conn)
                        .await?;
                    if let Some(present) = present.filter(|present| version.cast_signed() <= *present) {
                        return Err(StorageError::conflict(format!(
                            "version {present} of the list of approvers is imported already, and a later one has to \
                             have a higher version than that; this is version {version}"
                        )));
                    }
                    sqlx::query(
                        "INSERT INTO approver_lists (version, document, signature, imported_at, imported_by)
                         VALUES ($1, $2, $3, $4, $5)",
                    )
                    .bind(version.cast_signed())
                    .bind(&document)
                    .bind(&signature)
                    .bind(micros(now))
                    .bind(by.0)
                    .execute(&mut *conn)
                    .await?;
                    let payload = json!({"version": version, "digest": canonical::sha256_hex(&document)});
                    let entry = AuditEntry { kind: "approvers.imported", call_id: None, actor, payload };
                    audit::append(conn, now, entry).await?;
                    Ok(())
                })
            })
            .await
    }

    /// The keys that are offered: all, or those of one person. Oldest first.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn offers(&self, of: Option<UserId>) -> Result<Vec<KeyOffer>, StorageError> {
        let rows: Vec<OfferRow> = sqlx::query_as(
            "SELECT k.id, k.user_id, u.name AS person, k.kind, k.public, k.key_id, k.credential_id, k.label,
                 k.offered_at
             FROM approver_keys k JOIN users u ON u.id = k.user_id
             WHERE CAST($1 AS BIGINT) IS NULL OR k.user_id = $1 ORDER BY k.offered_at, k.id",
        )
        .bind(of.map(|user| user.0))
        .fetch_all(self.0.read())
        .await?;
        rows.into_iter().map(OfferRow::read).collect()
    }

    /// Puts a key down as offered; returns the offer's id.
    ///
    /// # Errors
    ///
    /// Fails as a conflict if the key is offered already or the person has offered 16, and if the database does.
    pub async fn offer(&self, user: UserId, key: NewOffer, actor: Actor) -> Result<Uuid, StorageError> {
        let now = self.0.now();
        self.0.write(move |conn| Box::pin(async move { offer(conn, now, user, &key, actor).await })).await
    }

    /// Takes an offer back. The list that names the key isn't changed by that.
    ///
    /// # Errors
    ///
    /// Fails if this person has no such offer, and if the database does.
    pub async fn withdraw(&self, user: UserId, id: Uuid, actor: Actor) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let key_id: Option<String> =
                        sqlx::query_scalar("SELECT key_id FROM approver_keys WHERE id = $1 AND user_id = $2")
                            .bind(id)
                            .bind(user.0)
                            .fetch_optional(&mut *conn)
                            .await?;
                    let key_id = key_id.ok_or_else(|| StorageError::not_found("approval key"))?;
                    sqlx::query("DELETE FROM approver_keys WHERE id = $1")
                        .bind(id)
                        .execute(&mut *conn)
                        .await?;
                    let payload = json!({"key_id": key_id});
                    let entry = AuditEntry { kind: "approver_key.withdrawn", call_id: None, actor, payload };
                    audit::append(conn, now, entry).await?;
                    Ok(())
                })
            })
            .await
    }
}

async fn offer(
    conn: &mut Conn,
    now: Timestamp,
    user: UserId,
    key: &NewOffer,
    actor: Actor,
) -> Result<Uuid, StorageError> {
    let taken: Option<i64> = sqlx::query_scalar("SELECT user_id FROM approver_keys WHERE key_id = $1")
        .bind(&key.key_id)
        .fetch_optional(&mut *conn)
        .await?;
    if taken.is_some() {
        return Err(StorageError::conflict("this key is offered already, and a key speaks for one person"));
    }
    let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM approver_keys WHERE user_id = $1")
        .bind(user.0)
        .fetch_one(&mut *conn)
        .await?;
    if count >= MAX_OFFERS {
        return Err(StorageError::conflict(format!(
            "one person offers at most {MAX_OFFERS} keys; take one back first"
        )));
    }
    let id = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO approver_keys (id, user_id, kind, public, key_id, credential_id, label, offered_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(id)
    .bind(user.0)
    .bind(&key.kind)
    .bind(&key.public)
    .bind(&key.key_id)
    .bind(&key.credential_id)
    .bind(&key.label)
    .bind(micros(now))
    .execute(&mut *conn)
    .await?;
    let payload = json!({"key_id": key.key_id, "kind": key.kind, "label": key.label});
    audit::append(conn, now, AuditEntry { kind: "approver_key.offered", call_id: None, actor, payload })
        .await?;
    Ok(id)
}
