//! Results of `host_load` and `host_processes`.

use super::text::{inline, name, table};
use super::units::{bytes, float, list, seconds, string, whole};
use crate::builtin::route::Language;
use serde_json::Value;

const MAX_ROWS: usize = 40;
/// Above these shares something is worth a remark, in percent.
const BUSY: f64 = 85.0;

pub(super) fn load(data: &Value, host: &str, language: Language) -> String {
    let figures = Figures::of(data);
    let verdict = figures.verdict(language);
    let host = if host.is_empty() {
        string(data, &["hostname"]).map(name).unwrap_or_default()
    } else {
        host.to_owned()
    };
    let uptime = whole(data, "uptime_seconds").map(|up| seconds(up, language)).unwrap_or_default();
    let mut out = language.pick(
        format!(
            "**{host}** {verdict}: CPU {:.0} % of {} cores, load {:.2}, memory {:.0} % used, up {uptime}.",
            figures.cpu, figures.cores, figures.one, figures.memory
        ),
        format!(
            "**{host}**: {verdict}. CPU {:.0} % (코어 {}개), 부하 {:.2}, 메모리 {:.0} % 사용, 가동 {uptime}.",
            figures.cpu, figures.cores, figures.one, figures.memory
        ),
    );
    let memory = data.get("memory").unwrap_or(&Value::Null);
    let swap = data.get("swap").unwrap_or(&Value::Null);
    let averages = data.get("load").unwrap_or(&Value::Null);
    let cpu = data.get("cpu").unwrap_or(&Value::Null);
    let share = |part: &Value| match (float(part, "used"), float(part, "total")) {
        (Some(used), Some(total)) if total > 0.0 => {
            format!("{} / {} ({:.0} %)", bytes(used), bytes(total), float(part, "percent").unwrap_or(0.0))
        }
        _ => "–".to_owned(),
    };
    let mut rows = vec![
        vec![
            language.pick("load (1, 5, 15 min)", "부하 (1, 5, 15분)").to_owned(),
            format!(
                "{:.2}, {:.2}, {:.2}",
                float(averages, "one").unwrap_or(0.0),
                float(averages, "five").unwrap_or(0.0),
                float(averages, "fifteen").unwrap_or(0.0)
            ),
        ],
        vec![
            "CPU".to_owned(),
            format!(
                "{:.1} % (user {:.1}, system {:.1}, iowait {:.1}, steal {:.1})",
                figures.cpu,
                float(cpu, "user_percent").unwrap_or(0.0),
                float(cpu, "system_percent").unwrap_or(0.0),
                float(cpu, "iowait_percent").unwrap_or(0.0),
                float(cpu, "steal_percent").unwrap_or(0.0)
            ),
        ],
        vec![language.pick("memory", "메모리").to_owned(), share(memory)],
        vec![language.pick("swap", "스왑").to_owned(), share(swap)],
    ];
    for (resource, pressure) in data.get("pressure").and_then(Value::as_object).into_iter().flatten().take(4)
    {
        rows.push(vec![
            format!("{} ({})", language.pick("pressure", "압박"), name(resource)),
            format!(
                "{:.1} % (10 s), {:.1} % (60 s)",
                float(pressure, "some_10s").unwrap_or(0.0),
                float(pressure, "some_60s").unwrap_or(0.0)
            ),
        ]);
    }
    if let Some(limit) = data.get("container").filter(|container| container.is_object()) {
        let memory =
            float(limit, "memory_percent").map_or_else(String::new, |percent| format!(", {percent:.0} %"));
        rows.push(vec![
            language.pick("container memory", "컨테이너 메모리").to_owned(),
            format!("{}{memory}", float(limit, "memory_used").map(bytes).unwrap_or_default()),
        ]);
    }
    for sensor in list(data, &["temperatures"]).iter().take(4) {
        rows.push(vec![
            format!(
                "{} {}",
                language.pick("temperature", "온도"),
                name(string(sensor, &["sensor"]).unwrap_or(""))
            ),
            format!("{:.0} °C", float(sensor, "celsius").unwrap_or(0.0)),
        ]);
    }
    out.push_str(&format!("\n\n{}", table(&language.pick(["measure", "value"], ["항목", "값"]), &rows)));
    out.push_str(&filesystems(data, language));
    out.push_str(&devices(data, language));
    out
}

