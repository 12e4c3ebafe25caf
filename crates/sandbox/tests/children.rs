//! What a child gets and doesn't get, and how it ends, with the agent's own backend.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{config, run, shell, text};
use sandbox::{Backend, Children, Resources, SandboxConfig};
use skill::sandbox::{ChildCommand, ChildLimits, Exit, Profile, Sandbox as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

fn landlock() -> Children {
    Children::new(config(Backend::Landlock)).unwrap()
}

fn limited(profile: Profile, limits: ChildLimits, text: &str) -> ChildCommand {
    ChildCommand { limits, ..shell(profile, text) }
}

/// The processes on this machine whose command line holds a text.
fn processes_with(marker: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| line.contains(marker))
        .collect()
}

/// A text that only one test's processes carry.
fn marker(name: &str) -> String {
    format!("steadyhand-test-{name}-{}", std::process::id())
}

#[test]
fn a_command_runs_and_its_result_says_what_held_it() {
    let ended = run(&landlock(), shell(Profile::ReadOnly, "echo out; echo err >&2; exit 3"));
    assert_eq!(ended.exit, Exit::Code(3));
    assert_eq!((&ended.stdout.bytes[..], &ended.stderr.bytes[..]), (&b"out\n"[..], &b"err\n"[..]));
    assert!(ended.report.to_string().starts_with("landlock read_only"), "{}", ended.report);
}

/// As when the agent is built and started below `/root`.
#[test]
fn commands_are_held_although_only_the_agents_user_gets_to_its_binary() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let mut config = config(Backend::Landlock);
    let helper = folder.path().join("helper");
    fs::copy(&config.helper[0], &helper).unwrap();
    config.helper[0] = helper.to_str().unwrap().to_owned();
    let children = Children::new(config).unwrap();
    assert!(children.holds_read_only());
    let ended = run(&children, shell(Profile::ReadOnly, "echo here"));
    assert_eq!(text(&ended), "here\n");
}

#[test]
fn a_signal_is_told_from_a_code() {
    let ended = run(&landlock(), shell(Profile::ReadOnly, "kill -USR1 $$"));
    assert_eq!(ended.exit, Exit::Signal(10));
}

#[test]
fn a_program_that_is_not_there_is_an_error_and_nothing_runs() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let command = ChildCommand { program: "/no/such".into(), ..shell(Profile::ReadOnly, "") };
    let error = runtime.block_on(landlock().run(command)).unwrap_err();
    assert!(error.message.contains("/no/such") && error.message.contains("No such file"), "{error:?}");
}

