//! Finds whose processes are meant, which text is to be looked for, and which file has no path.

use super::concept::Concept::*;
use super::facts::Facts;
use super::token::{self, Kind, Token};
use super::{lexicon, names};

const USERS: &[&str] = &[
    "root",
    "www-data",
    "nobody",
    "ubuntu",
    "admin",
    "debian",
    "ec2-user",
    "daemon",
    "syslog",
    "systemd",
    "steadyhand",
];

/// Files that people name without a path. Checked in order, as whole words.
const KNOWN_FILES: &[(&str, &str)] = &[
    ("hosts file", "/etc/hosts"),
    ("etc hosts", "/etc/hosts"),
    ("호스트 파일", "/etc/hosts"),
    ("호스트파일", "/etc/hosts"),
    ("hosts 파일", "/etc/hosts"),
    ("resolv.conf", "/etc/resolv.conf"),
    ("fstab", "/etc/fstab"),
    ("os-release", "/etc/os-release"),
    ("os release", "/etc/os-release"),
    ("sshd config", "/etc/ssh/sshd_config"),
    ("sshd_config", "/etc/ssh/sshd_config"),
    ("ssh config", "/etc/ssh/sshd_config"),
    ("sshd 설정", "/etc/ssh/sshd_config"),
    ("ssh 설정", "/etc/ssh/sshd_config"),
    ("nginx config", "/etc/nginx/nginx.conf"),
    ("nginx conf", "/etc/nginx/nginx.conf"),
    ("nginx.conf", "/etc/nginx/nginx.conf"),
    ("nginx 설정", "/etc/nginx/nginx.conf"),
    ("nginx configuration", "/etc/nginx/nginx.conf"),
    ("haproxy.cfg", "/etc/haproxy/haproxy.cfg"),
    ("haproxy config", "/etc/haproxy/haproxy.cfg"),
    ("redis config", "/etc/redis/redis.conf"),
    ("redis.conf", "/etc/redis/redis.conf"),
    ("crontab file", "/etc/crontab"),
    ("motd", "/etc/motd"),
    ("passwd file", "/etc/passwd"),
    ("sudoers", "/etc/sudoers"),
    ("sysctl.conf", "/etc/sysctl.conf"),
    ("my.cnf", "/etc/mysql/my.cnf"),
    ("mysql config", "/etc/mysql/my.cnf"),
];

/// Logs that people name without a path.
const KNOWN_LOGS: &[(&str, &str)] = &[
    ("auth.log", "/var/log/auth.log"),
    ("auth log", "/var/log/auth.log"),
    ("kern.log", "/var/log/kern.log"),
    ("dpkg.log", "/var/log/dpkg.log"),
    ("dpkg log", "/var/log/dpkg.log"),
    ("nginx access log", "/var/log/nginx/access.log"),
    ("nginx access logs", "/var/log/nginx/access.log"),
    ("nginx access.log", "/var/log/nginx/access.log"),
    ("access log of nginx", "/var/log/nginx/access.log"),
    ("access.log", "/var/log/nginx/access.log"),
    ("nginx 접속 로그", "/var/log/nginx/access.log"),
    ("nginx 액세스 로그", "/var/log/nginx/access.log"),
    ("nginx error.log", "/var/log/nginx/error.log"),
    ("error.log of nginx", "/var/log/nginx/error.log"),
    ("apache access log", "/var/log/apache2/access.log"),
    ("apache access logs", "/var/log/apache2/access.log"),
    ("apache error.log", "/var/log/apache2/error.log"),
    ("tail syslog", "/var/log/syslog"),
    ("syslog file", "/var/log/syslog"),
    ("syslog 파일", "/var/log/syslog"),
    ("messages file", "/var/log/messages"),
    ("mail.log", "/var/log/mail.log"),
    ("mail log", "/var/log/mail.log"),
    ("cloud-init.log", "/var/log/cloud-init.log"),
    ("cloud-init-output.log", "/var/log/cloud-init-output.log"),
    ("apt history", "/var/log/apt/history.log"),
    ("tail the syslog", "/var/log/syslog"),
];

