//! Takes a word apart: quotes, expansions, substitutions. Anything that isn't known here is unclear, and so never safe.

use crate::lexer::{Scanner, Unclear};

/// A part of a word.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Text after quote removal.
    Text { text: String, quoted: bool },
    /// `~` or `~user` at the start.
    Tilde,
    /// `*`, `?` or `[…]` outside of quotes.
    Glob,
    /// `{a,b}` or `{1..3}`; true for a range of numbers.
    Brace { numbers: bool },
    /// A variable; `plain` means that exactly its value is taken.
    Variable { name: String, quoted: bool, plain: bool, number: bool },
    /// `${x:=…}` gives a variable a value.
    Assigns { name: String },
    /// `$(…)`, `` `…` ``: the text to run and where it stands; `start` is `None` if the text was unescaped first.
    Command { text: String, start: Option<usize>, quoted: bool },
    /// `$((…))`, an offset or a subscript: bytes from and to.
    Arithmetic { start: usize, end: usize },
    /// The word of an operator such as `${x:-word}`; only what it runs matters, its value isn't followed.
    Operand(Vec<Part>),
}

type Parse<T> = Result<T, Unclear>;

fn unclear<T>(at: usize, why: &'static str) -> Parse<T> {
    Err(Unclear { at, why })
}

/// Where a word is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Outside of quotes.
    Open,
    /// In double quotes, or in the body of an unquoted here-document.
    Quoted,
    /// The body of an unquoted here-document: like double quotes, but `"` is text.
    Document,
}

/// The parts of `text[start..end]`.
pub(crate) fn parts(text: &str, start: usize, end: usize, place: Place) -> Parse<Vec<Part>> {
    let Some(head) = text.get(..end) else { return unclear(start, "text cut inside a character") };
    let mut parser = Parser { scanner: Scanner::new(head), text: head, out: Vec::new(), depth: 0 };
    parser.run(start, place)?;
    Ok(parser.out)
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    text: &'a str,
    out: Vec<Part>,
    depth: usize,
}

