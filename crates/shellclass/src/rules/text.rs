//! `sed` and `awk` have languages that can write files and run commands.

use crate::options;
use crate::table::Call;
use crate::value::Value;
use model::Class;

/// `sed` with scripts that neither write nor run.
pub(crate) fn sed(call: &mut Call<'_, '_>) {
    let list = "-n -E -r -s -u -z -l: -e: --quiet --silent --expression= --regexp-extended --separate --unbuffered --null-data --debug --posix --sandbox";
    let Some(found) = call.read(list, call.args, false) else { return };
    let mut scripts: Vec<Option<String>> = found
        .options
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "-e" | "--expression"))
        .map(|(_, value)| value.clone())
        .collect();
    if scripts.is_empty() {
        scripts.push(found.operands.first().and_then(|arg| arg.exact.clone()));
    }
    for script in scripts {
        match script {
            Some(script) if sed_reads(&script) => {}
            Some(_) => call.mutating("a `sed` script that isn't known to only read"),
            None => call.mutating("a `sed` script that only running tells"),
        }
    }
}

/// Whether each command of a script is `p`, `d`, `q`, `=`, `D`, `N`, `n`, `P`, `h`, `H`, `g`, `G`, `x`, `l`, `s` or `y` without `w` and `e`.
fn sed_reads(script: &str) -> bool {
    let bytes = script.as_bytes();
    let mut index = 0;
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    // The byte after the next `end` that isn't escaped.
    let delimited = |mut index: usize, end: u8| -> Option<usize> {
        while index < bytes.len() {
            match bytes.get(index).copied()? {
                b'\\' => index += 2,
                b'\n' => return None,
                // Whether a delimiter in a bracket ends the expression depends on the sed.
                b'[' if script.get(index..)?.split(']').next()?.bytes().any(|byte| byte == end) => {
                    return None;
                }
                byte if byte == end => return Some(index + 1),
                _ => index += 1,
            }
        }
        None
    };
    while index < bytes.len() {
        match at(index) {
            b' ' | b'\t' | b';' | b'\n' | b'{' | b'}' | b'!' | b',' | b'$' | b'0'..=b'9' | b'~' | b'+' => {
                index += 1
            }
            b'/' => {
                let Some(next) = delimited(index + 1, b'/') else { return false };
                index = next;
                while matches!(at(index), b'I' | b'M') {
                    index += 1;
                }
            }
            b'p' | b'd' | b'D' | b'n' | b'N' | b'P' | b'h' | b'H' | b'g' | b'G' | b'x' | b'=' | b'l'
            | b'q' | b'Q' => index += 1,
            command @ (b's' | b'y') => {
                let delimiter = at(index + 1);
                if !delimiter.is_ascii_punctuation() || delimiter == b'\\' {
                    return false;
                }
                let Some(middle) = delimited(index + 2, delimiter) else { return false };
                let Some(next) = delimited(middle, delimiter) else { return false };
                index = next;
                if command == b's' {
                    while matches!(at(index), b'g' | b'p' | b'i' | b'I' | b'm' | b'M' | b'0'..=b'9') {
                        index += 1;
                    }
                    if !matches!(at(index), 0 | b';' | b'\n' | b'}' | b' ') {
                        return false;
                    }
                }
            }
            _ => return false,
        }
    }
    true
}

/// `awk` with programs that only compute and print.
pub(crate) fn awk(call: &mut Call<'_, '_>) {
    let list = "-F: -v: --field-separator= --assign= --posix --re-interval --sandbox";
    let stopped = call.read(list, call.args, true);
    let Some(found) = stopped else { return };
    for (name, value) in &found.options {
        if name == "-v" || name == "--assign" {
            // A variable that steers awk itself, such as one that names a file.
            let steers = value
                .as_deref()
                .is_some_and(|text| text.starts_with("ENVIRON") || text.starts_with("PROCINFO"));
            if steers {
                call.mutating("`awk` with a variable that steers it");
            }
        }
    }
    let rest = call.args.get(found.read..).unwrap_or(&[]);
    match rest.first().map(|arg| (arg, arg.exact.as_deref())) {
        None => {}
        Some((arg, None)) => call.lift_at(Class::Mutating, arg, "an `awk` program that only running tells"),
        Some((arg, Some(program))) if !awk_reads(program) => {
            call.lift_at(Class::Mutating, arg, "an `awk` program that isn't known to only read");
        }
        Some(_) => {}
    }
    // gawk takes options behind its program for its own only under --; file operands of the shape name=value assign.
    if let Some(arg) =
        rest.iter().skip(1).find(|arg| arg.option || arg.exact.is_none() && arg.many && arg.prefix.is_empty())
    {
        call.lift_at(Class::Mutating, arg, "could turn out to be an option of `awk`; begin it with ./ or /");
    }
}

