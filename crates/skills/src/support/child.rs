//! Runs one of the host's own programs to read what it says: fixed arguments, an empty environment, bounded output,
//! killed when it is no longer listened to.

use crate::support::errors::{of_io, unsupported};
use skill::host::PROGRAM_PATH;
use skill::{Host, SkillError};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

/// Longest line that is kept.
const MAX_LINE: usize = 256 * 1024;

/// Most of the standard error that is kept.
const MAX_ERRORS: u64 = 16 * 1024;

/// A program that is running.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    lines: Lines<ChildStdout>,
    errors: tokio::task::JoinHandle<Vec<u8>>,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; `None` if it was killed.
    pub(crate) code: Option<i32>,
    /// What it wrote to standard error, cut.
    pub(crate) errors: String,
}

/// A program of the host with these arguments, not yet started: empty environment, no input, a process group of its
/// own, killed when it is dropped.
pub(crate) fn prepare(host: &dyn Host, program: &str, arguments: &[String]) -> Result<Command, SkillError> {
    let place = host.program(program).ok_or_else(|| unsupported(format!("this host has no `{program}`")))?;
    let mut command = Command::new(place);
    command
        .args(arguments)
        .env_clear()
        .env("PATH", PROGRAM_PATH)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .process_group(0);
    Ok(command)
}

/// Starts `program` of the host with these arguments.
pub(crate) fn start(host: &dyn Host, program: &str, arguments: &[String]) -> Result<Running, SkillError> {
    let mut child = prepare(host, program, arguments)?
        .spawn()
        .map_err(|error| of_io(format!("start `{program}`"), &error))?;
    let lines = child.stdout.take().map(Lines::new).ok_or_else(|| unsupported("no standard output"))?;
    let stderr = child.stderr.take();
    // Read beside, so that a full pipe never stops the program.
    let errors = tokio::spawn(async move {
        let mut kept = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = (&mut stderr).take(MAX_ERRORS).read_to_end(&mut kept).await;
            let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
        }
        kept
    });
    Ok(Running { child, lines, errors })
}

impl Running {
    /// The next line of standard output, without its line break. A line that is too long is cut.
    pub(crate) async fn line(&mut self) -> Result<Option<Vec<u8>>, SkillError> {
        self.lines.next().await.map_err(|error| of_io("read what the program says", &error))
    }

    /// Waits for its end.
    pub(crate) async fn end(mut self) -> Result<Ended, SkillError> {
        let status = self.child.wait().await.map_err(|error| of_io("wait for the program", &error))?;
        let errors = self.errors.await.unwrap_or_default();
        Ok(Ended { code: status.code(), errors: String::from_utf8_lossy(&errors).trim().to_owned() })
    }

    /// Ends it, because enough has been read.
    pub(crate) async fn stop(mut self) {
        let _ = self.child.kill().await;
        self.errors.abort();
    }
}

/// Lines of a stream, in bounded memory.
#[derive(Debug)]
struct Lines<R> {
    reader: BufReader<R>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(stream: R) -> Self {
        Self { reader: BufReader::new(stream) }
    }

    async fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut any = false;
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(any.then_some(line));
            }
            any = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            let room = MAX_LINE - line.len();
            line.extend_from_slice(&piece[..piece.len().min(room)]);
            let used = piece.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;

    #[tokio::test]
    async fn a_program_runs_with_an_empty_environment() {
        let host = FakeHost::empty()
            .with_program("/usr/bin/tell", "#!/bin/sh\n/usr/bin/env\necho oops >&2\nexit 3\n");
        let mut running = start(&host, "tell", &[]).unwrap();
        let mut names = Vec::new();
        while let Some(line) = running.line().await.unwrap() {
            names.push(String::from_utf8(line).unwrap().split('=').next().unwrap().to_owned());
        }
        names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(&name.as_str()));
        model::order::sort(&mut names);
        assert_eq!(names, ["LC_ALL", "PATH"]);
        let ended = running.end().await.unwrap();
        assert_eq!((ended.code, ended.errors.as_str()), (Some(3), "oops"));
    }

    #[tokio::test]
    async fn an_endless_line_stays_small() {
        let host = FakeHost::empty()
            .with_program("/bin/long", "#!/bin/sh\nhead -c 3000000 /dev/zero\necho\necho end\n");
        let mut running = start(&host, "long", &[]).unwrap();
        assert_eq!(running.line().await.unwrap().unwrap().len(), MAX_LINE);
        assert_eq!(running.line().await.unwrap().unwrap(), b"end");
    }
}
