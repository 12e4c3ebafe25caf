use super::*;
use crate::support::fixture::FakeHost;
use std::os::unix::fs::FileExt;

fn params(path: &str) -> Params {
    Params { path: path.to_owned(), lines: 3, grep: None, since: None }
}

async fn run(host: FakeHost, params: Params) -> Output {
    Skill::run(&TailFile, &host.context(), params).await.unwrap()
}

#[tokio::test]
async fn the_last_lines_come_in_order() {
    let host = FakeHost::empty().with("/var/log/app", "1\n2\n3\n4\n5");
    let output = run(host, params("/var/log/app")).await;
    assert_eq!(output.lines, ["3", "4", "5"]);
    assert!(output.more_before && output.unfinished && output.rotated.is_empty());
}

#[tokio::test]
async fn lines_go_on_in_the_rotated_file() {
    let host = FakeHost::empty().with("/var/log/app.1", "1\n2\n").with("/var/log/app", "3\n");
    let output = run(host, params("/var/log/app")).await;
    assert_eq!(output.lines, ["1", "2", "3"]);
    assert_eq!(output.rotated, ["/var/log/app.1"]);
    assert!(!output.more_before);
}

#[tokio::test]
async fn a_dated_rotation_works_and_a_missing_file_is_taken_from_it() {
    let host = FakeHost::empty()
        .with("/var/log/app-20260101", "old\n")
        .with("/var/log/app-20260201", "new\n")
        .with("/var/log/app-20260301.gz", "x");
    let output = run(host, params("/var/log/app")).await;
    assert_eq!(output.lines[output.lines.len() - 1], "new");
    assert_eq!(output.notes.len(), 1);
}

#[tokio::test]
async fn grep_looks_further_back_than_the_last_lines() {
    let text: String = (0..50_000).map(|number| format!("line {number}\n")).collect();
    let host = FakeHost::empty().with("/log", text);
    let output = run(host, Params { grep: Some("line 1?7$".to_owned()), ..params("/log") }).await;
    assert_eq!(output.lines, ["line 7", "line 17"]);
}

#[tokio::test]
async fn since_takes_continuation_lines_with_their_beginning() {
    let host = FakeHost::empty().with(
        "/log",
        "2026-03-01T11:00:00Z old\n  old detail\n2026-03-01T11:55:00Z new\n  new detail\n2026-03-01T11:56:00Z last\n",
    );
    let output = run(host, Params { since: Some("10m".to_owned()), lines: 100, ..params("/log") }).await;
    assert_eq!(output.lines, ["2026-03-01T11:55:00Z new", "  new detail", "2026-03-01T11:56:00Z last"]);
    assert!(!output.more_before);
}

#[tokio::test]
async fn since_says_when_lines_have_no_time() {
    let host = FakeHost::empty().with("/log", "a\nb\n");
    // The file is written by the test, later than the fixture's clock.
    let output = run(host, Params { since: Some("2026-02-01".to_owned()), ..params("/log") }).await;
    assert_eq!(output.notes.len(), 1);
}

#[tokio::test]
async fn a_sparse_file_of_a_gigabyte_is_no_trouble() {
    let host = FakeHost::empty().with("/log", "");
    let file = std::fs::File::options().write(true).open(host.path("/log")).unwrap();
    file.set_len(1 << 30).unwrap();
    file.write_all_at(b"\nlast\n", 1 << 30).unwrap();
    let output = run(host, Params { lines: 2, ..params("/log") }).await;
    assert_eq!(output.lines[1], "last");
    assert!(output.lines[0].contains("NUL bytes") && output.cut_lines == 1);
}

#[tokio::test]
async fn more_than_a_mebibyte_is_cut_at_whole_lines() {
    let line = "x".repeat(1000);
    let host = FakeHost::empty().with("/log", format!("{line}\n").repeat(2000));
    let output = run(host, Params { lines: 2000, ..params("/log") }).await;
    assert!(output.more_before && output.lines.len() > 1000 && output.lines.len() < 1100);
    assert!(output.lines.iter().all(|kept| *kept == line));
}

#[tokio::test]
async fn broken_text_is_replaced_and_marked() {
    let host = FakeHost::empty().with("/log", b"ok\n\xff\xfe\n\0\0x\n");
    let output = run(host, params("/log")).await;
    assert_eq!(output.lines, ["ok", "\u{fffd}\u{fffd}", "[2 NUL bytes]x"]);
    assert!(output.invalid_utf8);
}

#[tokio::test]
async fn an_empty_file_has_no_lines() {
    let output = run(FakeHost::empty().with("/log", ""), params("/log")).await;
    assert!(output.lines.is_empty() && !output.more_before);
}

#[tokio::test]
async fn a_bad_pattern_or_time_is_invalid() {
    for params in [
        Params { grep: Some("(".to_owned()), ..params("/log") },
        Params { since: Some("soon".to_owned()), ..params("/log") },
    ] {
        let cx = FakeHost::empty().with("/log", "x").context();
        assert_eq!(Skill::run(&TailFile, &cx, params).await.unwrap_err().kind, SkillErrorKind::Invalid);
    }
}