/// Whether a program has no way out: no `system`, no pipe, no redirection, no `getline`, nothing loaded.
fn awk_reads(program: &str) -> bool {
    const WORDS: &[&str] = &[
        "system",
        "getline",
        "close",
        "fflush",
        "ENVIRON",
        "PROCINFO",
        "function",
        "func",
        "extension",
        "ARGV",
        "eval",
    ];
    let bytes = program.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    // Where a slash could divide or begin an expression, only a program without any way out in its bare text will do.
    let bare =
        !WORDS.iter().any(|word| program.contains(word)) && !program.contains(['|', '>', '@', '`', '#']);
    let mut index = 0;
    let mut depth = 0usize;
    let mut before = b'{';
    let mut keyword = false;
    while index < bytes.len() {
        let byte = at(index);
        match byte {
            b'"' => {
                index += 1;
                while index < bytes.len() && at(index) != b'"' {
                    index += if at(index) == b'\\' { 2 } else { 1 };
                }
                index += 1;
            }
            b'/' => {
                let begins = keyword
                    || matches!(before, b'(' | b',' | b'{' | b'}' | b';' | b'!' | b'~' | b'&' | b'|' | b'\n');
                let divides = !keyword
                    && (before == b'_' || before == b'$' || before.is_ascii_alphanumeric() || before == b']');
                if !begins && !divides {
                    return bare;
                }
                index += 1;
                if begins {
                    while index < bytes.len() && at(index) != b'/' {
                        // A bracket may hold a slash, and then where the expression ends depends on the awk.
                        let set = program.get(index..).unwrap_or("").split(']').next().unwrap_or("");
                        if at(index) == b'\n' || at(index) == b'[' && set.contains('/') {
                            return false;
                        }
                        index += if at(index) == b'\\' { 2 } else { 1 };
                    }
                    index += 1;
                    keyword = false;
                    before = b'0';
                    continue;
                }
            }
            b'|' if at(index + 1) == b'|' => index += 2,
            b'|' | b'@' | b'`' | b'#' | b'\\' => return false,
            b'>' => {
                // `print a > b` writes; a comparison in a `print` needs parentheses, for awk itself too.
                if depth == 0 && program.get(..index).is_some_and(prints) {
                    return false;
                }
                index += 1;
            }
            b'(' | b')' => {
                depth = if byte == b'(' { depth + 1 } else { depth.saturating_sub(1) };
                index += 1;
            }
            b' ' | b'\t' => {
                index += 1;
                continue;
            }
            _ if byte == b'_' || byte.is_ascii_alphabetic() => {
                let start = index;
                while at(index) == b'_' || at(index).is_ascii_alphanumeric() {
                    index += 1;
                }
                let word = program.get(start..index).unwrap_or("");
                if WORDS.contains(&word) {
                    return false;
                }
                keyword = matches!(
                    word,
                    "print" | "printf" | "return" | "in" | "if" | "while" | "else" | "do" | "exit" | "case"
                );
                // After these a slash is anybody's guess.
                before = if matches!(word, "length" | "delete" | "next" | "nextfile") { b'?' } else { b'a' };
                continue;
            }
            _ if byte < 0x80 => index += 1,
            _ => return false,
        }
        keyword = false;
        before = byte;
    }
    true
}

/// Whether the statement that `before` ends in is a `print`.
fn prints(before: &str) -> bool {
    before.rsplit([';', '{', '}', '\n']).next().is_some_and(|statement| statement.contains("print"))
}

