//! Backends that are programs of others. The child is put into their sandbox by the helper's inner stage, which takes
//! what they don't: the user, the system calls, the limits of single processes.

use crate::SandboxError;
use crate::config::{Backend, SandboxConfig};
use crate::helper::mounts::{KEPT_OF_RUN, bound_sockets, secrets};
use crate::spec::{By, PRIVATE_TMP, Spec};
use skill::host::PROGRAM_PATH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The image without anything in it that containers are made of; the host's folders are put into it.
const EMPTY_IMAGE: &str = "steadyhand-empty";

/// Whether a backend's program is there, and answers.
///
/// # Errors
///
/// Says what is missing.
pub(crate) fn available(backend: Backend) -> Result<(), String> {
    let program = program(backend)?;
    if backend != Backend::Docker {
        return Ok(());
    }
    let answers = |args: &[&str]| {
        let mut docker = Command::new(&program);
        docker.args(args).env_clear().env("PATH", PROGRAM_PATH);
        docker.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        docker.status().is_ok_and(|status| status.success())
    };
    if !answers(&["version", "--format", "{{.Server.Version}}"]) {
        return Err("docker's daemon does not answer".to_owned());
    }
    if answers(&["image", "inspect", EMPTY_IMAGE]) || answers(&["import", "/dev/null", EMPTY_IMAGE]) {
        return Ok(());
    }
    Err(format!("docker can't make the image {EMPTY_IMAGE}"))
}

fn program(backend: Backend) -> Result<PathBuf, String> {
    let name = match backend {
        Backend::Firejail => "firejail",
        Backend::Bubblewrap => "bwrap",
        Backend::Docker => "docker",
        Backend::Auto | Backend::Landlock | Backend::None => return Err("it is no program".to_owned()),
    };
    PROGRAM_PATH
        .split(':')
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("the program `{name}` is not installed"))
}

/// Where the private temporary directory is.
pub(crate) fn private_tmp(backend: Backend) -> PathBuf {
    // firejail has only this one.
    PathBuf::from(if backend == Backend::Firejail { "/tmp" } else { PRIVATE_TMP })
}

/// The command line that holds a child. Looks at the file system.
///
/// # Errors
///
/// Fails if the program is gone, or the helper can't be named.
pub(crate) fn by(
    backend: Backend,
    spec: &Spec,
    config: &SandboxConfig,
    name: &str,
) -> Result<By, SandboxError> {
    let program = program(backend).map_err(SandboxError::Refused)?;
    let mut argv = vec![program.display().to_string()];
    let place = Place {
        secrets: secrets(&spec.hidden, &spec.opened),
        sockets: if spec.unix_sockets { bound_sockets(&spec.opened) } else { Vec::new() },
    };
    let cleanup = match backend {
        Backend::Bubblewrap => {
            argv.extend(bubblewrap(spec, &place));
            None
        }
        Backend::Firejail => {
            argv.extend(firejail(spec, &place, &config.firejail_args));
            None
        }
        _ => {
            argv.extend(docker(spec, &place, name, config.resources.max_cpu_percent));
            Some([&argv[0], "rm", "--force", name].map(str::to_owned).to_vec())
        }
    };
    let [helper, words @ ..] = config.helper.as_slice() else {
        return Err(SandboxError::Invalid("no helper program is configured".to_owned()));
    };
    // `/proc/self/exe` would be the other program.
    let helper = fs::canonicalize(helper).map_err(SandboxError::step(helper))?;
    argv.push(helper.display().to_string());
    argv.extend(words.iter().cloned());
    argv.push("inner".to_owned());
    Ok(By::Program { argv, cleanup })
}

/// What is to be covered.
struct Place {
    secrets: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
}

/// Words of a command line.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(str::to_owned));
    }

    fn add_paths(&mut self, option: &str, source: &Path, target: &Path) {
        self.add([option, &source.to_string_lossy(), &target.to_string_lossy()]);
    }
}

/// `/run` and `/dev` are replaced as a whole.
fn replaced(path: &Path) -> bool {
    path.starts_with("/run") || path.starts_with("/dev") || path.starts_with("/proc")
}

