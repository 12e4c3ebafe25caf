//! Canonical JSON (RFC 8785) and digests over it.
//!
//! Integers beyond ±2^53 keep their digits, where RFC 8785 would round them: two different arguments must never
//! share a digest.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Writes `value` as canonical JSON: keys sorted by UTF-16 code units, no white space, shortest escapes.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// The SHA-256 of the canonical form, in lower-case hex.
pub fn digest(value: &Value) -> String {
    sha256_hex(to_string(value).as_bytes())
}

/// The SHA-256 of `bytes`, in lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            crate::order::sort_by(&mut keys, |a, b| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_value(out, &fields[key]);
            }
            out.push('}');
        }
    }
}

/// Writes a number as ECMAScript's `Number::toString` does (RFC 8785 §3.2.2.3).
fn write_number(out: &mut String, number: &serde_json::Number) {
    if number.is_i64() || number.is_u64() {
        out.push_str(&number.to_string());
        return;
    }
    let float = number.as_f64().unwrap_or(0.0);
    if float == 0.0 {
        out.push('0');
        return;
    }
    if float < 0.0 {
        out.push('-');
    }
    // `{:e}` gives the shortest digits that read back, as `d.ddde±x`.
    let scientific = format!("{:e}", float.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = i32::try_from(digits.len()).unwrap_or(1);
    let point = exponent + 1;
    if (count..=21).contains(&point) {
        out.push_str(&digits);
        out.extend(std::iter::repeat_n('0', usize::try_from(point - count).unwrap_or(0)));
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        let _ = write!(out, "{whole}.{fraction}");
    } else if (-5..=0).contains(&point) {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', usize::try_from(-point).unwrap_or(0)));
        out.push_str(&digits);
    } else {
        let (first, rest) = digits.split_at(1);
        out.push_str(first);
        if !rest.is_empty() {
            let _ = write!(out, ".{rest}");
        }
        let _ = write!(out, "e{}{}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_and_space_is_gone() {
        let value = json!({"b": [1, 2.5, null], "a": {"z": "\u{1}é\"", "y": true}});
        assert_eq!(to_string(&value), "{\"a\":{\"y\":true,\"z\":\"\\u0001é\\\"\"},\"b\":[1,2.5,null]}");
    }

    #[test]
    fn numbers_are_written_as_ecmascript_writes_them() {
        for (number, text) in [
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (4.5, "4.5"),
            (0.002, "0.002"),
            (0.000_001, "0.000001"),
            (1e-7, "1e-7"),
            (1e-27, "1e-27"),
            (333_333_333.333_333_3, "333333333.3333333"),
            (-0.0, "0"),
            (-1.5e300, "-1.5e+300"),
            (123_456.0, "123456"),
        ] {
            assert_eq!(to_string(&json!(number)), text);
        }
    }

    proptest! {
        #[test]
        fn canonical_json_reads_back_as_the_same_value(text in ".*", number in any::<i64>(), float in -1e300f64..1e300) {
            let value = json!({"t": text, "n": number, "f": float});
            let back: Value = serde_json::from_str(&to_string(&value)).unwrap();
            prop_assert_eq!(&back["t"], &value["t"]);
            prop_assert_eq!(&back["n"], &value["n"]);
            prop_assert_eq!(back["f"].as_f64(), value["f"].as_f64());
        }
    }
}
