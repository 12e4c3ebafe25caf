//! Child processes: where the binaries are, and reading what they print.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The path of a binary of this workspace, built with the profile of the running test.
///
/// # Errors
///
/// Fails, with the command that builds it, if it isn't there.
pub fn binary(name: &str) -> Result<PathBuf> {
    let test = std::env::current_exe().context("the running test has no path")?;
    let folder = test.ancestors().find(|folder| folder.join(name).is_file());
    match folder {
        Some(folder) => Ok(folder.join(name)),
        None => bail!("`{name}` is not built: cargo build --workspace --bins"),
    }
}

/// The lines of a child's output, kept as they are read.
pub struct Lines {
    reader: Box<dyn tokio::io::AsyncBufRead + Send + Unpin>,
}

impl Lines {
    /// Reads from a child's pipe.
    pub fn new(pipe: impl AsyncRead + Send + Unpin + 'static) -> Self {
        Self { reader: Box::new(BufReader::new(pipe)) }
    }

    /// The next line, without its end; `None` when the child closed its output.
    ///
    /// # Errors
    ///
    /// Fails if the pipe does.
    pub async fn next(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        let count = self.reader.read_line(&mut line).await?;
        Ok((count > 0).then(|| line.trim_end().to_owned()))
    }

    /// Reads on in the background and drops what comes, so that the child never blocks on a full pipe.
    pub fn drain(mut self) {
        tokio::spawn(async move { while let Ok(Some(_)) = self.next().await {} });
    }
}
