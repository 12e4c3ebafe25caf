//! What the router says by itself: greetings, help, questions back, and what it can't do. English and Korean.

use super::concept::Concept::*;
use super::text::is_hangul;
use super::token::Token;
use super::tools::Tools;
use super::{Route, RoutedCall, mentions};
use serde_json::Value;

/// The language to answer in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Korean.
    Korean,
}

impl Language {
    /// Korean if `text` holds any Korean, else English.
    pub fn of(text: &str) -> Self {
        if text
            .chars()
            .any(|character| is_hangul(character) || ('\u{1100}'..='\u{11FF}').contains(&character))
        {
            Self::Korean
        } else {
            Self::English
        }
    }

    /// Chooses between the two texts.
    pub fn pick<T>(self, english: T, korean: T) -> T {
        match self {
            Self::English => english,
            Self::Korean => korean,
        }
    }
}

/// What is missing before a call can be made.
pub(super) enum Question {
    Details(String),
    Port(Option<String>),
    Domain,
    Url,
    Service,
    WhichDatabase,
    RestartOrReboot(String),
    Pid(Option<String>),
    WhichResult,
    NoPing(Option<String>),
}

/// The question in words. Names in it are quoted.
pub(super) fn ask(question: &Question, language: Language) -> String {
    let english = match question {
        Question::Details(tool) => format!(
            "I can't fill in all that `{tool}` needs. Could you say it in more detail, or use `/{tool} name=value …`?"
        ),
        Question::Port(Some(place)) => format!(
            "Which port of {} should I try: 22 (ssh), 80 (http), 443 (https), or another?",
            quoted(place)
        ),
        Question::Port(None) => {
            "Which port should I try, and where? For example: \"is port 22 open on localhost?\"".to_owned()
        }
        Question::Domain => "Which name should I look up? For example: \"resolve example.com\"".to_owned(),
        Question::Url => {
            "Which address should I request? For example: \"check https://example.com\"".to_owned()
        }
        Question::Service => "Which service do you mean? For example: \"restart nginx\"".to_owned(),
        Question::WhichDatabase => {
            "Which database do you mean: postgresql, mysql, mariadb, mongod or redis?".to_owned()
        }
        Question::RestartOrReboot(host) => format!(
            "Do you want to reboot the host {}, or restart a service on it (which one)?",
            quoted(host)
        ),
        Question::Pid(Some(name)) => format!(
            "Which process of {} do you mean? I need its pid; \"show {} processes\" lists them.",
            quoted(name),
            plain(name)
        ),
        Question::Pid(None) => {
            "Which process do you mean? I need its pid; \"show processes\" lists them.".to_owned()
        }
        Question::WhichResult => {
            "Which result do you mean? Ask the question again, or give the id of its call.".to_owned()
        }
        Question::NoPing(Some(place)) => format!(
            "I can't send ICMP pings, but I can try a TCP port. Which port of {}: 22, 80, 443, or another?",
            quoted(place)
        ),
        Question::NoPing(None) => "Which host should I ping? For example: \"ping 10.0.0.1\"".to_owned(),
    };
    let korean = match question {
        Question::Details(tool) => format!(
            "`{tool}`에 필요한 정보가 부족합니다. 조금 더 자세히 말씀해 주시거나 `/{tool} 이름=값 …`으로 실행해 주시겠어요?"
        ),
        Question::Port(Some(place)) => format!(
            "{}의 어느 포트를 확인할까요? 22(ssh), 80(http), 443(https) 또는 다른 포트를 알려 주세요.",
            quoted(place)
        ),
        Question::Port(None) => {
            "어디의 어느 포트를 확인할까요? 예: \"localhost 22번 포트 열려 있어?\"".to_owned()
        }
        Question::Domain => "어떤 이름을 조회할까요? 예: \"example.com 조회해줘\"".to_owned(),
        Question::Url => "어떤 주소를 확인할까요? 예: \"https://example.com 확인해줘\"".to_owned(),
        Question::Service => "어떤 서비스를 말씀하시나요? 예: \"nginx 재시작해줘\"".to_owned(),
        Question::WhichDatabase => {
            "어떤 데이터베이스인가요? postgresql, mysql, mariadb, mongod, redis 중에서 골라 주세요."
                .to_owned()
        }
        Question::RestartOrReboot(host) => format!(
            "호스트 {}를 재부팅할까요, 아니면 그 위의 서비스를 재시작할까요(어떤 서비스인가요)?",
            quoted(host)
        ),
        Question::Pid(Some(name)) => format!(
            "{}의 어느 프로세스인가요? pid가 필요합니다. \"{} 프로세스 보여줘\"로 목록을 볼 수 있습니다.",
            quoted(name),
            plain(name)
        ),
        Question::Pid(None) => {
            "어느 프로세스인가요? pid가 필요합니다. \"프로세스 보여줘\"로 목록을 볼 수 있습니다.".to_owned()
        }
        Question::WhichResult => {
            "어떤 결과를 말씀하시나요? 질문을 다시 하시거나 호출 id를 알려 주세요.".to_owned()
        }
        Question::NoPing(Some(place)) => format!(
            "ICMP 핑은 보낼 수 없지만 TCP 포트는 확인할 수 있습니다. {}의 어느 포트를 볼까요? 22, 80, 443 또는 다른 포트?",
            quoted(place)
        ),
        Question::NoPing(None) => "어느 호스트에 핑을 보낼까요? 예: \"10.0.0.1 핑 쳐봐\"".to_owned(),
    };
    language.pick(english, korean)
}

