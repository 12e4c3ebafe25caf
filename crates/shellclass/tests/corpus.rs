//! Holds the classifier to its corpora: everyday commands stay safe, hostile ones never are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use model::Class;
use shellclass::classify;

/// The entries of a corpus; `\n` stands for a line end, `#` at the start for a comment.
fn entries(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.replace("\\n", "\n").replace("\u{240a}", "\\n"))
}

fn failures(found: Vec<String>) {
    assert!(found.is_empty(), "{} of them:\n{}", found.len(), found.join("\n"));
}

#[test]
fn everyday_diagnosis_is_safe() {
    let safe: Vec<String> = entries(include_str!("corpus/safe.txt")).collect();
    assert!(safe.len() >= 220, "{}", safe.len());
    let mut found = Vec::new();
    for command in safe {
        let verdict = classify(&command);
        if verdict.class != Class::Safe {
            let why: Vec<_> = verdict
                .reasons
                .iter()
                .filter(|reason| reason.class > Class::Safe)
                .map(|reason| &reason.text)
                .collect();
            found.push(format!("{command:?}: {why:?}"));
        }
    }
    failures(found);
}

#[test]
fn hostile_commands_are_never_safe() {
    let hostile: Vec<String> = entries(include_str!("corpus/adversarial.txt")).collect();
    assert!(hostile.len() >= 400, "{}", hostile.len());
    failures(hostile.into_iter().filter(|command| classify(command).class == Class::Safe).collect());
}

#[test]
fn what_destroys_is_dangerous() {
    let commands: Vec<String> = entries(include_str!("corpus/dangerous.txt")).collect();
    let found = commands.into_iter().filter(|command| classify(command).class != Class::Dangerous).collect();
    failures(found);
}

#[test]
fn every_reason_points_into_the_text() {
    let all = [
        include_str!("corpus/safe.txt"),
        include_str!("corpus/adversarial.txt"),
        include_str!("corpus/dangerous.txt"),
    ];
    for command in all.into_iter().flat_map(entries) {
        let verdict = classify(&command);
        assert!(!verdict.reasons.is_empty(), "{command:?} has no reason");
        for reason in verdict.reasons {
            assert!(command.get(reason.start..reason.end).is_some(), "{command:?}: {reason:?}");
            assert!(!reason.text.is_empty());
        }
    }
}