#[test]
fn nothing_of_the_parent_leaks() {
    let leak = fs::File::open("/etc/passwd").unwrap();
    // A descriptor without close-on-exec, as a careless library would leave it.
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    let text = text(&run(
        &landlock(),
        shell(
            Profile::ReadOnly,
            "env | sort; umask; pwd; ls -l /proc/self/fd | wc -l; grep Sig /proc/self/status; id -u",
        ),
    ));
    drop(leak);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.contains(&"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), "{text}");
    assert!(lines.contains(&"TMPDIR=/run/steadyhand-sandbox"), "{text}");
    assert!(lines.contains(&"0022"), "{text}");
    assert!(lines.contains(&"/run/steadyhand-sandbox"), "{text}");
    assert!(lines.contains(&"SigBlk:\t0000000000000000"), "{text}");
    assert!(lines.contains(&"SigIgn:\t0000000000000000"), "{text}");
    // 0, 1, 2, and the one that `ls` reads the folder with, below the line "total".
    assert!(lines.contains(&"5"), "{text}");
    assert!(!text.contains("CARGO"), "{text}");
    assert!(!lines.contains(&"0"), "it runs as root: {text}");
}

#[test]
fn standard_input_arrives_whole_and_then_ends() {
    let input: Vec<u8> = (0..300_000u32).map(|number| (number % 251) as u8).collect();
    let command = ChildCommand { stdin: Some(input.clone()), ..shell(Profile::ReadOnly, "cat") };
    assert_eq!(run(&landlock(), command).stdout.bytes, input);
    let ended = run(&landlock(), shell(Profile::ReadOnly, "cat; echo end"));
    assert_eq!(ended.stdout.bytes, b"end\n");
}

#[test]
fn progress_lines_come_over_descriptor_three() {
    let (sender, mut receiver) = mpsc::channel(8);
    let script = "echo 10% >&3; echo half >&3; echo out";
    let command = ChildCommand { progress: Some(sender), ..shell(Profile::ReadOnly, script) };
    assert_eq!(run(&landlock(), command).stdout.bytes, b"out\n");
    assert_eq!(receiver.blocking_recv().as_deref(), Some("10%"));
    assert_eq!(receiver.blocking_recv().as_deref(), Some("half"));
    assert_eq!(receiver.blocking_recv(), None);
}

#[test]
fn the_private_temporary_directory_is_fresh_each_time() {
    let children = landlock();
    let write = "echo kept > $TMPDIR/file && mkdir $TMPDIR/folder && mv $TMPDIR/file $TMPDIR/folder/ && cat $TMPDIR/folder/file";
    assert_eq!(text(&run(&children, shell(Profile::ReadOnly, write))), "kept\n");
    assert_eq!(text(&run(&children, shell(Profile::ReadOnly, "ls -A $TMPDIR"))), "");
}

#[test]
fn what_operators_look_at_is_still_there() {
    let children = landlock();
    let own = std::process::id();
    let script = format!(
        "ps -p {own} -o pid= ; cat /proc/loadavg; ls /etc | head -3; df / | tail -1; cat /dev/null; head -c 4 /dev/urandom | wc -c"
    );
    let ended = run(&children, shell(Profile::ReadOnly, &script));
    assert!(text(&ended).contains(&own.to_string()), "{}", text(&ended));
    assert!(ended.stderr.bytes.is_empty(), "{}", text(&ended));
}

#[test]
fn a_workspace_can_be_written_and_nothing_else() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = inside.path().display();
    let other = outside.path().display();
    let script = format!(
        "cd {folder} && mkdir a && echo x > a/f && mv a/f g && chmod 600 g && : > g && ln -s g l; echo y > {other}/f; touch /etc/f; chmod u+s g; stat -c %a g"
    );
    let profile = Profile::Workspace { write: vec![inside.path().to_owned()] };
    let ended = run(&landlock(), shell(profile, &script));
    assert!(inside.path().join("l").is_symlink(), "{}", text(&ended));
    assert_eq!(fs::read_to_string(inside.path().join("g")).unwrap(), "");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(ended.stdout.bytes, b"600\n", "{}", text(&ended));
    assert!(!Path::new("/etc/f").exists());
}

#[test]
fn a_workspace_that_holds_the_agents_own_files_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("agent");
    fs::create_dir(&own).unwrap();
    let children = Children::new(SandboxConfig { own: vec![own], ..config(Backend::Landlock) }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let profile = Profile::Workspace { write: vec![folder.path().to_owned()] };
    let error = runtime.block_on(children.run(shell(profile, "true"))).unwrap_err();
    assert!(error.message.contains("the agent's own"), "{error:?}");
}

#[test]
fn even_a_full_child_can_not_change_or_read_the_agents_own_files() {
    let folder = tempfile::tempdir().unwrap();
    let (binary, keys) = (folder.path().join("lib/agent"), folder.path().join("keys"));
    fs::create_dir_all(folder.path().join("lib")).unwrap();
    fs::create_dir(&keys).unwrap();
    fs::write(&binary, "binary").unwrap();
    fs::write(keys.join("key.pem"), "SECRET").unwrap();
    let children = Children::new(SandboxConfig {
        own: vec![binary.clone()],
        own_secrets: vec![keys.clone()],
        ..config(Backend::Landlock)
    })
    .unwrap();
    let at = folder.path().display();
    let script = format!(
        "cd {at}; echo changed > lib/agent; rm -f lib/agent; mv lib/agent x; mv lib lib2; umount lib/agent; umount -l keys; mount -o remount,rw lib/agent; cat keys/key.pem; touch keys/new; rm -rf keys; mv keys k2; cat /proc/1/root{at}/keys/key.pem; nsenter -t 1 -m cat {at}/keys/key.pem; unshare -m umount keys; id -u; touch mine; echo free > lib/other"
    );
    let ended = run(&children, shell(Profile::Full, &script));
    assert_eq!(fs::read_to_string(&binary).unwrap(), "binary");
    assert_eq!(fs::read_to_string(keys.join("key.pem")).unwrap(), "SECRET");
    assert!(!keys.join("new").exists());
    assert!(!text(&ended).contains("SECRET"), "{}", text(&ended));
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(ended.stdout.bytes, format!("{user}\n").as_bytes(), "{}", text(&ended));
    assert!(folder.path().join("mine").exists() && folder.path().join("lib/other").exists());
    assert!(ended.report.to_string().starts_with("landlock full"));
}

