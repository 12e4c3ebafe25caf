//! Arithmetic can run commands: the value of a variable is evaluated again, and a subscript in it is expanded. So only
//! numbers, and variables and substitutions that are known to hold numbers, may stand in it.

use crate::lexer::Scanner;
use crate::value::Value;
use crate::walk::{Source, Walker, steers_the_shell};
use crate::word::Place;
use model::Class;

/// Checks the expression `source.text[start..end]`.
pub(crate) fn check(walker: &mut Walker, source: &Source<'_>, start: usize, end: usize) {
    let Some(head) = source.text.get(..end) else { return };
    let place = source.place(start, end);
    let bytes = head.as_bytes();
    let scanner = Scanner::new(head);
    let mut index = start;
    while let Some(byte) = bytes.get(index) {
        match byte {
            b'0'..=b'9' => {
                while bytes.get(index).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'#') {
                    index += 1;
                }
            }
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                let from = index;
                while bytes.get(index).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                    index += 1;
                }
                let name = head.get(from..index).unwrap_or("");
                let rest = head.get(index..).unwrap_or("").trim_start();
                let before = head.get(start..from).unwrap_or("").trim_end();
                let assigns = rest.starts_with("++")
                    || rest.starts_with("--")
                    || before.ends_with("++")
                    || before.ends_with("--")
                    || rest.find('=').is_some_and(|at| {
                        at <= 3
                            && !rest.get(at..).unwrap_or("").starts_with("==")
                            && !matches!(rest.get(..at), Some("!" | "<" | ">"))
                    });
                if assigns {
                    let number = Value { number: true, start: place.0, end: place.1, ..Value::default() };
                    walker.assign(name, &number);
                }
                let number = matches!(
                    name,
                    "UID"
                        | "EUID"
                        | "PPID"
                        | "RANDOM"
                        | "SECONDS"
                        | "LINENO"
                        | "EPOCHSECONDS"
                        | "BASHPID"
                        | "COLUMNS"
                        | "LINES"
                );
                if !assigns && !number && (steers_the_shell(name) || name == "REPLY") {
                    walker.lift(
                        Class::Mutating,
                        place,
                        format!("evaluates `{name}` as arithmetic, which can run commands"),
                    );
                }
                if walker.variables.get(name).is_some_and(|variable| !variable.number) {
                    walker.lift(
                        Class::Mutating,
                        place,
                        format!("evaluates the text in `{name}` as arithmetic, which can run commands"),
                    );
                }
            }
            b'$' => match scanner.dollar(index, true, 0) {
                Ok(after) if after <= end => {
                    let value = walker.parts(source, index, after, Place::Quoted);
                    let arithmetic = head.get(index..).is_some_and(|rest| rest.starts_with("$(("));
                    if !value.number && !arithmetic {
                        walker.lift(
                            Class::Mutating,
                            place,
                            "evaluates text from elsewhere as arithmetic, which can run commands",
                        );
                    }
                    index = after;
                }
                _ => {
                    walker.lift(Class::Mutating, place, "arithmetic that can't be read");
                    return;
                }
            },
            b' ' | b'\t' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|'
            | b'^' | b'~' | b'?' | b':' | b',' | b'(' | b')' => index += 1,
            _ => {
                walker.lift(Class::Mutating, place, "arithmetic that isn't plain");
                return;
            }
        }
    }
}

/// Whether a substitution certainly prints whole numbers and nothing else.
pub(crate) fn prints_number(text: &str) -> bool {
    let text = text.trim().replace("2>/dev/null", "").replace("2>&1", "");
    let text = text.trim();
    if text.contains([';', '&', '\n', '\\', '#', '`', '(', '{']) {
        return false;
    }
    if let Some((_, last)) = text.rsplit_once('|') {
        return matches!(last.trim(), "wc -l" | "wc -c" | "wc -w");
    }
    if matches!(
        text,
        "nproc"
            | "date +%s"
            | "date -u +%s"
            | "id -u"
            | "getconf _NPROCESSORS_ONLN"
            | "getconf CLK_TCK"
            | "getconf PAGESIZE"
    ) {
        return true;
    }
    let one = |start: &str| {
        text.strip_prefix(start).is_some_and(|rest| !rest.contains(" -") && !rest.starts_with('-'))
    };
    one("wc -l <")
        || one("wc -c <")
        || one("stat -c %s ")
        || one("stat -c %Y ")
        || one("stat -c %X ")
        || one("stat -c %a ")
        || one("stat -c %u ")
}
