//! The helper: the agent's own binary, executed again for each child. It prepares what holds the child, starts it, watches
//! it, and leaves only when everything that came of it is gone.
//!
//! ```text
//! agent ── helper ── first ── child
//!          watches   pid 1 of the child's pid namespace: with it, the kernel ends all others
//! ```
//!
//! The helper has one thread, no environment, and descriptors 0–2, the control socket and maybe the progress pipe. If
//! the control socket closes, the agent is gone or wants an end: everything is killed.

mod child;
mod landlock;
pub(crate) mod mounts;
mod outer;
mod probe;
mod seccomp;
pub(crate) mod sys;
mod tally;

pub(crate) use probe::HELD;

use crate::SandboxError;
use crate::spec::Spec;
use std::ffi::OsString;
use std::io::{self, Read};

/// The first argument that makes the agent's binary a helper.
pub const HELPER_ARGUMENT: &str = "__sandbox";

/// Largest description of a child that is read, in bytes.
pub(crate) const MAX_SPEC_BYTES: usize = 16 * 1024 * 1024;

/// The code with which a helper ends that could not do its work.
const FAILED: u8 = 125;

/// Does a helper's work; `arguments` are those after [`HELPER_ARGUMENT`]. Answers the code to end with. Call this
/// before anything else starts: threads, the log, a runtime.
pub fn helper(arguments: impl Iterator<Item = OsString>) -> u8 {
    let arguments: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["outer", control, progress] => outer::run(control, progress),
        ["inner"] => outer::inner(),
        _ => {
            eprintln!("this is the sandbox's helper; it is started by the agent only");
            FAILED
        }
    }
}

/// Reads a description with its length in front, and not a byte more.
fn read_spec(mut from: impl Read) -> Result<Spec, SandboxError> {
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(SandboxError::step("the description of the child"))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_SPEC_BYTES {
        return Err(SandboxError::Invalid(format!(
            "the description of the child has {length} bytes, more than {MAX_SPEC_BYTES}"
        )));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).map_err(SandboxError::step("the description of the child"))?;
    serde_json::from_slice(&text)
        .map_err(|error| SandboxError::step("the description of the child")(io::Error::other(error)))
}
