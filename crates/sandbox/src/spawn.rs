//! Starting the helper with exactly the descriptors that it is to have.
#![expect(unsafe_code, reason = "passing descriptors needs a step between fork and exec")]

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::Stdio;
use tokio::process::{Child, Command};

/// What the helper is given.
pub(crate) struct Ends {
    pub(crate) control: OwnedFd,
    pub(crate) progress: Option<OwnedFd>,
}

/// Starts a helper. It has an empty environment, and besides its standard streams only the given descriptors.
pub(crate) fn helper(words: &[String], stdin: bool, ends: Ends) -> io::Result<Child> {
    let (program, args) =
        words.split_first().ok_or_else(|| io::Error::other("no helper program is configured"))?;
    let numbers: Vec<i32> = [Some(&ends.control), ends.progress.as_ref()]
        .into_iter()
        .flatten()
        .map(|fd| fd.as_raw_fd())
        .collect();
    let progress = ends.progress.as_ref().map_or("-".to_owned(), |fd| fd.as_raw_fd().to_string());
    let mut command = Command::new(program);
    command
        .args(args)
        .args(["outer", &ends.control.as_raw_fd().to_string(), &progress])
        .env_clear()
        .current_dir("/")
        .stdin(if stdin { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: the closure runs in the forked process and makes one system call per descriptor, which is allowed there;
    // it allocates nothing. The descriptors are open: `ends` lives until after the spawn.
    unsafe {
        command.pre_exec(move || {
            for &number in &numbers {
                if libc::fcntl(number, libc::F_SETFD, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    let child = command.spawn();
    drop(ends);
    child
}