/// A name in backticks, with nothing in it that could end them.
fn quoted(name: &str) -> String {
    format!("`{}`", plain(name))
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(|character| !matches!(character, '`' | '<' | '>' | '|' | '*' | '[' | ']'))
        .take(80)
        .collect()
}

pub(super) fn cannot_shut_down(language: Language) -> String {
    language
        .pick("I can't switch a host off. I can propose a reboot (\"reboot web-1\") or stopping one service (\"stop nginx\").", "호스트를 끌 수는 없습니다. 재부팅(\"web-1 재부팅해줘\")이나 서비스 중지(\"nginx 중지해줘\")는 제안할 수 있습니다.")
        .to_owned()
}

pub(super) fn cannot_change(language: Language) -> String {
    language
        .pick(
            "I have no tool that does this: I can look at hosts (load, processes, services, logs, files, network) and propose to restart a service, signal a process, reboot a host, run a command (run `uptime`), write or remove a file.",
            "그 일을 하는 도구가 없습니다. 호스트의 부하, 프로세스, 서비스, 로그, 파일, 네트워크를 볼 수 있고, 서비스 재시작, 프로세스 종료, 재부팅, 명령 실행(`uptime` 실행해줘), 파일 쓰기와 삭제를 제안할 수 있습니다.",
        )
        .to_owned()
}

pub(super) fn not_offered(tool: &str, language: Language) -> String {
    language.pick(
        format!("The tool `{tool}` isn't available in this chat."),
        format!("이 대화에서는 `{tool}` 도구를 쓸 수 없습니다."),
    )
}

/// Answers a text that asks for no call.
pub(super) fn talk(tokens: &[Token], declined: bool, language: Language, tools: &Tools<'_>) -> Route {
    let says = |english: &str, korean: &str| language.pick(english, korean).to_owned();
    let reply = if mentions(tokens, Identity) {
        says(
            "I am Steadyhand's builtin assistant: a fixed set of rules, not a language model. I match your words to the tools of your hosts.",
            "저는 Steadyhand의 내장 도우미입니다. 언어 모델이 아니라 정해진 규칙으로, 하신 말씀을 호스트의 도구와 맞춥니다.",
        )
    } else if mentions(tokens, Help) {
        help(language, tools)
    } else if declined {
        says(
            "All right, I won't do that. Nothing was changed.",
            "알겠습니다. 그 작업은 하지 않겠습니다. 바뀐 것은 없습니다.",
        )
    } else if mentions(tokens, No) && tokens.len() <= 4 {
        says("All right, nothing was done.", "알겠습니다. 아무것도 하지 않았습니다.")
    } else if mentions(tokens, Thanks) {
        says("You're welcome.", "천만에요.")
    } else if mentions(tokens, Bye) {
        says("Goodbye.", "안녕히 가세요.")
    } else if mentions(tokens, Greet) && tokens.len() <= 6 {
        format!(
            "{}\n{}",
            says(
                "Hello. I am the builtin assistant (rules, no language model). Ask me about your hosts, for example:",
                "안녕하세요. 내장 도우미입니다(언어 모델이 아닌 규칙 기반). 호스트에 대해 물어보세요. 예:"
            ),
            examples(language)
        )
    } else {
        format!(
            "{}\n{}",
            says(
                "I didn't find a tool for that. I am a rule-based assistant, not a language model: I answer questions about hosts, such as:",
                "그 말씀에 맞는 도구를 찾지 못했습니다. 저는 언어 모델이 아닌 규칙 기반 도우미이며, 호스트에 대한 질문에 답합니다. 예:",
            ),
            examples(language)
        )
    };
    Route { calls: Vec::new(), reply, asks: false }
}

fn examples(language: Language) -> &'static str {
    language.pick(
        "- how loaded is this host?\n- what is eating memory?\n- why is nginx failing?\n- show the last errors in the journal\n- is port 22 open on localhost?",
        "- 이 호스트 부하 어때?\n- 메모리 많이 쓰는 프로세스 보여줘\n- nginx 왜 죽었어?\n- 최근 에러 로그 보여줘\n- localhost 22번 포트 열려 있어?",
    )
}

fn help(language: Language, tools: &Tools<'_>) -> String {
    let intro = language.pick(
        "I match your words to tools and show what they answer. I am a set of rules, not a language model. Some things to ask:",
        "하신 말씀을 도구와 맞추어 결과를 보여 드립니다. 저는 언어 모델이 아니라 규칙입니다. 이렇게 물어보세요:",
    );
    let names: Vec<String> = tools.all().iter().map(|tool| format!("`/{}`", tool.name)).take(40).collect();
    let slash =
        language.pick("Every tool can also be called directly:", "모든 도구는 직접 부를 수도 있습니다:");
    if names.is_empty() {
        format!("{intro}\n{}", examples(language))
    } else {
        format!("{intro}\n{}\n\n{slash} {}", examples(language), names.join(", "))
    }
}

