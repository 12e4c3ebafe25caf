//! What is trusted: which results hold only numbers and words of ours, and which places the operator named.

use std::collections::BTreeSet;

/// Tools whose results are typed values of our own making or out of the inventory. Everything else may hold free
/// text from a host, a file, a server or a document, and so somebody else's instructions.
const TYPED_RESULTS: &[&str] = &["host_load", "probe_ping", "probe_tcp", "query_edges"];

/// Most places taken from an operator's messages.
const MAX_PLACES: usize = 1_000;

/// Whether a tool's results bring in free text from outside.
pub(crate) fn brings_free_text(tool: &str) -> bool {
    !TYPED_RESULTS.contains(&tool)
}

/// Words of the operator that can name a host or address, in lower case: what follows a scheme, what stands before
/// a port, and every plain word, because a host's name may be one.
pub(crate) fn named_places<'a>(messages: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut places = BTreeSet::new();
    for message in messages {
        for word in message.split(|c: char| c.is_whitespace() || "\"'`<>()[]{},;|=".contains(c)) {
            let word = word.to_lowercase();
            let rest = word.split_once("://").map_or(word.as_str(), |(_, rest)| rest);
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            let host = host.trim_matches(|c: char| !c.is_alphanumeric() && c != ':');
            add(&mut places, host);
            if let Some((name, port)) = host.rsplit_once(':')
                && port.bytes().all(|byte| byte.is_ascii_digit())
            {
                add(&mut places, name);
            }
            // A particle of another language may follow without a space: `example.com에`.
            let ascii = host.trim_end_matches(|c: char| !c.is_ascii());
            if !ascii.is_empty() {
                add(&mut places, ascii);
            }
        }
    }
    places.into_iter().collect()
}

fn add(places: &mut BTreeSet<String>, place: &str) {
    let place = place.trim_matches(['.', ':']);
    if !place.is_empty() && place.len() <= 253 && places.len() < MAX_PLACES {
        places.insert(place.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_the_ways_in_which_people_write_them() {
        let text = "Is https://user@Shop.example.com:8443/a?b=c up? And db1:5432, (10.0.0.7), [::1]:22 or mail.example.org. example.net에 접속";
        let places = named_places([text]);
        for expected in ["shop.example.com", "db1", "db1:5432", "10.0.0.7", "mail.example.org", "example.net"]
        {
            assert!(places.iter().any(|place| place == expected), "{expected} in {places:?}");
        }
        assert!(!places.iter().any(|place| place.contains("b=c")));
    }

    #[test]
    fn only_listed_tools_are_typed() {
        assert!(!brings_free_text("host_load"));
        for tool in ["read_journal", "host_processes", "probe_http", "read_result", "made_up"] {
            assert!(brings_free_text(tool), "{tool}");
        }
    }
}
