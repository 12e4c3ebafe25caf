//! Which files of a host hold secrets: one list for skills that read files in the agent and for the sandbox that hides
//! them from children. It is for paths after links are resolved, and errs on the side of refusing, because what a safe
//! skill reads goes to a model.
//!
//! [`FILES`] and [`FOLDERS`] are absolute; the other lists are about names, wherever they are. [`reason`] joins them.

use std::path::Path;

/// Secret files by their whole path.
pub const FILES: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/security/opasswd",
    "/etc/krb5.keytab",
    "/etc/mysql/debian.cnf",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/rancher/k3s/k3s.yaml",
    "/etc/rancher/rke2/rke2.yaml",
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/super-admin.conf",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/bootstrap-kubelet.conf",
    "/etc/kubernetes/controller-manager.conf",
    "/etc/kubernetes/scheduler.conf",
    "/boot/grub/user.cfg",
    "/var/lib/systemd/random-seed",
    "/var/lib/systemd/credential.secret",
    "/var/lib/NetworkManager/secret_key",
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/keys",
    "/proc/kpageflags",
    "/proc/kpagecount",
    "/proc/vmcore",
    "/proc/sysrq-trigger",
];

/// Secret folders by their whole path, with all that is below. [`OPEN_IN_DEV`] is the one exception.
pub const FOLDERS: &[&str] = &[
    "/dev",
    "/etc/ssl/private",
    "/etc/letsencrypt/archive",
    "/etc/letsencrypt/keys",
    "/etc/letsencrypt/accounts",
    "/etc/wireguard",
    "/etc/ipsec.d/private",
    "/etc/swanctl/private",
    "/etc/cryptsetup-keys.d",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/NetworkManager/system-connections",
    "/run/secrets",
    "/run/credentials",
    "/run/user",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/var/lib/sss",
    "/var/lib/samba/private",
    "/var/lib/docker/swarm",
    "/var/lib/rancher/k3s/server/cred",
    "/var/lib/rancher/k3s/server/tls",
    "/var/lib/rancher/rke2/server/cred",
    "/var/lib/rancher/rke2/server/tls",
    "/var/lib/kubelet/pki",
    "/var/lib/tpm",
    "/var/lib/private",
    "/var/lib/steadyhand-edge",
    "/var/lib/steadyhand",
    "/etc/steadyhand/keys",
];

/// `/dev` is closed but for this, where programs keep files.
pub const OPEN_IN_DEV: &str = "/dev/shm";

/// Names of folders that hold secrets, wherever they are.
pub const SECRET_FOLDERS: &[&str] = &[
    ".gnupg",
    ".aws",
    ".azure",
    ".gcloud",
    "gcloud",
    ".kube",
    ".docker",
    ".password-store",
    "kubernetes.io~secret",
    "kubernetes.io~projected",
    "keyrings",
    ".mozilla",
    ".chromium",
    "google-chrome",
];

/// Names of files that hold secrets, wherever they are.
pub const SECRET_NAMES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".dockercfg",
    ".vault-token",
    ".s3cfg",
    ".boto",
    ".htpasswd",
    "htpasswd",
    ".env",
    ".envrc",
    ".bash_history",
    ".zsh_history",
    ".sh_history",
    ".ash_history",
    ".python_history",
    ".mysql_history",
    ".psql_history",
    ".rediscli_history",
    "fish_history",
    "token",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "credentials.tfrc.json",
    "rclone.conf",
    "auth.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "master.key",
    "kubeconfig",
    "private_key",
    "privatekey",
    "key.pem",
    "terraform.tfstate",
    "wp-config.php",
];

/// Endings of names of files that hold secrets.
pub const SECRET_ENDINGS: &[&str] = &[
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".keytab",
    ".token",
    "-key.pem",
    "_key.pem",
    ".key.pem",
    ".agekey",
    ".ovpn",
    "_rsa",
    "_dsa",
    "_ecdsa",
    "_ed25519",
    "_key",
];