#[test]
fn a_full_child_can_end_other_processes() {
    let mut victim = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    run(&landlock(), shell(Profile::Full, &format!("kill {}", victim.id())));
    assert!(!victim.wait().unwrap().success());
}

#[test]
fn limits_that_are_too_weak_are_told() {
    let ended = run(&landlock(), shell(Profile::ReadOnly, "true"));
    let weaker = ended.report.weaker.join("; ");
    let counted = sandbox::Offers::look().no_cgroups.is_none();
    assert_eq!(counted, weaker.is_empty(), "{weaker}");
}

#[test]
fn a_child_that_ignores_every_signal_ends_on_time() {
    let marker = marker("deaf");
    let limits = ChildLimits { wall: Duration::from_secs(1), ..ChildLimits::default() };
    for profile in [Profile::ReadOnly, Profile::Full] {
        let began = Instant::now();
        let script = format!("trap '' TERM INT HUP QUIT; : {marker}; while :; do sleep 60; done");
        let ended = run(&landlock(), limited(profile, limits, &script));
        assert_eq!(ended.exit, Exit::WallClock);
        assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
        assert_eq!(processes_with(&marker), Vec::<String>::new());
    }
}

#[test]
fn a_daemon_that_leaves_its_session_and_holds_the_output_ends_with_its_parent() {
    let marker = marker("daemon");
    for profile in [Profile::ReadOnly, Profile::Full] {
        let script = format!(
            "setsid bash -c 'setsid bash -c \"trap : TERM; sleep 61; : {marker}\" & sleep 62; : {marker}' & echo done"
        );
        let ended = run(&landlock(), shell(profile, &script));
        assert_eq!((ended.exit, &ended.stdout.bytes[..]), (Exit::Code(0), &b"done\n"[..]));
        assert!(ended.duration < Duration::from_secs(8), "{:?}", ended.duration);
        assert_eq!(processes_with(&marker), Vec::<String>::new());
    }
}

#[test]
fn a_fork_bomb_is_bounded_and_leaves_nothing_behind() {
    let marker = marker("bomb");
    let limits = ChildLimits { wall: Duration::from_secs(3), pids: 40, ..ChildLimits::default() };
    for profile in [Profile::ReadOnly, Profile::Full] {
        let script = format!("bomb() {{ bomb | bomb & }}; : {marker}; bomb; sleep 30");
        let ended = run(&landlock(), limited(profile, limits, &script));
        assert!(
            matches!(ended.exit, Exit::WallClock | Exit::Processes | Exit::CpuTime | Exit::Code(_)),
            "{:?}",
            ended.exit
        );
        assert_eq!(processes_with(&marker), Vec::<String>::new());
    }
}

#[test]
fn an_allocation_beyond_the_limit_fails_and_memory_files_count() {
    let limits = ChildLimits { memory_mib: 64, ..ChildLimits::default() };
    let four_gib = "python3 -c 'x = bytearray(4 << 30); print(len(x))'";
    let ended = run(&landlock(), limited(Profile::ReadOnly, limits, four_gib));
    assert!(!text(&ended).contains("4294967296"), "{}", text(&ended));
    assert_ne!(ended.exit, Exit::Code(0));
    // Shared memory isn't private data of any process.
    let shared = "python3 -c 'import mmap\nm = mmap.mmap(-1, 300 << 20)\nfor i in range(0, len(m), 4096): m[i] = 1\nprint(\"got it\")\nimport time; time.sleep(5)'";
    let ended = run(&landlock(), limited(Profile::ReadOnly, limits, shared));
    assert_eq!(ended.exit, Exit::Memory, "{}", text(&ended));
}

#[test]
fn a_busy_loop_ends_when_its_processor_time_is_used_up() {
    let limits = ChildLimits { cpu_seconds: 1, wall: Duration::from_secs(30), ..ChildLimits::default() };
    for script in ["while :; do :; done", "while :; do :; done & while :; do :; done & wait"] {
        let ended = run(&landlock(), limited(Profile::ReadOnly, limits, script));
        assert!(matches!(ended.exit, Exit::CpuTime), "{script}: {:?}", ended.exit);
    }
}

