//! Which paths hold secrets. The list is for paths after links are resolved; it errs on the side of refusing, because
//! what a safe skill reads goes to a model.

use crate::support::errors::refused;
use skill::{FileRules, SkillError};
use std::path::{Component, Path, PathBuf};

/// Files by their whole path.
const FILES: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/krb5.keytab",
    "/etc/mysql/debian.cnf",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/rancher/k3s/k3s.yaml",
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

/// Folders by their whole path, with all that is below.
const FOLDERS: &[&str] = &[
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
    "/var/lib/tpm",
    "/var/lib/private",
    "/var/lib/steadyhand-edge",
    "/var/lib/steadyhand",
    "/etc/steadyhand/keys",
];

/// `/dev` is closed but for this, where programs keep files.
const OPEN_IN_DEV: &str = "/dev/shm";

/// Names of folders that hold secrets, wherever they are.
const SECRET_FOLDERS: &[&str] = &[
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
const SECRET_NAMES: &[&str] = &[
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
const SECRET_ENDINGS: &[&str] = &[
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

/// Files of a process that show its memory or its environment. `cmdline` and the like stay open.
const PROCESS_FILES: &[&str] = &[
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

/// Checks a path: absolute, without links and `..`.
pub(crate) fn check(path: &Path, rules: &FileRules) -> Result<(), SkillError> {
    let shown = path.display();
    if rules.denied.iter().any(|denied| path.starts_with(denied)) {
        return Err(refused(format!("`{shown}` is closed by this host's configuration")));
    }
    if let Some(reason) = secret(path) {
        return Err(refused(format!("`{shown}` may not be read: {reason}")));
    }
    if !rules.roots.is_empty() && !rules.roots.iter().any(|root| path.starts_with(root)) {
        let roots: Vec<String> = rules.roots.iter().map(|root| root.display().to_string()).collect();
        return Err(refused(format!("`{shown}` is outside of what may be read here: {}", roots.join(", "))));
    }
    Ok(())
}

/// Why a path counts as secret.
fn secret(path: &Path) -> Option<&'static str> {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    if FILES.iter().any(|file| path == Path::new(file)) {
        return Some("it holds secrets of the system");
    }
    if FOLDERS.iter().any(|folder| path.starts_with(folder)) && !path.starts_with(OPEN_IN_DEV) {
        return Some("this folder holds secrets or devices");
    }
    if path.starts_with("/proc") && in_process(path) {
        return Some("it shows the memory or the environment of a process");
    }
    let in_secret_folder = path.parent().is_some_and(|parent| {
        parent
            .components()
            .any(|part| matches!(part, Component::Normal(part) if is_secret_folder(&part.to_string_lossy())))
    });
    if in_secret_folder {
        return Some("this folder holds credentials");
    }
    if name.ends_with(".pub") {
        return None;
    }
    if path.parent().and_then(Path::file_name).is_some_and(|folder| folder == ".ssh")
        && !["known_hosts", "known_hosts.old", "authorized_keys", "config"].contains(&name.as_str())
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
    if SECRET_NAMES.contains(&name.as_str()) || name.starts_with(".env.") {
        return Some("files of this name hold credentials");
    }
    let backup = name.trim_end_matches(['~', '-']).trim_end_matches(".bak").trim_end_matches(".old");
    if matches!(backup, "shadow" | "gshadow") && path.starts_with("/etc")
        || path.starts_with("/var/backups") && backup.contains("shadow")
    {
        return Some("it holds password hashes");
    }
    None
}

fn is_secret_folder(name: &str) -> bool {
    SECRET_FOLDERS.contains(&name)
}

/// Whether the path is one of the closed files of a process or a thread, or leads through one of its links.
fn in_process(path: &Path) -> bool {
    let parts: Vec<String> = path.iter().skip(2).map(|part| part.to_string_lossy().into_owned()).collect();
    let Some((process, rest)) = parts.split_first() else { return false };
    if !(process.bytes().all(|byte| byte.is_ascii_digit()) || process == "self" || process == "thread-self") {
        return false;
    }
    rest.iter().any(|part| PROCESS_FILES.contains(&part.as_str()) || part.starts_with("smaps"))
        || rest.first().is_some_and(|part| matches!(part.as_str(), "fd" | "root" | "cwd" | "map_files"))
}

/// Takes `.` and `..` out of an absolute path without looking at the disk.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(part) => plain.push(part),
            Component::ParentDir => {
                plain.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// Whether the text has a private key in it, wherever it is kept.
pub(crate) fn holds_private_key(bytes: &[u8]) -> bool {
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
        check(Path::new(path), &FileRules::default()).is_err()
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
        ] {
            assert!(refuses(path), "{path}");
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
    fn roots_and_closed_places_come_from_the_configuration() {
        let rules = FileRules { roots: vec!["/var/log".into()], denied: vec!["/var/log/private".into()] };
        assert!(check(Path::new("/var/log/syslog"), &rules).is_ok());
        assert!(check(Path::new("/var/logs"), &rules).is_err());
        assert!(check(Path::new("/var/log/private/x"), &rules).is_err());
        assert!(check(Path::new("/etc/hosts"), &rules).is_err());
    }

    #[test]
    fn dots_are_taken_out() {
        assert_eq!(normalise(Path::new("/a/./b/../c/../../../d")), Path::new("/d"));
    }

    #[test]
    fn a_private_key_is_seen_in_any_file() {
        assert!(holds_private_key(b"x\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc"));
        assert!(holds_private_key(b"-----BEGIN RSA PRIVATE KEY-----"));
        assert!(!holds_private_key(b"-----BEGIN CERTIFICATE-----\nPRIVATE KEY"));
    }
}
