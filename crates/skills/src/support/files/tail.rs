//! Reads a file's lines from its end, in bounded memory: blocks backwards, long lines cut while they are read.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Longest line that is kept whole.
pub(crate) const MAX_LINE: usize = 8 * 1024;

/// How much of the start of a longer one is shown: its time, and what wrote it. The rest is its end.
const SHOWN_START: usize = 512;

const BLOCK: usize = 64 * 1024;

/// Lines of a file, the last one first.
#[derive(Debug)]
pub(crate) struct LinesBackwards {
    source: Source,
    /// Everything from here on has been read.
    position: u64,
    block: Vec<u8>,
    /// How much of `block` hasn't been handed out.
    left: usize,
    /// The rest of the line that begins before the block.
    tail: Line,
    started: bool,
    ended: bool,
    /// How many bytes were read.
    pub(crate) scanned: u64,
    /// The file doesn't end with a line break.
    pub(crate) unfinished: bool,
}

#[derive(Debug)]
enum Source {
    File(File),
    Memory(Vec<u8>),
}

/// One line without its line break.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The start of the line, up to [`MAX_LINE`].
    pub(crate) bytes: Vec<u8>,
    /// Its last [`MAX_LINE`] bytes, where it is longer than that; else empty.
    end: Vec<u8>,
    /// How long it really is.
    pub(crate) length: usize,
    /// Its beginning was too far back: this is only the end of it.
    pub(crate) beheaded: bool,
}

impl Line {
    /// A line that is one piece.
    fn of(piece: &[u8]) -> Self {
        let mut line = Self::default();
        line.push(piece);
        line
    }

    /// Adds a piece behind it.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.join(piece, &[], piece.len());
    }

    /// Puts a piece in front of it.
    fn put_before(&mut self, piece: &[u8]) {
        let rest = std::mem::replace(self, Self::of(piece));
        self.join(&rest.bytes, &rest.end, rest.length);
        self.beheaded = rest.beheaded;
    }

    /// Adds a rest, of which the start and, if that isn't all of it, the end are known.
    fn join(&mut self, start: &[u8], end: &[u8], length: usize) {
        let whole = self.length + length;
        if whole > MAX_LINE {
            let known = if end.is_empty() { start } else { end };
            let before = if self.end.is_empty() { &self.bytes } else { &self.end };
            let own = before.len().min(MAX_LINE.saturating_sub(known.len()));
            self.end =
                [&before[before.len() - own..], &known[known.len().saturating_sub(MAX_LINE)..]].concat();
        }
        let room = MAX_LINE - self.bytes.len();
        self.bytes.extend_from_slice(&start[..start.len().min(room)]);
        self.length = whole;
    }
}

impl LinesBackwards {
    /// Reads back from `length`. What is written behind it meanwhile isn't looked at.
    pub(crate) fn of_file(file: File, length: u64) -> Self {
        Self::new(Source::File(file), length)
    }

    /// For files without a length, such as those of `/proc`.
    pub(crate) fn of_memory(bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        Self::new(Source::Memory(bytes), length)
    }

    fn new(source: Source, position: u64) -> Self {
        Self {
            source,
            position,
            block: Vec::new(),
            left: 0,
            tail: Line::default(),
            started: false,
            ended: false,
            scanned: 0,
            unfinished: false,
        }
    }

    /// The line before the last one handed out; `None` at the start of the file. Once `most` bytes of the file have been
    /// read no more is, so that the line at that place comes without its beginning, as the last one.
    pub(crate) fn next_line(&mut self, most: u64) -> io::Result<Option<Line>> {
        loop {
            let unread = &self.block[..self.left];
            if let Some(end) = unread.iter().rposition(|byte| *byte == b'\n') {
                self.tail.put_before(&unread[end + 1..]);
                self.left = end;
                return Ok(Some(std::mem::take(&mut self.tail)));
            }
            self.tail.put_before(unread);
            self.left = 0;
            if self.position == 0 {
                if std::mem::replace(&mut self.ended, true) || !self.started {
                    return Ok(None);
                }
                return Ok(Some(std::mem::take(&mut self.tail)));
            }
            if self.scanned >= most {
                self.position = 0;
                self.ended = true;
                let line = std::mem::take(&mut self.tail);
                return Ok((line.length > 0).then_some(Line { beheaded: true, ..line }));
            }
            self.read_block()?;
        }
    }

