//! Host strings made safe for Markdown: nothing in them can become a table cell, a link, markup or a fence.

/// Longest inline text from a host, in characters.
const MAX_INLINE: usize = 300;
/// Longest line and most lines of a block.
const MAX_LINE: usize = 500;
const MAX_LINES: usize = 120;

/// Makes a text from a host safe inside a sentence or a table cell.
pub(in crate::builtin) fn name(text: &str) -> String {
    inline(text, MAX_INLINE)
}

/// [`name`] with its own length.
pub(in crate::builtin) fn inline(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most) + 8);
    let mut count = 0;
    let mut space = true;
    for character in clean(text) {
        let character = if character.is_whitespace() { ' ' } else { character };
        if character == ' ' && space {
            continue;
        }
        space = character == ' ';
        if count >= most {
            out.push('…');
            break;
        }
        count += 1;
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '#' | '!' | '$' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out.trim_end().to_owned()
}

/// Text as a fenced block that it can't end, the last lines where there are too many.
pub(in crate::builtin) fn block(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(MAX_LINES);
    let mut body = String::new();
    if from > 0 {
        body.push_str("…\n");
    }
    for line in &lines[from..] {
        let mut cleaned: String = clean(line).take(MAX_LINE).collect();
        if line.chars().count() > MAX_LINE {
            cleaned.push('…');
        }
        body.push_str(&cleaned);
        body.push('\n');
    }
    let longest = body.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{body}{fence}")
}

/// Without terminal escapes, control characters and characters that turn the direction of writing.
fn clean(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut letters = text.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            let letter = letters.next()?;
            if letter == '\u{1b}' {
                if letters.next_if_eq(&'[').is_some() {
                    while letters.next_if(|next| !next.is_ascii_alphabetic()).is_some() {}
                    letters.next();
                }
                continue;
            }
            let hidden = matches!(letter, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}');
            if hidden || letter.is_control() && !letter.is_whitespace() {
                continue;
            }
            return Some(letter);
        }
    })
}

/// Cuts a whole answer.
pub(in crate::builtin) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(most).collect();
    // A fence that the cut left open must not swallow what follows.
    let open = out.lines().filter(|line| line.starts_with("```")).count() % 2 == 1;
    out.push_str(if open { "\n```\n…" } else { "\n…" });
    out
}

/// A table. Cells must be safe already.
pub(in crate::builtin) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), " --- |".repeat(head.len()));
    for row in rows {
        out.push_str("| ");
        out.push_str(&row.join(" | "));
        out.push_str(" |\n");
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_host_becomes_markup() {
        assert_eq!(
            name("a|b `c` <img src=x> [l](u)\nnext"),
            "a\\|b \\`c\\` &lt;img src=x&gt; \\[l\\](u) next"
        );
    }

    #[test]
    fn a_block_can_not_be_ended_from_inside() {
        let shown = block("before\n````\n# heading");
        assert!(shown.starts_with("`````text\n") && shown.ends_with("\n`````"), "{shown}");
    }

    #[test]
    fn terminal_colours_are_left_out() {
        assert_eq!(name("\u{1b}[31mred\u{1b}[0m"), "red");
    }
}
