//! Tries to get out, on the real kernel, with files in the way that everybody could change if it weren't for the sandbox.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::fs::{self, Permissions};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder that everybody may change, with what the attempts go for.
struct Victims {
    folder: TempDir,
    _sockets: (UnixListener, UnixListener, UnixDatagram),
}

impl Victims {
    fn new(below: &str) -> Self {
        let folder = tempfile::tempdir_in(below).unwrap();
        let at = folder.path();
        let open = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        fs::write(at.join("file"), "as it was").unwrap();
        fs::write(at.join("hidden.key"), "SECRET, readable by all").unwrap();
        for name in ["empty", "secret"] {
            fs::create_dir(at.join(name)).unwrap();
            open(&at.join(name), 0o777);
        }
        fs::write(at.join("secret/key"), "SECRET, readable by all").unwrap();
        fs::copy("/usr/bin/id", at.join("suid-id")).unwrap();
        let name = Self::name(at);
        let sockets = (
            UnixListener::bind(at.join("stream")).unwrap(),
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
            UnixDatagram::bind(at.join("datagrams")).unwrap(),
        );
        for name in ["file", "hidden.key", "secret/key", "stream", "datagrams"] {
            open(&at.join(name), 0o666);
        }
        open(&at.join("suid-id"), 0o4755);
        open(at, 0o777);
        sockets.2.set_nonblocking(true).unwrap();
        Self { folder, _sockets: sockets }
    }

    /// What is made outside the folder is called by: several of these may be there at once.
    fn name(folder: &Path) -> String {
        format!("steadyhand-escape-{}", folder.file_name().unwrap().display())
    }

    /// The files outside the folder that attempts would make.
    fn strays(&self) -> [PathBuf; 2] {
        ["/tmp", "/dev/shm"].map(|folder| Path::new(folder).join(Self::name(self.folder.path())))
    }

    /// Everything that could have been changed.
    fn state(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for folder in [self.folder.path().to_owned(), self.folder.path().join("secret")] {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let text = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                lines.push(format!(
                    "{} {:o} {} {} {} {}",
                    path.display(),
                    meta.mode(),
                    meta.uid(),
                    meta.ctime(),
                    meta.nlink(),
                    text.len()
                ));
            }
        }
        lines.sort();
        lines
    }
}

/// Runs the attempts in a read-only child of an agent that is this user, and finds nothing changed.
fn holds(backend: &str, abi: Option<u32>, user: Option<u32>) {
    // firejail replaces `/tmp` as a whole.
    let below = if backend == "firejail" { "/srv" } else { "/tmp" };
    let victims = Victims::new(below);
    let at = victims.folder.path();
    // Where an unprivileged agent can execute it, whatever the permissions above the build's folder.
    let programs = tempfile::tempdir_in(below).unwrap();
    fs::set_permissions(programs.path(), Permissions::from_mode(0o755)).unwrap();
    let helper = programs.path().join("helper");
    fs::copy(env!("CARGO_BIN_EXE_sandbox-helper"), &helper).unwrap();
    let script = programs.path().join("attempts.py");
    fs::write(&script, include_str!("escape/attempts.py")).unwrap();
    let before = victims.state();
    // An agent without rights can't take back that it gives way to others; that must not be in the way.
    let mut agent = Command::new(if user.is_some() { Path::new("/usr/bin/nice") } else { &helper });
    if user.is_some() {
        agent.args(["-n", "15"]).arg(&helper);
    }
    agent
        .args(["try", backend, &abi.unwrap_or(99).to_string(), "-"])
        .args([at.join("secret"), at.join("hidden.key")])
        .arg("--")
        .arg("/usr/bin/python3")
        .args([&script, at])
        .arg(std::process::id().to_string());
    if let Some(user) = user {
        agent.uid(user).gid(user);
    }
    let output = agent.output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    assert!(text.contains("\nattempts ") || text.starts_with("attempts "), "not all were made: {text}");
    assert!(!text.contains("THROUGH"), "{text}");
    assert_eq!(victims.state(), before);
    assert!(victims._sockets.2.recv(&mut [0; 8]).is_err(), "a datagram came through");
    assert!(victims.strays().iter().all(|stray| !stray.exists()), "{:?}", victims.strays());
}

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn nothing_gets_out_of_landlock_as_the_kernel_has_it() {
    holds("landlock", None, None);
}

#[test]
fn nothing_gets_out_of_landlock_version_1() {
    holds("landlock", Some(1), None);
}

#[test]
fn nothing_gets_out_of_landlock_version_2() {
    holds("landlock", Some(2), None);
}

#[test]
fn nothing_gets_out_of_landlock_version_4() {
    holds("landlock", Some(4), None);
}

#[test]
fn nothing_gets_out_of_an_unprivileged_agents_child() {
    // As another user where this one is root, else this is what the others tested.
    holds("landlock", None, root().then_some(65534));
}

/// Whether a program is there. `./x test` installs both, so that a machine without them is told of.
fn installed(program: &str) -> bool {
    let there = Path::new("/usr/bin").join(program).exists();
    if !there {
        eprintln!("NOT TESTED: {program} is not installed");
    }
    there
}

#[test]
fn nothing_gets_out_of_bubblewrap() {
    if installed("bwrap") {
        holds("bubblewrap", None, None);
    }
}

#[test]
fn nothing_gets_out_of_an_unprivileged_agents_bubblewrap() {
    if installed("bwrap") {
        holds("bubblewrap", None, root().then_some(65534));
    }
}

#[test]
fn nothing_gets_out_of_firejail() {
    if installed("firejail") {
        holds("firejail", None, None);
    }
}

#[test]
fn without_a_sandbox_the_attempts_do_get_through() {
    // Only as a user who can do no harm.
    if !root() {
        return;
    }
    let victims = Victims::new("/tmp");
    let before = victims.state();
    let private = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(private.path(), Permissions::from_mode(0o777)).unwrap();
    let script = private.path().join("attempts.py");
    fs::write(&script, include_str!("escape/attempts.py")).unwrap();
    let output = Command::new("/usr/bin/python3")
        .args([&script, victims.folder.path()])
        .arg(std::process::id().to_string())
        .env_clear()
        .env("TMPDIR", private.path())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for name in ["redirect", "rename", "/proc/self/root", "abstract socket", "datagrams from a pair", "i386"]
    {
        assert!(text.contains(&format!("THROUGH {name}\n")), "{name}: {text}");
    }
    assert_ne!(victims.state(), before);
    for stray in victims.strays() {
        fs::remove_file(stray).unwrap();
    }
}

#[test]
fn an_opened_socket_is_the_only_one() {
    let victims = Victims::new("/tmp");
    let at = victims.folder.path().display();
    let connect = |path: &str| {
        format!(
            "import socket; s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect({path}); print('connected')"
        )
    };
    let opened = format!("{at}/stream");
    let other = victims.folder.path().join("other");
    let _listener = UnixListener::bind(&other).unwrap();
    fs::set_permissions(&other, Permissions::from_mode(0o777)).unwrap();
    let abstract_name = format!("'\\0{}'", Victims::name(victims.folder.path()));
    for (path, wanted) in [
        (format!("'{opened}'"), true),
        (format!("'{}'", other.display()), false),
        (abstract_name, false),
        ("'/run/dbus/system_bus_socket'".to_owned(), false),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_sandbox-helper"))
            .args(["try", "landlock", "99", &opened, "--", "/usr/bin/python3", "-c", &connect(&path)])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text.contains("connected"), wanted, "{path}: {output:?}");
    }
}
