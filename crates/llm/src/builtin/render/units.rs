//! Numbers as people read them.

use crate::builtin::route::Language;
use serde_json::Value;

/// Bytes with a binary unit.
pub(super) fn bytes(count: f64) -> String {
    let mut amount = count;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if amount < 1024.0 || unit == "TiB" {
            return if unit == "B" { format!("{amount:.0} B") } else { format!("{amount:.1} {unit}") };
        }
        amount /= 1024.0;
    }
    String::new()
}

/// A length of time in its two largest units.
pub(super) fn seconds(count: u64, language: Language) -> String {
    let parts = [
        (count / 86_400, language.pick("d", "일")),
        (count % 86_400 / 3_600, language.pick("h", "시간")),
        (count % 3_600 / 60, language.pick("min", "분")),
        (count % 60, language.pick("s", "초")),
    ];
    let shown: Vec<String> = parts
        .iter()
        .skip_while(|(amount, _)| *amount == 0)
        .take(2)
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, unit)| format!("{amount} {unit}"))
        .collect();
    if shown.is_empty() { format!("0 {}", parts[3].1) } else { shown.join(" ") }
}

/// Milliseconds.
pub(super) fn millis(amount: f64) -> String {
    if amount >= 1_000.0 {
        format!("{:.2} s", amount / 1_000.0)
    } else if amount >= 10.0 {
        format!("{amount:.0} ms")
    } else {
        format!("{amount:.1} ms")
    }
}

/// A moment of RFC 3339 without its fractions.
pub(super) fn moment(text: &str) -> String {
    let cut = text.split('.').next().unwrap_or(text).trim_end_matches('Z').replace('T', " ");
    super::text::inline(&cut, 40)
}

pub(super) fn float(data: &Value, key: &str) -> Option<f64> {
    data.get(key).and_then(Value::as_f64)
}

pub(super) fn whole(data: &Value, key: &str) -> Option<u64> {
    data.get(key).and_then(Value::as_u64)
}

pub(super) fn string<'a>(data: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| data.get(*key).and_then(Value::as_str)).filter(|text| !text.is_empty())
}

pub(super) fn list<'a>(data: &'a Value, keys: &[&str]) -> &'a [Value] {
    keys.iter().find_map(|key| data.get(*key).and_then(Value::as_array)).map_or(&[], Vec::as_slice)
}