fn bubblewrap(spec: &Spec, place: &Place) -> Vec<String> {
    let null = Path::new("/dev/null");
    let mut words = Words::default();
    words.add(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session"]);
    if spec.unix_sockets && !spec.network {
        words.add(["--unshare-net"]);
    }
    if spec.identity.is_some() || spec.capabilities != Some(0) {
        // The inner stage gives them up, after it has become the user.
        words.add(["--cap-add", "ALL"]);
    }
    words.add(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"]);
    let bytes = spec.limits.memory_bytes.min(64 * 1024 * 1024).to_string();
    words.add(["--perms", "0700", "--size", &bytes, "--tmpfs", &spec.private_tmp.to_string_lossy()]);
    for secret in place.secrets.iter().filter(|secret| !replaced(secret)) {
        if secret.is_dir() {
            words.add(["--perms", "0000", "--tmpfs", &secret.to_string_lossy()]);
        } else {
            words.add_paths("--ro-bind", null, secret);
        }
    }
    for socket in &place.sockets {
        words.add_paths("--ro-bind", null, socket);
    }
    for kept in KEPT_OF_RUN {
        words.add(["--ro-bind-try", kept, kept]);
    }
    for opened in &spec.opened {
        words.add_paths("--ro-bind", opened, opened);
    }
    for root in &spec.write {
        words.add_paths("--bind", root, root);
    }
    words.add(["--remount-ro", "/run", "--remount-ro", "/dev", "--chdir", "/", "--"]);
    words.0
}

fn firejail(spec: &Spec, place: &Place, more: &[String]) -> Vec<String> {
    let mut words = Words::default();
    words.add(["--quiet", "--noprofile", "--deterministic-exit-code", "--deterministic-shutdown"]);
    words.add(["--keep-fd=3", "--ipc-namespace", "--private-dev", "--private-tmp", "--read-only=/"]);
    // These are firejail's own, fresh for each child; one place to write is enough.
    words.add(["--read-only=/var/tmp", "--read-only=/dev/shm", "--read-write=/tmp"]);
    for root in &spec.write {
        words.add([&format!("--read-write={}", root.display())]);
    }
    for secret in place.secrets.iter().filter(|secret| !secret.starts_with("/dev")) {
        words.add([&format!("--blacklist={}", secret.display())]);
    }
    words.0.extend(more.iter().cloned());
    words.add(["--"]);
    words.0
}

fn docker(spec: &Spec, place: &Place, name: &str, cpu_percent: u32) -> Vec<String> {
    let mut words = Words::default();
    let limits = &spec.limits;
    let cpus = format!("{}.{:02}", cpu_percent / 100, cpu_percent % 100);
    words.add(["run", "--rm", "--interactive", "--init", "--name", name, "--read-only", "--workdir", "/"]);
    words.add(["--network", if spec.network { "host" } else { "none" }]);
    // The inner stage's own list of system calls is the stricter one.
    words.add(["--security-opt", "no-new-privileges", "--security-opt", "seccomp=unconfined"]);
    words.add(["--cap-drop", "ALL"]);
    for needed in ["SETUID", "SETGID", "SETPCAP", "CHOWN"] {
        words.add(["--cap-add", needed]);
    }
    if spec.capabilities != Some(0) {
        words.add(["--cap-add", "DAC_OVERRIDE", "--cap-add", "FOWNER"]);
    }
    let (memory, pids) = (limits.memory_bytes.to_string(), (limits.pids + 4).to_string());
    words.add(["--memory", &memory, "--memory-swap", &memory, "--pids-limit", &pids, "--cpus", &cpus]);
    let bytes = limits.memory_bytes.min(64 * 1024 * 1024);
    words.add(["--tmpfs", &format!("{}:rw,mode=0700,size={bytes}", spec.private_tmp.display())]);
    for entry in fs::read_dir("/").into_iter().flatten().flatten() {
        let path = entry.path();
        let skipped = ["/proc", "/sys", "/dev", "/run"].iter().any(|own| path == Path::new(own));
        if let (false, Ok(source)) = (skipped || !path.is_dir(), fs::canonicalize(&path)) {
            words.add(["--mount", &mounted(&source, &path, true)]);
        }
    }
    for secret in place.secrets.iter().filter(|secret| !replaced(secret)) {
        if secret.is_dir() {
            words.add(["--tmpfs", &format!("{}:ro,mode=0000", secret.display())]);
        } else {
            words.add(["--mount", &mounted(Path::new("/dev/null"), secret, true)]);
        }
    }
    for socket in &place.sockets {
        words.add(["--mount", &mounted(Path::new("/dev/null"), socket, true)]);
    }
    for opened in &spec.opened {
        words.add(["--mount", &mounted(opened, opened, true)]);
    }
    for root in &spec.write {
        words.add(["--mount", &mounted(root, root, false)]);
    }
    words.add([EMPTY_IMAGE]);
    words.0
}

fn mounted(source: &Path, target: &Path, read_only: bool) -> String {
    let end = if read_only { ",readonly" } else { "" };
    format!("type=bind,source={},target={}{end}", source.display(), target.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{HeldLimits, Hold, Identity};

    fn spec() -> Spec {
        Spec {
            probe: false,
            program: "/bin/true".into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            hold: Hold::ReadOnly,
            by: By::Nothing,
            abi: 0,
            network: false,
            unix_sockets: true,
            opened: vec!["/run/docker.sock".into()],
            write: Vec::new(),
            identity: Some(Identity { uid: 65534, gid: 65534, groups: Vec::new() }),
            capabilities: Some(0),
            own: Vec::new(),
            hidden: Vec::new(),
            private_tmp: PRIVATE_TMP.into(),
            limits: HeldLimits {
                cpu_seconds: 5,
                memory_bytes: 1 << 20,
                pids: 9,
                open_files: 9,
                file_bytes: 9,
            },
            cgroup: None,
            user_namespace: false,
            progress: false,
            empty_stdin: false,
            token: "t".to_owned(),
        }
    }

    #[test]
    fn a_container_has_no_network_no_rights_and_the_limits() {
        let place = Place { secrets: vec!["/etc/shadow".into()], sockets: Vec::new() };
        let line = docker(&spec(), &place, "steadyhand-1", 80).join(" ");
        for part in [
            "--network none",
            "--cap-drop ALL",
            "--memory 1048576",
            "--cpus 0.80",
            "--read-only",
            "source=/dev/null,target=/etc/shadow,readonly",
            "source=/run/docker.sock,target=/run/docker.sock,readonly",
        ] {
            assert!(line.contains(part), "{part} is missing in: {line}");
        }
    }

    #[test]
    fn bubblewrap_shows_one_socket_and_closes_abstract_ones() {
        let place = Place { secrets: Vec::new(), sockets: vec!["/srv/other.sock".into()] };
        let line = bubblewrap(&spec(), &place).join(" ");
        assert!(line.contains("--unshare-net") && line.contains("--ro-bind / /"), "{line}");
        assert!(line.contains("--ro-bind /run/docker.sock /run/docker.sock"), "{line}");
        assert!(line.contains("--ro-bind /dev/null /srv/other.sock"), "{line}");
    }
}
