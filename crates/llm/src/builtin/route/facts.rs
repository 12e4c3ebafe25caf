//! What a clause names: places, services, programs, paths, times, words to look for.

use super::concept::Concept::{self, *};
use super::concept::Concepts;
use super::lexicon;
use super::names;
use super::numbers::{Numbers, named_port};
use super::token::{self, Kind, Token};

/// How a place is named in the sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// `from web-1`, `web-1에서`.
    From,
    /// `on web-1, …` before everything else, or `@web-1`.
    Lead,
    /// `on web-1`, `at web-1`.
    On,
    /// `to web-1`, `web-1까지`.
    To,
    /// `of web-1`, `for web-1`, `web-1의`.
    Of,
    /// Without a preposition.
    Bare,
    /// `using 8.8.8.8`.
    Using,
}

/// What kind of place it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceKind {
    Host,
    Domain,
    Ip,
    Local,
}

/// One place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) kind: PlaceKind,
    pub(super) at: usize,
}

/// A word that is in no list, with what stands before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) after: Concepts,
    /// What the word behind it means.
    pub(super) before: Concepts,
}

/// Everything that a clause names.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) concepts: Concepts,
    pub(super) numbers: Numbers,
    pub(super) urls: Vec<String>,
    pub(super) host_ports: Vec<(String, u16)>,
    pub(super) places: Vec<Place>,
    pub(super) paths: Vec<String>,
    pub(super) services: Vec<String>,
    pub(super) programs: Vec<String>,
    pub(super) quoted: Vec<String>,
    pub(super) unknown: Vec<Unknown>,
    pub(super) named_ports: Vec<u16>,
    pub(super) moments: Vec<String>,
    pub(super) pairs: Vec<(String, String)>,
    pub(super) record_types: Vec<&'static str>,
    pub(super) user: Option<String>,
    pub(super) grep: Option<String>,
    pub(super) all_hosts: bool,
    pub(super) signal: Option<&'static str>,
    pub(super) os: Option<&'static str>,
    pub(super) uuid: Option<String>,
    pub(super) words: usize,
    /// Names files that have a well-known place: `syslog`, `hosts file`.
    pub(super) known_file: Option<&'static str>,
}

