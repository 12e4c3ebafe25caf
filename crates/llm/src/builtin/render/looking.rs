//! Results of `probe_ping`, `host_files`, `host_sockets` and `host_netns_inspect`.

use super::text::{name, table};
use super::units::{bytes, float, list, millis, moment, string, whole};
use crate::builtin::route::Language;
use serde_json::Value;

const MAX_ROWS: usize = 30;

pub(super) fn ping(data: &Value, from: &str, language: Language) -> String {
    let target = name(string(data, &["host"]).unwrap_or("?"));
    let (sent, received) = (whole(data, "sent").unwrap_or(0), whole(data, "received").unwrap_or(0));
    if sent == 0 {
        let why = name(string(data, &["error"]).unwrap_or("?"));
        return language.pick(
            format!("**{target}** could not be pinged{from}: {why}."),
            format!("**{target}**에 핑을 보낼 수 없습니다{from}: {why}."),
        );
    }
    let loss = float(data, "loss_percent").unwrap_or(100.0);
    let times = data.get("rtt_ms").map(|times| {
        let time = |key: &str| float(times, key).map(millis).unwrap_or_default();
        format!("{} / {} / {} (± {})", time("min"), time("avg"), time("max"), time("mdev"))
    });
    let times = times.map(|times| format!(", min / avg / max {times}")).unwrap_or_default();
    if received == 0 {
        return language.pick(
            format!("No: **{target}** did not answer any of {sent} pings{from}. A firewall may drop them."),
            format!("아니요, **{target}**이(가) 핑 {sent}번에 모두 응답하지 않았습니다{from}. 방화벽이 막을 수도 있습니다."),
        );
    }
    language.pick(
        format!("**{target}** answered {received} of {sent} pings{from} ({loss} % loss{times})."),
        format!("**{target}**이(가) 핑 {sent}번 중 {received}번 응답했습니다{from}(손실 {loss} %{times})."),
    )
}

pub(super) fn files(data: &Value, host: &str, language: Language) -> String {
    let mut out = Vec::new();
    for path in list(data, &["paths"]) {
        let shown = name(string(path, &["path"]).unwrap_or("?"));
        if let Some(error) = string(path, &["error"]) {
            out.push(format!("**{shown}**: {}", name(error)));
            continue;
        }
        let disk = whole(path, "disk_bytes").map(|disk| bytes(disk as f64)).unwrap_or_default();
        if let Some(facts) = path.get("facts") {
            let fact = |key: &str| string(facts, &[key]).map(name).unwrap_or_default();
            let size =
                whole(path, "size_bytes").map(|size| bytes(size as f64)).unwrap_or_else(|| disk.clone());
            out.push(format!(
                "**{shown}**: {size}, {} {}:{}, {}",
                fact("mode"),
                fact("owner"),
                fact("group"),
                string(facts, &["modified"]).map(moment).unwrap_or_default()
            ));
            continue;
        }
        let files = whole(path, "files").unwrap_or(0);
        out.push(language.pick(
            format!("**{shown}** on {host}: {disk} on disk, {files} files."),
            format!("{host} **{shown}**: 디스크 {disk}, 파일 {files}개."),
        ));
        entries(list(path, &["entries"]), &mut out, language);
    }
    entries(list(data, &["largest"]), &mut out, language);
    if let Some(unread) =
        data.get("unread").and_then(|unread| whole(unread, "count")).filter(|count| *count > 0)
    {
        out.push(language.pick(
            format!("{unread} places could not be read, so there may be more."),
            format!("{unread}곳은 읽을 수 없었으므로 더 있을 수 있습니다."),
        ));
    }
    out.extend(list(data, &["notes"]).iter().filter_map(Value::as_str).map(name));
    out.join("\n\n")
}

fn entries(entries: &[Value], out: &mut Vec<String>, language: Language) {
    if entries.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .take(MAX_ROWS)
        .map(|entry| {
            vec![
                whole(entry, "disk_bytes").map(|disk| bytes(disk as f64)).unwrap_or_default(),
                string(entry, &["path"]).map(name).unwrap_or_default(),
                string(entry, &["kind"]).map(name).unwrap_or_default(),
                string(entry, &["modified"]).map(moment).unwrap_or_default(),
            ]
        })
        .collect();
    let head = language.pick(["on disk", "path", "kind", "modified"], ["크기", "경로", "종류", "수정"]);
    out.push(table(&head, &rows));
}

pub(super) fn sockets(data: &Value, host: &str, language: Language) -> String {
    let sockets = list(data, &["sockets"]);
    let matched = whole(data, "matched").unwrap_or(0);
    let mut out = vec![if sockets.is_empty() {
        language.pick(format!("No such sockets on {host}."), format!("{host}에 그런 소켓이 없습니다."))
    } else {
        language.pick(format!("{matched} sockets on {host}:"), format!("{host} 소켓 {matched}개:"))
    }];
    if !sockets.is_empty() {
        let rows: Vec<Vec<String>> = sockets
            .iter()
            .take(MAX_ROWS)
            .map(|socket| {
                let processes: Vec<String> = list(socket, &["processes"])
                    .iter()
                    .map(|process| {
                        let called = string(process, &["name"]).map(name).unwrap_or_default();
                        format!("{called} (pid {})", whole(process, "pid").unwrap_or(0))
                    })
                    .collect();
                vec![
                    string(socket, &["protocol"]).map(name).unwrap_or_default(),
                    string(socket, &["state"]).map(name).unwrap_or_default(),
                    string(socket, &["local"]).map(name).unwrap_or_default(),
                    string(socket, &["remote"]).map(name).unwrap_or_default(),
                    processes.join(", "),
                ]
            })
            .collect();
        let head = language.pick(
            ["protocol", "state", "local", "remote", "process"],
            ["프로토콜", "상태", "로컬", "원격", "프로세스"],
        );
        out.push(table(&head, &rows));
    }
    out.extend(list(data, &["notes"]).iter().filter_map(Value::as_str).map(name));
    out.join("\n\n")
}

pub(super) fn namespaces(data: &Value, host: &str, language: Language) -> String {
    let total = whole(data, "total").unwrap_or(0);
    let mut rows = Vec::new();
    for namespace in list(data, &["namespaces"]) {
        let called = string(namespace, &["namespace"]).map(name).unwrap_or_default();
        if let Some(error) = string(namespace, &["error"]) {
            rows.push(vec![called.clone(), String::new(), name(error)]);
        }
        for link in list(namespace, &["links"]) {
            let addresses: Vec<String> =
                list(link, &["addresses"]).iter().filter_map(Value::as_str).map(name).collect();
            rows.push(vec![
                called.clone(),
                string(link, &["name"]).map(name).unwrap_or_default(),
                addresses.join(", "),
            ]);
        }
    }
    rows.truncate(MAX_ROWS);
    let head = language.pick(["namespace", "link", "addresses"], ["네임스페이스", "인터페이스", "주소"]);
    let said = language.pick(
        format!("{total} network namespaces on {host}:"),
        format!("{host} 네트워크 네임스페이스 {total}개:"),
    );
    format!("{said}\n\n{}", table(&head, &rows))
}
