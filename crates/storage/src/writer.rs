//! The single writer. Jobs run one after another, each in a savepoint of its own, inside one transaction for all
//! that were waiting; every job is answered only after the commit is durable.
//!
//! So an fsync is paid once for many jobs: while one group is being committed, the next one gathers. A job that
//! fails, panics or takes too long takes back its own changes and nobody else's.

use crate::StorageError;
use crate::audit::{ChainHead, HeadRow, READ_HEAD};
use futures::FutureExt;
use futures::future::BoxFuture;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tracing::{error, warn};

/// The longest group. Bounds how long the first of a group waits for the last.
const MAX_GROUP: usize = 256;

/// Jobs that may wait before `write` itself waits.
const QUEUE: usize = 1024;

/// How long one job may hold the writer.
const MAX_JOB: Duration = Duration::from_secs(20);

/// What a job is given.
pub type Conn = SqliteConnection;

/// Counts of what the writer did.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    commits: AtomicU64,
    jobs: AtomicU64,
}

/// What the writer did since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterStats {
    /// Durable commits.
    pub commits: u64,
    /// Jobs that those commits answered, failed ones too.
    pub jobs: u64,
}

/// The sending side of the writer. Cheap to clone; the writer stops when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
    counters: Arc<Counters>,
}

enum Message {
    Job(Box<dyn Job>),
    Close(oneshot::Sender<()>),
}

trait Job: Send {
    /// Runs the work once. Tells whether its changes are to be kept.
    fn run<'c>(&'c mut self, conn: &'c mut Conn) -> BoxFuture<'c, bool>;
    /// Answers: with the job's own outcome, or with why the group could not be committed.
    fn settle(self: Box<Self>, committed: Result<(), StorageError>);
}

struct TypedJob<F, T> {
    work: Option<F>,
    outcome: Option<Result<T, StorageError>>,
    reply: oneshot::Sender<Result<T, StorageError>>,
}

impl<F, T> Job for TypedJob<F, T>
where
    F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T, StorageError>> + Send,
    T: Send,
{
    fn run<'c>(&'c mut self, conn: &'c mut Conn) -> BoxFuture<'c, bool> {
        Box::pin(async move {
            let Some(work) = self.work.take() else { return false };
            // The closure's own part can panic as well as the future's.
            let attempt = AssertUnwindSafe(async move { work(conn).await }).catch_unwind();
            let outcome = match tokio::time::timeout(MAX_JOB, attempt).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(panic)) => Err(StorageError::Panicked(panic_text(panic.as_ref()))),
                Err(_) => Err(StorageError::TooSlow(MAX_JOB.as_secs())),
            };
            let keep = outcome.is_ok();
            self.outcome = Some(outcome);
            keep
        })
    }

    fn settle(self: Box<Self>, committed: Result<(), StorageError>) {
        let answer = match (self.outcome, committed) {
            (Some(Err(own)), _) => Err(own),
            (_, Err(group)) => Err(group),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StorageError::Closed),
        };
        // Nobody waits any more: the change is durable all the same.
        let _ = self.reply.send(answer);
    }
}

impl Writer {
    /// Starts the writer on a connection of its own.
    pub(crate) async fn start(options: SqliteConnectOptions) -> Result<Self, StorageError> {
        let conn = options.connect().await?;
        let (queue, jobs) = mpsc::channel(QUEUE);
        let counters = Arc::new(Counters::default());
        tokio::spawn(Loop { options, conn, jobs, counters: Arc::clone(&counters) }.run());
        Ok(Self { queue, counters })
    }

    /// Queues a job and waits until it is durable or has failed.
    pub(crate) async fn write<F, T>(&self, work: F) -> Result<T, StorageError>
    where
        F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T, StorageError>> + Send + 'static,
        T: Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = TypedJob { work: Some(work), outcome: None, reply };
        self.queue.send(Message::Job(Box::new(job))).await.map_err(|_| StorageError::Closed)?;
        answer.await.map_err(|_| StorageError::Closed)?
    }

    /// Finishes what is queued, then stops.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.queue.send(Message::Close(done)).await.is_ok() {
            let _ = closed.await;
        }
    }

    pub(crate) fn stats(&self) -> WriterStats {
        WriterStats {
            commits: self.counters.commits.load(Ordering::Relaxed),
            jobs: self.counters.jobs.load(Ordering::Relaxed),
        }
    }
}

