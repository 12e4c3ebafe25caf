//! Reads a file's lines from its end, in bounded memory: blocks backwards, long lines cut while they are read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Longest line that is kept.
pub(crate) const MAX_LINE: usize = 8 * 1024;

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
    /// The rest of the line that begins before the block, cut; and its true length.
    tail: Vec<u8>,
    tail_length: usize,
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
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The start of the line, up to [`MAX_LINE`].
    pub(crate) bytes: Vec<u8>,
    /// How long it really is.
    pub(crate) length: usize,
    /// Its beginning was too far back: this is only the end of it.
    pub(crate) beheaded: bool,
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
            tail: Vec::new(),
            tail_length: 0,
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
                let line = join(&unread[end + 1..], &mut self.tail, &mut self.tail_length);
                self.left = end;
                return Ok(Some(line));
            }
            let Line { bytes, length, .. } = join(unread, &mut self.tail, &mut self.tail_length);
            self.tail = bytes;
            self.tail_length = length;
            self.left = 0;
            if self.position == 0 {
                if std::mem::replace(&mut self.ended, true) || !self.started {
                    return Ok(None);
                }
                return Ok(Some(join(&[], &mut self.tail, &mut self.tail_length)));
            }
            if self.scanned >= most {
                self.position = 0;
                self.ended = true;
                let line = join(&[], &mut self.tail, &mut self.tail_length);
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

/// The start of a line in front of its tail, cut to [`MAX_LINE`].
fn join(front: &[u8], tail: &mut Vec<u8>, tail_length: &mut usize) -> Line {
    let length = front.len() + *tail_length;
    let mut bytes = front[..front.len().min(MAX_LINE)].to_vec();
    let room = MAX_LINE - bytes.len();
    bytes.extend_from_slice(&tail[..tail.len().min(room)]);
    tail.clear();
    *tail_length = 0;
    Line { bytes, length, beheaded: false }
}

/// A line as text. Invalid UTF-8 is replaced, runs of NUL bytes (holes of sparse files) are named, a cut is marked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) cut: bool,
    pub(crate) lossy: bool,
}

/// Makes text of a line.
pub(crate) fn show(line: &Line) -> Shown {
    let cut = line.length > line.bytes.len();
    let mut bytes = line.bytes.as_slice();
    if !cut {
        bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    }
    let whole = match std::str::from_utf8(bytes) {
        // The cut may have gone through a character.
        Err(error) if cut && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    let text = String::from_utf8_lossy(whole);
    let lossy = matches!(text, std::borrow::Cow::Owned(_));
    let mut text = without_nul_runs(&text);
    if line.beheaded {
        text.insert_str(0, "[cut, the line begins further back…] ");
    }
    if cut {
        text.push_str(&format!(" […cut, the line has {} bytes]", line.length));
    }
    Shown { text, cut: cut || line.beheaded, lossy }
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
        bytes.extend(std::iter::repeat_n(b'x', 300_000));
        bytes.extend(b"\nafter\n");
        let lines = all(&bytes);
        assert_eq!((lines.len(), lines[0].as_str(), lines[2].as_str()), (3, "before", "after"));
        assert!(lines[1].starts_with("xxx") && lines[1].ends_with("[…cut, the line has 300000 bytes]"));
        assert!(lines[1].len() < MAX_LINE + 100);
    }

    #[test]
    fn no_more_is_read_than_allowed_even_within_a_line() {
        let mut bytes = b"first\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 1_000_000));
        bytes.extend(b"\nlast");
        let mut lines = LinesBackwards::of_memory(bytes);
        assert_eq!(lines.next_line(100_000).unwrap().unwrap().bytes, b"last");
        let cut = lines.next_line(100_000).unwrap().unwrap();
        assert!(cut.beheaded && show(&cut).text.starts_with("[cut, the line begins further back…] xxx"));
        assert_eq!(lines.next_line(100_000).unwrap(), None);
        assert!(lines.scanned < 200_000);
    }

    #[test]
    fn holes_and_broken_characters_are_shown_as_what_they_are() {
        let line = Line { bytes: b"\0\0\0a\xff".to_vec(), length: 5, beheaded: false };
        assert_eq!(show(&line), Shown { text: "[3 NUL bytes]a\u{fffd}".to_owned(), cut: false, lossy: true });
    }

    proptest! {
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
