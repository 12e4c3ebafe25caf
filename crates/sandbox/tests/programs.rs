//! The same from the backends that are programs of others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{config, run, shell, text};
use sandbox::{Backend, Children};
use skill::sandbox::{ChildCommand, ChildLimits, Exit, Profile, Sandbox as _};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc;

/// Those that this machine has. `./x test` installs the first two; docker needs a daemon, which it doesn't start.
fn backends() -> Vec<Children> {
    let mut found = Vec::new();
    for (backend, program) in
        [(Backend::Bubblewrap, "/usr/bin/bwrap"), (Backend::Firejail, "/usr/bin/firejail")]
    {
        if Path::new(program).exists() {
            found.push(Children::new(config(backend)).unwrap());
        } else {
            eprintln!("NOT TESTED: {program} is not installed");
        }
    }
    match Children::new(config(Backend::Docker)) {
        Ok(docker) => found.push(docker),
        Err(problem) => eprintln!("NOT TESTED: {problem}"),
    }
    found
}

fn processes_with(marker: &str) -> usize {
    let lines = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
}

#[test]
fn output_codes_and_input_are_the_childs_own() {
    for children in backends() {
        let name = children.backend();
        let script = "cat; echo err >&2; echo $TMPDIR; echo x > $TMPDIR/x && echo written; exit 3";
        let ended = run(
            &children,
            ChildCommand { stdin: Some(b"in\n".to_vec()), ..shell(Profile::ReadOnly, script) },
        );
        assert_eq!(ended.exit, Exit::Code(3), "{name}: {}", text(&ended));
        assert_eq!(ended.stderr.bytes, b"err\n", "{name}");
        assert!(
            text(&ended).starts_with("in\n/") && text(&ended).contains("written"),
            "{name}: {}",
            text(&ended)
        );
        assert!(ended.report.to_string().starts_with(&format!("{name} read_only")), "{}", ended.report);
        let ended = run(&children, shell(Profile::ReadOnly, "cat; echo end; id -u"));
        assert!(ended.stdout.bytes.starts_with(b"end\n"), "{name}: {}", text(&ended));
        assert!(!text(&ended).contains("\n0\n"), "{name} runs it as root");
    }
}

#[test]
fn a_program_that_is_not_there_is_an_error_of_ours() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for children in backends() {
        let command = ChildCommand { program: "/no/such".into(), ..shell(Profile::ReadOnly, "") };
        let error = runtime.block_on(children.run(command)).unwrap_err();
        assert!(error.message.contains("/no/such"), "{}: {error:?}", children.backend());
    }
}

#[test]
fn progress_comes_over_descriptor_three() {
    for children in backends().into_iter().filter(|children| children.backend() != Backend::Docker) {
        let (sender, mut receiver) = mpsc::channel(4);
        let command = ChildCommand { progress: Some(sender), ..shell(Profile::ReadOnly, "echo half >&3") };
        let ended = run(&children, command);
        assert_eq!(
            receiver.blocking_recv().as_deref(),
            Some("half"),
            "{}: {}",
            children.backend(),
            text(&ended)
        );
    }
}

#[test]
fn a_workspace_can_be_written_and_nothing_else() {
    for children in backends() {
        let name = children.backend();
        let (inside, outside) =
            (tempfile::tempdir_in("/srv").unwrap(), tempfile::tempdir_in("/srv").unwrap());
        let script =
            format!("echo x > {}/f; echo y > {}/f", inside.path().display(), outside.path().display());
        let profile = Profile::Workspace { write: vec![inside.path().to_owned()] };
        let ended = run(&children, shell(profile, &script));
        assert_eq!(
            fs::read_to_string(inside.path().join("f")).unwrap_or_default(),
            "x\n",
            "{name}: {}",
            text(&ended)
        );
        assert!(!outside.path().join("f").exists(), "{name}");
    }
}

#[test]
fn nasty_children_end_on_time_and_leave_nothing_behind() {
    for children in backends() {
        let name = children.backend();
        let marker = format!("steadyhand-test-{name}-{}", std::process::id());
        let limits =
            ChildLimits { wall: Duration::from_secs(3), pids: 40, memory_mib: 64, ..ChildLimits::default() };
        for script in [
            "trap '' TERM INT HUP; while :; do sleep 60; done",
            "setsid bash -c 'sleep 61' & sleep 62",
            "bomb() { bomb | bomb & }; bomb; sleep 30",
            "python3 -c 'x = bytearray(4 << 30)' && echo got it",
            "yes",
            "read -p 'Continue? ' answer; read x < /dev/tty",
        ] {
            let command =
                ChildCommand { limits, ..shell(Profile::ReadOnly, &format!(": {marker}; {script}")) };
            let ended = run(&children, command);
            assert!(ended.duration < Duration::from_secs(8), "{name}: {script}: {:?}", ended.duration);
            assert!(!text(&ended).contains("got it"), "{name}: {script}");
            assert_eq!(processes_with(&marker), 0, "{name}: {script}");
        }
    }
}