/// Says in one sentence what the calls are for.
pub(super) fn announce(calls: &[RoutedCall], language: Language) -> String {
    let mut parts: Vec<String> = Vec::new();
    for call in calls {
        let part = describe(call, language);
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    match language {
        Language::English => {
            let joined = parts.join(", then ");
            let mut letters = joined.chars();
            let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
            format!("{first}{}.", letters.as_str())
        }
        Language::Korean => {
            format!("{} 확인합니다.", parts.join(", ")).replace("제안 확인합니다", "제안합니다")
        }
    }
}

fn describe(call: &RoutedCall, language: Language) -> String {
    let word = |key: &str| call.args.get(key).and_then(Value::as_str).map(quoted);
    let runs_on = if call.tool == "probe_ping" { "edge" } else { "host" };
    let host = match call.args.get(runs_on).and_then(Value::as_str) {
        Some("all") => language.pick(" on all hosts".to_owned(), " (모든 호스트)".to_owned()),
        Some(name) => language.pick(format!(" on {}", quoted(name)), format!(" ({})", quoted(name))),
        None => String::new(),
    };
    let main = match call.tool.as_str() {
        "probe_tcp" => {
            word("target").map(|target| language.pick(format!("trying {target}"), format!("{target} 연결")))
        }
        "probe_dns" => {
            word("name").map(|name| language.pick(format!("looking up {name}"), format!("{name} DNS 조회")))
        }
        "probe_http" => {
            word("url").map(|url| language.pick(format!("requesting {url}"), format!("{url} 응답")))
        }
        "probe_ping" => {
            word("host").map(|host| language.pick(format!("pinging {host}"), format!("{host} 핑")))
        }
        "host_files" => {
            call.args.get("paths").and_then(|paths| paths.get(0)).and_then(Value::as_str).map(|path| {
                let path = quoted(path);
                language.pick(format!("looking at the files of {path}"), format!("{path} 파일"))
            })
        }
        "host_sockets" => Some(language.pick("listing sockets".to_owned(), "소켓".to_owned())),
        "host_netns_inspect" => Some(
            language.pick("looking at the network namespaces".to_owned(), "네트워크 네임스페이스".to_owned()),
        ),
        "tail_file" => word("path")
            .map(|path| language.pick(format!("reading the end of {path}"), format!("{path} 끝부분"))),
        "read_file" => {
            word("path").map(|path| language.pick(format!("reading {path}"), format!("{path} 내용")))
        }
        "read_journal" => Some(match word("unit") {
            Some(unit) => language.pick(format!("reading the journal of {unit}"), format!("{unit} 저널")),
            None => language.pick("reading the journal".to_owned(), "저널".to_owned()),
        }),
        "host_load" => Some(language.pick("measuring the load".to_owned(), "부하".to_owned())),
        "host_processes" => Some(language.pick("listing processes".to_owned(), "프로세스".to_owned())),
        "service_status" => Some(match word("service") {
            Some(unit) => language.pick(format!("looking at the status of {unit}"), format!("{unit} 상태")),
            None => language.pick("looking at the services".to_owned(), "서비스 상태".to_owned()),
        }),
        "query_edges" => Some(language.pick("looking at the hosts".to_owned(), "호스트 목록".to_owned())),
        "restart_service" => word("service").map(|service| {
            let action = call.args.get("action").and_then(Value::as_str).unwrap_or("restart");
            language.pick(format!("proposing to {action} {service}"), format!("{service} {action} 제안"))
        }),
        "kill_process" => {
            Some(language.pick("proposing to signal the process".to_owned(), "프로세스 종료 제안".to_owned()))
        }
        "bash" => word("command")
            .map(|command| language.pick(format!("running {command}"), format!("{command} 실행"))),
        "git_operations" => word("operation")
            .map(|operation| language.pick(format!("asking git ({operation})"), format!("git {operation}"))),
        "write_file" => word("path")
            .map(|path| language.pick(format!("proposing to write {path}"), format!("{path} 쓰기 제안"))),
        "remove_path" => word("path")
            .map(|path| language.pick(format!("proposing to remove {path}"), format!("{path} 삭제 제안"))),
        "capture_pcap" => word("interface").map(|interface| {
            language.pick(
                format!("proposing to capture packets on {interface}"),
                format!("{interface} 패킷 캡처 제안"),
            )
        }),
        "reboot_host" => Some(language.pick("proposing a reboot".to_owned(), "재부팅 제안".to_owned())),
        _ => None,
    };
    format!(
        "{}{host}",
        main.unwrap_or_else(|| language
            .pick(format!("calling {}", quoted(&call.tool)), format!("{} 호출", quoted(&call.tool))))
    )
}
