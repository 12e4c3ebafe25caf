//! Names that every provider takes, and the way back.
//!
//! A sent name depends on the tool's own name alone, so that it stays the same whatever other tools there are, and
//! old calls in a history go by the name that the model knows.

use std::collections::BTreeMap;

/// Longest name that every provider takes, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// Whether every provider takes a name: a letter or `_`, then letters, digits, `_` and `-`, at most 64 in all.
pub fn is_legal(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The name by which providers know a tool.
pub fn legal(name: &str) -> String {
    if is_legal(name) {
        return name.to_owned();
    }
    let mut out: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .take(MAX_NAME_BYTES - 10)
        .collect();
    if !out.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_') {
        out.insert(0, '_');
    }
    // Two names that differ only in what was replaced stay two.
    format!("{out}_{:08x}", fingerprint(name))
}

/// FNV-1a, folded to 32 bits: the same on every machine and in every version.
fn fingerprint(text: &str) -> u32 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as u32
}

/// The names of one request.
#[derive(Clone, Debug, Default)]
pub struct Names {
    originals: BTreeMap<String, String>,
}

impl Names {
    /// Takes in a tool. `None` if another tool is known by the name that it would get.
    pub fn add(&mut self, original: &str) -> Option<String> {
        let sent = legal(original);
        if self.originals.contains_key(&sent) {
            return None;
        }
        self.originals.insert(sent.clone(), original.to_owned());
        Some(sent)
    }

    /// The tool that a model means. A name that was never sent stays as it is.
    pub fn original<'a>(&'a self, sent: &'a str) -> &'a str {
        self.originals.get(sent).map_or(sent, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn legal_names_stay_and_others_come_back() {
        let mut names = Names::default();
        let long = "x".repeat(65);
        for original in
            ["query_edges", "a-b", "net-tools/nft_list", "net-tools.nft_list", "3d", "도구", "", &long]
        {
            let sent = names.add(original).unwrap();
            assert!(is_legal(&sent), "{sent}");
            assert_eq!(names.original(&sent), original);
            assert_eq!(sent == original, is_legal(original), "{original}");
        }
        assert_eq!(names.add("query_edges"), None, "a second tool of one name is left out");
        assert_eq!(names.original("never_sent"), "never_sent");
    }

    proptest! {
        #[test]
        fn any_name_becomes_legal_and_stays_so(name in "\\PC{0,90}") {
            let sent = legal(&name);
            prop_assert!(is_legal(&sent), "{}", sent);
            prop_assert_eq!(legal(&sent), sent);
        }
    }
}
