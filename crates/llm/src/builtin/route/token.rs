//! Cuts an operator's text into tokens and tells the shape of each: address, path, time, word.

use super::concept::Concepts;
use super::shape::{host_port, is_domain, moment, number_like, split_letters_digits, url_without_scheme};
use super::text::is_hangul;
use std::net::IpAddr;

/// What a token looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word in Latin letters, perhaps with digits, dots, dashes.
    Word,
    /// A run of Korean.
    Hangul,
    /// A whole number.
    Number(u64),
    /// Text in quotes, without them.
    Quoted,
    /// A URL; `text` always has a scheme.
    Url,
    /// An absolute path.
    Path,
    /// Host and port.
    HostPort(String, u16),
    /// An IP address.
    Ip,
    /// A domain name.
    Domain,
    /// `@name`, without the sign.
    Mention,
    /// A length of time, in milliseconds.
    Span(u64),
    /// A moment, in RFC 3339.
    Moment,
    /// `key=value`, lower-case key.
    Pair,
    /// A comma.
    Comma,
    /// The end of a sentence.
    Stop,
    /// A question mark.
    Question,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// As written (a URL without scheme gets one).
    pub(super) text: String,
    /// In lower case, or what a mistyped word was taken for.
    pub(super) low: String,
    /// Its shape.
    pub(super) kind: Kind,
    /// Whether nothing separates it from the token before it.
    pub(super) glued: bool,
    /// What it may mean.
    pub(super) concepts: Concepts,
    /// Whether `low` is a corrected spelling.
    pub(super) corrected: bool,
    /// Whether it is a later word of a phrase.
    pub(super) covered: bool,
}

impl Token {
    fn new(text: impl Into<String>, kind: Kind, glued: bool) -> Self {
        let text = text.into();
        Self {
            low: text.to_lowercase(),
            text,
            kind,
            glued,
            concepts: Concepts::default(),
            corrected: false,
            covered: false,
        }
    }

    /// Whether it ends a sentence or part of one.
    pub(super) fn is_break(&self) -> bool {
        matches!(self.kind, Kind::Comma | Kind::Stop | Kind::Question)
    }
}

/// Endings of systemd units.
const UNIT_ENDINGS: &[&str] =
    &[".service", ".timer", ".socket", ".mount", ".target", ".path", ".slice", ".scope", ".swap", ".device"];

/// Whether `name` ends like a systemd unit.
pub(super) fn is_unit_name(name: &str) -> bool {
    let low = name.to_ascii_lowercase();
    UNIT_ENDINGS.iter().any(|ending| low.len() > ending.len() && low.ends_with(ending))
}

/// Cuts `text`, which has been normalised, into tokens.
pub(super) fn tokenise(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for chunk in text.split_whitespace() {
        // Quotes may span words; they are put together below.
        cut_chunk(chunk, &mut tokens);
    }
    expand_contractions(join_quoted(tokens, text))
}

/// Marks of a chunk that stand alone until [`join_quoted`] pairs them.
const QUOTES: [char; 3] = ['"', '`', '\''];

fn cut_chunk(chunk: &str, tokens: &mut Vec<Token>) {
    let mut rest = chunk;
    let mut glued = false;
    while let Some(first) = rest.chars().next() {
        let taken = take_one(rest, first, glued, tokens);
        glued = true;
        rest = rest.get(taken.max(first.len_utf8())..).unwrap_or("");
    }
}