struct Loop {
    options: SqliteConnectOptions,
    conn: Conn,
    jobs: mpsc::Receiver<Message>,
    counters: Arc<Counters>,
}

impl Loop {
    async fn run(mut self) {
        let mut closing = None;
        while closing.is_none() {
            let Some(first) = self.jobs.recv().await else { break };
            let mut group = Vec::new();
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    Message::Job(job) => group.push(job),
                    Message::Close(done) => {
                        closing = Some(done);
                        break;
                    }
                }
                if group.len() < MAX_GROUP {
                    next = self.jobs.try_recv().ok();
                }
            }
            if !group.is_empty() {
                self.commit_group(group).await;
            }
        }
        self.jobs.close();
        if let Err(problem) = self.conn.close().await {
            warn!(error = %problem, "the database connection did not close cleanly");
        }
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    async fn commit_group(&mut self, mut group: Vec<Box<dyn Job>>) {
        let committed = self.try_group(&mut group).await.map_err(|source| {
            error!(error = %source, jobs = group.len(), "a group of writes was not committed");
            StorageError::Commit(Arc::new(source))
        });
        if committed.is_err() {
            self.recover().await;
        } else {
            self.counters.commits.fetch_add(1, Ordering::Relaxed);
            self.counters.jobs.fetch_add(group.len() as u64, Ordering::Relaxed);
        }
        for job in group {
            job.settle(committed.clone());
        }
    }

    /// Each statement is a way to the database's thread and back, so those that follow each other go together.
    async fn try_group(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), sqlx::Error> {
        let head = self.begin().await?;
        let last = group.len().saturating_sub(1);
        for (index, job) in group.iter_mut().enumerate() {
            let before = head.known();
            let keep = head.within(job.run(&mut self.conn)).await;
            if !keep {
                head.go_back(before);
            }
            match (keep, index == last) {
                (true, true) => {}
                (true, false) => execute(&mut self.conn, "RELEASE job; SAVEPOINT job").await?,
                // Fails if the database itself rolled everything back (disk full, I/O error): then nobody's
                // change is there, and the whole group has to hear of it.
                (false, true) => execute(&mut self.conn, "ROLLBACK TO job").await?,
                (false, false) => {
                    execute(&mut self.conn, "ROLLBACK TO job; RELEASE job; SAVEPOINT job").await?;
                }
            }
        }
        self.commit(&head).await
    }

    /// Begins the transaction and the first job; tells where the audit chain stands.
    async fn begin(&mut self) -> Result<ChainHead, sqlx::Error> {
        let sql = format!("BEGIN IMMEDIATE; SAVEPOINT job; {READ_HEAD}");
        let row = sqlx::query_as::<_, HeadRow>(AssertSqlSafe(sql)).fetch_optional(&mut self.conn).await?;
        Ok(ChainHead::read(row))
    }

    /// Ends the last job and the transaction.
    async fn commit(&mut self, head: &ChainHead) -> Result<(), sqlx::Error> {
        let Some((chain_id, seq, hash)) = head.moved() else {
            return execute(&mut self.conn, "RELEASE job; COMMIT").await;
        };
        sqlx::query(
            "UPDATE audit_chains SET head_seq = $1, head_hash = $2 WHERE chain_id = $3; RELEASE job; COMMIT",
        )
        .bind(seq)
        .bind(hash)
        .bind(chain_id)
        .execute(&mut self.conn)
        .await
        .map(drop)
    }

    /// Leaves a half-done transaction; a connection that can't even do that is replaced.
    async fn recover(&mut self) {
        // Fails when the database has rolled back by itself, which is what is wanted.
        let _ = execute(&mut self.conn, "ROLLBACK").await;
        if self.conn.ping().await.is_ok() && execute(&mut self.conn, "SELECT 1").await.is_ok() {
            return;
        }
        match self.options.connect().await {
            Ok(fresh) => self.conn = fresh,
            Err(problem) => error!(error = %problem, "the database can't be reopened for writing"),
        }
    }
}

async fn execute(conn: &mut Conn, sql: &'static str) -> Result<(), sqlx::Error> {
    sqlx::query(AssertSqlSafe(sql)).execute(conn).await.map(drop)
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
