use super::*;
use crate::support::fixture::FakeHost;
use crate::{RealHost, RealHostConfig};
use skill::FileRules;
use std::os::unix::fs::symlink;
use std::process::Command;

fn params(action: Action, path: &str) -> Params {
    Params {
        action,
        paths: vec![path.to_owned()],
        top_n: None,
        depth: None,
        min_size: 0,
        exclude: Vec::new(),
        cross_filesystems: false,
    }
}

async fn run(host: FakeHost, params: Params) -> Output {
    Skill::run(&HostFiles, &host.context(), params).await.unwrap()
}

async fn kind(host: FakeHost, params: Params) -> SkillErrorKind {
    Skill::run(&HostFiles, &host.context(), params).await.unwrap_err().kind
}

fn names(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.path.as_str()).collect()
}

fn tree() -> FakeHost {
    FakeHost::empty()
        .with("/var/log/app.log", vec![b'x'; 300_000])
        .with("/var/log/old/app.log.1", vec![b'x'; 200_000])
        .with("/var/lib/db/data", vec![b'x'; 900_000])
        .with("/var/note", "small")
}

#[tokio::test]
async fn du_tells_what_takes_space_and_counts_all_of_it() {
    let output = run(tree(), params(Action::Du, "/var")).await;
    let var = &output.paths[0];
    assert_eq!(names(var.entries.as_ref().unwrap()), ["/var/lib", "/var/log", "/var/note"]);
    let report = serde_json::to_value(var).unwrap();
    assert_eq!((report["files"].as_u64(), report["folders"].as_u64()), (Some(4), Some(4)));
    assert_eq!(report["size_bytes"], 1_400_005);
    assert!(report["filesystem"]["size"].as_u64() > Some(0));
    assert!(output.complete && output.unread.count == 0);
    let deeper = run(tree(), Params { depth: Some(2), ..params(Action::Du, "/var/") }).await;
    let deeper = deeper.paths[0].entries.as_ref().unwrap();
    assert_eq!(deeper[1].path, "/var/lib/db");
    let only = run(tree(), Params { min_size: 800_000, ..params(Action::Du, "/var") }).await;
    assert_eq!(names(only.paths[0].entries.as_ref().unwrap()), ["/var/lib"]);
}

