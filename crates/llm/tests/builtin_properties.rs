//! What holds for any text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use llm::builtin::{MAX_CALLS, RouteContext, compiled_in_tools, place_key, route};
use model::Timestamp;
use proptest::prelude::*;
use skill::{LlmTool, Validator};
use std::sync::LazyLock;

static TOOLS: LazyLock<Vec<LlmTool>> = LazyLock::new(compiled_in_tools);

/// Validators of what remains when hosts, and what is looked up later, are left out.
static VALIDATORS: LazyLock<Vec<(String, Validator)>> = LazyLock::new(|| {
    TOOLS
        .iter()
        .map(|tool| {
            let mut schema = tool.params.clone();
            if let Some(required) = schema["required"].as_array_mut() {
                required.retain(|name| !matches!(name.as_str(), Some("edge_id" | "edge_ids" | "start_time")));
            }
            (tool.name.clone(), Validator::new(&schema).unwrap())
        })
        .collect()
});

fn check(text: &str) {
    let context =
        RouteContext { tools: &TOOLS, hosts: &[], now: Timestamp::from_timestamp(1_777_906_800, 0) };
    let routed = route(text, &context);
    assert_eq!(routed, route(text, &context), "two answers to one text");
    assert!(routed.calls.len() <= MAX_CALLS);
    assert!(!routed.reply.is_empty());
    assert!(routed.reply.chars().count() < 5_000);
    for call in &routed.calls {
        let mut args = call.args.clone();
        let tool = TOOLS.iter().find(|tool| tool.name == call.tool).unwrap();
        args.as_object_mut().unwrap().shift_remove(place_key(tool));
        let (_, validator) = VALIDATORS.iter().find(|(name, _)| *name == call.tool).unwrap();
        validator.check(&args).unwrap_or_else(|problems| panic!("{text}: {} {args}: {problems}", call.tool));
    }
}

/// Words that the router knows, in any order, with odd names between them.
fn sentence() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "restart",
        "nginx",
        "on",
        "web-1",
        "port",
        "99999",
        "22",
        "is",
        "why",
        "failing",
        "kill",
        "-9",
        "4242",
        "reboot",
        "in",
        "5",
        "minutes",
        "last",
        "0",
        "lines",
        "/var/log/syslog",
        "/",
        "grep",
        "\"a b\"",
        "'",
        "\"",
        "errors",
        "since",
        "yesterday",
        "top",
        "memory",
        "https://example.com/?q=1",
        "example.com",
        "[::1]:22",
        "resolve",
        "MX",
        "don't",
        "and",
        ",",
        "?",
        "all hosts",
        "timeout",
        "999999ms",
        "18446744073709551615",
        "count",
        "to",
        "from",
        "db-1:5432",
        "@web-1",
        "@",
        "=",
        "env=prod",
        "재시작",
        "하지",
        "마",
        "로그",
        "보여줘",
        "22번",
        "포트",
        "프로세스",
        "web-1에서",
        "데이터베이스",
        "first",
        "200mb",
        "of",
        "offset",
        "read",
        "user",
        "root",
        "boot",
        "-u",
        "-n",
        "2024-05-01",
        "14:30",
        "half",
        "an",
        "hour",
        "couple",
        "세",
        "시간",
        "전",
    ]);
    prop::collection::vec(words, 0..24).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gets_an_answer_with_valid_calls(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn any_order_of_known_words_gets_an_answer_with_valid_calls(text in sentence()) {
        check(&text);
    }

    #[test]
    fn any_korean_text_gets_an_answer(text in "[가-힣ㄱ-ㅎᄀ-ᇿ 0-9a-z.:/@-]{0,120}") {
        check(&text);
    }
}

#[test]
fn ten_thousand_characters_are_no_trouble() {
    for piece in [
        "a",
        "가",
        "\"",
        "'",
        "/",
        "1 ",
        "restart nginx and ",
        "don't ",
        "[",
        "@x:1 ",
        "메모리",
        "ㄱ",
        "zqxwv ",
        ",",
        "?",
        "1h",
        "::",
    ] {
        let text: String = piece.chars().cycle().take(10_000).collect();
        check(&text);
    }
}

#[test]
fn a_ban_is_never_a_proposal() {
    let changes = ["restart_service", "kill_process", "reboot_host"];
    let bans = [
        "don't {}",
        "do not {}",
        "please don't {}",
        "never {}",
        "you must not {}",
        "whatever happens, do not {}",
        "check the load but don't {}",
        "show the load without trying to {}",
    ];
    for deed in
        ["restart nginx", "kill process 4242", "reboot web-1", "stop docker", "reload haproxy", "kill -9 77"]
    {
        for ban in bans {
            let text = ban.replace("{}", deed);
            let routed = route(
                &text,
                &RouteContext { tools: &TOOLS, hosts: &[], now: Timestamp::from_timestamp(1_777_906_800, 0) },
            );
            assert!(
                !routed.calls.iter().any(|call| changes.contains(&call.tool.as_str())),
                "{text}: {:?}",
                routed.calls
            );
        }
    }
    for text in [
        "nginx 재시작하지 마",
        "nginx는 재시작하지 말아줘",
        "web-1 재부팅은 하지 마세요",
        "프로세스 4242 죽이지 마",
        "재시작하지 말고 nginx 상태만 봐줘",
        "docker 중지하면 안돼",
    ] {
        let routed = route(
            text,
            &RouteContext { tools: &TOOLS, hosts: &[], now: Timestamp::from_timestamp(1_777_906_800, 0) },
        );
        assert!(
            !routed.calls.iter().any(|call| changes.contains(&call.tool.as_str())),
            "{text}: {:?}",
            routed.calls
        );
    }
}