const RECORD_TYPES: &[&str] = &["A", "AAAA", "CNAME", "MX", "NS", "TXT", "SRV", "PTR", "SOA"];
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
const SYSTEMS: &[&str] = &[
    "debian", "ubuntu", "centos", "fedora", "rhel", "alpine", "linux", "windows", "arch", "rocky", "alma",
    "suse", "freebsd", "macos",
];
const SIGNALS: &[(&str, &str)] = &[
    ("sigkill", "KILL"),
    ("-9", "KILL"),
    ("sigterm", "TERM"),
    ("sighup", "HUP"),
    ("sigint", "INT"),
    ("sigusr1", "USR1"),
    ("sigusr2", "USR2"),
    ("hup", "HUP"),
    ("int", "INT"),
    ("usr1", "USR1"),
    ("usr2", "USR2"),
    ("-hup", "HUP"),
    ("-kill", "KILL"),
    ("-term", "TERM"),
    ("forcefully", "KILL"),
    ("-15", "TERM"),
    ("term", "TERM"),
    ("-int", "INT"),
    ("-usr1", "USR1"),
    ("-usr2", "USR2"),
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

impl Facts {
    /// Reads a clause. `hosts` are the names in the inventory, in lower case.
    pub(super) fn read(tokens: &[Token], hosts: &[String]) -> Self {
        let mut facts = Self { numbers: Numbers::read(tokens), ..Self::default() };
        for token in tokens {
            facts.concepts.merge(token.concepts);
        }
        facts.words = tokens.iter().filter(|token| !token.is_break()).count();
        for at in 0..tokens.len() {
            facts.take(tokens, at, hosts);
        }
        for (name, at) in facts.numbers.hosts.clone() {
            let role =
                role_at(tokens, at - usize::from(at > 0 && facts.numbers.used.contains(&(at - 1))), at);
            facts.places.push(Place { name, role, kind: PlaceKind::Host, at });
        }
        facts.places.sort_by_key(|place| place.at);
        facts.all_hosts = names_all_hosts(tokens);
        facts.user = user_of(tokens, &facts);
        facts.grep = grep_of(tokens, &facts);
        let joined = join_words(tokens);
        facts.known_file = lookup(KNOWN_FILES, &joined).or_else(|| lookup(KNOWN_LOGS, &joined));
        facts
    }

    fn take(&mut self, tokens: &[Token], at: usize, hosts: &[String]) {
        let token = &tokens[at];
        match &token.kind {
            Kind::Url => push_new(&mut self.urls, token.text.clone()),
            Kind::Path => push_new(&mut self.paths, token.text.clone()),
            Kind::HostPort(host, port) => {
                let pair = (host.clone(), *port);
                if !self.host_ports.contains(&pair) {
                    self.host_ports.push(pair);
                }
            }
            Kind::Ip => self.place(tokens, at, token.text.clone(), PlaceKind::Ip),
            Kind::Domain => {
                let kind = if hosts.contains(&token.low) { PlaceKind::Host } else { PlaceKind::Domain };
                self.place(tokens, at, token.text.clone(), kind);
            }
            Kind::Mention => {
                let (role, kind) = if token.text.parse::<std::net::IpAddr>().is_ok() {
                    (Role::Using, PlaceKind::Ip)
                } else if token.text.contains('.') && !hosts.contains(&token.low) {
                    (Role::Using, PlaceKind::Domain)
                } else {
                    (Role::Lead, PlaceKind::Host)
                };
                self.places.push(Place { name: token.text.clone(), role, kind, at });
            }
            Kind::Quoted => self.take_quoted(token),
            Kind::Moment => self.moments.push(token.text.clone()),
            Kind::Pair => {
                if let Some((key, value)) = token.text.split_once('=') {
                    self.pairs.push((key.to_owned(), value.to_owned()));
                }
            }
            Kind::Word => self.take_word(tokens, at, hosts),
            Kind::Hangul => self.take_korean(tokens, at),
            _ => {}
        }
    }

    fn take_quoted(&mut self, token: &Token) {
        let text = token.text.as_str();
        if text.starts_with('/') && !text.contains(' ') && text.len() > 1 {
            push_new(&mut self.paths, text.to_owned());
        } else if !text.contains(' ') && token::is_unit_name(text)
            || names::service(&text.to_lowercase()).is_some()
        {
            push_new(
                &mut self.services,
                names::service(&text.to_lowercase())
                    .map_or_else(|| text.to_owned(), |service| service.unit.to_owned()),
            );
            self.quoted.push(text.to_owned());
        } else {
            self.quoted.push(text.to_owned());
        }
    }

    fn take_word(&mut self, tokens: &[Token], at: usize, hosts: &[String]) {
        let token = &tokens[at];
        let low = token.low.as_str();
        let previous = at.checked_sub(1).and_then(|index| tokens.get(index));
        let next = tokens.get(at + 1);
        let beside = |concept: Concept| {
            previous.is_some_and(|token| token.concepts.has(concept))
                || next.is_some_and(|token| token.concepts.has(concept))
        };
        if let Some((_, signal)) = SIGNALS.iter().find(|(name, _)| *name == low) {
            self.signal = Some(signal);
        }
        if let Some(kind) = RECORD_TYPES.iter().find(|kind| kind.eq_ignore_ascii_case(low))
            && (low.len() > 1
                || token.text == "A" && at > 0 && !beside(Now) && next.is_some()
                || beside(Record) && low != "a"
                || low == "a"
                    && next.is_some_and(|token| token.concepts.has(Record) || token.low == "레코드"))
        {
            self.record_types.push(kind);
            return;
        }
        if token.text.len() == 36 && token.text.bytes().filter(|byte| *byte == b'-').count() == 4 {
            self.uuid = Some(token.text.clone());
            return;
        }
        if let Some(system) = SYSTEMS.iter().find(|system| **system == low) {
            self.os = Some(system);
        }
        if let Some(name) = hosts.iter().find(|name| {
            name.as_str() == low
                && (!lexicon::is_common(low) || previous.is_some_and(|token| token.concepts.any(&[On, From])))
        }) {
            if names::service(low).is_none()
                || beside(Host)
                || previous.is_some_and(|token| token.concepts.has(On))
            {
                self.place(tokens, at, name.clone(), PlaceKind::Host);
                return;
            }
        }
        if low == "localhost" || low == "loopback" {
            self.place(tokens, at, "localhost".to_owned(), PlaceKind::Local);
            return;
        }
        if token::is_unit_name(low) {
            push_new(&mut self.services, token.text.clone());
            return;
        }
        if previous.is_some_and(|token| matches!(token.low.as_str(), "-u" | "unit")) {
            push_new(&mut self.services, unit_of(token));
            return;
        }
        if let Some(port) = named_port(token) {
            self.named_ports.push(port);
        }
        if let Some(service) = names::service(low) {
            let weak = matches!(
                low,
                "named"
                    | "resolved"
                    | "vault"
                    | "tor"
                    | "rabbit"
                    | "maria"
                    | "elastic"
                    | "consul"
                    | "nomad"
                    | "pg"
            ) && !beside(Service)
                && !beside(Restart)
                && !beside(Status)
                && !beside(Running);
            if !weak || low == "pg" {
                push_new(&mut self.services, service.unit.to_owned());
                return;
            }
        }
        if let Some(program) = names::program(low) {
            if !matches!(program, "screen" | "code" | "make" | "sleep" | "node" | "stress" | "dd")
                || beside(Process)
                || beside(Running)
                || self.concepts.has(Kill)
                || self.concepts.has(Eat) && program != "make"
            {
                push_new(&mut self.programs, program.to_owned());
                return;
            }
        }
        if names::looks_like_host(low)
            && !token.corrected
            && !beside(Service)
            && !next.is_some_and(|token| token.low.ends_with(':'))
        {
            self.place(tokens, at, token.text.clone(), PlaceKind::Host);
            return;
        }
        let nameless = !token.covered
            && token.concepts.is_empty()
            && !token.corrected
            && low.len() > 1
            && token::unit_milliseconds(low).is_none()
            && !lexicon::is_common(low)
            && !low.starts_with('-')
            && !USERS.contains(&low);
        if nameless
            || !token.covered
                && (token.concepts.is_empty()
                    || token.concepts == Concepts::of(Unsupported)
                        && next.is_some_and(|next| next.concepts.has(Service)))
                && beside(Service)
                && low.len() > 2
                && !lexicon::is_common(low)
        {
            let after = previous.map_or_else(Concepts::default, |token| token.concepts);
            let before = next.map_or_else(Concepts::default, |token| token.concepts);
            self.unknown.push(Unknown { name: token.text.clone(), at, after, before });
        }
    }

    fn take_korean(&mut self, tokens: &[Token], at: usize) {
        let token = &tokens[at];
        let text = token.text.as_str();
        for (korean, kind) in [("네임서버", "NS"), ("메일서버", "MX"), ("메일 서버", "MX")] {
            if text.starts_with(korean) && !tokens.iter().any(|other| other.kind == Kind::Ip) {
                self.record_types.push(kind);
            }
        }
        for (korean, system) in [
            ("우분투", "ubuntu"),
            ("데비안", "debian"),
            ("리눅스", "linux"),
            ("윈도우", "windows"),
            ("센토스", "centos"),
            ("페도라", "fedora"),
        ] {
            if text.starts_with(korean) {
                self.os = Some(system);
            }
        }
        if text.starts_with("로컬호스트") {
            self.places.push(Place {
                name: "localhost".to_owned(),
                role: role_at(tokens, at, at),
                kind: PlaceKind::Local,
                at,
            });
        }
    }

    fn place(&mut self, tokens: &[Token], at: usize, name: String, kind: PlaceKind) {
        let name = if kind == PlaceKind::Domain { name.trim_end_matches('.').to_owned() } else { name };
        if !self.places.iter().any(|place| place.name == name) {
            self.places.push(Place { name, role: role_at(tokens, at, at), kind, at });
        }
    }

    /// Whether any of `concepts` is named.
    pub(super) fn any(&self, concepts: &[Concept]) -> bool {
        self.concepts.any(concepts)
    }

    /// Whether `concept` is named.
    pub(super) fn has(&self, concept: Concept) -> bool {
        self.concepts.has(concept)
    }

    /// Whether a place is named that isn't a host of the fleet by its shape.
    pub(super) fn outside(&self) -> bool {
        self.places.iter().any(|place| matches!(place.kind, PlaceKind::Domain | PlaceKind::Ip))
    }
}

/// The unit that a word names.
pub(super) fn unit_of(token: &Token) -> String {
    names::service(&token.low).map_or_else(|| token.text.clone(), |service| service.unit.to_owned())
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

fn push_new(list: &mut Vec<String>, value: String) {
    if !list.contains(&value) {
        list.push(value);
    }
}

/// How the place whose words are `from..=to` is named.
fn role_at(tokens: &[Token], from: usize, to: usize) -> Role {
    // Korean says it behind.
    let mut behind = to + 1;
    while tokens.get(behind).is_some_and(|token| {
        token.kind == Kind::Hangul
            && token.concepts.any(&[Host, Edge])
            && !token.concepts.any(&[Restart, Reboot, Resolve])
    }) {
        let text = &tokens[behind].text;
        if let Some(role) = korean_role(text) {
            return role;
        }
        behind += 1;
    }
    if let Some(token) = tokens.get(behind)
        && token.kind == Kind::Hangul
        && (token.glued || behind > to + 1)
        && let Some(role) = korean_role(&token.text)
    {
        return role;
    }
    // English says it in front, perhaps with "the host" between.
    let mut index = from;
    while index > 0 {
        index -= 1;
        let token = &tokens[index];
        if token.is_break() {
            break;
        }
        if token.kind != Kind::Word {
            break;
        }
        match token.low.as_str() {
            "from" => return Role::From,
            "on" | "at" | "in" | "inside" => {
                let rest_is_lead = tokens[..index]
                    .iter()
                    .all(|token| token.concepts.any(&[Polite, Please, Greet]) || token.is_break());
                let followed = tokens.get(to + 1).is_some_and(|token| {
                    token.is_break()
                        || token.concepts.any(&[Check, Show, What, How, Why, Which, Running])
                        || token.low == "is"
                });
                return if rest_is_lead && followed { Role::Lead } else { Role::On };
            }
            "to" | "reach" | "towards" | "telnet" | "ping" | "into" | "with" | "against" | "contact" => {
                return if token.low == "against" || token.low == "with" { Role::Using } else { Role::To };
            }
            "of" | "for" | "about" => return Role::Of,
            "using" | "via" | "through" | "server" if token.low != "server" => return Role::Using,
            "the" | "host" | "server" | "machine" | "box" | "node" | "vm" | "edge" | "instance" | "agent"
            | "hosts" | "servers" | "nameserver" | "resolver" | "dns" | "and" | "both" => {}
            _ => break,
        }
    }
    Role::Bare
}

fn korean_role(text: &str) -> Option<Role> {
    let tail = ["에서는", "에서도", "에서", "으로부터", "로부터"];
    if tail.iter().any(|particle| text.ends_with(particle) || text.starts_with(particle)) {
        return Some(Role::From);
    }
    if ["까지", "에게", "한테", "으로", "로"].iter().any(|particle| text == *particle) {
        return Some(Role::To);
    }
    if text == "의" {
        return Some(Role::Of);
    }
    if text == "에" || text == "에는" {
        return Some(Role::To);
    }
    if text.ends_with("의") && text.chars().count() > 1 {
        return Some(Role::Of);
    }
    None
}

/// `all hosts`, `every server`, `모든 서버`, `everywhere`.
fn names_all_hosts(tokens: &[Token]) -> bool {
    tokens.iter().enumerate().any(|(at, token)| {
        matches!(token.low.as_str(), "everywhere" | "fleet-wide" | "fleetwide" | "across the fleet")
            || token.concepts.has(All)
                && (token.kind == Kind::Hangul
                    && (token.concepts.any(&[Host, Hosts])
                        || tokens.get(at + 1).is_some_and(|next| next.concepts.any(&[Host, Hosts, Edge])))
                    || token.kind == Kind::Word
                        && token.low != "any"
                        && tokens[at + 1..].iter().take(4).take_while(|next| !next.is_break()).any(|next| {
                            next.concepts.any(&[Hosts, Fleet])
                                || next.concepts.has(Host)
                                    && matches!(token.low.as_str(), "each" | "every" | "all")
                        }))
            || token.text == "전"
                && !token.glued
                && tokens.get(at + 1).is_some_and(|next| next.concepts.any(&[Host, Hosts]))
            || matches!(
                token.text.as_str(),
                "서버마다" | "호스트마다" | "서버별" | "호스트별" | "서버별로" | "호스트별로"
            )
    })
}

/// Whose processes are meant.
fn user_of(tokens: &[Token], facts: &Facts) -> Option<String> {
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
            let explicit = matches!(token.low.as_str(), "user" | "유저" | "사용자");
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
fn grep_of(tokens: &[Token], facts: &Facts) -> Option<String> {
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
        let mut ahead = tokens[at + 1..].iter().peekable();
        let mut phrase = Vec::new();
        while let Some(next) = ahead.next() {
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
