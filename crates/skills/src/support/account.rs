//! Who a child process is, as its environment tells.

use crate::support::machine::read;
use skill::Host;
use skill::host::PROGRAM_PATH;

/// The whole environment of a child: the same on each host, but for who it is. One that only reads is nobody.
pub(crate) fn environment(host: &dyn Host, read_only: bool) -> Vec<(String, String)> {
    let (user, home) = if read_only {
        ("nobody".to_owned(), "/tmp".to_owned())
    } else {
        account(host, rustix::process::geteuid().as_raw())
    };
    [
        ("PATH", PROGRAM_PATH),
        ("HOME", &home),
        ("TERM", "dumb"),
        ("LANG", "C.UTF-8"),
        ("LC_ALL", "C.UTF-8"),
        ("LC_CTYPE", "C.UTF-8"),
        ("USER", &user),
        ("SHELL", "/bin/bash"),
        ("TMPDIR", "/tmp"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// Name and home of a user.
fn account(host: &dyn Host, id: u32) -> (String, String) {
    let accounts = read(host, "/etc/passwd").unwrap_or_default();
    let found = accounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let is_own = fields.get(2)?.parse() == Ok(id);
        is_own.then_some(((*fields.first()?).to_owned(), (*fields.get(5)?).to_owned()))
    });
    let unknown = || if id == 0 { ("root".into(), "/root".into()) } else { (id.to_string(), "/".into()) };
    found.unwrap_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;

    #[test]
    fn users_are_found_with_their_homes() {
        let host = FakeHost::empty()
            .with("/etc/passwd", "broken\nroot:x:0:0:r:/root:/bin/sh\nme:x:7:7::/home/me:/bin/sh\n");
        assert_eq!(account(&host, 7), ("me".to_owned(), "/home/me".to_owned()));
        assert_eq!(account(&host, 8), ("8".to_owned(), "/".to_owned()));
        assert_eq!(account(&FakeHost::empty(), 0).1, "/root");
        assert!(environment(&host, true).contains(&("USER".to_owned(), "nobody".to_owned())));
    }
}
