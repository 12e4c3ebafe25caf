//! Which paths no child reads, whoever owns them, and finding the ones that are there.

use std::fs;
use std::path::{Path, PathBuf};

/// Most paths that one pattern stands for.
const MAX_MATCHES: usize = 4096;

/// The built-in list. A child of class safe runs as an unprivileged user, so the file system's own permissions come
/// first; this is for secrets that were left readable, and for children that run as the agent does.
pub const SECRETS: &[&str] = &[
    "/boot/grub/user.cfg",
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/security/opasswd",
    "/etc/krb5.keytab",
    "/etc/mysql/debian.cnf",
    "/etc/ppp/*-secrets",
    "/etc/rancher/k3s/k3s.yaml",
    "/etc/ssh/ssh_host_*_key",
    "/etc/ssl/private",
    "/etc/letsencrypt/archive",
    "/etc/letsencrypt/keys",
    "/etc/letsencrypt/accounts",
    "/etc/wireguard",
    "/etc/ipsec.d/private",
    "/etc/ipsec.secrets",
    "/etc/swanctl/private",
    "/etc/cryptsetup-keys.d",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes/*.conf",
    "/etc/kubernetes/pki/*.key",
    "/etc/steadyhand/keys",
    "/proc/kcore",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/var/lib/systemd/random-seed",
    "/var/lib/systemd/credential.secret",
    "/var/lib/NetworkManager/secret_key",
    "/var/lib/sss",
    "/var/lib/samba/private",
    "/var/lib/docker/swarm",
    "/var/lib/kubelet/pods/*/volumes/kubernetes.io~secret",
    "/var/lib/kubelet/pods/*/volumes/kubernetes.io~projected",
    "/var/lib/kubelet/pki",
    "/var/lib/rancher/k3s/server/cred",
    "/var/lib/rancher/k3s/server/tls",
    "/var/lib/tpm",
    "/var/lib/private",
    "/var/lib/steadyhand",
    "/var/lib/steadyhand-edge",
];

/// Names in home directories (`/root`, `/home/*`) that hold secrets.
pub const HOME_SECRETS: &[&str] = &[
    ".ssh/id_*",
    ".ssh/*_rsa",
    ".ssh/*_ed25519",
    ".ssh/*_ecdsa",
    ".ssh/*.pem",
    ".ssh/*.key",
    ".gnupg",
    ".aws",
    ".azure",
    ".gcloud",
    ".config/gcloud",
    ".kube",
    ".docker",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/chromium",
    ".config/google-chrome",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    ".pypirc",
    ".dockercfg",
    ".vault-token",
    ".s3cfg",
    ".boto",
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
    ".local/share/fish/fish_history",
];

/// All patterns of the built-in list.
pub fn patterns() -> Vec<String> {
    let homes = HOME_SECRETS.iter().flat_map(|name| [format!("/root/{name}"), format!("/home/*/{name}")]);
    SECRETS.iter().map(|path| (*path).to_owned()).chain(homes).collect()
}

/// The paths below `root` that a pattern stands for and that are there. `*` and `?` match inside one name only.
pub fn expand(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut places = vec![root.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for place in &places {
            if !part.contains(['*', '?']) {
                let path = place.join(part);
                if fs::symlink_metadata(&path).is_ok() {
                    next.push(path);
                }
                continue;
            }
            let entries = fs::read_dir(place).into_iter().flatten().flatten();
            let names = entries.filter(|entry| matches(part, &entry.file_name().to_string_lossy()));
            next.extend(names.map(|entry| entry.path()).take(MAX_MATCHES.saturating_sub(next.len())));
        }
        places = next;
    }
    places
}

/// Whether a name is of a pattern's form.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star is, and how far the name was when it matched nothing yet.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_inside_a_name() {
        for (pattern, name, wanted) in [
            ("ssh_host_*_key", "ssh_host_rsa_key", true),
            ("ssh_host_*_key", "ssh_host_rsa_key.pub", false),
            ("id_*", "id_ed25519", true),
            ("*", "", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b", "xaab", true),
        ] {
            assert_eq!(matches(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_find_what_is_there() {
        let root = tempfile::tempdir().unwrap();
        for user in ["ann", "bob"] {
            fs::create_dir_all(root.path().join("home").join(user).join(".ssh")).unwrap();
        }
        fs::write(root.path().join("home/ann/.ssh/id_rsa"), "").unwrap();
        fs::write(root.path().join("home/ann/.ssh/known_hosts"), "").unwrap();
        let found = expand(root.path(), "/home/*/.ssh/id_*");
        assert_eq!(found, [root.path().join("home/ann/.ssh/id_rsa")]);
        assert!(expand(root.path(), "/etc/shadow*").is_empty());
    }
}
