//! Reads server-sent events from bytes that may be cut anywhere, also inside a character or a line end.
//!
//! Sizes are bounded, so that a server can't fill the memory. Bytes that are not UTF-8 are an error: replacing
//! them could change the arguments of a call.

use crate::LlmError;

/// Longest event, over all of its lines, in bytes.
const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The `event` field; empty if there was none.
    pub name: String,
    /// The `data` fields, joined by line feeds.
    pub data: String,
}

/// The reader's state between two pieces of input.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    after_cr: bool,
    past_start: bool,
}

impl Parser {
    /// Takes the next bytes and returns the events that they complete.
    ///
    /// # Errors
    ///
    /// Fails on an event that is too large and on bytes that are not UTF-8. The parser is of no use after that.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, LlmError> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    self.end_line(&mut events)?;
                }
                other => {
                    if self.line.len() + self.data.len() >= MAX_EVENT_BYTES {
                        return Err(LlmError::Protocol(format!(
                            "one event is larger than {MAX_EVENT_BYTES} bytes"
                        )));
                    }
                    self.line.push(other);
                }
            }
        }
        Ok(events)
    }

    /// Says that the input ended, and returns the event that lacked only its blank line. Some servers end so.
    ///
    /// # Errors
    ///
    /// As [`Parser::push`].
    pub fn finish(&mut self) -> Result<Option<Event>, LlmError> {
        let mut events = Vec::new();
        self.end_line(&mut events)?;
        self.end_event(&mut events);
        Ok(events.pop())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), LlmError> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8(line)
            .map_err(|_| LlmError::Protocol("the stream holds bytes that are not UTF-8".to_owned()))?;
        let line =
            if self.past_start { line.as_str() } else { line.strip_prefix('\u{feff}').unwrap_or(&line) };
        self.past_start = true;
        if line.is_empty() {
            self.end_event(events);
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.name),
            // Comments (an empty field name), `id`, `retry` and whatever is still to be invented.
            _ => {}
        }
        Ok(())
    }

    fn end_event(&mut self, events: &mut Vec<Event>) {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            events.push(Event { name, data });
        }
    }
}

/// Reads a stream in which each line is an event of its own, under the same bounds.
#[derive(Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
}

impl Lines {
    /// Takes the next bytes and returns the lines that they complete, empty ones left out.
    ///
    /// # Errors
    ///
    /// As [`Parser::push`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, LlmError> {
        let mut events = Vec::new();
        for &byte in bytes {
            if byte == b'\n' {
                events.extend(self.finish()?);
                continue;
            }
            if self.line.len() >= MAX_EVENT_BYTES {
                return Err(LlmError::Protocol(format!("one event is larger than {MAX_EVENT_BYTES} bytes")));
            }
            self.line.push(byte);
        }
        Ok(events)
    }

    /// Says that the input ended, and returns the line that lacked its end.
    ///
    /// # Errors
    ///
    /// As [`Parser::push`].
    pub fn finish(&mut self) -> Result<Option<Event>, LlmError> {
        let line = String::from_utf8(std::mem::take(&mut self.line))
            .map_err(|_| LlmError::Protocol("the stream holds bytes that are not UTF-8".to_owned()))?;
        let data = line.trim().to_owned();
        Ok((!data.is_empty()).then(|| Event { name: String::new(), data }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Vec<Event> {
        let mut parser = Parser::default();
        let mut events: Vec<Event> = pieces.iter().flat_map(|piece| parser.push(piece).unwrap()).collect();
        events.extend(parser.finish().unwrap());
        events
    }

    #[test]
    fn fields_comments_and_every_line_end_are_read() {
        let text = "\u{feff}: hello\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\nid: 7\rdata:  x\r\r: ping\n\nevent: lost\n\ndata\n\nfoo: bar\ndata: end";
        let event = |name: &str, data: &str| Event { name: name.to_owned(), data: data.to_owned() };
        assert_eq!(
            read(&[text.as_bytes()]),
            [event("a", "1\n2"), event("", " x"), event("", ""), event("", "end")]
        );
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1024 * 1024];
        let outcome = (0..5).try_for_each(|_| parser.push(&piece).map(drop));
        assert!(matches!(outcome, Err(LlmError::Protocol(_))));
    }

    #[test]
    fn endless_data_lines_are_an_error() {
        let mut parser = Parser::default();
        let piece = format!("data: {}\n", "x".repeat(512 * 1024));
        let outcome = (0..9).try_for_each(|_| parser.push(piece.as_bytes()).map(drop));
        assert!(matches!(outcome, Err(LlmError::Protocol(_))));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_an_error() {
        assert!(Parser::default().push(b"data: \xff\n").is_err());
    }

    proptest! {
        #[test]
        fn cuts_make_no_difference(text in "(data|event|: |:|id|é|한|\r|\n|\r\n|x| |\u{feff}){0,40}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
            let bytes = text.as_bytes();
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[bytes]));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut parser = Parser::default();
            if parser.push(&bytes).is_ok() {
                let _ = parser.finish();
            }
        }
    }
}