#[test]
fn open_files_and_file_sizes_are_bounded() {
    let limits = ChildLimits { open_files: 20, file_mib: 1, ..ChildLimits::default() };
    let leak =
        "i=0; while exec {fd}</dev/null; do i=$((i+1)); [ $i -gt 100 ] && break; done 2>/dev/null; echo $i";
    let ended = run(&landlock(), limited(Profile::ReadOnly, limits, leak));
    let opened: u32 = text(&ended).trim().parse().unwrap();
    assert!(opened < 20, "{opened}");
    let big = "head -c 3000000 /dev/zero > $TMPDIR/big; stat -c %s $TMPDIR/big";
    let ended = run(&landlock(), limited(Profile::ReadOnly, limits, big));
    assert!(text(&ended).contains("1048576"), "{}", text(&ended));
}

#[test]
fn a_prompt_that_waits_for_input_gets_none() {
    let ended = run(
        &landlock(),
        shell(Profile::Full, "read -p 'Continue? ' answer; echo \"[$answer]\"; read x < /dev/tty; echo $?"),
    );
    assert!(text(&ended).contains("[]\n1\n"), "{}", text(&ended));
}

#[test]
fn dropping_the_future_ends_everything() {
    let marker = marker("dropped");
    let children = landlock();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for profile in [Profile::ReadOnly, Profile::Full] {
        let script =
            format!("trap '' TERM; (setsid sleep 63; : {marker}) & echo up >&3; sleep 64; : {marker}");
        runtime.block_on(async {
            let (sender, mut receiver) = mpsc::channel(1);
            let command = ChildCommand { progress: Some(sender), ..shell(profile, &script) };
            let mut running = children.run(command);
            tokio::select! {
                ended = &mut running => panic!("{ended:?}"),
                line = receiver.recv() => assert_eq!(line.as_deref(), Some("up")),
            }
        });
        let began = Instant::now();
        while !processes_with(&marker).is_empty() {
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", processes_with(&marker));
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_helper_that_can_not_work_is_an_error() {
    let broken = SandboxConfig { helper: vec!["/bin/false".into()], ..config(Backend::Landlock) };
    let error = Children::new(broken).unwrap_err().to_string();
    assert!(error.contains("security.sandbox.backend is `landlock`"), "{error}");
    let automatic = SandboxConfig { helper: vec!["/bin/false".into()], ..config(Backend::Auto) };
    let children = Children::new(automatic).unwrap();
    assert_eq!(children.backend(), Backend::None);
    assert!(!children.holds_read_only());
}

#[test]
fn without_a_backend_limits_hold_and_the_result_says_what_does_not() {
    let children = Children::new(config(Backend::None)).unwrap();
    let ended = run(&children, shell(Profile::ReadOnly, "echo $PATH; id -u"));
    assert!(ended.report.to_string().starts_with("none full; nothing holds the child"), "{}", ended.report);
    assert_eq!(ended.exit, Exit::Code(0));
    let limits = ChildLimits { wall: Duration::from_secs(1), ..ChildLimits::default() };
    let marker = marker("none");
    let ended =
        run(&children, limited(Profile::Full, limits, &format!("setsid sleep 60 & sleep 61; : {marker}")));
    assert_eq!(ended.exit, Exit::WallClock);
    assert_eq!(processes_with(&marker), Vec::<String>::new());
}

#[test]
fn what_is_asked_for_is_capped_by_what_is_configured() {
    let resources =
        Resources { max_output_bytes: 10, max_wall: Duration::from_secs(1), ..Resources::default() };
    let children = Children::new(SandboxConfig { resources, ..config(Backend::None) }).unwrap();
    let limits = ChildLimits { wall: Duration::from_secs(60), stdout_bytes: 1000, ..ChildLimits::default() };
    let ended = run(&children, limited(Profile::Full, limits, "echo 0123456789abc; sleep 30"));
    assert_eq!((ended.exit, ended.stdout.bytes.len()), (Exit::WallClock, 10));
}

#[test]
fn a_relative_path_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let command = ChildCommand { cwd: Some(PathBuf::from("here")), ..shell(Profile::ReadOnly, "true") };
    let error = runtime.block_on(landlock().run(command)).unwrap_err();
    assert!(error.message.contains("here must begin with /"), "{error:?}");
}
