//! Parses a bash command with a real grammar and tells its class, without running anything.
//!
//! The rule is to deny by default: a command is safe only if every construct in it is known, every simple command has an
//! entry in the table, and the entry vouches for its options and operands. Everything else is at least mutating.
//! The command is meant for `bash --noprofile --norc -c`, with the environment that the edge gives it.

mod arithmetic;
mod danger;
mod lexer;
mod options;
mod rules;
mod sql;
mod table;
mod value;
mod verdict;
mod walk;
mod word;

pub use sql::sql_class;
pub use verdict::{Destination, Need, Reason, Verdict};

use model::Class;
use walk::{Source, Walker};

/// The longest command that is looked at, in bytes. A longer one is mutating.
pub const MAX_BYTES: usize = 16 * 1024;

/// Tells the class of a bash command. Pure: runs nothing, reads nothing, never panics, and takes bounded time and stack
/// for any input.
pub fn classify(command: &str) -> Verdict {
    let whole = Source::whole(command);
    let mut walker = Walker::default();
    if command.len() > MAX_BYTES {
        walker.opaque = true;
        walker.lift(Class::Mutating, (0, command.len()), format!("longer than {MAX_BYTES} bytes"));
        return verdict(walker, command);
    }
    if let Some((at, c)) = command.char_indices().find(|(_, c)| hidden(*c)) {
        walker.opaque = true;
        walker.lift(Class::Mutating, (at, at + c.len_utf8()), "a character that doesn't show");
    }
    if command.trim().is_empty() {
        walker.lift(Class::Mutating, (0, command.len()), "no command");
        return verdict(walker, command);
    }
    // The first pass learns what the variables can hold, the second judges.
    let mut first = Walker::default();
    first.program(whole);
    walker.variables = first.assigned;
    walker.program(whole);
    walker.finish(command.len());
    if walker.reasons.is_empty() {
        walker.lift(Class::Safe, (0, command.len()), "runs no command");
    }
    verdict(walker, command)
}

/// Characters that a card wouldn't show, or would show out of order.
fn hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn verdict(walker: Walker, command: &str) -> Verdict {
    let class = walker.class();
    let mut reasons = walker.reasons;
    model::order::sort_by(&mut reasons, |a, b| (a.start, a.end, b.class).cmp(&(b.start, b.end, a.class)));
    reasons.dedup();
    for reason in &mut reasons {
        (reason.start, reason.end) = within(command, reason.start, reason.end);
    }
    let mut destinations = walker.destinations;
    for place in &mut destinations {
        (place.start, place.end) = within(command, place.start, place.end);
    }
    let needs = if class == Class::Safe { walker.needs } else { std::collections::BTreeSet::new() };
    Verdict { class, reasons, needs, opaque: walker.opaque, destinations }
}

/// A range moved onto the text and onto its characters' borders.
fn within(text: &str, start: usize, end: usize) -> (usize, usize) {
    let border = |mut index: usize| {
        index = index.min(text.len());
        while !text.is_char_boundary(index) {
            index -= 1;
        }
        index
    };
    let (start, end) = (border(start), border(end));
    (start, end.max(start))
}
