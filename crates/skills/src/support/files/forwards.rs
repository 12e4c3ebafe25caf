//! Reads lines of a packed file from its start, which is the only way to its end, in bounded memory.

use super::tail::Line;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// Lines of a gzip file, the first one first.
pub(crate) struct LinesForwards<R> {
    reader: BufReader<R>,
    /// How many unpacked bytes were read.
    pub(crate) scanned: u64,
    /// The last line has no line break.
    pub(crate) unfinished: bool,
}

/// Begins to unpack a gzip file.
pub(crate) fn of_gzip(file: File) -> LinesForwards<MultiGzDecoder<File>> {
    LinesForwards {
        reader: BufReader::with_capacity(64 * 1024, MultiGzDecoder::new(file)),
        scanned: 0,
        unfinished: false,
    }
}

impl<R: Read> LinesForwards<R> {
    /// The next line, cut while it is read; `None` at the end. Reads no more than `most` bytes for it.
    pub(crate) fn next_line(&mut self, most: u64) -> io::Result<Option<Line>> {
        let mut line = Line::default();
        let mut left = most;
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() || left == 0 {
                self.unfinished = line.length > 0;
                return Ok(self.unfinished.then_some(line));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            line.push(piece);
            let used = piece.len() + usize::from(end.is_some());
            self.reader.consume(used);
            self.scanned += used as u64;
            left = left.saturating_sub(used as u64);
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

/// Whether a file begins as gzip files do.
pub(crate) fn is_gzip(file: &File) -> bool {
    use std::os::unix::fs::FileExt;
    let mut start = [0; 3];
    file.read_at(&mut start, 0).is_ok_and(|read| read == 3) && start == [0x1f, 0x8b, 8]
}