/// Takes one token from the front of `rest`; returns how many bytes it used.
fn take_one(rest: &str, first: char, glued: bool, tokens: &mut Vec<Token>) -> usize {
    let width = first.len_utf8();
    match first {
        ',' | '(' | ')' | '{' | '}' | '<' | '>' | '|' => {
            tokens.push(Token::new(",", Kind::Comma, glued));
            return width;
        }
        ';' | '!' => {
            tokens.push(Token::new(".", Kind::Stop, glued));
            return width;
        }
        '?' => {
            tokens.push(Token::new("?", Kind::Question, glued));
            return width;
        }
        '&' | '+' if rest.chars().nth(1).is_none_or(|next| next == '&' || !next.is_alphanumeric()) => {
            tokens.push(Token::new("and", Kind::Word, glued));
            return rest.len() - rest.trim_start_matches(first).len();
        }
        quote if QUOTES.contains(&quote) => {
            tokens.push(Token::new(quote.to_string(), Kind::Quoted, glued));
            return width;
        }
        '[' => return take_bracketed(rest, glued, tokens),
        _ => {}
    }
    if is_hangul(first) {
        let end = rest.find(|character: char| !is_hangul(character)).unwrap_or(rest.len());
        tokens.push(Token::new(&rest[..end], Kind::Hangul, glued));
        return end;
    }
    let low = rest.to_ascii_lowercase();
    if low.starts_with("http://") || low.starts_with("https://") {
        let end = run_end(rest, |character| !matches!(character, '"' | '\'' | '`' | '<' | '>' | '|' | ' '));
        let url = trim_tail(&rest[..end]);
        tokens.push(Token::new(url, Kind::Url, glued));
        return url.len();
    }
    if first == '/' || rest.starts_with("~/") {
        let end = run_end(rest, |character| {
            !matches!(character, '"' | '\'' | '`' | ',' | ';' | '|' | '<' | '>' | '?' | '(' | ')' | '!')
        });
        let path = trim_tail(&rest[..end]);
        if path.len() > 1 {
            tokens.push(Token::new(path, Kind::Path, glued));
        } else if !glued {
            tokens.push(Token::new("/", Kind::Path, glued));
        }
        return path.len().max(1);
    }
    let end = run_end(rest, |character| {
        character.is_alphanumeric()
            || matches!(
                character,
                '.' | '_' | '-' | ':' | '@' | '/' | '=' | '%' | '*' | '#' | '~' | '\'' | '+'
            )
    });
    if end == 0 {
        return width;
    }
    let mut word = trim_tail(&rest[..end]);
    if word.is_empty() {
        if rest[..end].contains(['.', '!']) {
            tokens.push(Token::new(".", Kind::Stop, glued));
        }
        return end;
    }
    // A URL without scheme may go on with a query.
    if word.contains('/') && rest[word.len()..].starts_with('?') && url_without_scheme(word).is_some() {
        let longer = run_end(rest, |character| !matches!(character, '"' | '\'' | '`' | '<' | '>' | '|'));
        word = trim_tail(&rest[..longer]);
    }
    classify_word(word, glued, tokens);
    if word.len() < end && rest[word.len()..end].starts_with(['.', '!']) {
        tokens.push(Token::new(".", Kind::Stop, true));
        return end;
    }
    word.len()
}

/// Length of the front of `text` that has no Korean and only wanted characters.
fn run_end(text: &str, wanted: impl Fn(char) -> bool) -> usize {
    text.find(|character| is_hangul(character) || !wanted(character)).unwrap_or(text.len())
}

/// Cuts punctuation that belongs to the sentence.
fn trim_tail(word: &str) -> &str {
    word.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', ')', ']', '}'])
}

/// `[::1]:22`, or a bracket that means nothing.
fn take_bracketed(rest: &str, glued: bool, tokens: &mut Vec<Token>) -> usize {
    if let Some(close) = rest.find(']')
        && rest[1..close].parse::<std::net::Ipv6Addr>().is_ok()
    {
        let address = rest[1..close].to_owned();
        let after = &rest[close + 1..];
        let digits = after.strip_prefix(':').map_or("", |tail| {
            &tail[..tail.find(|character: char| !character.is_ascii_digit()).unwrap_or(tail.len())]
        });
        if let Ok(port) = digits.parse::<u16>() {
            let host = format!("[{address}]");
            tokens.push(Token::new(format!("{host}:{port}"), Kind::HostPort(host, port), glued));
            return close + 2 + digits.len();
        }
        tokens.push(Token::new(address, Kind::Ip, glued));
        return close + 1;
    }
    tokens.push(Token::new(",", Kind::Comma, glued));
    1
}

