//! The helper as a program of its own, for this crate's tests. It isn't shipped: the agent is its own helper.
//!
//! `sandbox-helper try BACKEND ABI SOCKET|- [HIDDEN…] -- PROGRAM [ARG…]` is an agent that runs one read-only child, so that
//! tests can be an agent that is another user.

use sandbox::{Backend, Children, SandboxConfig};
use skill::sandbox::{ChildCommand, ChildLimits, Exit, Opening, Profile, Sandbox as _};
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    if words.peek().is_some_and(|word| word == "try") {
        let words: Vec<String> = words.skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        return match try_it(&words) {
            Ok(code) => code,
            Err(problem) => {
                eprintln!("sandbox-helper: {problem}");
                ExitCode::from(99)
            }
        };
    }
    ExitCode::from(sandbox::helper(words.skip_while(|word| word == sandbox::HELPER_ARGUMENT)))
}

fn try_it(words: &[String]) -> Result<ExitCode, String> {
    let end = words.iter().position(|word| word == "--").ok_or("`--` is missing")?;
    let ([backend, abi, socket, hidden @ ..], [_, program, args @ ..]) = words.split_at(end) else {
        return Err("try BACKEND ABI SOCKET|- [HIDDEN…] -- PROGRAM [ARG…]".to_owned());
    };
    let backend = Backend::HOLDING
        .into_iter()
        .find(|known| known.as_str() == backend)
        .ok_or("the backend is unknown")?;
    let mut config = SandboxConfig { backend, ..SandboxConfig::default() };
    config.landlock_abi = Some(abi.parse().map_err(|error| format!("{abi}: {error}"))?);
    config.hidden.extend(hidden.iter().cloned());
    let command = ChildCommand {
        program: program.into(),
        args: args.to_vec(),
        env: Vec::new(),
        cwd: None,
        stdin: None,
        progress: None,
        profile: Profile::ReadOnly,
        openings: (socket != "-").then(|| Opening::Socket(socket.into())).into_iter().collect(),
        limits: ChildLimits { wall: Duration::from_secs(60), ..ChildLimits::default() },
    };
    let children = Children::new(config).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = runtime
        .map_err(|error| error.to_string())?
        .block_on(children.run(command))
        .map_err(|error| error.message)?;
    let shown = std::io::stdout().write_all(&ended.stdout.bytes);
    shown
        .and_then(|()| std::io::stderr().write_all(&ended.stderr.bytes))
        .map_err(|error| error.to_string())?;
    match ended.exit {
        Exit::Code(code) => Ok(ExitCode::from(code as u8)),
        other => Err(format!("it ended with {other:?}; {}", ended.report)),
    }
}
