//! Which paths no child reads, whoever owns them, and finding the ones that are there.

use skill::secrets;
use std::fs;
use std::path::{Path, PathBuf};

/// Most paths that one pattern stands for.
const MAX_MATCHES: usize = 4096;

/// Names of secrets beside those that [`secrets`] lists by whole path: keys of the host and of its users.
const KEYS: &[&str] = &["/etc/ssh/ssh_host_*_key", "/etc/ipsec.secrets", "/var/lib/kubelet/pki"];

/// Where homes are.
const HOMES: [&str; 2] = ["/root", "/home/*"];

/// Folders of a home that hold files by names that are secret anywhere.
const HOME_FOLDERS: [&str; 3] = ["", "/.config", "/.local/share"];

/// All patterns of the built-in list. A child of class safe runs as an unprivileged user, so the file system's own
/// permissions come first; these are for secrets that were left readable, and for children that run as the agent does.
/// Names that are secret anywhere are looked for in homes only, as a child's whole file system can't be searched first.
pub fn patterns() -> Vec<String> {
    // With copies that editors and tools leave beside them.
    let files = secrets::FILES
        .iter()
        .map(|path| if path.starts_with("/proc/") { (*path).to_owned() } else { format!("{path}*") });
    let folders = secrets::FOLDERS.iter().chain(KEYS).map(|path| (*path).to_owned());
    let names = secrets::SECRET_FOLDERS.iter().chain(secrets::SECRET_NAMES);
    let homes = HOMES.iter().flat_map(|home| {
        let inside = names
            .clone()
            .flat_map(move |name| HOME_FOLDERS.iter().map(move |folder| format!("{home}{folder}/{name}")));
        let keys = secrets::SECRET_ENDINGS.iter().map(move |ending| format!("{home}/.ssh/*{ending}"));
        inside.chain(keys).chain([format!("{home}/.ssh/id_*"), format!("{home}/.ssh/*.pem")])
    });
    files.chain(folders).chain(homes).collect()
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
