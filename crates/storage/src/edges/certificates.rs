//! The certificates that were issued to edges.

use super::{Edges, put_on_record};
use crate::audit::Actor;
use crate::{Conn, StorageError, from_micros, micros};
use model::{EdgeId, Timestamp};
use serde_json::json;

/// One certificate of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRecord {
    /// Serial number, lower-case hex.
    pub serial: String,
    /// Whose it is.
    pub edge: EdgeId,
    /// Valid from.
    pub not_before: Timestamp,
    /// Valid until.
    pub not_after: Timestamp,
    /// When it was made.
    pub issued_at: Timestamp,
    /// When it was voided.
    pub revoked_at: Option<Timestamp>,
}

#[derive(sqlx::FromRow)]
struct CertificateRow {
    serial: String,
    edge_id: i64,
    not_before: i64,
    not_after: i64,
    issued_at: i64,
    revoked_at: Option<i64>,
}

impl CertificateRow {
    fn read(self) -> Result<CertificateRecord, StorageError> {
        Ok(CertificateRecord {
            serial: self.serial,
            edge: EdgeId(self.edge_id),
            not_before: from_micros(self.not_before)?,
            not_after: from_micros(self.not_after)?,
            issued_at: from_micros(self.issued_at)?,
            revoked_at: self.revoked_at.map(from_micros).transpose()?,
        })
    }
}

impl Edges<'_> {
    /// Keeps a certificate that was issued, before it is handed over.
    ///
    /// # Errors
    ///
    /// Fails if there is no such edge, or the serial number was used.
    pub async fn add_certificate(
        &self,
        edge: EdgeId,
        serial: String,
        validity: (Timestamp, Timestamp),
        why: &'static str,
    ) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    sqlx::query(
                        "INSERT INTO edge_certificates (serial, edge_id, not_before, not_after, issued_at)
                         VALUES ($1, $2, $3, $4, $5)",
                    )
                    .bind(&serial)
                    .bind(edge.0)
                    .bind(micros(validity.0))
                    .bind(micros(validity.1))
                    .bind(micros(now))
                    .execute(&mut *conn)
                    .await?;
                    let payload =
                        json!({"edge_id": edge, "serial": serial, "not_after": validity.1, "why": why});
                    put_on_record(conn, now, "edge.certificate_issued", Actor::System, payload).await
                })
            })
            .await
    }

    /// Looks a certificate up by its serial number.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn certificate(&self, serial: &str) -> Result<Option<CertificateRecord>, StorageError> {
        let row: Option<CertificateRow> = sqlx::query_as("SELECT * FROM edge_certificates WHERE serial = $1")
            .bind(serial)
            .fetch_optional(self.0.read())
            .await?;
        row.map(CertificateRow::read).transpose()
    }

    /// The certificate of an edge that was issued last.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn latest_certificate(&self, edge: EdgeId) -> Result<Option<CertificateRecord>, StorageError> {
        let row: Option<CertificateRow> = sqlx::query_as(
            "SELECT * FROM edge_certificates WHERE edge_id = $1 ORDER BY issued_at DESC, not_after DESC LIMIT 1",
        )
        .bind(edge.0)
        .fetch_optional(self.0.read())
        .await?;
        row.map(CertificateRow::read).transpose()
    }

    /// Voids every certificate of an edge but one.
    ///
    /// # Errors
    ///
    /// Fails only if the database does.
    pub async fn revoke_other_certificates(&self, edge: EdgeId, keep: String) -> Result<(), StorageError> {
        let now = self.0.now();
        self.0
            .write(move |conn| Box::pin(async move { revoke_all_but(conn, edge, Some(&keep), now).await }))
            .await
    }
}

/// Voids the certificates of an edge, but for `keep`.
pub(super) async fn revoke_all_but(
    conn: &mut Conn,
    edge: EdgeId,
    keep: Option<&str>,
    now: Timestamp,
) -> Result<(), StorageError> {
    sqlx::query(
        "UPDATE edge_certificates SET revoked_at = $1 WHERE edge_id = $2 AND revoked_at IS NULL AND serial <> $3",
    )
    .bind(micros(now))
    .bind(edge.0)
    .bind(keep.unwrap_or_default())
    .execute(conn)
    .await?;
    Ok(())
}