/// Endings of copies of files, which are taken off before a name is looked at.
pub const COPY_ENDINGS: &[&str] = &[
    "~",
    "-",
    ".bak",
    ".backup",
    ".old",
    ".orig",
    ".save",
    ".saved",
    ".copy",
    ".tmp",
    ".swp",
    ".swo",
    ".new",
    ".dist",
    ".dpkg-old",
    ".dpkg-dist",
    ".dpkg-new",
    ".dpkg-tmp",
    ".ucf-old",
    ".ucf-dist",
    ".rpmsave",
    ".rpmnew",
    ".rpmorig",
    ".gz",
    ".xz",
    ".bz2",
    ".zst",
    ".lz4",
    ".zip",
    ".tar",
    ".tgz",
];

/// Links of a process that lead to whatever it has open.
const PROCESS_LINKS: &[&str] = &["fd", "root", "cwd", "map_files"];

/// Files of a process that show its memory or its environment. `cmdline` and the like stay open.
pub const PROCESS_FILES: &[&str] = &[
    "environ",
    "mem",
    "auxv",
    "pagemap",
    "maps",
    "smaps",
    "stack",
    "syscall",
    "clear_refs",
    "coredump_filter",
];

/// Why an absolute path without links, `.` and `..` counts as secret; `None` if it doesn't.
pub fn reason(path: &Path) -> Option<&'static str> {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    // A copy of a secret is as secret as it: `server.key.bak`, `.env~`, `shadow.1.gz`.
    let name = without_copy_endings(&name);
    let original = path.with_file_name(name);
    if FILES.iter().any(|file| original.ends_with(relative(file))) {
        return Some("it holds secrets of the system");
    }
    if in_closed_folder(path) {
        return Some("this folder holds secrets or devices");
    }
    if path.starts_with("/proc") && in_process(path) {
        return Some("it shows the memory or the environment of a process");
    }
    let mut folders = path.parent().into_iter().flat_map(Path::components);
    if folders.any(|part| is_secret_folder(&part.as_os_str().to_string_lossy())) {
        return Some("this folder holds credentials");
    }
    if name.ends_with(".pub") {
        return None;
    }
    if path.parent().is_some_and(|folder| folder.iter().any(|part| part == ".ssh"))
        && !["known_hosts", "authorized_keys", "config"].contains(&name)
    {
        return Some("it may be a private key");
    }
    let private_key = name.starts_with("id_")
        || (name.starts_with("ssh_host_") && name.contains("_key"))
        || name.starts_with("privkey")
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending));
    if private_key {
        return Some("it may be a private key or a key store");
    }
    if SECRET_NAMES.contains(&name) || name.starts_with(".env.") {
        return Some("files of this name hold credentials");
    }
    if path.starts_with("/var/backups") && name.contains("shadow") {
        return Some("it holds password hashes");
    }
    None
}

/// Whether all that is below a folder is secret, so that nothing of it is listed.
pub fn is_closed_folder(folder: &Path) -> bool {
    in_closed_folder(folder) || folder.iter().any(|part| is_secret_folder(&part.to_string_lossy()))
}

