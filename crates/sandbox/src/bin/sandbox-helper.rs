//! The helper as a program of its own, for this crate's tests. It isn't shipped: the agent is its own helper.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).skip_while(|word| word == sandbox::HELPER_ARGUMENT);
    ExitCode::from(sandbox::helper(arguments))
}
