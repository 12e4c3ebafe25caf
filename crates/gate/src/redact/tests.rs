use super::*;
use proptest::prelude::*;
use serde_json::json;

fn redactor() -> Redactor {
    Redactor::new(MasterKey::from_bytes([9; 32]), &["(?i)badge number ([0-9]{6})".to_owned()]).unwrap()
}

/// The text with the digits of marks hidden.
fn shown(text: &str) -> String {
    let digits = Regex::new(":[0-9a-f]{4}]").unwrap();
    digits.replace_all(&redactor().redact(text), "]").into_owned()
}

#[test]
fn known_secrets_are_named_by_their_kind_and_the_rest_of_the_text_stays() {
    for (text, expected) in [
        ("key AKIAIOSFODNN7EXAMPLE used", "key [redacted:aws-key-id] used"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [redacted:password]",
        ),
        ("Authorization: Bearer abc.def-ghi_123456", "Authorization: Bearer [redacted:bearer]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:authorization]"),
        ("postgres://app:s3cr3t!@db:5432/shop", "postgres://app:[redacted:url-password]@db:5432/shop"),
        ("redis://:hunter2@cache:6379", "redis://:[redacted:url-password]@cache:6379"),
        ("Server=db;User Id=sa;Password=p@ss,w0rd;", "Server=db;User Id=sa;Password=[redacted:password];"),
        (
            "https://x.example/?user=1&token=abc&n=2",
            "https://x.example/?user=1&token=[redacted:password]&n=2",
        ),
        (r#"{"password": "a\"b c", "n": 1}"#, r#"{"password": "[redacted:password]", "n": 1}"#),
        (r#"{\"password\": \"abc\", \"n\": 1}"#, r#"{\"password\": \"[redacted:password]\", \"n\": 1}"#),
        ("export DB_PASSWORD='two words'", "export DB_PASSWORD='[redacted:password]'"),
        ("mysqld --password hunter2 --port 3306", "mysqld --password [redacted:password] --port 3306"),
        ("mysql -u root -phunter2 shop", "mysql -u root -p[redacted:password] shop"),
        ("curl -u ann:hunter2 https://x", "curl -u ann:[redacted:password] https://x"),
        ("Set-Cookie: session=abc; HttpOnly", "Set-Cookie: [redacted:cookie]"),
        ("info: password=abc", "info: password=[redacted:password]"),
        ("badge number 123456 seen", "badge number [redacted:custom] seen"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\nafter",
            "[redacted:private-key]\nafter",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "[redacted:private-key]"),
        ("MIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----\nx", "[redacted:private-key]\nx"),
    ] {
        assert_eq!(shown(text), expected);
    }
}

#[test]
fn texts_without_secrets_stay_as_they_are() {
    for text in [
        "http://registry:5000/image@sha256:abcdef",
        "max_tokens: 25000, token_type: x",
        "password: null",
        "password=${DB_PASSWORD}",
        "PWD=/root/work",
        "the auth-token expired, and Bearer authentication failed",
        "nginx.service: Failed with result 'exit-code'.",
        "sshd: Accepted publickey for root from 10.0.0.1 port 51234 ssh2: ED25519 SHA256:abcdef",
        "primary key: 17",
        "12:04:05 user ann logged in",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ] {
        assert_eq!(redactor().redact(text), text);
    }
}

#[test]
fn a_secret_has_the_same_mark_everywhere_and_other_secrets_have_others() {
    let redactor = redactor();
    let first = redactor.redact("password=one").into_owned();
    assert_eq!(redactor.redact("password=one"), first);
    assert_ne!(redactor.redact("password=two"), first);
    let other = Redactor::new(MasterKey::from_bytes([1; 32]), &[]).unwrap();
    assert_ne!(other.redact("password=one"), first);
}

#[test]
fn values_under_sensitive_keys_are_taken_out_whole_whatever_they_look_like() {
    let value = json!({
        "password": "x", "db": {"pass_word": "kept", "apiKey": "a b c", "pin_secret": 1234, "token": null},
        "credentials": {"user": "ann", "list": ["p", "q"]}, "max_tokens": 7, "note": "ok",
    });
    let redacted = redactor().redact_value(&value);
    let text = Regex::new(":[0-9a-f]{4}]").unwrap().replace_all(&redacted.to_string(), "]").into_owned();
    insta::assert_snapshot!(text, @r#"{"password":"[redacted:password]","db":{"pass_word":"kept","apiKey":"[redacted:password]","pin_secret":"[redacted:password]","token":null},"credentials":{"user":"[redacted:password]","list":["[redacted:password]","[redacted:password]"]},"max_tokens":7,"note":"ok"}"#);
}

#[test]
fn a_private_key_over_several_lines_of_a_list_is_taken_out_of_all_of_them() {
    let lines = [
        "first",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "b3BlbnNzaC1rZXktdjEAAAAA",
        "QyNTUxOQAAACBx",
        "-----END OPENSSH PRIVATE KEY-----",
        "last",
    ];
    let entries: Vec<Value> =
        lines.iter().map(|line| json!({"time": "2030-01-01T00:00:00Z", "message": line})).collect();
    for value in [json!({"lines": lines}), json!({"entries": entries})] {
        let text = redactor().redact_value(&value).to_string();
        assert!(!text.contains("b3BlbnNzaC1rZXktdjEAAAAA") && !text.contains("QyNTUxOQAAACBx"), "{text}");
        assert!(text.contains("first") && text.contains("last"), "{text}");
        assert_eq!(text.matches("2030-01-01").count(), if value["entries"].is_null() { 0 } else { 6 });
    }
}

#[test]
fn the_value_of_an_option_in_a_list_of_arguments_is_taken_out() {
    let redacted = redactor()
        .redact_value(&json!({"argv": ["app", "--db-password", "hunter2x", "--port", "80"], "PWD": "/root"}));
    assert!(redacted["argv"][2].as_str().unwrap().starts_with("[redacted:password:"), "{redacted}");
    assert_eq!((&redacted["argv"][4], &redacted["PWD"]), (&json!("80"), &json!("/root")));
}

#[test]
fn marks_are_found_anywhere_in_arguments() {
    let mark = redactor().redact("password=x").into_owned();
    assert!(Redactor::holds_placeholder(&json!({"a": [{"b": mark}]})));
    assert!(!Redactor::holds_placeholder(&json!({"a": "[redacted]"})));
}

#[test]
fn a_configured_pattern_must_be_a_regular_expression() {
    assert!(Redactor::new(MasterKey::from_bytes([9; 32]), &["(".to_owned()]).is_err());
}

#[test]
fn large_texts_are_done_in_reasonable_time() {
    let text = "2030-01-01 level=info msg=\"request done\" status=200 path=/a/b/c user=ann\n".repeat(30_000);
    let started = std::time::Instant::now();
    assert_eq!(redactor().redact(&text), text);
    assert!(started.elapsed() < std::time::Duration::from_secs(60), "{:?}", started.elapsed());
}

/// Secrets of every kind that has a form of its own.
fn formed_secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "AKIA[A-Z0-9]{16}",
        "AIza[0-9A-Za-z_-]{35}",
        "ghp_[A-Za-z0-9]{36}",
        "github_pat_[A-Za-z0-9_]{30}",
        "glpat-[A-Za-z0-9_-]{20}",
        "xoxb-[0-9]{10}-[A-Za-z0-9]{12}",
        "sk-ant-api03-[A-Za-z0-9_-]{40}",
        "sk-proj-[A-Za-z0-9_-]{40}",
        "sk_live_[A-Za-z0-9]{24}",
        "eyJ[A-Za-z0-9_-]{20}\\.eyJ[A-Za-z0-9_-]{20}\\.[A-Za-z0-9_-]{20}",
        "-----BEGIN RSA PRIVATE KEY-----\n[A-Za-z0-9+/]{64}\n[A-Za-z0-9+/]{20}==\n-----END RSA PRIVATE KEY-----",
    ]
}

/// What stands around a secret in logs, configuration and JSON.
fn around() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ -~\n]{0,40}[ \n\"'=(,:]", "[가-힣 ]{0,8} "]
}