/// Tells the shape of a word and appends it, as several tokens where it holds several.
fn classify_word(word: &str, glued: bool, tokens: &mut Vec<Token>) {
    if let Some(name) = word.strip_prefix('@').filter(|name| !name.is_empty()) {
        tokens.push(Token::new(name, Kind::Mention, glued));
        return;
    }
    if let Ok(address) = word.parse::<IpAddr>()
        && (address.is_ipv4() || word.contains(':'))
    {
        tokens.push(Token::new(word, Kind::Ip, glued));
        return;
    }
    if let Some(kind) = number_like(word) {
        tokens.push(Token::new(word, kind, glued));
        return;
    }
    if let Some(moment) = moment(word) {
        tokens.push(Token::new(moment, Kind::Moment, glued));
        return;
    }
    if let Some(url) = url_without_scheme(word) {
        tokens.push(Token::new(url, Kind::Url, glued));
        return;
    }
    if let Some((host, port)) = host_port(word) {
        tokens.push(Token::new(word, Kind::HostPort(host, port), glued));
        return;
    }
    if let Some((key, value)) = word.split_once('=')
        && !key.is_empty()
        && !value.is_empty()
    {
        tokens.push(Token::new(
            format!("{}={value}", key.trim_start_matches('-').to_lowercase()),
            Kind::Pair,
            glued,
        ));
        return;
    }
    if let Some(unit) = word.split_once('/').filter(|(_, kind)| matches!(*kind, "tcp" | "TCP"))
        && let Ok(number) = unit.0.parse::<u64>()
    {
        tokens.push(Token::new("port", Kind::Word, glued));
        tokens.push(Token::new(unit.0, Kind::Number(number), true));
        return;
    }
    if word.eq_ignore_ascii_case("i/o") {
        tokens.push(Token::new("io", Kind::Word, glued));
        return;
    }
    if word.contains('/') {
        for (index, part) in word.split('/').filter(|part| !part.is_empty()).enumerate() {
            classify_word(part, glued || index > 0, tokens);
        }
        return;
    }
    if is_domain(word) {
        tokens.push(Token::new(word, Kind::Domain, glued));
        return;
    }
    if let Some(at) = word.find(|character: char| !character.is_ascii_digit()).filter(|at| *at > 0)
        && ["kb", "kib", "mb", "mib", "bytes", "x"].iter().any(|unit| word[at..].eq_ignore_ascii_case(unit))
        && let Ok(number) = word[..at].parse::<u64>()
    {
        tokens.push(Token::new(&word[..at], Kind::Number(number), glued));
        tokens.push(Token::new(
            if word[at..].eq_ignore_ascii_case("x") { "times" } else { &word[at..] },
            Kind::Word,
            true,
        ));
        return;
    }
    if let Some((left, right)) = split_letters_digits(word) {
        tokens.push(Token::new(left, Kind::Word, glued));
        tokens.push(Token::new(right, Kind::Number(right.parse().unwrap_or(0)), true));
        return;
    }
    if let Some((user, host)) = word.split_once('@')
        && !user.is_empty()
        && host.contains(|character: char| character.is_ascii_digit())
        && !host.contains('@')
        && !user.ends_with("postgresql")
        && host.starts_with(|character: char| character.is_ascii_alphabetic())
    {
        tokens.push(Token::new(host, Kind::Mention, glued));
        return;
    }
    if let Some((key, value)) = word.split_once(':')
        && key.chars().all(char::is_alphabetic)
        && !value.is_empty()
        && !key.is_empty()
    {
        classify_word(key, glued, tokens);
        classify_word(value, true, tokens);
        return;
    }
    let word = word.trim_matches(['*', '#', '~', '%', ':', '+']);
    let contracted = ["it", "what", "wat", "who", "how", "where", "why", "that", "there", "let"];
    let word = word
        .strip_suffix("'s")
        .filter(|stem| !contracted.contains(&stem.to_lowercase().as_str()))
        .unwrap_or(word);
    let word = word.strip_prefix("--").unwrap_or(word);
    if !word.is_empty() {
        tokens.push(Token::new(word, Kind::Word, glued));
    }
}

/// Puts what stands between two quotes into one token. A lone apostrophe is dropped.
fn join_quoted(tokens: Vec<Token>, text: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    let mut search_from = 0;
    while let Some(token) = rest.next() {
        let is_mark = token.kind == Kind::Quoted && token.text.chars().all(|mark| QUOTES.contains(&mark));
        if !is_mark {
            out.push(token);
            continue;
        }
        let mark = token.text.chars().next().unwrap_or('"');
        let Some(open) = text.get(search_from..).and_then(|tail| tail.find(mark)).map(|at| at + search_from)
        else {
            continue;
        };
        let inside_from = open + mark.len_utf8();
        search_from = inside_from;
        // An apostrophe inside a word opens nothing.
        if mark == '\'' && token.glued {
            continue;
        }
        let Some(close) = text.get(inside_from..).and_then(|tail| tail.find(mark)).map(|at| at + inside_from)
        else {
            continue;
        };
        let inside = &text[inside_from..close];
        if inside.trim().is_empty()
            || !rest.clone().any(|later| later.kind == Kind::Quoted && later.text == token.text)
        {
            continue;
        }
        search_from = close + mark.len_utf8();
        for skipped in rest.by_ref() {
            if skipped.kind == Kind::Quoted && skipped.text == token.text {
                break;
            }
        }
        if out.last().is_some_and(|last| matches!(last.low.as_str(), "since" | "until" | "-s" | "-u")) {
            // `--since "1 hour ago"`
            out.extend(tokenise(inside));
        } else {
            out.push(Token::new(inside.trim(), Kind::Quoted, token.glued));
        }
    }
    out
}

