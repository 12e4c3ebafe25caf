//! Results of `probe_tcp`, `probe_dns` and `probe_http`.

use super::text::{block, inline, name, table};
use super::units::{bytes, float, list, millis, moment, string, whole};
use crate::builtin::route::Language;
use serde_json::Value;

/// Longest part of a body that is shown, in characters.
const MAX_BODY: usize = 1_500;
const MAX_ROWS: usize = 30;

fn why(kind: &str, language: Language) -> &'static str {
    match kind {
        "refused" => language
            .pick("nothing listens there (connection refused)", "듣고 있는 프로그램이 없습니다(연결 거부)"),
        "timeout" => language.pick(
            "no answer in time; a firewall may drop it, or the host is down",
            "시간 안에 응답이 없습니다. 방화벽이 막거나 호스트가 꺼져 있을 수 있습니다",
        ),
        "unreachable" => language.pick("there is no route to it", "경로가 없습니다"),
        "dns" => language.pick("the name has no address", "이름의 주소를 찾을 수 없습니다"),
        "tls" => language.pick("the TLS handshake failed", "TLS 연결에 실패했습니다"),
        "protocol" => language.pick("what answered doesn't speak HTTP", "응답이 HTTP가 아닙니다"),
        _ => language.pick("it failed", "실패했습니다"),
    }
}

pub(super) fn tcp(data: &Value, from: &str, language: Language) -> String {
    let target = name(string(data, &["target"]).unwrap_or("?"));
    let attempts = list(data, &["attempts"]);
    let open = data.get("open").and_then(Value::as_bool).unwrap_or(false);
    let succeeded = whole(data, "succeeded").unwrap_or(0);
    let total = attempts.len() as u64;
    let mut out = if open {
        let time = data.get("connect_ms").and_then(|spread| float(spread, "avg")).map(millis);
        let address = attempts.iter().find_map(|attempt| string(attempt, &["address"])).map(name);
        let details: Vec<String> = address.into_iter().chain(time).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        language.pick(
            format!("Yes: **{target}** accepts connections{from}{details}."),
            format!("네, **{target}** 포트가 열려 있습니다{from}{details}."),
        )
    } else if succeeded > 0 {
        language.pick(
            format!("Partly: {succeeded} of {total} attempts reached **{target}**{from}."),
            format!("일부만 됩니다: {total}번 중 {succeeded}번 **{target}**에 연결되었습니다{from}."),
        )
    } else {
        let kind = attempts.iter().find_map(|attempt| string(attempt, &["error_kind"])).unwrap_or("other");
        language.pick(
            format!("No: **{target}** does not accept connections{from}: {}.", why(kind, language)),
            format!("아니요, **{target}**에 연결할 수 없습니다{from}: {}.", why(kind, language)),
        )
    };
    if attempts.len() > 1 {
        let rows: Vec<Vec<String>> = attempts
            .iter()
            .take(MAX_ROWS)
            .map(|attempt| {
                vec![
                    whole(attempt, "attempt").unwrap_or(0).to_string(),
                    string(attempt, &["address"]).map(name).unwrap_or_default(),
                    float(attempt, "connect_ms").map(millis).unwrap_or_default(),
                    string(attempt, &["error", "error_kind"]).map(name).unwrap_or_default(),
                ]
            })
            .collect();
        let head = language.pick(["#", "address", "time", "error"], ["#", "주소", "시간", "오류"]);
        out.push_str(&format!("\n\n{}", table(&head, &rows)));
    }
    out
}

pub(super) fn dns(data: &Value, from: &str, language: Language) -> String {
    let asked = name(string(data, &["name"]).unwrap_or("?").trim_end_matches('.'));
    let kind = name(string(data, &["type"]).unwrap_or("A"));
    let records = list(data, &["records"]);
    let server = string(data, &["server"]).map(name).unwrap_or_default();
    let code = string(data, &["response_code"]);
    let time = float(data, "time_ms").map(millis).unwrap_or_default();
    let mut out = match (code, records.is_empty()) {
        (None, _) => language.pick(
            format!("No DNS server answered for **{asked}**{from}."),
            format!("**{asked}**에 대해 응답한 DNS 서버가 없습니다{from}."),
        ),
        (Some("NXDOMAIN"), _) => language.pick(
            format!("The name **{asked}** does not exist (NXDOMAIN, from {server}, {time})."),
            format!("**{asked}**라는 이름은 없습니다(NXDOMAIN, {server}, {time})."),
        ),
        (Some(code), true) => language.pick(
            format!("**{asked}** has no {kind} records ({}, from {server}, {time}).", name(code)),
            format!("**{asked}**에는 {kind} 레코드가 없습니다({}, {server}, {time}).", name(code)),
        ),
        (Some(_), false) => {
            let values: Vec<String> = records
                .iter()
                .filter(|record| string(record, &["type"]) == string(data, &["type"]))
                .take(5)
                .filter_map(|record| string(record, &["value"]))
                .map(|value| inline(value, 120))
                .collect();
            let values = values.join(", ");
            language.pick(
                format!("**{asked}** {kind}: {values} (from {server}, {time})."),
                format!("**{asked}** {kind}: {values} ({server}, {time})."),
            )
        }
    };
    if records.len() > 1 {
        let rows: Vec<Vec<String>> = records
            .iter()
            .take(MAX_ROWS)
            .map(|record| {
                vec![
                    string(record, &["name"]).map(name).unwrap_or_default(),
                    string(record, &["type"]).map(name).unwrap_or_default(),
                    whole(record, "ttl").map(|ttl| format!("{ttl} s")).unwrap_or_default(),
                    string(record, &["value"]).map(|value| inline(value, 200)).unwrap_or_default(),
                ]
            })
            .collect();
        let head = language.pick(["name", "type", "TTL", "value"], ["이름", "종류", "TTL", "값"]);
        out.push_str(&format!("\n\n{}", table(&head, &rows)));
    }
    let own: Vec<String> = list(data, &["hosts_file"]).iter().filter_map(Value::as_str).map(name).collect();
    if !own.is_empty() {
        out.push_str(&language.pick(
            format!("\n\nThe host's own /etc/hosts says: {}.", own.join(", ")),
            format!("\n\n호스트의 /etc/hosts에는: {}.", own.join(", ")),
        ));
    }
    for failure in list(data, &["failures"]).iter().filter_map(Value::as_str).take(4) {
        out.push_str(&format!("\n- {}", name(failure)));
    }
    out
}

