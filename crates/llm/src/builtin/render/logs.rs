//! Results of `read_journal`, `tail_file` and `read_file`.

use super::text::{block, inline, name};
use super::units::{bytes, float, list, moment, string, whole};
use crate::builtin::route::Language;
use serde_json::Value;

/// Longest piece of a file that is shown, in characters.
const MAX_CONTENT: usize = 8_000;
const MAX_ENTRIES: usize = 80;

pub(super) fn journal(data: &Value, args: &Value, host: &str, language: Language) -> String {
    let entries = list(data, &["entries"]);
    let unit = string(args, &["unit"]).map(name);
    let since = string(args, &["since"]).map(name);
    let mut about: Vec<String> = Vec::new();
    if let Some(unit) = &unit {
        about.push(language.pick(format!("of {unit}"), unit.clone()));
    }
    if let Some(priority) = string(args, &["priority"]).map(name) {
        about.push(
            language.pick(format!("with priority {priority} or worse"), format!("우선순위 {priority} 이상")),
        );
    }
    if let Some(grep) = string(args, &["grep"]).map(name) {
        about.push(language.pick(format!("matching {grep}"), format!("{grep} 포함")));
    }
    about.push(match (since, args.get("boot").and_then(Value::as_str)) {
        (Some(since), _) => language.pick(format!("since {since}"), format!("{since} 이후")),
        (None, Some("0")) => language.pick("since boot".to_owned(), "이번 부팅 이후".to_owned()),
        (None, Some(_)) => language.pick("of the boot before".to_owned(), "이전 부팅".to_owned()),
        (None, None) => language.pick("in the last 10 minutes".to_owned(), "최근 10분".to_owned()),
    });
    if !host.is_empty() {
        about.push(language.pick(format!("on {host}"), host.to_owned()));
    }
    let about = about.join(language.pick(" ", ", "));
    let Some(last) = entries.last() else {
        return language.pick(
            format!("The journal has no entries {about}."),
            format!("저널에 해당하는 기록이 없습니다({about})."),
        );
    };
    let message = inline(string(last, &["message"]).unwrap_or(""), 200);
    let count = entries.len();
    let head = language.pick(
        format!("{count} journal entries {about}. The last: {message}"),
        format!("저널 기록 {count}건({about}). 마지막: {message}"),
    );
    let lines: Vec<String> = entries
        .iter()
        .skip(count.saturating_sub(MAX_ENTRIES))
        .map(|entry| line(entry, unit.is_none()))
        .collect();
    format!("{head}\n\n{}", block(&lines.join("\n")))
}

fn line(entry: &Value, with_unit: bool) -> String {
    let time = string(entry, &["time"])
        .map(|text| text.split('.').next().unwrap_or(text).trim_end_matches('Z').replace('T', " "))
        .unwrap_or_default();
    let priority = string(entry, &["priority"]).unwrap_or("");
    let source = if with_unit { string(entry, &["unit", "identifier"]).unwrap_or("") } else { "" };
    let message = string(entry, &["message"]).unwrap_or("").replace('\n', " ⏎ ");
    [time.as_str(), priority, source, message.as_str()]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(" ")
}

pub(super) fn tail(data: &Value, args: &Value, host: &str, language: Language) -> String {
    let path = inline(string(data, &["path"]).or_else(|| string(args, &["path"])).unwrap_or("?"), 200);
    let lines: Vec<&str> = list(data, &["lines"]).iter().filter_map(Value::as_str).collect();
    let filter = string(args, &["grep"])
        .map(|grep| language.pick(format!(" matching {}", name(grep)), format!(" ({} 포함)", name(grep))))
        .unwrap_or_default();
    let place = if host.is_empty() {
        String::new()
    } else {
        language.pick(format!(" on {host}"), format!(" ({host})"))
    };
    if lines.is_empty() {
        return language.pick(
            format!("{path}{place} has no lines{filter}."),
            format!("{path}{place}에 해당하는 줄이 없습니다{filter}."),
        );
    }
    let mut head = language.pick(
        format!("The last {} lines of {path}{filter}{place}:", lines.len()),
        format!("{path}의 마지막 {}줄{filter}{place}:", lines.len()),
    );
    for note in list(data, &["notes"]).iter().filter_map(Value::as_str).take(3) {
        head.push_str(&format!(" {}", name(note)));
    }
    format!("{head}\n\n{}", block(&lines.join("\n")))
}

pub(super) fn file(data: &Value, args: &Value, host: &str, language: Language) -> String {
    let path = inline(string(data, &["path"]).or_else(|| string(args, &["path"])).unwrap_or("?"), 200);
    let place = if host.is_empty() {
        String::new()
    } else {
        language.pick(format!(" on {host}"), format!(" ({host})"))
    };
    let size = float(data, "size").map(bytes).unwrap_or_default();
    let owner = format!(
        "{}:{} {}",
        name(string(data, &["owner"]).unwrap_or("?")),
        name(string(data, &["group"]).unwrap_or("?")),
        name(string(data, &["mode"]).unwrap_or("?"))
    );
    let modified = string(data, &["modified"]).map(moment).unwrap_or_default();
    let mut out = language.pick(
        format!("{path}{place}: {size}, {owner}, changed {modified}."),
        format!("{path}{place}: {size}, {owner}, 수정 {modified}."),
    );
    if string(data, &["encoding"]) == Some("base64") {
        out.push_str(
            language
                .pick(" It is not text, so it is not shown here.", " 텍스트가 아니어서 표시하지 않습니다."),
        );
        return out;
    }
    let content = string(data, &["content"]).unwrap_or("");
    let cut: String = content.chars().take(MAX_CONTENT).collect();
    let whole_file = data.get("end").and_then(Value::as_bool).unwrap_or(true) && cut.len() == content.len();
    if !whole_file {
        let shown = whole(data, "bytes").unwrap_or(cut.len() as u64).min(cut.len() as u64);
        out.push_str(&language.pick(
            format!(" The first {} are shown.", bytes(shown as f64)),
            format!(" 처음 {}만 표시합니다.", bytes(shown as f64)),
        ));
    }
    out.push_str(&format!("\n\n{}", block(&cut)));
    out
}
