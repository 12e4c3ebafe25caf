//! How much of single fields of a result a model is shown. The whole is stored, and `read_result` pages through it.

use serde_json::{Value, json};

/// Tool, field, and the most bytes of it.
const FIELDS: &[(&str, &str, usize)] = &[
    ("bash", "stdout", 64 * 1024),
    ("bash", "stderr", 16 * 1024),
    // For programs, not for reading.
    ("capture_pcap", "pcap_base64", 0),
];

/// Shortens the fields that a model needs only the beginning of, and says so beside them.
pub(crate) fn shorten(tool: &str, mut result: Value) -> Value {
    for (_, field, most) in FIELDS.iter().filter(|(owner, ..)| *owner == tool) {
        let Some(Value::String(text)) = result.get_mut(field) else { continue };
        let whole = text.len();
        if whole > *most {
            text.truncate(text.floor_char_boundary(*most));
            let shown = text.len();
            result[format!("{field}_shown")] =
                json!(format!("the first {shown} of {whole} bytes; read_result has all"));
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_streams_of_a_command_are_shortened_at_a_character() {
        let result = json!({"stdout": "한".repeat(30_000), "stderr": "e".repeat(20_000), "exit_code": 0});
        let shown = shorten("bash", result.clone());
        let length = |field: &str| shown[field].as_str().unwrap().len();
        assert_eq!((length("stdout"), length("stderr")), (65_535, 16_384));
        assert!(shown["stdout_shown"].as_str().unwrap().contains("of 90000 bytes"));
        assert_eq!(shorten("read_file", result.clone()), result);
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        let result = json!({"stdout": "ok", "stderr": ""});
        assert_eq!(shorten("bash", result.clone()), result);
        assert_eq!(shorten("capture_pcap", json!({"pcap_base64": "AAAA"}))["pcap_base64"], "");
    }
}