fn filesystems(data: &Value, language: Language) -> String {
    let mut measured: Vec<&Value> =
        list(data, &["filesystems"]).iter().filter(|system| float(system, "percent").is_some()).collect();
    measured.sort_by(|one, other| {
        float(other, "percent").unwrap_or(0.0).total_cmp(&float(one, "percent").unwrap_or(0.0))
    });
    if measured.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = measured
        .iter()
        .take(12)
        .map(|system| {
            vec![
                inline(string(system, &["mount"]).unwrap_or(""), 80),
                float(system, "size").map(bytes).unwrap_or_default(),
                float(system, "available").map(bytes).unwrap_or_default(),
                format!("{:.0} %", float(system, "percent").unwrap_or(0.0)),
            ]
        })
        .collect();
    format!(
        "\n\n{}",
        table(
            &language.pick(["file system", "size", "free", "used"], ["파일 시스템", "크기", "남음", "사용"]),
            &rows
        )
    )
}

fn devices(data: &Value, language: Language) -> String {
    let rate = |device: &Value, key: &str| {
        float(device, key).map(|amount| format!("{}/s", bytes(amount))).unwrap_or_default()
    };
    let mut rows = Vec::new();
    for disk in list(data, &["disks"]).iter().take(6) {
        rows.push(vec![
            name(string(disk, &["name"]).unwrap_or("")),
            rate(disk, "read_bytes_per_second"),
            rate(disk, "written_bytes_per_second"),
            format!("{:.0} %", float(disk, "busy_percent").unwrap_or(0.0)),
        ]);
    }
    for interface in list(data, &["network"]).iter().take(6) {
        rows.push(vec![
            name(string(interface, &["name"]).unwrap_or("")),
            rate(interface, "received_bytes_per_second"),
            rate(interface, "sent_bytes_per_second"),
            String::new(),
        ]);
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\n\n{}",
        table(
            &language.pick(
                ["device", "read / received", "written / sent", "busy"],
                ["장치", "읽기/수신", "쓰기/송신", "사용 중"]
            ),
            &rows
        )
    )
}

struct Figures {
    cpu: f64,
    cores: u64,
    one: f64,
    memory: f64,
    fullest: Option<(String, f64)>,
}

impl Figures {
    fn of(data: &Value) -> Self {
        let part = |key: &str| data.get(key).unwrap_or(&Value::Null);
        let fullest = list(data, &["filesystems"])
            .iter()
            .filter_map(|system| Some((inline(string(system, &["mount"])?, 80), float(system, "percent")?)))
            .max_by(|one, other| one.1.total_cmp(&other.1));
        Self {
            cpu: float(part("cpu"), "percent").unwrap_or(0.0),
            cores: whole(part("cpu"), "cores").unwrap_or(0),
            one: float(part("load"), "one").unwrap_or(0.0),
            memory: float(part("memory"), "percent").unwrap_or(0.0),
            fullest,
        }
    }

    fn verdict(&self, language: Language) -> String {
        let mut problems = Vec::new();
        let loaded = self.cores > 0 && self.one > self.cores as f64 * 1.5;
        if self.cpu > BUSY || loaded {
            problems.push(language.pick("its CPU is overloaded".to_owned(), "CPU가 과부하입니다".to_owned()));
        }
        if self.memory > BUSY {
            problems.push(
                language.pick("memory is nearly used up".to_owned(), "메모리가 거의 찼습니다".to_owned()),
            );
        }
        if let Some((mount, percent)) = self.fullest.as_ref().filter(|(_, percent)| *percent > BUSY) {
            problems.push(language.pick(
                format!("{mount} is {percent:.0} % full"),
                format!("{mount}가 {percent:.0} % 찼습니다"),
            ));
        }
        if !problems.is_empty() {
            return language.pick(
                format!("needs a look ({})", problems.join(", ")),
                format!("확인이 필요합니다({})", problems.join(", ")),
            );
        }
        if self.cpu > 50.0 {
            language.pick("is busy", "바쁘지만 괜찮습니다").to_owned()
        } else {
            language.pick("is not heavily loaded", "부하가 높지 않습니다").to_owned()
        }
    }
}

/// One row for each host, for several at once.
pub(super) fn load_rows(hosts: &[(String, &Value)], language: Language) -> String {
    let rows: Vec<Vec<String>> = hosts
        .iter()
        .map(|(host, data)| {
            let figures = Figures::of(data);
            vec![
                host.clone(),
                format!("{:.2}", figures.one),
                format!("{:.0} %", figures.cpu),
                format!("{:.0} %", figures.memory),
                figures
                    .fullest
                    .as_ref()
                    .map(|(mount, percent)| format!("{mount} {percent:.0} %"))
                    .unwrap_or_default(),
                figures.verdict(language),
            ]
        })
        .collect();
    table(
        &language.pick(
            ["host", "load", "CPU", "memory", "fullest disk", ""],
            ["호스트", "부하", "CPU", "메모리", "가장 찬 디스크", ""],
        ),
        &rows,
    )
}