#[tokio::test]
async fn du_agrees_with_du() {
    let host = tree();
    std::fs::hard_link(host.path("/var/lib/db/data"), host.path("/var/lib/db/twin")).unwrap();
    symlink("/var/lib", host.path("/var/link")).unwrap();
    let sparse = std::fs::File::create(host.path("/var/sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let said = Command::new("du").args(["-sB1"]).arg(host.path("/var")).output().unwrap().stdout;
    let expected: u64 = String::from_utf8(said).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    let output = run(host, params(Action::Du, "/var")).await;
    let report = serde_json::to_value(&output.paths[0]).unwrap();
    assert_eq!(report["disk_bytes"], expected);
}

#[tokio::test]
async fn the_largest_files_come_first_each_once() {
    let host = tree();
    std::fs::hard_link(host.path("/var/lib/db/data"), host.path("/var/lib/db/twin")).unwrap();
    let wanted = Params { top_n: Some(2), ..params(Action::FindLarge, "/") };
    let largest = run(host, wanted).await.largest.unwrap();
    assert_eq!(largest.len(), 2);
    assert!(largest[0].path.starts_with("/var/lib/db/") && largest[1].path == "/var/log/app.log");
    let near = run(tree(), Params { depth: Some(2), ..params(Action::FindLarge, "/var") }).await;
    assert_eq!(names(&near.largest.unwrap()), ["/var/log/app.log", "/var/note"]);
}

#[tokio::test]
async fn a_folder_is_listed_by_name_and_cut() {
    let output = run(tree(), params(Action::List, "/var/log")).await;
    assert_eq!(names(output.paths[0].entries.as_ref().unwrap()), ["/var/log/app.log", "/var/log/old"]);
    let cut = run(tree(), Params { top_n: Some(1), depth: Some(5), ..params(Action::List, "/var") }).await;
    assert_eq!(
        (names(cut.paths[0].entries.as_ref().unwrap()), cut.paths[0].more_entries),
        (vec!["/var/lib"], 7)
    );
}

#[tokio::test]
async fn what_is_excluded_does_not_count() {
    let exclude = vec!["old".to_owned(), "/var/l*/db".to_owned()];
    let output = run(tree(), Params { exclude, ..params(Action::FindLarge, "/var") }).await;
    assert_eq!(names(&output.largest.unwrap()), ["/var/log/app.log", "/var/note"]);
    assert_eq!(
        kind(tree(), Params { exclude: vec!["/".to_owned()], ..params(Action::Du, "/var") }).await,
        SkillErrorKind::Invalid
    );
}

#[tokio::test]
async fn stat_tells_all_about_a_file_and_where_a_link_leads() {
    let host = tree();
    symlink("log/app.log", host.path("/var/current")).unwrap();
    let output = run(host, params(Action::Stat, "/var/current")).await;
    let report = serde_json::to_value(&output.paths[0]).unwrap();
    assert_eq!(
        (report["leads_to"].as_str(), report["kind"].as_str()),
        (Some("/var/log/app.log"), Some("file"))
    );
    assert_eq!(
        (report["size_bytes"].as_u64(), report["facts"]["link_to"].as_str()),
        (Some(300_000), Some("log/app.log"))
    );
    assert_eq!(report["facts"]["mode"].as_str().unwrap().len(), 4);
}

#[tokio::test]
async fn links_are_never_followed_while_walking() {
    let host = tree();
    symlink("/var/lib", host.path("/var/log/elsewhere")).unwrap();
    symlink("..", host.path("/var/log/loop")).unwrap();
    let output = run(host, params(Action::FindLarge, "/var/log")).await;
    assert_eq!(output.largest.unwrap().len(), 2);
}

#[tokio::test]
async fn rules_close_paths_and_what_is_below() {
    let rules = FileRules { roots: vec!["/srv".into()], denied: vec!["/srv/closed".into()] };
    let host = || {
        FakeHost::empty()
            .with_files(rules.clone())
            .with("/srv/closed/a", "x")
            .with("/srv/b", "y")
            .with("/etc/c", "z")
    };
    assert_eq!(kind(host(), params(Action::List, "/etc")).await, SkillErrorKind::Refused);
    assert_eq!(kind(host(), params(Action::Du, "/srv/closed")).await, SkillErrorKind::Refused);
    let output = run(host(), Params { depth: Some(5), ..params(Action::List, "/srv") }).await;
    assert_eq!(names(output.paths[0].entries.as_ref().unwrap()), ["/srv/b"]);
    assert_eq!(output.unread.count, 1);
}

#[tokio::test]
async fn folders_of_secrets_are_counted_but_nothing_in_them_is_named() {
    let host = || FakeHost::empty().with("/root/.aws/huge", vec![b'x'; 100_000]).with("/root/a", "x");
    assert_eq!(kind(host(), params(Action::List, "/root/.aws")).await, SkillErrorKind::Refused);
    assert_eq!(names(&run(host(), params(Action::FindLarge, "/root")).await.largest.unwrap()), ["/root/a"]);
    let du = run(host(), Params { depth: Some(5), ..params(Action::Du, "/root") }).await;
    assert_eq!(names(du.paths[0].entries.as_ref().unwrap()), ["/root/.aws", "/root/a"]);
}

#[tokio::test]
async fn one_bad_path_does_not_spoil_the_others() {
    let paths = vec!["/var/log".to_owned(), "/nope".to_owned()];
    let output = run(tree(), Params { paths, ..params(Action::Du, "/") }).await;
    let report = serde_json::to_value(&output.paths[1]).unwrap();
    assert_eq!(report["error_kind"], "not_found");
    assert!(output.paths[0].entries.is_some());
    assert_eq!(kind(tree(), params(Action::Du, "/nope")).await, SkillErrorKind::NotFound);
    assert_eq!(kind(tree(), params(Action::Du, "var")).await, SkillErrorKind::Invalid);
    assert_eq!(kind(tree().with("/proc/x", ""), params(Action::Du, "/proc")).await, SkillErrorKind::Invalid);
}

#[tokio::test]
async fn devices_and_fifos_are_described_without_being_opened() {
    let host = tree();
    assert!(Command::new("mkfifo").arg(host.path("/var/pipe")).status().unwrap().success());
    let output = run(host, params(Action::List, "/var")).await;
    let report = serde_json::to_value(&output.paths[0]).unwrap();
    assert!(report["entries"].as_array().unwrap().iter().any(|entry| entry["kind"] == "fifo"));
}

#[tokio::test]
async fn a_walk_that_is_cancelled_ends() {
    let host = FakeHost::empty();
    for number in 0..600 {
        host.write(&format!("/many/{number}"), "");
    }
    let cx = host.context();
    cx.cancel.cancel();
    let error = Skill::run(&HostFiles, &cx, params(Action::Du, "/many")).await.unwrap_err();
    assert_eq!(error.kind, SkillErrorKind::Cancelled);
}

#[tokio::test]
async fn a_walk_without_time_left_says_that_it_is_a_part() {
    let host = FakeHost::empty();
    for number in 0..600 {
        host.write(&format!("/many/{number}"), "");
    }
    let mut cx = host.context();
    cx.deadline = Some(Instant::now());
    let output = Skill::run(&HostFiles, &cx, params(Action::Du, "/many")).await.unwrap();
    assert!(!output.complete && output.looked_at < 600 && output.notes[0].contains("only a part"));
}

#[tokio::test]
async fn the_kernels_file_systems_are_not_walked() {
    let host = RealHost::new(RealHostConfig::default(), Arc::new(model::SystemClock));
    let cx = SkillContext::new(Arc::new(host));
    let error = Skill::run(&HostFiles, &cx, params(Action::Du, "/proc/self")).await.unwrap_err();
    assert_eq!(error.kind, SkillErrorKind::Invalid);
}
