//! Sentences that hold exact text (a command, a path, a content), which the words' meanings must not touch: they are
//! read by their form, whole, before anything else. What doesn't fit one of the forms is left to the meanings.

use super::tools::Tools;
use super::{Route, RoutedCall, talk};
use crate::builtin::route::Language;
use serde_json::{Map, Value, json};

/// The call of a sentence with one of the forms.
pub(super) fn route(text: &str, tools: &Tools<'_>, language: Language) -> Option<Route> {
    let sentence = polite(text.trim());
    let (tool, args, host) = command(sentence)
        .or_else(|| git(sentence))
        .or_else(|| write(sentence))
        .or_else(|| remove(sentence))
        .or_else(|| capture(sentence))?;
    let mut args = tools.fit(tool, args)?;
    if let Some(host) = host {
        args.insert(tools.place_key(tool).to_owned(), Value::from(host));
    }
    let calls = vec![RoutedCall { tool: tool.to_owned(), args: Value::Object(args) }];
    let reply = talk::announce(&calls, language);
    Some(Route { calls, reply, asks: false })
}

type Found = (&'static str, Map<String, Value>, Option<String>);

fn found(tool: &'static str, args: Value, host: Option<&str>) -> Found {
    let Value::Object(args) = args else { return (tool, Map::new(), None) };
    (tool, args, host.map(str::to_owned))
}

/// Without what is only polite.
fn polite(mut text: &str) -> &str {
    loop {
        let shorter = ["please ", "can you ", "could you ", "would you ", "now "]
            .iter()
            .find_map(|word| strip_prefix(text, word));
        match shorter {
            Some(rest) => text = rest.trim_start(),
            None => return text,
        }
    }
}

/// Strips a prefix whatever its case.
fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

fn strip_any<'a>(text: &'a str, prefixes: &[&str]) -> Option<&'a str> {
    prefixes.iter().find_map(|prefix| strip_prefix(text, prefix)).map(str::trim_start)
}

/// What may follow a form: nothing, or the host.
fn end(rest: &str) -> Option<Option<&str>> {
    let rest = rest.trim().trim_end_matches(['.', '!', '?']).trim_end();
    let rest = strip_prefix(rest, ", ").unwrap_or(rest);
    let rest = rest.strip_suffix(" please").unwrap_or(rest);
    if rest.is_empty() || rest == "please" {
        return Some(None);
    }
    let host = strip_any(rest, &["on ", "at "])?;
    name(host).then_some(Some(host))
}

fn name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
}

/// An absolute path at the beginning, and what follows it.
fn path(text: &str) -> Option<(&str, &str)> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let word = if rest.is_empty() { word.trim_end_matches(['.', '!', '?', ',']) } else { word };
    (word.starts_with('/') && word.len() > 1).then_some((word, rest))
}

/// A text between marks, and what follows it.
fn between(text: &str) -> Option<(&str, &str)> {
    let mark = text.chars().next().filter(|mark| "`\"'".contains(*mark))?;
    let rest = &text[1..];
    let end = rest.find(mark)?;
    (end > 0).then(|| (&rest[..end], &rest[end + 1..]))
}

/// run `uptime` on web-1
fn command(sentence: &str) -> Option<Found> {
    if let Some(rest) =
        strip_any(sentence, &["run ", "execute ", "bash ", "run the command ", "execute the command "])
    {
        let rest = strip_any(rest, &["the command ", "command "]).unwrap_or(rest);
        let (command, rest) = between(rest).filter(|_| rest.starts_with('`'))?;
        return Some(found("bash", json!({ "command": command }), end(rest)?));
    }
    // "web-1에서 `uptime` 실행해줘"
    let at = sentence.find('`')?;
    let before = sentence[..at].trim();
    let host = before.strip_suffix("에서");
    if !(before.is_empty() || host.is_some_and(name)) {
        return None;
    }
    let (command, rest) = between(&sentence[at..])?;
    let rest = rest.trim_start().trim_start_matches(['를', '을']).trim();
    rest.starts_with("실행").then(|| found("bash", json!({ "command": command }), host))
}

/// git status in /srv/app
fn git(sentence: &str) -> Option<Found> {
    let rest = strip_any(sentence, &["show me the ", "show me ", "show the ", "show "]).unwrap_or(sentence);
    let rest = strip_prefix(rest, "git ")?;
    let (operation, rest) = rest.split_once(' ')?;
    let operation = ["status", "diff", "log", "branch", "pull"]
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(operation))?;
    let (path, rest) = path(strip_any(rest.trim_start(), &["in ", "of ", "for "])?)?;
    Some(found("git_operations", json!({"operation": operation, "path": path}), end(rest)?))
}

/// write "hello" to /tmp/greeting
fn write(sentence: &str) -> Option<Found> {
    let (content, rest) = between(strip_prefix(sentence, "write ")?.trim_start())?;
    let (path, rest) = path(strip_any(rest.trim_start(), &["to ", "into "])?)?;
    Some(found("write_file", json!({"path": path, "content": content}), end(rest)?))
}

/// delete the folder /tmp/old
fn remove(sentence: &str) -> Option<Found> {
    let rest = strip_any(sentence, &["delete ", "remove "])?;
    let rest = strip_prefix(rest, "the ").unwrap_or(rest);
    let folder = strip_any(rest, &["folder ", "directory "]);
    let rest = folder.or_else(|| strip_prefix(rest, "file ")).unwrap_or(rest);
    let (path, rest) = path(rest)?;
    let mut args = json!({ "path": path });
    if folder.is_some() {
        args["recursive"] = json!(true);
    }
    Some(found("remove_path", args, end(rest)?))
}

/// capture packets on eth0 for 10 seconds on web-1
fn capture(sentence: &str) -> Option<Found> {
    let rest = strip_any(
        sentence,
        &[
            "capture packets on ",
            "capture traffic on ",
            "sniff packets on ",
            "sniff traffic on ",
            "record packets on ",
        ],
    )?;
    let (interface, rest) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
    let interface = interface.trim_end_matches(['.', '!', '?']);
    if !name(interface) {
        return None;
    }
    let mut args = json!({ "interface": interface });
    let rest = match strip_prefix(rest.trim_start(), "for ") {
        Some(span) => {
            let (number, rest) = span.split_at(span.find(|letter: char| !letter.is_ascii_digit())?);
            let number: u64 = number.parse().ok()?;
            let rest = rest.trim_start();
            let (unit, rest) =
                rest.split_at(rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len()));
            let factor = match unit {
                "s" | "sec" | "second" | "seconds" => 1,
                "m" | "min" | "minute" | "minutes" => 60,
                _ => return None,
            };
            args["seconds"] = json!(number.saturating_mul(factor));
            rest
        }
        None => rest,
    };
    Some(found("capture_pcap", args, end(rest)?))
}
