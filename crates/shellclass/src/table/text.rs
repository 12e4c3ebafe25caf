//! Text: filters that read files or their input and print.

use super::{Entry, Operands, any, custom, options};
use crate::rules;

const GREP: &str = "finds lines; no option of GNU grep writes or runs anything";

pub(super) const ENTRIES: &[Entry] = &[
    any("grep", GREP),
    any("egrep", GREP),
    any("fgrep", GREP),
    options(
        "rg",
        "-a -c -F -i -l -n -N -o -q -s -S -u -U -v -w -x -z -e: -g: -t: -T: -m: -A: -B: -C: -H -I -L -p --count --files --fixed-strings --glob= --hidden --ignore-case --json --line-number --max-count= --multiline --no-heading --no-ignore --only-matching --sort= --stats --type= --word-regexp --no-config",
        Operands::Any,
        "finds lines; --pre and --hostname-bin run programs and aren't listed",
    ),
    any("cut", "prints parts of lines; no option writes"),
    options(
        "sort",
        rules::text::SORT,
        Operands::Any,
        "sorts lines; -o writes and --compress-program runs, so they aren't listed",
    ),
    custom("uniq", rules::text::uniq, "prints runs of lines once; its second operand would be written"),
    any("comm", "compares sorted files; no option writes"),
    any("join", "joins lines of two files; no option writes"),
    any("paste", "prints lines side by side; no option writes"),
    any("tr", "replaces characters of its input"),
    any("expand", "turns tabs into blanks; no option writes"),
    any("unexpand", "turns blanks into tabs; no option writes"),
    any("fold", "breaks lines; no option writes"),
    any("fmt", "fills lines; no option writes"),
    any("nl", "numbers lines; no option writes"),
    options(
        "pr",
        "-a -c -d -e? -f -h: -i? -J -l: -m -n? -N: -o: -r -s? -t -T -v -w: -W: -#",
        Operands::Any,
        "lays out pages",
    ),
    any("column", "lays out columns; no option writes"),
    any("rev", "reverses lines; no option writes"),
    any("seq", "prints numbers"),
    any("od", "dumps files; no option writes"),
    options(
        "hexdump",
        "-b -c -C -d -e: -f: -n: -o -s: -v -x -X --canonical --length= --skip= --no-squeezing",
        Operands::Any,
        "dumps files",
    ),
    options("hd", "-n: -s: -v", Operands::Any, "dumps files"),
    options(
        "xxd",
        rules::text::XXD,
        Operands::AtMost(1),
        "dumps a file; its second operand would be written and -r writes back",
    ),
    any("strings", "prints what is readable in files; no option writes"),
    custom("sed", rules::text::sed, "edits its input as it prints; -i, w, e, r and F files aren't listed"),
    custom(
        "awk",
        rules::text::awk,
        "computes over lines; programs that run, pipe, redirect or load aren't reading",
    ),
    custom(
        "gawk",
        rules::text::awk,
        "computes over lines; programs that run, pipe, redirect or load aren't reading",
    ),
    custom(
        "mawk",
        rules::text::awk,
        "computes over lines; programs that run, pipe, redirect or load aren't reading",
    ),
    custom("tee", rules::text::tee, "copies its input to its output; every file but /dev/null is written"),
    options(
        "jq",
        "-r -c -s -n -e -S -C -M -a -j -R -R --raw-output --compact-output --slurp --null-input --exit-status --sort-keys --tab --indent: --arg: --raw-input --join-output",
        Operands::Any,
        "computes over JSON; --arg takes two words, and modules from files aren't listed",
    ),
    options(
        "yq",
        "-r -c -o: -P -e --output-format= --prettyPrint",
        Operands::Any,
        "computes over YAML; -i and -s write, and its load functions read",
    ),
    custom(
        "less",
        rules::services::pager,
        "prints when its output is no terminal; + runs pager commands and -o writes",
    ),
    custom("more", rules::services::pager, "prints when its output is no terminal"),
    options(
        "base64",
        "-d -i -w: --decode --wrap= --ignore-garbage",
        Operands::Any,
        "codes and decodes; no option writes",
    ),
    any("base32", "codes and decodes; no option writes"),
    options(
        "iconv",
        "-f: -t: -c -s -l --from-code= --to-code= --list",
        Operands::Any,
        "changes the coding of text; -o writes and isn't listed",
    ),
    any("numfmt", "formats numbers; no option writes"),
    any("expr", "computes with its operands"),
    any("factor", "computes with its operands"),
];
