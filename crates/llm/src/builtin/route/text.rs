//! Brings an operator's text into one form: width, quotes, invisible characters and Korean written as loose jamo.

/// Longest text that is looked at, in characters. An operator's question is far shorter; a pasted log is not one.
pub(super) const MAX_CHARS: usize = 2_000;

const LEADS: u32 = 0x1100;
const VOWELS: u32 = 0x1161;
const TAILS: u32 = 0x11A7;
const SYLLABLES: u32 = 0xAC00;
const SYLLABLE_COUNT: u32 = 11_172;

/// Brings `text` into one form. Keeps the case. At most [`MAX_CHARS`] characters.
pub(super) fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_CHARS * 4));
    for character in text.chars().take(MAX_CHARS) {
        match character {
            '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{2064}'
            | '\u{FEFF}'
            | '\u{FE0F}' => {}
            '\u{2018}' | '\u{2019}' | '\u{02BC}' | '\u{00B4}' => out.push('\''),
            '\u{201C}' | '\u{201D}' | '\u{300C}' | '\u{300D}' | '\u{300E}' | '\u{300F}' | '«' | '»' => {
                out.push('"')
            }
            '\u{2010}'..='\u{2013}' | '\u{2212}' => out.push('-'),
            '\u{2014}' | '\u{2015}' => out.push_str(" , "),
            '\u{2026}' => out.push_str(" . "),
            '\u{3001}' => out.push_str(", "),
            '\u{3002}' => out.push_str(". "),
            '\u{00B7}' | '\u{30FB}' => out.push_str(", "),
            '\u{FF01}'..='\u{FF5E}' => out.extend(char::from_u32(u32::from(character) - 0xFEE0)),
            '\n' => out.push_str(" . "),
            other if other.is_whitespace() || other.is_control() => out.push(' '),
            other => push_composed(&mut out, other),
        }
    }
    out
}

/// Whether `character` is a Korean syllable.
pub(super) fn is_hangul(character: char) -> bool {
    ('\u{AC00}'..='\u{D7A3}').contains(&character) || ('\u{3131}'..='\u{318E}').contains(&character)
}

/// Appends `character`, joining it with the syllable before it when it is a loose jamo.
fn push_composed(out: &mut String, character: char) {
    let code = u32::from(character);
    let last = out.chars().next_back().map_or(0, u32::from);
    let joined = if (VOWELS..VOWELS + 21).contains(&code) && (LEADS..LEADS + 19).contains(&last) {
        Some(SYLLABLES + ((last - LEADS) * 21 + (code - VOWELS)) * 28)
    } else if (TAILS + 1..TAILS + 28).contains(&code)
        && (SYLLABLES..SYLLABLES + SYLLABLE_COUNT).contains(&last)
        && (last - SYLLABLES).is_multiple_of(28)
    {
        Some(last + (code - TAILS))
    } else {
        None
    };
    match joined.and_then(char::from_u32) {
        Some(syllable) => {
            out.pop();
            out.push(syllable);
        }
        None => out.push(character),
    }
}

/// The letters of a Korean text, so that a slip of one key is a distance of one. Other characters stay.
pub(super) fn letters(text: &str) -> Vec<u32> {
    let mut out = Vec::with_capacity(text.len());
    for character in text.chars() {
        let code = u32::from(character);
        if (SYLLABLES..SYLLABLES + SYLLABLE_COUNT).contains(&code) {
            let index = code - SYLLABLES;
            out.push(LEADS + index / 588);
            out.push(VOWELS + index % 588 / 28);
            if !index.is_multiple_of(28) {
                out.push(TAILS + index % 28);
            }
        } else {
            out.push(code);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_jamo_become_syllables() {
        assert_eq!(normalise("\u{1106}\u{1166}\u{1106}\u{1169}\u{1105}\u{1175}"), "메모리");
        assert_eq!(normalise("\u{110B}\u{1168}\u{11AB}"), "옌");
    }

    #[test]
    fn wide_letters_and_curly_quotes_become_plain_ones() {
        assert_eq!(normalise("ｐｏｒｔ\u{3000}２２ “x”"), "port 22 \"x\"");
    }

    #[test]
    fn a_slip_of_one_key_is_one_letter() {
        let (right, wrong) = (letters("메모리"), letters("메머리"));
        assert_eq!(right.iter().zip(&wrong).filter(|(a, b)| a != b).count(), 1);
    }
}