proptest! {
    #[test]
    fn no_secret_with_a_form_of_its_own_survives(before in around(), secret in formed_secret(), after in "([ \n\"',)].{0,40})?") {
        let text = format!("{before}{secret}{after}");
        let redacted = redactor().redact(&text).into_owned();
        prop_assert!(!redacted.contains(&secret), "{}", redacted);
        let value = redactor().redact_value(&json!({"out": [text]})).to_string();
        prop_assert!(!value.contains(&secret), "{}", value);
    }

    #[test]
    fn no_password_of_an_assignment_survives(
        name in "(DB_|my-|app\\.)?(password|PASSWD|secret|api_key|apiKey|client_secret|access_token|Token)",
        separator in "(=|: | = |: \"|=')",
        secret in "[A-Za-z0-9!#$%*+./<>?@^_~-]{6,24}[A-Z][0-9][a-z]",
        before in "([a-z ]{0,20} )?",
    ) {
        let closing = separator.chars().next_back().filter(|c| matches!(c, '"' | '\'')).map(String::from).unwrap_or_default();
        let text = format!("{before}{name}{separator}{secret}{closing}\nnext line");
        let redacted = redactor().redact(&text).into_owned();
        prop_assert!(!redacted.contains(&secret), "{}", redacted);
        prop_assert!(redacted.ends_with("next line"));
    }

    #[test]
    fn no_password_of_a_url_survives(user in "[a-z]{0,8}", secret in "[A-Za-z!$%*+._~-]{6,20}", scheme in "(postgres|mysql|amqps|https|mongodb\\+srv)") {
        let text = format!("dsn {scheme}://{user}:{secret}@db.internal:1/x?y=1");
        let redacted = redactor().redact(&text).into_owned();
        prop_assert!(!redacted.contains(&secret), "{}", redacted);
        prop_assert!(redacted.contains("@db.internal:1/x"));
    }

    #[test]
    fn redacting_twice_changes_nothing(text in prop::collection::vec(prop_oneof![formed_secret(), "[ -~\n]{0,30}", ".{0,10}", Just("password=".to_owned()), Just("[redacted:x:abcd]".to_owned()), Just("Bearer ".to_owned())], 0..8)) {
        let redactor = redactor();
        let once = redactor.redact(&text.concat()).into_owned();
        prop_assert_eq!(redactor.redact(&once), once.as_str());
    }

    #[test]
    fn redacting_a_value_twice_changes_nothing(text in ".{0,60}", key in "[a-z_]{1,12}") {
        let redactor = redactor();
        let once = redactor.redact_value(&json!({key: [text.clone(), {"password": text}]}));
        prop_assert_eq!(redactor.redact_value(&once), once);
    }
}
