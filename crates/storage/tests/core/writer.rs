use super::support::{self, Database};
use futures::future::{BoxFuture, join_all};
use model::{Classify, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use storage::{Conn, MasterKey, Storage, StorageError};
use tokio::sync::oneshot;

type Written = BoxFuture<'static, Result<(), StorageError>>;

/// Holds the writer until the sender is used or dropped, so that everything that is asked for meanwhile is one group.
async fn hold(
    database: &Database,
) -> (oneshot::Sender<()>, tokio::task::JoinHandle<Result<(), StorageError>>) {
    let (entered, inside) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    let storage = database.storage.clone();
    let held = tokio::spawn(async move {
        storage
            .write(move |_| {
                Box::pin(async move {
                    let _ = entered.send(());
                    let _ = released.await;
                    Ok(())
                })
            })
            .await
    });
    inside.await.unwrap();
    (release, held)
}

fn insert(storage: &Storage, number: i64) -> Written {
    let storage = storage.clone();
    Box::pin(async move { storage.write(move |conn| Box::pin(add(conn, number))).await })
}

async fn add(conn: &mut Conn, number: i64) -> Result<(), StorageError> {
    sqlx::query(
        "INSERT INTO audit_chains (chain_id, created_at, head_seq, head_hash) VALUES ($1, $2, 0, x'00')",
    )
    .bind(uuid::Uuid::from_u128(number as u128))
    // After the real chain, so that this one isn't appended to.
    .bind(i64::MAX)
    .execute(conn)
    .await?;
    Ok(())
}

async fn added(storage: &Storage) -> i64 {
    sqlx::query_scalar("SELECT COUNT(*) FROM audit_chains WHERE created_at = $1")
        .bind(i64::MAX)
        .fetch_one(storage.read())
        .await
        .unwrap()
}

/// Asks for all of the writes before the writer is free, then waits for all.
async fn as_one_group(database: &Database, writes: Vec<Written>) -> Vec<Result<(), StorageError>> {
    let (release, held) = hold(database).await;
    let mut all = Box::pin(join_all(writes));
    assert!(futures::poll!(&mut all).is_pending());
    release.send(()).unwrap();
    held.await.unwrap().unwrap();
    all.await
}

#[tokio::test]
async fn jobs_that_wait_together_are_committed_together() {
    let database = support::open().await;
    let before = database.storage.stats();
    let writes = (0..100).map(|number| insert(&database.storage, number)).collect();
    let results = as_one_group(&database, writes).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let after = database.storage.stats();
    assert_eq!(after.jobs - before.jobs, 101);
    assert_eq!(after.commits - before.commits, 2, "the holding job, and one group of a hundred");
    assert_eq!(added(&database.storage).await, 100);
}

#[tokio::test]
async fn a_failed_or_panicking_job_takes_back_its_own_changes_and_nobody_elses() {
    let database = support::open().await;
    let failing: Written = Box::pin({
        let storage = database.storage.clone();
        async move {
            storage
                .write(|conn| {
                    Box::pin(async move {
                        add(conn, 1000).await?;
                        Err(StorageError::conflict("changed my mind"))
                    })
                })
                .await
        }
    });
    let panicking: Written = Box::pin({
        let storage = database.storage.clone();
        async move {
            storage
                .write(|conn| {
                    Box::pin(async move {
                        add(conn, 1001).await?;
                        panic!("a defect");
                    })
                })
                .await
        }
    });
    let writes = vec![
        insert(&database.storage, 1),
        failing,
        insert(&database.storage, 2),
        panicking,
        insert(&database.storage, 3),
    ];
    let results = as_one_group(&database, writes).await;
    assert!(matches!(&results[1], Err(StorageError::Conflict { reason }) if reason == "changed my mind"));
    assert!(matches!(&results[3], Err(StorageError::Panicked(text)) if text == "a defect"));
    assert!(results[0].is_ok() && results[2].is_ok() && results[4].is_ok());
    assert_eq!(added(&database.storage).await, 3);
}

#[tokio::test]
async fn a_commit_that_fails_fails_all_of_its_jobs_and_the_next_group_works() {
    let database = support::open().await;
    // Checked only at the commit, so that it is the commit that fails.
    let poison: Written = Box::pin({
        let storage = database.storage.clone();
        async move {
            storage
                .write(|conn| {
                    Box::pin(async move {
                        sqlx::query("PRAGMA defer_foreign_keys = ON").execute(&mut *conn).await?;
                        sqlx::query("INSERT INTO artifact_pieces (artifact_id, position, data) VALUES (x'00', 0, x'00')")
                            .execute(&mut *conn)
                            .await?;
                        Ok(())
                    })
                })
                .await
        }
    });
    let writes = vec![insert(&database.storage, 1), poison, insert(&database.storage, 2)];
    let results = as_one_group(&database, writes).await;
    assert!(results.iter().all(|result| matches!(result, Err(StorageError::Commit(_)))), "{results:?}");
    assert_eq!(results[0].as_ref().unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(added(&database.storage).await, 0);
    insert(&database.storage, 3).await.unwrap();
    assert_eq!(added(&database.storage).await, 1);
}

#[tokio::test]
async fn a_job_whose_asker_went_away_is_still_done() {
    let database = support::open().await;
    let (release, held) = hold(&database).await;
    let mut write = insert(&database.storage, 1);
    assert!(futures::poll!(&mut write).is_pending());
    drop(write);
    release.send(()).unwrap();
    held.await.unwrap().unwrap();
    insert(&database.storage, 2).await.unwrap();
    assert_eq!(added(&database.storage).await, 2);
}

#[tokio::test]
async fn readers_can_not_write() {
    let database = support::open().await;
    let result = sqlx::query("DELETE FROM artifacts").execute(database.storage.read()).await;
    assert!(result.unwrap_err().to_string().contains("readonly"));
}

#[tokio::test]
async fn the_file_is_private_and_can_be_opened_again() {
    let database = support::open().await;
    insert(&database.storage, 1).await.unwrap();
    let path = database.folder.path().join("test.db");
    for name in ["test.db", "test.db-wal"] {
        let mode = std::fs::metadata(database.folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    database.storage.close().await;
    assert!(matches!(insert(&database.storage, 2).await, Err(StorageError::Closed)));
    let again =
        Storage::open(&path, database.clock.clone(), MasterKey::from_bytes(support::KEY)).await.unwrap();
    assert_eq!(added(&again).await, 1);
}
