//! Cuts a command into words and operators, strictly: whatever it isn't sure of is an error, and an error is never safe.
//!
//! The grammar's own tokenizer rewrites words (blanks and comments inside substitutions) and forgets where they were. This
//! one keeps byte positions for the approval card. Both must agree on every token before a command can be safe.

use brush_parser::{SourcePosition, SourceSpan, Token};
use std::sync::Arc;

/// Why a text can't be cut into tokens, and where.
#[derive(Clone, Debug)]
pub(crate) struct Unclear {
    pub(crate) at: usize,
    pub(crate) why: &'static str,
}

/// How deep substitutions, quotes and parentheses may nest. Bounds the stack of the scanner, the grammar and the walk.
pub(crate) const MAX_DEPTH: usize = 12;

/// Longest first.
const OPERATORS: &[&str] = &[
    "<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "&",
    "|", ";", "<", ">", "(", ")",
];

struct Piece {
    word: bool,
    start: usize,
    end: usize,
    /// For the tag of a here-document: where its body is.
    body: Option<(usize, usize)>,
}

/// Scans one text.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
}

type Scan<T> = Result<T, Unclear>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes() }
    }

    fn at(&self, index: usize) -> u8 {
        self.bytes.get(index).copied().unwrap_or(0)
    }

    fn rest(&self, index: usize) -> &'a str {
        self.text.get(index..).unwrap_or("")
    }

    fn unclear<T>(at: usize, why: &'static str) -> Scan<T> {
        Err(Unclear { at, why })
    }

    fn next_char(&self, index: usize) -> usize {
        index + self.rest(index).chars().next().map_or(1, char::len_utf8)
    }

    /// The tokens of the whole text, as the grammar wants them.
    pub(crate) fn tokens(&self) -> Scan<Vec<Token>> {
        let (pieces, _) = self.pieces(0, false, 0)?;
        let mut tokens = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let slice = |(start, end): (usize, usize)| {
                (self.text.get(start..end).unwrap_or("").to_owned(), span(start, end))
            };
            let (text, place) = slice((piece.start, piece.end));
            if piece.word {
                tokens.push(Token::Word(text.clone(), place.clone()));
                if let Some(body) = piece.body {
                    let (body, body_place) = slice(body);
                    tokens.push(Token::Word(body, body_place));
                    tokens.push(Token::Word(bare_tag(&text).to_owned(), place));
                }
            } else {
                tokens.push(Token::Operator(text, place));
            }
        }
        Ok(tokens)
    }

    /// The tokens from `index` to the end or, when `nested`, to the `)` that closes the substitution; and where that is.
    fn pieces(&self, mut index: usize, nested: bool, depth: usize) -> Scan<(Vec<Piece>, usize)> {
        if depth > MAX_DEPTH {
            return Self::unclear(index, "too deeply nested");
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut waiting: Vec<usize> = Vec::new();
        let mut tag_next = false;
        let mut parens = 0usize;
        loop {
            let byte = self.at(index);
            if index >= self.bytes.len() {
                if nested || tag_next || !waiting.is_empty() {
                    return Self::unclear(index, "ends in the middle");
                }
                return Ok((pieces, index));
            }
            match byte {
                b' ' | b'\t' => index += 1,
                b'\\' if self.at(index + 1) == b'\n' => index += 2,
                b'#' => {
                    while index < self.bytes.len() && self.at(index) != b'\n' {
                        index += 1;
                    }
                }
                b'\n' => {
                    if tag_next {
                        return Self::unclear(index, "a here-document without a tag");
                    }
                    pieces.push(Piece { word: false, start: index, end: index + 1, body: None });
                    index += 1;
                    for tag in waiting.drain(..) {
                        let Some(piece) = pieces.get_mut(tag) else { continue };
                        let (body, after) = self.here_document(piece.start, piece.end, index)?;
                        piece.body = Some(body);
                        index = after;
                    }
                }
                _ => {
                    if let Some(operator) =
                        OPERATORS.iter().find(|operator| self.rest(index).starts_with(**operator))
                    {
                        if tag_next {
                            return Self::unclear(index, "a here-document without a tag");
                        }
                        match *operator {
                            "(" => {
                                parens += 1;
                                if parens + depth > MAX_DEPTH {
                                    return Self::unclear(index, "too deeply nested");
                                }
                                let joined = pieces.last().is_some_and(|last| last.end == index);
                                // `<(` glued to a word is one argument for bash and two for the grammar.
                                if joined && pieces.len() >= 2 {
                                    let arrow = &pieces[pieces.len() - 1];
                                    let before = &pieces[pieces.len() - 2];
                                    if !arrow.word
                                        && matches!(self.text.get(arrow.start..arrow.end), Some("<" | ">"))
                                        && before.word
                                        && before.end == arrow.start
                                    {
                                        return Self::unclear(index, "a process substitution inside a word");
                                    }
                                }
                            }
                            ")" if parens == 0 && nested => {
                                if waiting.is_empty() {
                                    return Ok((pieces, index));
                                }
                                return Self::unclear(index, "a here-document without its end");
                            }
                            // Without its opening one it ends a pattern of `case`, or the grammar refuses it.
                            ")" => parens = parens.saturating_sub(1),
                            "<<" | "<<-" => tag_next = true,
                            _ => {}
                        }
                        pieces.push(Piece {
                            word: false,
                            start: index,
                            end: index + operator.len(),
                            body: None,
                        });
                        index += operator.len();
                    } else {
                        let end = self.word(index, depth)?;
                        if tag_next {
                            tag_next = false;
                            waiting.push(pieces.len());
                        }
                        pieces.push(Piece { word: true, start: index, end, body: None });
                        index = end;
                    }
                }
            }
        }
    }

    /// The end of the word that begins at `index`.
    fn word(&self, mut index: usize, depth: usize) -> Scan<usize> {
        while index < self.bytes.len() {
            match self.at(index) {
                b' ' | b'\t' | b'\n' | b'&' | b'|' | b';' | b'<' | b'>' | b'(' | b')' => break,
                b'\\' if self.at(index + 1) == b'\n' => {
                    if matches!(self.at(index + 2), b' ' | b'\t' | b'\n' | 0) {
                        break;
                    }
                    return Self::unclear(index, "a word that goes on in the next line");
                }
                b'\\' => {
                    if index + 1 >= self.bytes.len() {
                        return Self::unclear(index, "ends in the middle");
                    }
                    index = self.next_char(index + 1);
                }
                b'\'' => index = self.single(index)?,
                b'"' => index = self.double(index, depth + 1)?,
                b'`' => index = self.backquoted(index)?,
                b'$' => index = self.dollar(index, false, depth)?,
                _ => index = self.next_char(index),
            }
        }
        Ok(index)
    }

    /// `index` is at the opening quote; returns the byte after the closing one.
    pub(crate) fn single(&self, index: usize) -> Scan<usize> {
        match self.rest(index + 1).find('\'') {
            Some(length) => Ok(index + 1 + length + 1),
            None => Self::unclear(index, "a quote without its end"),
        }
    }

    /// `index` is at the `'` of `$'…'`.
    pub(crate) fn ansi(&self, index: usize) -> Scan<usize> {
        let mut index = index + 1;
        while index < self.bytes.len() {
            match self.at(index) {
                b'\\' => index = self.next_char(index + 1),
                b'\'' => return Ok(index + 1),
                _ => index += 1,
            }
        }
        Self::unclear(index, "a quote without its end")
    }

    pub(crate) fn double(&self, start: usize, depth: usize) -> Scan<usize> {
        if depth > MAX_DEPTH {
            return Self::unclear(start, "too deeply nested");
        }
        let mut index = start + 1;
        while index < self.bytes.len() {
            match self.at(index) {
                b'"' => return Ok(index + 1),
                b'\\' => index = self.next_char(index + 1),
                b'`' => index = self.backquoted(index)?,
                b'$' => index = self.dollar(index, true, depth)?,
                _ => index = self.next_char(index),
            }
        }
        Self::unclear(start, "a quote without its end")
    }

    pub(crate) fn backquoted(&self, start: usize) -> Scan<usize> {
        let mut index = start + 1;
        while index < self.bytes.len() {
            match self.at(index) {
                b'`' => return Ok(index + 1),
                b'\\' => index = self.next_char(index + 1),
                _ => index += 1,
            }
        }
        Self::unclear(start, "a backquote without its end")
    }

    /// The byte after the expansion that begins with the `$` at `index`.
    pub(crate) fn dollar(&self, index: usize, quoted: bool, depth: usize) -> Scan<usize> {
        match self.at(index + 1) {
            b'(' if self.at(index + 2) == b'(' => self.arithmetic(index, depth + 1),
            b'(' => {
                let (_, close) = self.pieces(index + 2, true, depth + 1)?;
                Ok(close + 1)
            }
            b'{' => self.braces(index, quoted, depth + 1),
            b'[' => Self::unclear(index, "`$[…]` is an old form of arithmetic"),
            b'\'' if !quoted => self.ansi(index + 1),
            b'"' if !quoted => Self::unclear(index, "a translated string"),
            byte if byte == b'_' || byte.is_ascii_alphabetic() => {
                let mut end = index + 1;
                while self.at(end) == b'_' || self.at(end).is_ascii_alphanumeric() {
                    end += 1;
                }
                Ok(end)
            }
            byte if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => Ok(index + 2),
            _ => Ok(index + 1),
        }
    }

    /// `$((…))`. Text that could also be a substitution that begins with a subshell is unclear.
    fn arithmetic(&self, start: usize, depth: usize) -> Scan<usize> {
        if depth > MAX_DEPTH {
            return Self::unclear(start, "too deeply nested");
        }
        let mut index = start + 3;
        let mut parens = 0usize;
        while index < self.bytes.len() {
            match self.at(index) {
                b'(' => {
                    parens += 1;
                    index += 1;
                }
                b')' if parens > 0 => {
                    parens -= 1;
                    index += 1;
                }
                b')' if self.at(index + 1) == b')' => return Ok(index + 2),
                b')' => break,
                b'$' => index = self.dollar(index, true, depth)?,
                b'\'' | b'"' | b'`' | b'\\' | b'\n' | b';' | b'#' | b'{' | b'}' => break,
                _ => index = self.next_char(index),
            }
        }
        Self::unclear(index.min(self.bytes.len()), "arithmetic that isn't plain")
    }

    /// `${…}`; `quoted` where it stands in double quotes.
    fn braces(&self, start: usize, quoted: bool, depth: usize) -> Scan<usize> {
        if depth > MAX_DEPTH {
            return Self::unclear(start, "too deeply nested");
        }
        let mut index = start + 2;
        while index < self.bytes.len() {
            match self.at(index) {
                b'}' => return Ok(index + 1),
                b'\\' => index = self.next_char(index + 1),
                b'\'' if quoted => break,
                b'\'' => index = self.single(index)?,
                b'"' => index = self.double(index, depth)?,
                b'`' => index = self.backquoted(index)?,
                b'$' => index = self.dollar(index, quoted, depth)?,
                b'\n' | b'<' | b'>' => break,
                _ => index = self.next_char(index),
            }
        }
        Self::unclear(start, "an expansion that isn't plain")
    }

    /// Where the body of the document with this tag is, and the byte after the line that ends it.
    fn here_document(&self, tag_start: usize, tag_end: usize, from: usize) -> Scan<((usize, usize), usize)> {
        let raw = self.text.get(tag_start..tag_end).unwrap_or("");
        let tag = bare_tag(raw);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if tag.is_empty() || !tag.chars().all(plain) {
            return Self::unclear(tag_start, "a here-document with an odd tag");
        }
        let quoted = tag.len() != raw.len();
        let before = self.text.get(..tag_start).unwrap_or("").trim_end_matches([' ', '\t']);
        let tabs = before.ends_with("<<-");
        let mut line_start = from;
        for line in self.rest(from).split_inclusive('\n') {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            let compared = if tabs { bare.trim_start_matches('\t') } else { bare };
            if compared == tag {
                return Ok(((from, line_start), line_start + line.len()));
            }
            if !quoted && bare.ends_with('\\') {
                return Self::unclear(line_start, "a here-document with a joined line");
            }
            line_start += line.len();
        }
        Self::unclear(tag_start, "a here-document without its end")
    }
}

/// A here-document's tag without its quotes.
fn bare_tag(raw: &str) -> &str {
    raw.strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
        .or_else(|| raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')))
        .or_else(|| raw.strip_prefix('\\'))
        .unwrap_or(raw)
}

fn span(start: usize, end: usize) -> SourceSpan {
    let position = |index| Arc::new(SourcePosition { index, line: 1, column: 1 });
    SourceSpan { start: position(start), end: position(end) }
}

impl Scanner<'_> {
    /// The words from `index` to the end of the text, which holds nothing but words, blanks and line ends.
    pub(crate) fn words_from(&self, index: usize) -> Result<Vec<(usize, usize)>, Unclear> {
        let (pieces, _) = self.pieces(index, false, 0)?;
        let stranger =
            pieces.iter().find(|piece| !piece.word && self.text.get(piece.start..piece.end) != Some("\n"));
        match stranger {
            Some(piece) => Self::unclear(piece.start, "an operator in an array"),
            None => {
                Ok(pieces.iter().filter(|piece| piece.word).map(|piece| (piece.start, piece.end)).collect())
            }
        }
    }
}
