//! Shapes that destroy, found whatever else is known of the command.

use crate::table::Call;
use crate::value::Value;
use model::Class;

/// Files and devices whose loss or change takes the host, its users or its data away.
pub(crate) fn is_precious_file(path: &str) -> bool {
    const EXACT: &[&str] = &[
        "/etc/passwd",
        "/etc/shadow",
        "/etc/group",
        "/etc/gshadow",
        "/etc/sudoers",
        "/etc/fstab",
        "/etc/ld.so.preload",
        "/proc/sysrq-trigger",
        "/etc/nftables.conf",
        "/etc/crypttab",
        "/dev/mem",
        "/dev/kmem",
        "/dev/port",
    ];
    const STARTS: &[&str] = &[
        "/boot/",
        "/etc/sudoers.d/",
        "/etc/pam.d/",
        "/sys/firmware/",
        "/dev/sd",
        "/dev/hd",
        "/dev/vd",
        "/dev/xvd",
        "/dev/nvme",
        "/dev/mmcblk",
        "/dev/md",
        "/dev/dm-",
        "/dev/mapper/",
        "/dev/disk/",
        "/dev/loop",
        "/dev/nbd",
        "/dev/zd",
    ];
    let path = path.strip_prefix("//").map_or(path, |_| path.trim_start_matches('/'));
    EXACT.contains(&path)
        || STARTS.iter().any(|start| path.starts_with(start))
        || path.ends_with("/authorized_keys")
}

/// Whether removing or rewriting all below this place takes away a system or a home.
pub(crate) fn is_root(arg: &Value) -> bool {
    const TOP: &[&str] = &[
        "", "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc",
        "root", "run", "sbin", "srv", "sys", "usr", "var",
    ];
    const BELOW: &[&str] = &[
        "var/lib",
        "var/log",
        "usr/bin",
        "usr/lib",
        "usr/sbin",
        "usr/local",
        "usr/share",
        "var/www",
        "etc/ssh",
        "etc/systemd",
    ];
    let head = arg.exact.as_deref().unwrap_or(&arg.prefix);
    if arg.exact.is_none() && !arg.prefix.starts_with('/') && !arg.prefix.starts_with("./") {
        return true;
    }
    if matches!(head.trim_end_matches('/'), "." | ".." | "~" | "./." | "./.." | "*" | ".*" | "./*")
        || head.starts_with("../")
        || head == "./"
    {
        return true;
    }
    if !head.starts_with('/') {
        return false;
    }
    let mut path: Vec<&str> = Vec::new();
    let mut pieces: Vec<&str> = head.split('/').collect();
    // What a glob or a variable adds below a known place can be everything there.
    if arg.exact.is_none() {
        pieces.pop();
    }
    for piece in pieces {
        match piece {
            "" | "." | "*" => {}
            ".." => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    let path = path.join("/");
    TOP.contains(&path.as_str())
        || BELOW.contains(&path.as_str())
        || path.starts_with("home/") && path.matches('/').count() == 1
}

/// Lifts a call to dangerous where its shape is a destroying one.
pub(crate) fn look(call: &mut Call<'_, '_>) {
    let name = call.bare_name();
    let flag = |letters: &[char], long: &[&str]| {
        call.args.iter().any(|arg| {
            let text = arg.exact.as_deref().unwrap_or(&arg.prefix);
            long.iter().any(|name| text.len() > 3 && name.starts_with(text))
                || (text.starts_with('-') && !text.starts_with("--") && text.contains(letters))
        })
    };
    let operands =
        || call.args.iter().filter(|arg| !arg.exact.as_deref().unwrap_or(&arg.prefix).starts_with('-'));
    match name {
        "rm" if flag(&['r', 'R'], &["--recursive", "--no-preserve-root"]) && operands().any(is_root) => {
            call.dangerous(
                "removes everything below a root of the system, or below a place that only running tells",
            );
        }
        "rm" if flag(&[], &["--no-preserve-root"]) => call.dangerous("removes a root of the system"),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "chcon" | "restorecon"
            if flag(&['R'], &["--recursive"]) && operands().skip(1).any(is_root) =>
        {
            call.dangerous("changes who may use everything below a root of the system");
        }
        "mv" if call.args.len() > 1
            && operands()
                .next()
                .is_some_and(|arg| is_root(arg) && arg.text().starts_with('/') && arg.text().len() < 6) =>
        {
            call.dangerous("moves a root of the system away");
        }
        "find" if call.has("-delete") || call.args.iter().any(|arg| arg.is("rm") || arg.is("shred")) => {
            let roots = call.args.iter().take_while(|arg| !arg.text().starts_with('-'));
            if roots.clone().count() == 0 || roots.into_iter().any(is_root) {
                call.dangerous("removes what it finds below a root of the system");
            }
        }
        "dd" | "tee" | "cp" | "mv" | "install" | "truncate" | "ln" | "sed" | "cat" | "rsync" => {
            let last = call.args.last();
            let writes = call.args.iter().find(|arg| {
                let text = arg.exact.as_deref().unwrap_or(&arg.prefix);
                let target = text.strip_prefix("of=");
                let in_place = name == "sed" && flag(&['i'], &["--in-place"]);
                target.is_some_and(is_precious_file)
                    || (is_precious_file(text)
                        && (matches!(name, "tee" | "truncate")
                            || in_place
                            || matches!(name, "cp" | "mv" | "install" | "ln" | "rsync")
                                && last.is_some_and(|last| last.is(text))))
            });
            if let Some(arg) = writes {
                call.lift_at(
                    Class::Dangerous,
                    arg,
                    "overwrites a device or a file that the host can't do without",
                );
            }
        }
        "kill" | "killall" | "pkill" => {
            let all = operands().any(|arg| arg.is("1"))
                || call.args.last().is_some_and(|arg| arg.is("-1")) && call.args.len() > 1;
            if name == "kill" && all {
                call.dangerous("ends the first process, or all of them");
            }
        }
        "init" | "telinit" => call.dangerous("changes the run level"),
        "crontab" if flag(&['r'], &[]) => call.dangerous("removes all scheduled commands of a user"),
        "umount" | "swapoff" if flag(&['a'], &["--all"]) => {
            call.dangerous("takes away everything that is mounted")
        }
        "git" if call.has("push") && (flag(&['f'], &["--force", "--mirror", "--delete"])) => {
            call.dangerous("rewrites or removes what is kept elsewhere");
        }
        "redis-cli"
            if call.args.iter().any(|arg| {
                let upper = arg.text().to_ascii_uppercase();
                matches!(
                    upper.as_str(),
                    "FLUSHALL" | "FLUSHDB" | "SHUTDOWN" | "DEBUG" | "SLAVEOF" | "REPLICAOF"
                )
            }) =>
        {
            call.dangerous("empties or stops the store");
        }
        _ if name.starts_with("mkfs") || name.starts_with("fsck.") => {
            call.dangerous("writes a file system");
        }
        _ => {}
    }
}