    fn read_block(&mut self) -> io::Result<()> {
        let size = self.position.min(BLOCK as u64);
        self.position -= size;
        self.block.resize(size as usize, 0);
        match &self.source {
            Source::File(file) => {
                // A file that shrank meanwhile has nothing there any more.
                let mut read = 0;
                while read < self.block.len() {
                    match file.read_at(&mut self.block[read..], self.position + read as u64)? {
                        0 => break,
                        more => read += more,
                    }
                }
                self.block.truncate(read);
            }
            Source::Memory(bytes) => {
                let start = self.position as usize;
                self.block.copy_from_slice(&bytes[start..start + size as usize]);
            }
        }
        self.scanned += self.block.len() as u64;
        self.left = self.block.len();
        if !self.started && !self.block.is_empty() {
            self.started = true;
            // The last line break ends the last line; it doesn't begin another one.
            if self.block.last() == Some(&b'\n') {
                self.left -= 1;
            } else {
                self.unfinished = true;
            }
        }
        Ok(())
    }
}

/// A line as text. Invalid UTF-8 is replaced, runs of NUL bytes (holes of sparse files) are named, a cut is marked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) cut: bool,
    pub(crate) lossy: bool,
}

/// Makes text of a line. Of one that is too long, a bit of the start and the end; of one whose start is too far back, the
/// end.
pub(crate) fn show(line: &Line) -> Shown {
    let cut = line.length > MAX_LINE;
    if !cut && !line.beheaded {
        let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(&line.bytes);
        let text = String::from_utf8_lossy(bytes);
        let lossy = matches!(text, Cow::Owned(_));
        return Shown { text: without_nul_runs(&text), cut, lossy };
    }
    let end = if cut { &line.end } else { &line.bytes };
    let end = end.strip_suffix(b"\r").unwrap_or(end);
    if line.beheaded {
        let (text, lossy) = whole_characters(&end[end.len().saturating_sub(MAX_LINE)..]);
        let text = format!("[cut, the line begins further back…] {}", without_nul_runs(&text));
        return Shown { text, cut: true, lossy };
    }
    let (start, start_lossy) = whole_characters(&line.bytes[..SHOWN_START]);
    let (end, end_lossy) = whole_characters(&end[end.len().saturating_sub(MAX_LINE - SHOWN_START)..]);
    let text = format!(
        "{} […cut, the line has {} bytes…] {}",
        without_nul_runs(&start),
        line.length,
        without_nul_runs(&end)
    );
    Shown { text, cut, lossy: start_lossy || end_lossy }
}

/// The text of a part that was cut out, perhaps through a character at either side; and whether something else in it is
/// no text.
fn whole_characters(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    let is_rest = |byte: &u8| byte & 0xc0 == 0x80;
    let begin = bytes.iter().take(3).take_while(|byte| is_rest(byte)).count();
    let mut part = &bytes[begin..];
    if let Some(last) = part.utf8_chunks().last()
        && std::str::from_utf8(last.invalid()).is_err_and(|error| error.error_len().is_none())
    {
        part = &part[..part.len() - last.invalid().len()];
    }
    let text = String::from_utf8_lossy(part);
    let lossy = matches!(text, Cow::Owned(_));
    (text, lossy)
}