pub(super) fn processes(data: &Value, args: &Value, host: &str, language: Language) -> String {
    let listed = list(data, &["processes"]);
    let matched = whole(data, "matched").unwrap_or(listed.len() as u64);
    let total = whole(data, "total").unwrap_or(0);
    let place = if host.is_empty() {
        String::new()
    } else {
        language.pick(format!(" on {host}"), format!(" ({host})"))
    };
    let wanted = string(args, &["name"]).map(name);
    let Some(first) = listed.first() else {
        return match wanted {
            Some(wanted) => language.pick(
                format!("No process matches {wanted}{place}."),
                format!("{wanted}에 해당하는 프로세스가 없습니다{place}."),
            ),
            None => language
                .pick(format!("No process matches{place}."), format!("해당하는 프로세스가 없습니다{place}.")),
        };
    };
    let sort = string(args, &["sort_by"]).unwrap_or("cpu");
    let lead = name(string(first, &["name"]).unwrap_or("?"));
    let pid = whole(first, "pid").unwrap_or(0);
    let amount = match sort {
        "mem" => format!(
            "{} ({:.1} %)",
            float(first, "memory_bytes").map(bytes).unwrap_or_default(),
            float(first, "memory_percent").unwrap_or(0.0)
        ),
        "io" => format!(
            "{}/s",
            bytes(
                float(first, "read_bytes_per_second").unwrap_or(0.0)
                    + float(first, "written_bytes_per_second").unwrap_or(0.0)
            )
        ),
        "fds" => format!("{}", whole(first, "open_files").unwrap_or(0)),
        _ => format!("{:.1} %", float(first, "cpu_percent").unwrap_or(0.0)),
    };
    let what = match sort {
        "mem" => language.pick("memory", "메모리"),
        "io" => language.pick("disk I/O", "디스크 I/O"),
        "fds" => language.pick("open files", "열린 파일"),
        _ => "CPU",
    };
    let mut out = match wanted {
        Some(wanted) => language.pick(format!("{matched} of {total} processes match {wanted}{place}; **{lead}** (pid {pid}) uses most {what}: {amount}."), format!("프로세스 {total}개 중 {matched}개가 {wanted}에 해당합니다{place}. {what}을(를) 가장 많이 쓰는 것은 **{lead}** (pid {pid}): {amount}.")),
        None => language.pick(format!("**{lead}** (pid {pid}) uses most {what}{place}: {amount}. {total} processes in all."), format!("{what}을(를) 가장 많이 쓰는 것은 **{lead}** (pid {pid}): {amount}{place}. 전체 프로세스 {total}개.")),
    };
    let extra = match sort {
        "io" => language.pick("read / written per s", "초당 읽기/쓰기"),
        "fds" => language.pick("open files", "열린 파일"),
        _ => language.pick("unit", "유닛"),
    };
    let rows: Vec<Vec<String>> = listed
        .iter()
        .take(MAX_ROWS)
        .map(|process| {
            let last = match sort {
                "io" => format!(
                    "{} / {}",
                    float(process, "read_bytes_per_second").map(bytes).unwrap_or_else(|| "–".to_owned()),
                    float(process, "written_bytes_per_second").map(bytes).unwrap_or_else(|| "–".to_owned())
                ),
                "fds" => {
                    whole(process, "open_files").map_or_else(|| "–".to_owned(), |count| count.to_string())
                }
                _ => string(process, &["unit"]).map(name).unwrap_or_default(),
            };
            vec![
                whole(process, "pid").unwrap_or(0).to_string(),
                inline(string(process, &["command", "name"]).unwrap_or(""), 80),
                name(string(process, &["user"]).unwrap_or("")),
                format!("{:.1} %", float(process, "cpu_percent").unwrap_or(0.0)),
                float(process, "memory_bytes").map(bytes).unwrap_or_default(),
                last,
            ]
        })
        .collect();
    let head = language.pick(
        ["pid", "command", "user", "CPU", "memory", extra],
        ["pid", "명령", "사용자", "CPU", "메모리", extra],
    );
    out.push_str(&format!("\n\n{}", table(&head, &rows)));
    if listed.len() > MAX_ROWS {
        out.push_str(&format!("\n\n… +{}", listed.len() - MAX_ROWS));
    }
    out
}

/// The start time of a process in a list of processes, whether of one host or of a batch.
pub(in crate::builtin) fn start_time(data: &Value, pid: u64) -> Option<Value> {
    let of_list = |data: &Value| {
        list(data, &["processes"])
            .iter()
            .find(|process| whole(process, "pid") == Some(pid))
            .and_then(|process| process.get("start_time").cloned())
    };
    of_list(data)
        .or_else(|| list(data, &["hosts"]).iter().filter_map(|host| host.get("result")).find_map(of_list))
}