pub(super) fn http(data: &Value, from: &str, language: Language) -> String {
    let url = inline(string(data, &["url"]).unwrap_or("?"), 200);
    let timings = data.get("timings_ms").unwrap_or(&Value::Null);
    let total = float(timings, "total").map(millis).unwrap_or_default();
    let status = whole(data, "status");
    let mut out = match status {
        Some(status) => {
            let words = string(data, &["status_text"]).map(name).unwrap_or_default();
            let verdict = match status {
                200..=299 => language.pick("is up", "정상 응답합니다"),
                300..=399 => language.pick("redirects", "다른 주소로 보냅니다"),
                400..=499 => {
                    language.pick("answers, but refuses the request", "응답하지만 요청을 거절합니다")
                }
                _ => language.pick("answers with a server error", "서버 오류로 응답합니다"),
            };
            language.pick(
                format!("{url} {verdict}: **{status} {words}** in {total}{from}."),
                format!("{url} {verdict}: **{status} {words}**, {total}{from}."),
            )
        }
        None => {
            let kind = string(data, &["error_kind"]).unwrap_or("other");
            language.pick(
                format!("{url} did not answer{from}: {}.", why(kind, language)),
                format!("{url}이(가) 응답하지 않습니다{from}: {}.", why(kind, language)),
            )
        }
    };
    if let Some(error) = string(data, &["error"]) {
        out.push_str(&format!(" {}", name(error)));
    }
    if let Some(location) = string(data, &["location"]) {
        out.push_str(&format!(" → {}", inline(location, 200)));
    }
    if let Some(tls) = data.get("tls").filter(|tls| tls.is_object()) {
        out.push_str(&format!("\n\n{}", certificate(tls, language)));
    }
    let steps: Vec<(&str, &str)> = vec![
        ("dns", "DNS"),
        ("connect", language.pick("connect", "연결")),
        ("tls", "TLS"),
        ("first_byte", language.pick("first byte", "첫 바이트")),
        ("body", language.pick("body", "본문")),
        ("total", language.pick("total", "전체")),
    ];
    let (head, cells): (Vec<&str>, Vec<String>) = steps
        .iter()
        .filter_map(|(key, label)| float(timings, key).map(|amount| (*label, millis(amount))))
        .unzip();
    if !head.is_empty() {
        out.push_str(&format!("\n\n{}", table(&head, &[cells])));
    }
    for redirect in list(data, &["redirects"]).iter().take(6) {
        out.push_str(&format!(
            "\n- {} → {}",
            whole(redirect, "status").unwrap_or(0),
            inline(string(redirect, &["location"]).unwrap_or(""), 200)
        ));
    }
    if let Some(size) = whole(data, "body_bytes").filter(|size| *size > 0) {
        out.push_str(&language.pick(
            format!("\n\nBody: {}.", bytes(size as f64)),
            format!("\n\n본문: {}.", bytes(size as f64)),
        ));
    }
    let html = data
        .get("headers")
        .and_then(|headers| string(headers, &["content-type"]))
        .is_some_and(|kind| kind.contains("html"));
    if let Some(body) = string(data, &["body"]).filter(|_| !html) {
        let cut: String = body.chars().take(MAX_BODY).collect();
        out.push_str(&format!("\n\n{}", block(&cut)));
    }
    out
}

fn certificate(tls: &Value, language: Language) -> String {
    let version = string(tls, &["version"]).map(name).unwrap_or_default();
    let verified = tls.get("verified").and_then(Value::as_bool).unwrap_or(false);
    let leaf = list(tls, &["chain"]).first();
    let until = leaf.and_then(|leaf| string(leaf, &["not_after"])).map(moment).unwrap_or_default();
    let issuer = leaf.and_then(|leaf| string(leaf, &["issuer"])).map(name).unwrap_or_default();
    let left = tls.get("days_left").and_then(Value::as_i64);
    let validity = match left {
        Some(days) if days < 0 => {
            language.pick(format!("**expired {} days ago**", -days), format!("**{}일 전에 만료됨**", -days))
        }
        Some(days) if days < 15 => {
            language.pick(format!("**expires in {days} days**"), format!("**{days}일 뒤 만료**"))
        }
        Some(days) => language.pick(format!("valid for {days} more days"), format!("{days}일 남음")),
        None => String::new(),
    };
    let check = if verified {
        language.pick("verified", "검증됨")
    } else {
        language.pick("**not trusted**", "**신뢰할 수 없음**")
    };
    let mut out = language.pick(
        format!("Certificate: {validity} (until {until}), {check}, issued by {issuer}; {version}."),
        format!("인증서: {validity} ({until}까지), {check}, 발급자 {issuer}; {version}."),
    );
    for problem in list(tls, &["problems"]).iter().take(5) {
        out.push_str(&format!("\n- {}", name(string(problem, &["message", "kind"]).unwrap_or(""))));
    }
    out
}
