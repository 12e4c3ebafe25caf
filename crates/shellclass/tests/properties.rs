//! What holds for any text, and for any way to put a change into a safe command.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use model::Class;
use proptest::prelude::*;
use shellclass::{MAX_BYTES, classify, sql_class};

fn safe() -> Vec<String> {
    include_str!("corpus/safe.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.replace("\\n", "\n"))
        .collect()
}

/// Every way to put `change` beside or into `command`.
fn mixed(command: &str, change: &str) -> Vec<String> {
    vec![
        format!("{command}\n{change}"),
        format!("{change}\n{command}"),
        format!("{change}; {command}"),
        format!("{change} && {command}"),
        format!("{change} || {command}"),
        format!("{change} | {command}"),
        format!("( {command}\n{change} )"),
        format!("{{ {command}\n{change}; }}"),
        format!("if {change}; then {command}\nfi"),
        format!("if true; then {command}\nelse {change}; fi"),
        format!("while {command}\ndo {change}; done"),
        format!("for i in 1 2; do {change}\n{command}\ndone"),
        format!("case x in x) {change};; esac\n{command}"),
        format!("x=$({change})\n{command}"),
        format!("echo \"$({change})\"\n{command}"),
        format!("echo `{change}`\n{command}"),
        format!("cat <({change})\n{command}"),
        format!("cat <<END\n$({change})\nEND\n{command}"),
        format!("cat <<< \"$({change})\"\n{command}"),
        format!("echo ${{x:-$({change})}}\n{command}"),
        format!("[[ -n $({change}) ]]\n{command}"),
        format!("echo $(( $({change}) ))\n{command}"),
        format!("a=( $({change}) )\n{command}"),
        format!("f() {{ {change}; }}; f\n{command}"),
        format!("trap '{change}' EXIT\n{command}"),
        format!("! {change}\n{command}"),
        format!("time {change}\n{command}"),
        format!("timeout 5 {change}\n{command}"),
        format!("ls | xargs {change}\n{command}"),
        format!("find . -exec {change} \\;\n{command}"),
        format!("bash -c '{change}'\n{command}"),
        format!("ls > \"$({change})\"\n{command}"),
        format!("{command}\nls < <({change})"),
    ]
}

#[test]
fn no_safe_command_stays_safe_beside_a_change() {
    for command in safe() {
        for change in ["rm x", "touch x", "./x", "sed -i p x"] {
            for text in mixed(&command, change) {
                assert_ne!(classify(&text).class, Class::Safe, "{text:?}");
            }
        }
    }
}

#[test]
fn no_safe_command_stays_safe_with_a_written_file() {
    for command in safe() {
        for text in [
            format!("{{ {command}\n}} > x"),
            format!("( {command}\n) >> x"),
            format!("{command} > x"),
            format!("> x {command}"),
        ] {
            // What follows a comment or a here-document's end isn't a redirection.
            if bash_agrees(&text) {
                assert_ne!(classify(&text).class, Class::Safe, "{text:?}");
            }
        }
    }
}

/// Whether bash can read the text, and doesn't take its last line for something else.
fn bash_agrees(text: &str) -> bool {
    !text.contains("<<")
        && std::process::Command::new("bash")
            .args(["--noprofile", "--norc", "-n", "-c", text])
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}

#[test]
fn bash_can_read_every_safe_command() {
    for command in safe() {
        let read = std::process::Command::new("bash")
            .args(["--noprofile", "--norc", "-n", "-c", &command])
            .output()
            .unwrap();
        assert!(read.status.success(), "{command:?}: {}", String::from_utf8_lossy(&read.stderr));
    }
}

/// A word is put at every blank of a safe command; none of these may turn it into something else unnoticed.
#[test]
fn a_substitution_between_any_two_words_is_seen() {
    for command in safe() {
        let blanks: Vec<usize> = command.match_indices(' ').map(|(at, _)| at).collect();
        for at in blanks {
            let text = format!("{} \"$(rm x)\" {}", &command[..at], &command[at..]);
            if classify(&text).class == Class::Safe {
                // Inside of quotes that bash doesn't expand, it is text.
                let before = &command[..at];
                assert!(before.matches('\'').count() % 2 == 1 || before.contains("<<'"), "{text:?}");
            }
        }
    }
}

#[test]
fn the_largest_texts_take_bounded_work() {
    let fill = |piece: &str| piece.repeat(MAX_BYTES / piece.len());
    let pieces = [
        "(",
        "((",
        "$(",
        "${",
        "$((",
        "`",
        "\"",
        "'",
        "{ ",
        "[[ ",
        "if ",
        "case a in b) ",
        "for i in a; do ",
        "while a; do ",
        "f() { ",
        "<(",
        ">(",
        "a ",
        "a;",
        "a&",
        "a|",
        "a&&",
        "<<E ",
        "cat <<E\n",
        "a=(",
        "${x:-",
        "\"$(",
        "\\",
        "\\\n",
        "! ",
        "coproc ",
        "time ",
        "$x",
        "{a,b}",
        "*",
        "~",
        "é",
        "[[ a =~ (",
        "$(( ",
        "a[",
        "> x ",
        "1>",
        "find -exec ",
        "xargs ",
        "bash -c '",
        "select ",
        "ls -la /a | ",
        "elif ",
        ";;",
        "& ",
        "\t",
        "\n",
        "#\n",
    ];
    for piece in pieces {
        for text in [
            fill(piece),
            format!("ls {}", fill(piece)),
            format!("{}ls", &fill(piece)[..fill(piece).len() / 2]),
        ] {
            let text = if text.is_char_boundary(MAX_BYTES.min(text.len())) {
                &text[..MAX_BYTES.min(text.len())]
            } else {
                &text
            };
            let start = std::time::Instant::now();
            classify(text);
            // Ten milliseconds in an optimised build on a quiet machine; this only catches work that grows out of bounds.
            assert!(start.elapsed().as_secs() < 5, "{piece:?} took {:?}", start.elapsed());
        }
    }
}

#[test]
fn what_is_too_long_is_mutating() {
    let verdict = classify(&format!("ls {}", "a".repeat(MAX_BYTES)));
    assert_eq!(verdict.class, Class::Mutating);
    assert!(verdict.opaque);
}

fn fragment() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "ls", "rm", "cat", "$x", "$(", ")", "`", "\"", "'", "{", "}", "${", "((", "))", "[[", "]]", "if",
        "then", "fi", "do", "done", "for", "in", "case", "esac", ";;", ";", "&", "&&", "|", "||", ">", "<",
        ">>", "<<E", "<<<", "\n", "\\", "#", "*", "~", "!", "=", "a=", "a=(", "E", " ", "\t", "-rf", "--",
        "$((", "1", "<(", ">(", "é", "\u{202e}", "\0", "$'", "find", "-exec", "xargs", "bash", "-c", "awk",
        "sed", "psql", "-X", "eval", "function", "f()", "coproc",
    ];
    proptest::collection::vec(prop_oneof![8 => proptest::sample::select(WORDS).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)], 0..40)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_a_class_and_reasons_that_point_into_it(text in fragment()) {
        let verdict = classify(&text);
        prop_assert!(!verdict.reasons.is_empty());
        for reason in &verdict.reasons {
            prop_assert!(text.get(reason.start..reason.end).is_some());
        }
        prop_assert_eq!(verdict.class, verdict.reasons.iter().map(|reason| reason.class).max().unwrap());
    }

    #[test]
    fn any_sql_has_a_class(text in "\\PC*") {
        sql_class(&text);
    }

    #[test]
    fn what_holds_a_removal_in_plain_sight_is_never_safe(before in fragment(), after in fragment()) {
        let text = format!("{before}\nrm -f x\n{after}");
        // In quotes and comments it is text; there bash must find no command either, which only an even count tells simply.
        let quoted = before.contains(['\'', '"', '\\', '`']) || before.contains("<<") || before.contains("${");
        if !quoted {
            prop_assert_ne!(classify(&text).class, Class::Safe);
        }
    }
}