/// Takes endings off that tools and people give to copies. Digits only behind a dot: `shadow.1`, but `key2`.
fn without_copy_endings(name: &str) -> &str {
    let mut plain = name;
    loop {
        let shorter = COPY_ENDINGS.iter().find_map(|ending| plain.strip_suffix(ending)).or_else(|| {
            let (front, number) = plain.rsplit_once('.')?;
            (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(front)
        });
        match shorter {
            Some(shorter) if !shorter.is_empty() => plain = shorter,
            _ => return plain,
        }
    }
}

/// Lists are about `/`, and hold for the roots of containers and chroots below it just as well.
fn relative(absolute: &str) -> &str {
    absolute.trim_start_matches('/')
}

fn in_closed_folder(path: &Path) -> bool {
    if path.starts_with(OPEN_IN_DEV) {
        return false;
    }
    path.starts_with("/dev")
        || path
            .ancestors()
            .any(|place| FOLDERS.iter().any(|folder| *folder != "/dev" && place.ends_with(relative(folder))))
}

fn is_secret_folder(name: &str) -> bool {
    SECRET_FOLDERS.iter().any(|folder| folder.eq_ignore_ascii_case(name))
}

/// Whether the path is one of the closed files of a process or a thread, or leads through one of its links.
fn in_process(path: &Path) -> bool {
    let parts: Vec<String> = path.iter().skip(2).map(|part| part.to_string_lossy().into_owned()).collect();
    let Some((process, rest)) = parts.split_first() else { return false };
    if !(process.bytes().all(|byte| byte.is_ascii_digit()) || process == "self" || process == "thread-self") {
        return false;
    }
    rest.iter().any(|part| {
        PROCESS_FILES.contains(&part.as_str())
            || PROCESS_LINKS.contains(&part.as_str())
            || part.starts_with("smaps")
    })
}

/// Whether the text has a private key in it, wherever it is kept.
pub fn holds_private_key(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.match_indices("-----BEGIN ").any(|(start, _)| {
        let line = &text[start..];
        line.lines().next().is_some_and(|line| line.contains("PRIVATE KEY"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(path: &str) -> bool {
        reason(Path::new(path)).is_some()
    }

    #[test]
    fn secrets_are_refused() {
        for path in [
            "/etc/shadow",
            "/etc/shadow-",
            "/etc/shadow.bak",
            "/var/backups/shadow.bak",
            "/root/.ssh/id_ed25519",
            "/root/.ssh/work",
            "/etc/ssh/ssh_host_rsa_key",
            "/etc/ssl/private/web.pem",
            "/etc/letsencrypt/archive/x/privkey1.pem",
            "/srv/app/server.key",
            "/srv/app/.env",
            "/srv/app/.env.production",
            "/root/.aws/credentials",
            "/home/a/.kube/config",
            "/proc/1/environ",
            "/proc/1/task/1/environ",
            "/proc/self/mem",
            "/proc/12/fd/3",
            "/proc/12/root/etc/shadow",
            "/proc/kcore",
            "/dev/sda",
            "/run/secrets/db",
            "/var/lib/kubelet/pods/x/volumes/kubernetes.io~secret/y/password",
            "/root/.bash_history",
            "/var/lib/steadyhand-edge/edge.key",
            "/etc/kubernetes/admin.conf",
            "/srv/app/server.key.bak",
            "/srv/app/.env~",
            "/srv/app/.env.old",
            "/etc/shadow.1.gz",
            "/root/.ssh/old/work",
            "/root/.AWS/config",
            "/proc/7/task/9/cwd/x",
            "/var/lib/docker/overlay2/a/merged/etc/shadow",
            "/srv/chroot/etc/ssl/private/web.pem",
            "/var/lib/docker/overlay2/a/diff/run/secrets/db",
        ] {
            assert!(refuses(path), "{path}");
        }
    }

    #[test]
    fn a_closed_folder_is_closed_with_all_that_is_below() {
        for path in ["/root/.aws", "/root/.aws/sso", "/dev", "/dev/disk", "/etc/ssl/private", "/run/secrets"]
        {
            assert!(is_closed_folder(Path::new(path)), "{path}");
        }
        for path in ["/", "/etc", "/etc/ssl", "/dev/shm", "/var/log", "/home/dev"] {
            assert!(!is_closed_folder(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_operators_look_at_is_open() {
        for path in [
            "/etc/hosts",
            "/etc/passwd",
            "/etc/ssh/sshd_config",
            "/etc/ssh/ssh_host_rsa_key.pub",
            "/root/.ssh/authorized_keys",
            "/root/.ssh/known_hosts.old",
            "/home/dev/notes",
            "/var/log/syslog.2.gz",
            "/etc/nginx/nginx.conf",
            "/etc/ssl/certs/web.pem",
            "/var/log/syslog",
            "/var/log/auth.log",
            "/proc/meminfo",
            "/proc/1/status",
            "/proc/1/cmdline",
            "/dev/shm/report",
            "/etc/environment",
            "/etc/kubernetes/manifests/api.yaml",
        ] {
            assert!(!refuses(path), "{path}");
        }
    }

    #[test]
    fn a_private_key_is_seen_in_any_file() {
        assert!(holds_private_key(b"x\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc"));
        assert!(holds_private_key(b"-----BEGIN RSA PRIVATE KEY-----"));
        assert!(!holds_private_key(b"-----BEGIN CERTIFICATE-----\nPRIVATE KEY"));
    }
}
