use super::*;
use crate::support::fixture::FakeHost;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
        .with("/var/log/app-20260301.gz", gzip("newest\n"));
    let output = run(host, params("/var/log/app")).await;
    assert_eq!(output.lines, ["old", "new", "newest"]);
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
    let file = File::options().write(true).open(host.path("/log")).unwrap();
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

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn lines_go_on_in_packed_rotations() {
    let host = FakeHost::empty()
        .with("/log/app", "5\n")
        .with("/log/app.1", "4\n")
        .with("/log/app.2.gz", gzip("2\n3\n"))
        .with("/log/app.3.gz", gzip("0\n1\n"));
    let output = run(host, Params { lines: 5, ..params("/log/app") }).await;
    assert_eq!(output.lines, ["1", "2", "3", "4", "5"]);
    assert_eq!(output.rotated, ["/log/app.1", "/log/app.2.gz", "/log/app.3.gz"]);
    assert!(output.more_before);
}

#[tokio::test]
async fn a_packed_file_is_read_by_its_own_name_too() {
    let text: String = (0..10_000).map(|number| format!("line {number}\n")).collect();
    let host = FakeHost::empty().with("/log/app.2.gz", gzip(&text));
    let output = run(host, Params { grep: Some("7$".to_owned()), ..params("/log/app.2.gz") }).await;
    assert_eq!(output.lines, ["line 9977", "line 9987", "line 9997"]);
    assert!(output.more_before);
}

#[tokio::test]
async fn since_goes_through_packed_rotations_and_ends_at_older_lines() {
    let host = FakeHost::empty()
        .with("/log/app", "  goes on\n2026-03-01T11:59:00Z c\n")
        .with("/log/app.1.gz", gzip("2026-03-01T10:00:00Z a\n  old\n2026-03-01T11:58:00Z b\n"))
        .with("/log/app.2.gz", "never read");
    let output = run(host, Params { since: Some("10m".to_owned()), lines: 100, ..params("/log/app") }).await;
    assert_eq!(output.lines, ["2026-03-01T11:58:00Z b", "  goes on", "2026-03-01T11:59:00Z c"]);
    assert!(!output.more_before);
}

#[tokio::test]
async fn a_damaged_packed_file_shows_what_can_be_read() {
    let text: String = (0..5_000).map(|number| format!("line {number} {}\n", number * 7919)).collect();
    let packed = gzip(&text);
    let host = FakeHost::empty().with("/log/a.gz", &packed[..packed.len() / 2]);
    let output = run(host, params("/log/a.gz")).await;
    assert!(!output.lines.is_empty() && output.notes[0].contains("damaged"), "{output:?}");
}

#[tokio::test]
async fn a_rotation_that_can_not_be_unpacked_is_told() {
    let host = FakeHost::empty().with("/log/app", "2\n").with("/log/app.1.xz", "?");
    let output = run(host, params("/log/app")).await;
    assert!(output.more_before && output.notes[0].contains("app.1.xz"));
}

#[tokio::test]
async fn a_file_that_was_just_rotated_is_not_read_twice() {
    let host = FakeHost::empty().with("/log/app", "1\n");
    std::fs::hard_link(host.path("/log/app"), host.path("/log/app.1")).unwrap();
    assert_eq!(run(host, params("/log/app")).await.lines, ["1"]);
}

#[tokio::test]
async fn a_file_that_is_emptied_and_written_meanwhile_is_read_all_the_same() {
    let host = Arc::new(FakeHost::empty().with("/log/app", "start\n"));
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (place, stop) = (host.path("/log/app"), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut file = File::options().append(true).open(&place).unwrap();
            while !stop.load(Ordering::Relaxed) {
                for number in 0..200 {
                    writeln!(file, "line {number} with some length").unwrap();
                }
                file.set_len(0).unwrap();
            }
        })
    };
    for _ in 0..200 {
        let filter = Filter { lines: 50, grep: None, since: None, now: host.now() };
        let output = tail(host.as_ref(), "/log/app", &filter, &|| false).unwrap();
        assert!(output.lines.len() <= 50);
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
}

#[tokio::test]
async fn one_line_of_500_megabytes_takes_little_memory() {
    fn peak_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }
    let host = FakeHost::empty().with("/log", "");
    let file = File::options().write(true).open(host.path("/log")).unwrap();
    file.write_all_at(b"start ", 0).unwrap();
    file.write_all_at(b"\nlast\n", 500_000_000).unwrap();
    let before = peak_kib();
    let output = run(host, params("/log")).await;
    assert!(peak_kib() - before < 16 * 1024, "{} KiB more", peak_kib() - before);
    assert_eq!(output.lines.last().unwrap(), "last");
    assert!(output.more_before && output.cut_lines == 1);
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
