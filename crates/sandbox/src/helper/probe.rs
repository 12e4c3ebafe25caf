//! What a child of a fresh sandbox finds when it tries the first things that it may not. Run once per start of the agent,
//! so that "this host holds `read_only`" is something that was seen.

use std::fs::{self, OpenOptions};
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// What the probe prints if nothing got through.
pub(crate) const HELD: &str = "held";

/// Tries, and says what got through.
pub(crate) fn run() -> u8 {
    let mut through = Vec::new();
    // Where it starts is the private temporary directory.
    let private = std::env::current_dir().unwrap_or_default();
    for folder in ["/", "/etc", "/tmp", "/var/tmp", "/dev/shm", "/run", "/usr", "/proc", "/root"] {
        if private == Path::new(folder) {
            continue;
        }
        let path = format!("{folder}/.steadyhand-probe-{}", std::process::id());
        if OpenOptions::new().write(true).create_new(true).open(&path).is_ok() {
            let _gone = fs::remove_file(&path);
            through.push(format!("a file could be made in {folder}"));
        }
    }
    if UnixDatagram::unbound().is_ok() {
        through.push("a Unix socket could be made".to_owned());
    }
    if UdpSocket::bind("127.0.0.1:0").is_ok() {
        through.push("an internet socket could be made".to_owned());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (line, wanted) in [("CapEff:", "0000000000000000"), ("NoNewPrivs:", "1"), ("Seccomp:", "2")] {
        let found = status.lines().find_map(|text| text.strip_prefix(line)).map(str::trim);
        if found != Some(wanted) {
            through.push(format!("{line} {}", found.unwrap_or("can't be told")));
        }
    }
    if through.is_empty() {
        println!("{HELD}");
        return 0;
    }
    println!("{}", through.join("; "));
    1
}
