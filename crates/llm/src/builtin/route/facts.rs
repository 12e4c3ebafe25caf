//! What a clause names: places, services, programs, paths, times, words to look for.

use super::concept::Concept::{self, *};
use super::concept::Concepts;
use super::lexicon;
use super::names;
use super::numbers::{Numbers, named_port};
use super::shape;
use super::token::{self, Kind, Token};
use super::wording;

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
        facts.user = wording::user_of(tokens, &facts);
        facts.grep = wording::grep_of(tokens, &facts);
        facts.known_file = wording::known_file(tokens);
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
        }) && (names::service(low).is_none()
            || beside(Host)
            || previous.is_some_and(|token| token.concepts.has(On)))
        {
            self.place(tokens, at, name.clone(), PlaceKind::Host);
            return;
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
        if let Some(program) = names::program(low)
            && (!matches!(program, "screen" | "code" | "make" | "sleep" | "node" | "stress" | "dd")
                || beside(Process)
                || beside(Running)
                || self.concepts.has(Kill)
                || self.concepts.has(Eat) && program != "make")
        {
            push_new(&mut self.programs, program.to_owned());
            return;
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
            && shape::unit_milliseconds(low).is_none()
            && !lexicon::is_common(low)
            && !low.starts_with('-')
            && !wording::is_user(low);
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
    if ["까지", "에게", "한테", "으로", "로"].contains(&text) {
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
        matches!(
            token.low.as_str(),
            "everywhere" | "anywhere" | "fleet-wide" | "fleetwide" | "across the fleet"
        ) || token.concepts.has(All)
            && (token.kind == Kind::Hangul
                && (token.concepts.any(&[Host, Hosts])
                    || tokens.get(at + 1).is_some_and(|next| next.concepts.any(&[Host, Hosts, Edge])))
                || token.kind == Kind::Word
                    && (token.low != "any" || at > 0 && tokens[at - 1].concepts.has(On))
                    && tokens[at + 1..].iter().take(4).take_while(|next| !next.is_break()).any(|next| {
                        next.concepts.any(&[Hosts, Fleet])
                            || next.concepts.has(Host)
                                && matches!(token.low.as_str(), "each" | "every" | "all" | "any")
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