/// Whether `name` is a user of most systems.
pub(super) fn is_user(name: &str) -> bool {
    USERS.contains(&name)
}

/// The path of a file that is named without one.
pub(super) fn known_file(tokens: &[Token]) -> Option<&'static str> {
    let joined = join_words(tokens);
    lookup(KNOWN_FILES, &joined).or_else(|| lookup(KNOWN_LOGS, &joined))
}

fn lookup(table: &[(&str, &'static str)], joined: &str) -> Option<&'static str> {
    table
        .iter()
        .find(|(name, _)| {
            joined.contains(&format!(" {name} ")) || !name.is_ascii() && joined.contains(&format!(" {name}"))
        })
        .map(|(_, path)| *path)
}

fn join_words(tokens: &[Token]) -> String {
    let mut out = String::from(" ");
    for token in tokens {
        out.push_str(&token.low);
        out.push(' ');
    }
    out
}

/// Whose processes are meant.
pub(super) fn user_of(tokens: &[Token], facts: &Facts) -> Option<String> {
    if let Some((_, value)) = facts.pairs.iter().find(|(key, _)| key == "user") {
        return Some(value.clone());
    }
    let is_name = |token: &Token| {
        matches!(token.kind, Kind::Word | Kind::Mention | Kind::Quoted)
            && (token.concepts.is_empty()
                || USERS.contains(&token.low.as_str())
                || names::service(&token.low).is_some())
            && (!lexicon::is_common(&token.low) || USERS.contains(&token.low.as_str()))
    };
    for (at, token) in tokens.iter().enumerate() {
        let by = matches!(token.low.as_str(), "user" | "as" | "owner" | "유저" | "사용자")
            || token.concepts.has(User) && !token.low.ends_with("users");
        if by {
            let ahead = tokens[at + 1..].iter().take(4).find(|next| {
                !matches!(
                    next.low.as_str(),
                    "the" | "user" | "by" | "to" | "as" | "owned" | "run" | "account" | "called" | "named"
                )
            });
            let explicit = matches!(token.low.as_str(), "user" | "유저" | "사용자" | "owned" | "belonging");
            if let Some(name) = ahead.filter(|next| {
                is_name(next)
                    || explicit
                        && next.kind == Kind::Word
                        && !next.concepts.any(&[Process, Show, On, Of, Eat, Most])
            }) {
                return Some(name.text.clone());
            }
            if let Some(name) =
                at.checked_sub(1).map(|index| &tokens[index]).filter(|previous| is_name(previous))
            {
                return Some(name.text.clone());
            }
        }
        if matches!(token.low.as_str(), "by" | "for")
            && let Some(name) = tokens.get(at + 1).filter(|next| USERS.contains(&next.low.as_str()))
        {
            return Some(name.text.clone());
        }
    }
    tokens.iter().find(|token| USERS[..3].contains(&token.low.as_str())).map(|token| token.text.clone())
}

/// The text to look for.
pub(super) fn grep_of(tokens: &[Token], facts: &Facts) -> Option<String> {
    let free_quote = facts
        .quoted
        .iter()
        .find(|quoted| names::service(&quoted.to_lowercase()).is_none() && !token::is_unit_name(quoted));
    if let Some(quoted) = free_quote {
        return Some(quoted.clone());
    }
    if let Some((_, value)) = facts.pairs.iter().find(|(key, _)| key == "grep" || key == "pattern") {
        return Some(value.clone());
    }
    if facts.any(&[Log, Journal])
        && let Some(at) = tokens.iter().position(|token| token.low == "about")
        && let Some(word) = tokens.get(at + 1).filter(|word| {
            word.kind == Kind::Word
                && word.concepts.is_empty()
                && names::service(&word.low).is_none()
                && !lexicon::is_common(&word.low)
        })
    {
        return Some(word.text.clone());
    }
    if let Some(path) = tokens.iter().position(|token| token.kind == Kind::Path)
        && let Some(at) = tokens.iter().position(|token| token.low == "for").filter(|at| *at > path)
        && let Some(word) = tokens.get(at + 1).filter(|word| {
            let ordinary = word.concepts.any(&[Error, Warn, LastN, Recent, Here, All, Host, Hosts, Since])
                || matches!(word.low.as_str(), "the" | "a" | "an" | "me" | "any");
            matches!(word.kind, Kind::Word | Kind::Number(_))
                && !ordinary
                && !names::looks_like_host(&word.low)
        })
    {
        return Some(word.text.clone());
    }
    let searchable = |token: &Token| {
        matches!(
            token.kind,
            Kind::Word | Kind::Number(_) | Kind::Ip | Kind::Domain | Kind::Hangul | Kind::HostPort(..)
        )
    };
    for (at, token) in tokens.iter().enumerate() {
        if !token.concepts.has(Grep) {
            continue;
        }
        if token.kind == Kind::Hangul {
            // 'timeout 포함', 'timeout이 들어간', 'timeout 찾아줘'
            let mut before = tokens[..at].iter().rev().skip_while(|token| {
                token.kind == Kind::Hangul
                    && (token.glued
                        || token.concepts.any(&[Lines, Log, Only, File])
                        || token.concepts.is_empty() && token.text.chars().count() <= 3)
            });
            if let Some(word) = before.next().filter(|word| {
                matches!(word.kind, Kind::Word | Kind::Number(_) | Kind::Ip)
                    && names::service(&word.low).is_none()
            }) {
                return Some(word.text.clone());
            }
            if !facts.paths.is_empty()
                && let Some(word) = tokens[..at]
                    .iter()
                    .rev()
                    .find(|word| word.kind == Kind::Hangul && word.concepts.any(&[Error, Warn]))
            {
                return Some(if word.concepts.has(Error) { "error" } else { "warn" }.to_owned());
            }
            continue;
        }
        let ahead = tokens[at + 1..].iter();
        let mut phrase = Vec::new();
        for next in ahead {
            let skip = phrase.is_empty()
                && (matches!(
                    next.low.as_str(),
                    "for"
                        | "the"
                        | "word"
                        | "words"
                        | "a"
                        | "any"
                        | "all"
                        | "lines"
                        | "line"
                        | "with"
                        | "of"
                        | "text"
                        | "string"
                        | "me"
                        | "pattern"
                        | "that"
                        | "contain"
                        | "containing"
                        | "-i"
                        | "-n"
                        | "out"
                        | "-r"
                        | "-e"
                        | "-in"
                        | "entries"
                        | "messages"
                        | "matching"
                        | "mention"
                        | "mentions"
                        | "to"
                        | "last"
                        | "logs"
                        | "log"
                ) || next.concepts.has(Grep) && next.low != "find");
            if skip {
                continue;
            }
            if phrase.is_empty() && next.kind == Kind::Path {
                continue;
            }
            let ends = next.is_break()
                || !searchable(next)
                || matches!(
                    next.low.as_str(),
                    "in" | "on"
                        | "from"
                        | "within"
                        | "inside"
                        | "since"
                        | "at"
                        | "of"
                        | "over"
                        | "during"
                        | "last"
                        | "and"
                        | "for"
                        | "to"
                        | "through"
                );
            if ends {
                break;
            }
            phrase.push(next.text.clone());
            if phrase.len() >= 4 {
                break;
            }
        }
        let generic = [
            "file",
            "files",
            "out",
            "process",
            "processes",
            "cause",
            "reason",
            "issue",
            "issues",
            "problem",
            "problems",
            "logs",
            "log",
            "host",
            "hosts",
            "server",
            "servers",
            "it",
            "ip",
            "address",
            "service",
            "services",
            "why",
            "what",
            "which",
            "who",
            "how",
            "if",
            "whether",
            "pid",
            "my",
            "biggest",
            "top",
            "most",
            "journal",
            "me",
            "is",
            "are",
            "there",
            "failed",
            "where",
        ];
        if let Some(first) = phrase.first()
            && !generic.contains(&first.to_lowercase().as_str())
            && names::service(&first.to_lowercase()).is_none()
        {
            return Some(phrase.join(" "));
        }
    }
    None
}