/// Writes contractions out, so that a negation is always its own word.
fn expand_contractions(tokens: Vec<Token>) -> Vec<Token> {
    let mut out = Vec::with_capacity(tokens.len());
    for token in tokens {
        if token.kind != Kind::Word {
            out.push(token);
            continue;
        }
        let parts: &[&str] = match token.low.as_str() {
            "don't" | "dont" => &["do", "not"],
            "doesn't" | "doesnt" => &["does", "not"],
            "didn't" | "didnt" => &["did", "not"],
            "isn't" | "isnt" => &["is", "not"],
            "aren't" | "arent" => &["are", "not"],
            "wasn't" | "wasnt" => &["was", "not"],
            "hasn't" | "hasnt" => &["has", "not"],
            "haven't" | "havent" => &["have", "not"],
            "hadn't" => &["had", "not"],
            "weren't" | "werent" => &["were", "not"],
            "wouldn't" | "wouldnt" => &["would", "not"],
            "mustn't" | "mustnt" => &["must", "not"],
            "needn't" => &["need", "not"],
            "can't" | "cant" | "cannot" => &["can", "not"],
            "couldn't" | "couldnt" => &["could", "not"],
            "won't" | "wont" => &["will", "not"],
            "shouldn't" | "shouldnt" => &["should", "not"],
            "what's" | "whats" | "wats" | "wat's" => &["what", "is"],
            "who's" | "whos" => &["who", "is"],
            "how's" | "hows" => &["how", "is"],
            "where's" | "wheres" => &["where", "is"],
            "why's" | "whys" => &["why", "is"],
            "it's" => &["it", "is"],
            "that's" | "thats" => &["that", "is"],
            "there's" | "theres" => &["there", "is"],
            "let's" | "lets" => &["let", "us"],
            "i'm" => &["i", "am"],
            "i'd" => &["i", "would"],
            "gimme" => &["give", "me"],
            "lemme" => &["let", "me"],
            "wanna" => &["want", "to"],
            "gotta" => &["have", "to"],
            "whatcha" => &["what", "is"],
            _ => &[],
        };
        if parts.is_empty() {
            out.push(token);
        } else {
            out.extend(
                parts
                    .iter()
                    .enumerate()
                    .map(|(index, part)| Token::new(*part, Kind::Word, token.glued && index == 0)),
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str) -> Vec<(String, Kind)> {
        tokenise(text).into_iter().map(|token| (token.text, token.kind)).collect()
    }

    #[test]
    fn addresses_paths_and_times_keep_their_shape() {
        assert_eq!(shapes("db-1:5432")[0].1, Kind::HostPort("db-1".into(), 5432));
        assert_eq!(shapes("[::1]:22")[0].1, Kind::HostPort("[::1]".into(), 22));
        assert_eq!(
            shapes("see https://example.com/a?b=c.")[1],
            ("https://example.com/a?b=c".into(), Kind::Url)
        );
        assert_eq!(shapes("localhost:8080/health?")[0], ("http://localhost:8080/health".into(), Kind::Url));
        assert_eq!(shapes("/var/log/syslog를")[0], ("/var/log/syslog".into(), Kind::Path));
        assert_eq!(shapes("1h30m")[0].1, Kind::Span(5_400_000));
        assert_eq!(shapes("nginx.service")[0].1, Kind::Word);
        assert_eq!(shapes("example.com,")[0].1, Kind::Domain);
        assert_eq!(shapes("2024-05-01")[0], ("2024-05-01T00:00:00Z".into(), Kind::Moment));
        assert_eq!(shapes("2001:db8::1")[0].1, Kind::Ip);
    }

    #[test]
    fn korean_is_cut_from_latin_words() {
        let tokens = tokenise("web-1에서 nginx가");
        let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(texts, ["web-1", "에서", "nginx", "가"]);
        assert!(tokens[1].glued && !tokens[2].glued);
    }

    #[test]
    fn quotes_hold_several_words_and_apostrophes_do_not() {
        assert_eq!(
            shapes("grep \"connection refused\" in it")[1],
            ("connection refused".into(), Kind::Quoted)
        );
        assert_eq!(shapes("it's the server's disk")[2].0, "the");
        assert_eq!(shapes("don't restart")[1].0, "not");
    }
}