impl Parser<'_> {
    fn byte(&self, index: usize) -> u8 {
        self.text.as_bytes().get(index).copied().unwrap_or(0)
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or("")
    }

    fn push(&mut self, text: &str, quoted: bool) {
        if let Some(Part::Text { text: last, quoted: was }) = self.out.last_mut()
            && *was == quoted
        {
            last.push_str(text);
        } else {
            self.out.push(Part::Text { text: text.to_owned(), quoted });
        }
    }

    fn run(&mut self, start: usize, place: Place) -> Parse<()> {
        let mut index = start;
        let quoted = place != Place::Open;
        while let Some(c) = self.text.get(index..).and_then(|rest| rest.chars().next()) {
            match c {
                '\\' if quoted => {
                    let next = self.byte(index + 1);
                    if next == b'\n' {
                    } else if matches!(next, b'$' | b'`' | b'\\') || (next == b'"' && place == Place::Quoted)
                    {
                        self.push(&char::from(next).to_string(), true);
                    } else {
                        self.push("\\", true);
                        index += 1;
                        continue;
                    }
                    index += 2;
                }
                '\\' => {
                    let Some(next) = self.text.get(index + 1..).and_then(|rest| rest.chars().next()) else {
                        return unclear(index, "ends in the middle");
                    };
                    self.push(&next.to_string(), true);
                    index += 1 + next.len_utf8();
                }
                '\'' if !quoted => {
                    let end = self.scanner.single(index)?;
                    let inner = self.slice(index + 1, end - 1).to_owned();
                    self.push(&inner, true);
                    index = end;
                }
                '"' if place == Place::Open => {
                    let end = self.scanner.double(index, 0)?;
                    // An empty string is a word too.
                    self.push("", true);
                    let mut inner = Parser {
                        scanner: Scanner::new(self.slice(0, end - 1)),
                        text: self.slice(0, end - 1),
                        out: Vec::new(),
                        depth: self.depth,
                    };
                    inner.run(index + 1, Place::Quoted)?;
                    let parts = inner.out;
                    self.out.extend(parts);
                    index = end;
                }
                '`' => {
                    let end = self.scanner.backquoted(index)?;
                    let raw = self.slice(index + 1, end - 1);
                    let escaped = raw.contains('\\');
                    let text = if escaped { unescape(raw, quoted) } else { raw.to_owned() };
                    self.out.push(Part::Command { text, start: (!escaped).then_some(index + 1), quoted });
                    index = end;
                }
                '$' => index = self.dollar(index, quoted)?,
                '~' if !quoted && index == start => {
                    index += 1;
                    while matches!(self.byte(index), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'+' | b'.')
                    {
                        index += 1;
                    }
                    if !matches!(self.byte(index), b'/' | 0) {
                        return unclear(index, "an odd tilde");
                    }
                    self.out.push(Part::Tilde);
                }
                '*' | '?' if !quoted => {
                    self.out.push(Part::Glob);
                    index += 1;
                }
                '[' if !quoted && self.slice(index, self.text.len()).contains(']') => {
                    self.out.push(Part::Glob);
                    index += 1;
                }
                '{' if !quoted => {
                    let rest = self.slice(index, self.text.len());
                    if !rest.contains('}') || !(rest.contains(',') || rest.contains("..")) {
                        self.push("{", false);
                        index += 1;
                        continue;
                    }
                    let close = rest.find('}').unwrap_or(0);
                    let body = rest.get(1..close).unwrap_or("");
                    let numbers = body.split("..").count() <= 3
                        && body.contains("..")
                        && body
                            .split("..")
                            .all(|end| !end.is_empty() && end.bytes().all(|b| b.is_ascii_digit()));
                    self.out.push(Part::Brace { numbers });
                    if numbers {
                        index += close + 1;
                    } else {
                        index += 1;
                    }
                }
                _ => {
                    self.push(&c.to_string(), quoted);
                    index += c.len_utf8();
                }
            }
        }
        Ok(())
    }

    fn dollar(&mut self, index: usize, quoted: bool) -> Parse<usize> {
        let end = self.scanner.dollar(index, quoted, 0)?;
        if end > self.text.len() {
            return unclear(index, "ends in the middle");
        }
        let next = self.byte(index + 1);
        match next {
            b'(' if self.byte(index + 2) == b'(' => {
                self.out.push(Part::Arithmetic { start: index + 3, end: end - 2 })
            }
            b'(' => {
                let text = self.slice(index + 2, end - 1).to_owned();
                self.out.push(Part::Command { text, start: Some(index + 2), quoted });
            }
            b'{' => self.braces(index + 2, end - 1, quoted)?,
            b'\'' if !quoted => {
                let Some(text) = unescape_ansi(self.slice(index + 2, end - 1)) else {
                    return unclear(index, "an escape that isn't known");
                };
                self.push(&text, true);
            }
            _ if end == index + 1 => self.push("$", quoted),
            _ => {
                let name = self.slice(index + 1, end).to_owned();
                let number = is_number(&name);
                self.out.push(Part::Variable { name, quoted, plain: true, number });
            }
        }
        Ok(end)
    }

    /// What stands between `${` and `}`.
    fn braces(&mut self, start: usize, end: usize, quoted: bool) -> Parse<()> {
        self.depth += 1;
        if self.depth > crate::lexer::MAX_DEPTH {
            return unclear(start, "too deeply nested");
        }
        let mut index = start;
        let length = self.byte(index) == b'#' && index + 1 < end;
        if length {
            index += 1;
        }
        if self.byte(index) == b'!' && index + 1 < end {
            return unclear(index, "an indirect expansion");
        }
        let name_start = index;
        if self.byte(index).is_ascii_digit() {
            while self.byte(index).is_ascii_digit() {
                index += 1;
            }
        } else if self.byte(index) == b'_' || self.byte(index).is_ascii_alphabetic() {
            while self.byte(index) == b'_' || self.byte(index).is_ascii_alphanumeric() {
                index += 1;
            }
        } else if b"@*#?-$!".contains(&self.byte(index)) {
            index += 1;
        }
        if index == name_start || index > end {
            return unclear(start, "an expansion that isn't known");
        }
        let name = self.slice(name_start, index).to_owned();
        let mut plain = !length;
        if self.byte(index) == b'[' && index < end {
            let Some(close) = self.slice(index, end).find(']').map(|at| index + at) else {
                return unclear(index, "a subscript without its end");
            };
            if !matches!(self.slice(index + 1, close), "@" | "*") {
                self.out.push(Part::Arithmetic { start: index + 1, end: close });
            }
            plain = false;
            index = close + 1;
        }
        let number = length || is_number(&name);
        let operator = self.slice(index, end).to_owned();
        let rest = index;
        let mut assigns = false;
        let mut operand = None;
        if operator.is_empty() {
        } else if length {
            return unclear(index, "an expansion that isn't known");
        } else if operator.starts_with(":-")
            || operator.starts_with(":+")
            || operator.starts_with(":?")
            || operator.starts_with(":=")
        {
            assigns = operator.starts_with(":=");
            operand = Some(rest + 2);
        } else if operator.starts_with('-')
            || operator.starts_with('+')
            || operator.starts_with('?')
            || operator.starts_with('=')
        {
            assigns = operator.starts_with('=');
            operand = Some(rest + 1);
        } else if operator.starts_with(':') {
            let mut from = rest + 1;
            for piece in operator.get(1..).unwrap_or("").split(':') {
                self.out.push(Part::Arithmetic { start: from, end: from + piece.len() });
                from += piece.len() + 1;
            }
        } else if operator.starts_with(['#', '%', '/', '^', ',']) {
            operand = Some(rest + 1);
        } else {
            return unclear(index, "an expansion that isn't known");
        }
        if !operator.is_empty() {
            plain = false;
        }
        if let Some(from) = operand {
            let text = self.slice(0, end);
            let mut inner = Parser { scanner: Scanner::new(text), text, out: Vec::new(), depth: self.depth };
            inner.run_operand(from, quoted)?;
            let parts = inner.out;
            self.out.push(Part::Operand(parts));
        }
        if assigns {
            self.out.push(Part::Assigns { name: name.clone() });
        }
        let number = number && (operator.is_empty() || length);
        self.out.push(Part::Variable { name, quoted, plain, number });
        Ok(())
    }

    fn run_operand(&mut self, start: usize, quoted: bool) -> Parse<()> {
        // In double quotes a `"` inside the braces still begins a string; only `'` is text there, and the scanner refused that.
        let mut index = start;
        while index < self.text.len() {
            let stop =
                self.slice(index, self.text.len()).find('"').map(|at| index + at).unwrap_or(self.text.len());
            if !quoted {
                return self.run(index, Place::Open);
            }
            let text = self.slice(0, stop);
            let mut inner = Parser { scanner: Scanner::new(text), text, out: Vec::new(), depth: self.depth };
            inner.run(index, Place::Quoted)?;
            let parts = inner.out;
            self.out.extend(parts);
            if stop == self.text.len() {
                return Ok(());
            }
            let end = self.scanner.double(stop, 0)?;
            let text = self.slice(0, end.saturating_sub(1));
            let mut inner = Parser { scanner: Scanner::new(text), text, out: Vec::new(), depth: self.depth };
            inner.run(stop + 1, Place::Quoted)?;
            let parts = inner.out;
            self.out.extend(parts);
            index = end;
        }
        Ok(())
    }
}

/// Variables of the shell that always hold a number.
fn is_number(name: &str) -> bool {
    matches!(
        name,
        "?" | "#"
            | "$"
            | "!"
            | "UID"
            | "EUID"
            | "PPID"
            | "RANDOM"
            | "SECONDS"
            | "LINENO"
            | "EPOCHSECONDS"
            | "BASHPID"
    )
}

/// Removes the backslashes that backquotes take away.
fn unescape(raw: &str, quoted: bool) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars().peekable();
    while let Some(c) = characters.next() {
        if c == '\\'
            && let Some(next) = characters.peek()
            && (matches!(next, '$' | '`' | '\\') || (quoted && *next == '"'))
        {
            text.push(*next);
            characters.next();
        } else {
            text.push(c);
        }
    }
    text
}

/// The text of `$'…'`, or `None` where an escape isn't one of the plain ones.
fn unescape_ansi(raw: &str) -> Option<String> {
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        text.push(match characters.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '\\' => '\\',
            '\'' => '\'',
            '"' => '"',
            _ => return None,
        });
    }
    Some(text)
}