/// `sort`: `-o` writes, `--compress-program` runs, `-T` and `--files0-from` reach further.
pub(crate) const SORT: &str = "-b -d -f -g -h -i -M -n -r -R -V -c -C -m -s -u -z -k: -t: -S: --reverse --numeric-sort --human-numeric-sort --unique --key= --field-separator= --stable --version-sort --ignore-case --general-numeric-sort --month-sort --check --zero-terminated --parallel= --buffer-size= --debug --merge --random-sort --ignore-leading-blanks --dictionary-order --version --help";

/// `tee` writes; to nothing else than `/dev/null` and the terminal's streams.
pub(crate) fn tee(call: &mut Call<'_, '_>) {
    let Some(found) = call.read("-a -i -p", call.args, false) else { return };
    for arg in found.operands {
        if !matches!(arg.text(), "/dev/null" | "/dev/stdout" | "/dev/stderr") {
            call.lift_at(Class::Mutating, arg, "`tee` writes a file");
        }
    }
}

/// `tar`: only listing.
pub(crate) fn tar(call: &mut Call<'_, '_>) {
    let first = call.args.first().map_or("", Value::text);
    let bundled = !first.is_empty() && !first.starts_with('-');
    let lists =
        |letters: &str| letters.contains('t') && letters.chars().all(|c| "tvzjJfaw".contains(c) && c != 'w');
    if bundled {
        if !lists(first)
            || call
                .args
                .iter()
                .skip(1)
                .any(|arg| arg.option && !arg.is("--wildcards") || arg.many && arg.exact.is_none())
        {
            call.mutating("`tar` with something else than listing");
        }
        if first.contains('f') && call.args.get(1).is_some_and(|arg| arg.text().contains(':')) {
            call.mutating("`tar` with an archive on another host");
        }
        return;
    }
    let Some(found) = call.read("-t -v -z -j -J -a -f: --list --verbose --file= --gzip --bzip2 --xz --zstd --wildcards --exclude= --numeric-owner --full-time", call.args, false)
    else {
        return;
    };
    if !(found.has("-t") || found.has("--list")) {
        call.mutating("`tar` with something else than listing");
    }
    if found.options.iter().any(|(name, value)| {
        matches!(name.as_str(), "-f" | "--file") && value.as_deref().is_none_or(|text| text.contains(':'))
    }) {
        call.mutating("`tar` with an archive that may be on another host");
    }
}

/// `uniq`: its second operand is written.
pub(crate) fn uniq(call: &mut Call<'_, '_>) {
    let list = "-c -d -D -u -i -z -f: -s: -w: --count --repeated --unique --ignore-case --skip-fields= --skip-chars= --check-chars= --all-repeated? --zero-terminated --version --help";
    if let Some(found) = call.read(list, call.args, false) {
        call.operands(crate::table::Operands::AtMost(1), &found.operands);
    }
}

/// `xxd`: its second operand is written, and `-r` writes.
pub(crate) const XXD: &str = "-a -b -c: -d -e -E -g: -i -l: -o: -p -ps -s: -u -v";

/// `dd` to nowhere only.
pub(crate) fn dd(call: &mut Call<'_, '_>) {
    let known = |arg: &Value| {
        let text = arg.exact.as_deref().unwrap_or(&arg.prefix);
        let fixed = matches!(
            text,
            "of=/dev/null"
                | "status=none"
                | "status=progress"
                | "iflag=direct"
                | "iflag=fullblock"
                | "status=noxfer"
        );
        fixed
            || ["if=", "bs=", "count=", "skip=", "ibs=", "obs="].iter().any(|start| text.starts_with(start))
                && !arg.many
    };
    let discarded = call.has("of=/dev/null");
    if !discarded || !call.args.iter().all(known) {
        call.mutating("`dd` with something else than reading to /dev/null");
    }
}

/// `date`: prints; `-s` and an operand without `+` set the clock.
pub(crate) fn date(call: &mut Call<'_, '_>) {
    let list = "-u -R -d: -r: -I? --utc --universal --date= --reference= --iso-8601? --rfc-email --rfc-3339= --debug --version --help";
    match options::read(list, call.args, false) {
        Ok(found) => call.operands(crate::table::Operands::Begin("+"), &found.operands),
        Err(_) => call.mutating("`date` with something that may set the clock"),
    }
}
