//! Users and groups by their names, from the files; name services are not asked.

use crate::spec::Identity;
use std::fs;

/// What Linux maps to nobody, if there is no such user.
const NOBODY: u32 = 65534;

/// The identity of a child of class safe: the user, with those of the groups that are there.
pub(crate) fn identity(user: &str, groups: &[String]) -> Identity {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    find(&read("/etc/passwd"), &read("/etc/group"), user, groups)
}

fn find(passwd: &str, group: &str, user: &str, groups: &[String]) -> Identity {
    let (uid, gid) = passwd
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let ids = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
            (name == user).then_some(ids)
        })
        .find(|ids: &(u32, u32)| ids.0 != 0)
        .unwrap_or((NOBODY, NOBODY));
    let groups = group
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let gid = fields.nth(1)?.parse().ok()?;
            (gid != 0 && groups.iter().any(|wanted| wanted == name)).then_some(gid)
        })
        .collect();
    Identity { uid, gid, groups }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safe_child_is_never_root_and_takes_only_groups_that_are_there() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:99:98::/:/bin/false\n";
        let group = "root:x:0:\nadm:x:4:\nnogroup:x:98:\n";
        let groups = ["adm", "systemd-journal", "root"].map(str::to_owned);
        let wanted = Identity { uid: 99, gid: 98, groups: vec![4] };
        assert_eq!(find(passwd, group, "nobody", &groups), wanted);
        assert_eq!(find(passwd, group, "root", &[]).uid, NOBODY);
        assert_eq!(find("", "", "nobody", &groups).uid, NOBODY);
    }
}
