//! What operators type, with the calls that answer it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use llm::builtin::{Route, RouteContext, compiled_in_tools, route, route_json};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const PHRASINGS: &str = include_str!("builtin_phrasings.tsv");
const TYPOS: &str = include_str!("builtin_typos.tsv");

fn rows(table: &str) -> Vec<(&str, &str)> {
    table
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once('\t').unwrap_or_else(|| panic!("no tab in {line:?}")))
        .collect()
}

/// The calls in the notation of the tables.
fn notation(route: &Route) -> String {
    if route.calls.is_empty() {
        return if route.asks { "ask" } else { "none" }.to_owned();
    }
    let calls = route.calls.iter().map(|call| {
        let args = call.args.as_object().into_iter().flatten().filter(|(key, _)| *key != "reason").map(
            |(key, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                if text.contains(' ') { format!(" {key}=\"{text}\"") } else { format!(" {key}={text}") }
            },
        );
        format!("{}{}", call.tool, args.collect::<String>())
    });
    calls.collect::<Vec<_>>().join(" ; ")
}

fn check(table: &str) {
    let tools = compiled_in_tools();
    let wrong: Vec<String> = rows(table)
        .into_iter()
        .filter_map(|(text, wanted)| {
            let got = notation(&route(text, &RouteContext { tools: &tools, hosts: &[], now: None }));
            (got != wanted).then(|| format!("{text}\n  wanted {wanted}\n  got    {got}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} phrasings went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_phrasing_finds_its_calls() {
    check(PHRASINGS);
}

#[test]
fn mistyped_words_find_their_calls_too() {
    check(TYPOS);
}

#[test]
fn the_tables_are_broad() {
    let phrasings = rows(PHRASINGS);
    let texts: BTreeSet<&str> = phrasings.iter().map(|(text, _)| *text).collect();
    assert_eq!(texts.len(), phrasings.len(), "a phrasing is there twice");
    let korean =
        texts.iter().filter(|text| text.chars().any(|letter| ('가'..='힣').contains(&letter))).count();
    let without = phrasings.iter().filter(|(_, wanted)| matches!(*wanted, "ask" | "none")).count();
    assert!(texts.len() >= 300 && korean >= 100 && without >= 30, "{} {korean} {without}", texts.len());
    assert!(rows(TYPOS).len() >= 40);
    for tool in compiled_in_tools().iter().filter(|tool| tool.name != "read_result") {
        assert!(
            phrasings.iter().any(|(_, wanted)| wanted.contains(&tool.name)),
            "no phrasing for {}",
            tool.name
        );
    }
}

#[test]
fn the_command_line_gets_one_line_of_json() {
    let line = route_json("restart nginx on web-1 because it leaks memory");
    assert!(!line.contains('\n'));
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        answer["calls"],
        json!([{"tool": "restart_service", "args": {
            "host": "web-1", "service": "nginx", "reason": "it leaks memory", "action": "restart",
        }}])
    );
    assert!(answer["reply"].as_str().unwrap().contains("nginx"));
}

#[test]
fn it_never_claims_to_be_a_language_model() {
    let tools = compiled_in_tools();
    for (text, wanted) in [
        ("are you an LLM?", "not a language model"),
        ("who are you", "not a language model"),
        ("너 인공지능이야?", "언어 모델이 아니라"),
    ] {
        let routed = route(text, &RouteContext { tools: &tools, hosts: &[], now: None });
        assert!(routed.reply.contains(wanted), "{text}: {}", routed.reply);
    }
}

#[test]
fn questions_back_name_the_choices() {
    let tools = compiled_in_tools();
    for (text, choices) in [
        ("restart web-1", &["reboot", "service"][..]),
        ("is the database up?", &["postgresql", "mysql", "redis"]),
        ("ping it", &["ping 10.0.0.1"]),
        ("디비 왜 죽었어", &["postgresql", "mysql"]),
    ] {
        let routed = route(text, &RouteContext { tools: &tools, hosts: &[], now: None });
        assert!(routed.asks && routed.reply.contains('?'), "{text}: {}", routed.reply);
        for choice in choices {
            assert!(routed.reply.contains(choice), "{text}: {}", routed.reply);
        }
    }
}

#[test]
fn a_host_of_the_inventory_is_known_by_its_name() {
    let tools = compiled_in_tools();
    let hosts = ["bigbox".to_owned(), "Seoul".to_owned()];
    let context = RouteContext { tools: &tools, hosts: &hosts, now: None };
    assert_eq!(notation(&route("how loaded is bigbox?", &context)), "host_load host=bigbox");
    assert_eq!(notation(&route("seoul 부하 어때", &context)), "host_load host=seoul");
}

#[test]
fn a_tool_that_is_not_offered_is_not_called() {
    let tools: Vec<_> = compiled_in_tools().into_iter().filter(|tool| tool.name == "host_load").collect();
    let routed = route("is nginx running?", &RouteContext { tools: &tools, hosts: &[], now: None });
    assert!(routed.calls.is_empty());
    assert!(routed.reply.contains("service_status"), "{}", routed.reply);
}

#[test]
fn times_of_the_clock_reach_the_journal() {
    let tools = compiled_in_tools();
    // 2026-05-04, 15:00 UTC
    let now = model::Timestamp::from_timestamp(1_777_906_800, 0);
    for (text, since, until) in [
        ("show the nginx logs on web-1 since 14:30", "2026-05-04T14:30:00Z", None),
        (
            "show the nginx logs on web-1 between 9:00 and 10:00",
            "2026-05-04T09:00:00Z",
            Some("2026-05-04T10:00:00Z"),
        ),
        ("web-1에서 오후 2시부터 nginx 로그 보여줘", "2026-05-04T14:00:00Z", None),
    ] {
        let routed = route(text, &RouteContext { tools: &tools, hosts: &[], now });
        let call = routed.calls.iter().find(|call| call.tool == "read_journal");
        let args = &call.unwrap_or_else(|| panic!("{text}: {routed:?}")).args;
        assert_eq!((args["since"].as_str(), args["until"].as_str()), (Some(since), until), "{text}: {args}");
    }
}