fn without_nul_runs(text: &str) -> String {
    if !text.contains('\0') {
        return text.to_owned();
    }
    let mut plain = String::new();
    let mut run = 0usize;
    for letter in text.chars().chain(['\n']) {
        if letter == '\0' {
            run += 1;
            continue;
        }
        if run > 0 {
            plain.push_str(&format!("[{run} NUL bytes]"));
            run = 0;
        }
        plain.push(letter);
    }
    plain.pop();
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> Vec<String> {
        let mut lines = LinesBackwards::of_memory(bytes.to_vec());
        let mut found = Vec::new();
        while let Some(line) = lines.next_line(u64::MAX).unwrap() {
            found.push(show(&line).text);
        }
        found.reverse();
        found
    }

    #[test]
    fn lines_come_whole_with_and_without_a_last_line_break() {
        assert_eq!(all(b""), Vec::<String>::new());
        assert_eq!(all(b"\n"), [""]);
        assert_eq!(all(b"a"), ["a"]);
        assert_eq!(all(b"a\n\nb\r\n"), ["a", "", "b"]);
        assert_eq!(all(b"\na"), ["", "a"]);
    }

    #[test]
    fn a_huge_line_is_cut_and_marked() {
        let mut bytes = b"before\n".to_vec();
        bytes.extend(b"2026-03-01 app: ");
        bytes.extend(std::iter::repeat_n(b'x', 300_000));
        bytes.extend("the end…\r\nafter\n".as_bytes());
        let lines = all(&bytes);
        assert_eq!((lines.len(), lines[0].as_str(), lines[2].as_str()), (3, "before", "after"));
        assert!(
            lines[1].starts_with("2026-03-01 app: xxx") && lines[1].ends_with("xxxthe end…"),
            "{}",
            lines[1]
        );
        assert!(lines[1].contains("xxx […cut, the line has 300027 bytes…] xxx"), "{}", lines[1]);
        assert!(lines[1].len() < MAX_LINE + 100);
    }

    #[test]
    fn no_more_is_read_than_allowed_even_within_a_line() {
        let mut bytes = b"first\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 1_000_000));
        bytes.extend(b"the end\nlast");
        let mut lines = LinesBackwards::of_memory(bytes);
        assert_eq!(lines.next_line(100_000).unwrap().unwrap().bytes, b"last");
        let cut = lines.next_line(100_000).unwrap().unwrap();
        let shown = show(&cut);
        assert!(
            cut.beheaded && shown.cut && shown.text.starts_with("[cut, the line begins further back…] xxx")
        );
        assert!(shown.text.ends_with("xxxthe end"), "{}", shown.text);
        assert_eq!(lines.next_line(100_000).unwrap(), None);
        assert!(lines.scanned < 200_000);
    }

    #[test]
    fn holes_and_broken_characters_are_shown_as_what_they_are() {
        let line = Line::of(b"\0\0\0a\xff");
        assert_eq!(show(&line), Shown { text: "[3 NUL bytes]a\u{fffd}".to_owned(), cut: false, lossy: true });
    }

    #[test]
    fn a_cut_goes_through_no_character_and_hides_no_broken_one() {
        for shift in 0..3 {
            let mut bytes = vec![b'x'; shift];
            bytes.extend("한".repeat(20_000).as_bytes());
            let shown = show(&Line::of(&bytes));
            assert!(shown.cut && !shown.lossy && shown.text.ends_with('한'), "{shift}");
            bytes.push(0xff);
            assert!(show(&Line::of(&bytes)).lossy, "{shift}");
        }
    }

    proptest! {
        #[test]
        fn a_line_is_the_same_from_whatever_pieces_it_is_made(
            pieces in prop::collection::vec((any::<u8>(), 0usize..6000), 0..8)
        ) {
            let pieces: Vec<Vec<u8>> = pieces.into_iter().map(|(byte, length)| vec![byte; length]).collect();
            let whole = pieces.concat();
            let (mut forwards, mut backwards) = (Line::default(), Line::default());
            pieces.iter().for_each(|piece| forwards.push(piece));
            pieces.iter().rev().for_each(|piece| backwards.put_before(piece));
            prop_assert_eq!(&forwards, &backwards);
            prop_assert_eq!((&forwards.bytes[..], forwards.length), (&whole[..whole.len().min(MAX_LINE)], whole.len()));
            let end = if whole.len() > MAX_LINE { &whole[whole.len() - MAX_LINE..] } else { &[] };
            prop_assert_eq!(&forwards.end[..], end);
        }

        #[test]
        fn what_std_reads_forwards_is_read_backwards(lines in prop::collection::vec("[a-zäß]{0,12}", 0..40), end: bool) {
            let mut text = lines.join("\n");
            if end && !text.is_empty() {
                text.push('\n');
            }
            let expected: Vec<String> = text.lines().map(str::to_owned).collect();
            prop_assert_eq!(all(text.as_bytes()), expected);
        }
    }
}
