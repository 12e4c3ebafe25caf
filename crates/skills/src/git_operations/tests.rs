use super::*;
use crate::support::fixture::{FakeHost, RunsDirectly};
use skill::{ChangeRules, Host, SkillErrorKind};
use std::process::Command;
use std::sync::Arc;

/// A host with a repository of one commit, and the real git.
fn host() -> FakeHost {
    let host = FakeHost::empty()
        .with("/srv/repo/a.txt", "one\n")
        .with_changes(ChangeRules { write_roots: vec!["/srv".into()], ..ChangeRules::default() });
    let git =
        ["/usr/local/bin/git", "/usr/bin/git", "/bin/git"].into_iter().find(|path| Path::new(path).exists());
    let script = format!("#!/bin/sh\nexec {} \"$@\"\n", git.expect("these tests need git"));
    let host = host.with_program("/usr/bin/git", &script);
    for words in [&["init", "-q", "-b", "main"][..], &["add", "a.txt"], &["commit", "-q", "-m", "first"]] {
        git_in(&host, words);
    }
    host
}

fn git_in(host: &FakeHost, words: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(words)
        .current_dir(host.path("/srv/repo"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn params(operation: Operation) -> Params {
    Params {
        operation,
        path: "/srv/repo".to_owned(),
        files: Vec::new(),
        revision: None,
        remote: None,
        message: None,
        staged: false,
        limit: 20,
        stash: StashAction::Push,
        mode: ResetMode::Mixed,
        force: false,
    }
}

async fn run(cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
    Skill::run(&GitOperations, cx, params).await
}

fn context(host: FakeHost) -> SkillContext {
    SkillContext { class: Class::Dangerous, sandbox: Arc::new(RunsDirectly), ..host.context() }
}

#[tokio::test]
async fn a_repository_is_looked_at() {
    let host = host().with("/srv/repo/a.txt", "two\n").with("/srv/repo/new file", "x");
    let cx = context(host);
    let status = run(&cx, params(Operation::Status)).await.unwrap();
    assert_eq!((status.repository.as_str(), status.sandbox.as_str()), ("/srv/repo", "none read_only"));
    let status = status.status.unwrap();
    assert_eq!(status.branch.as_deref(), Some("main"));
    let paths: Vec<_> = status.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "new file"]);
    let diff = run(&cx, params(Operation::Diff)).await.unwrap().text;
    assert!(diff.contains("-one\n+two"), "{diff}");
    let log = run(&cx, params(Operation::Log)).await.unwrap().commits.unwrap();
    assert_eq!((log.len(), log[0].subject.as_str(), log[0].author.as_str()), (1, "first", "Test"));
    let branches = run(&cx, params(Operation::Branch)).await.unwrap().branches.unwrap();
    assert!(branches[0].current && branches[0].name == "main" && branches[0].commit == log[0].id);
}

#[tokio::test]
async fn a_repository_is_changed_step_by_step() {
    let host = host().with("/srv/repo/a.txt", "two\n");
    let place = host.path("/srv/repo/a.txt");
    let cx = context(host);
    run(&cx, Params { files: vec!["a.txt".into()], ..params(Operation::Add) }).await.unwrap();
    let staged = run(&cx, Params { staged: true, ..params(Operation::Diff) }).await.unwrap();
    assert!(staged.text.contains("+two"));
    let commit = Params { message: Some("-m second".into()), ..params(Operation::Commit) };
    let done = run(&cx, commit).await.unwrap();
    assert!(done.status.unwrap().changes.is_empty());
    let log = run(&cx, params(Operation::Log)).await.unwrap().commits.unwrap();
    assert_eq!((log[0].subject.as_str(), log[0].author.as_str()), ("-m second", "Steadyhand"));
    std::fs::write(&place, "three\n").unwrap();
    let stashed = run(&cx, params(Operation::Stash)).await.unwrap().status.unwrap();
    assert_eq!((stashed.stashes, std::fs::read_to_string(&place).unwrap().as_str()), (1, "two\n"));
    run(&cx, Params { stash: StashAction::Pop, ..params(Operation::Stash) }).await.unwrap();
    assert_eq!(std::fs::read_to_string(&place).unwrap(), "three\n");
    run(&cx, Params { files: vec!["a.txt".into()], ..params(Operation::Checkout) }).await.unwrap();
    assert_eq!(std::fs::read_to_string(&place).unwrap(), "two\n");
    let reset = Params { revision: Some("HEAD~1".into()), mode: ResetMode::Hard, ..params(Operation::Reset) };
    run(&cx, reset).await.unwrap();
    assert_eq!(std::fs::read_to_string(&place).unwrap(), "one\n");
}

#[tokio::test]
async fn pull_goes_forward_and_push_reaches_the_remote() {
    let host = host();
    let remote = host.path("/srv/remote.git");
    let shown = remote.display().to_string();
    git_in(&host, &["clone", "-q", "--bare", ".", &shown]);
    git_in(&host, &["remote", "add", "origin", &shown]);
    git_in(&host, &["commit", "-q", "--allow-empty", "-m", "second"]);
    let cx = context(host);
    let push = Params { revision: Some("main".into()), ..params(Operation::Push) };
    assert!(run(&cx, push).await.unwrap().text.contains("main"));
    let reset = Params { revision: Some("HEAD~1".into()), ..params(Operation::Reset) };
    run(&cx, reset).await.unwrap();
    run(&cx, Params { revision: Some("main".into()), ..params(Operation::Pull) }).await.unwrap();
    let log = run(&cx, params(Operation::Log)).await.unwrap().commits.unwrap();
    assert_eq!(log[0].subject, "second");
    let error =
        run(&cx, Params { remote: Some("none".into()), ..params(Operation::Pull) }).await.unwrap_err();
    assert_eq!(error.kind, SkillErrorKind::Failed);
}

#[tokio::test]
async fn nothing_that_the_repository_names_is_started() {
    let host = host();
    let mark = host.path("/started");
    let evil = format!("touch {}; cat", mark.display());
    for name in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "merge.evil.driver",
        "gpg.program",
        "gpg.ssh.program",
        "credential.helper",
        "remote.origin.uploadpack",
        "remote.origin.receivepack",
        "alias.status",
    ] {
        git_in(&host, &["config", name, &evil]);
    }
    for (name, value) in [
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("filter.evil.required", "true"),
        ("core.hooksPath", "hooks"),
    ] {
        git_in(&host, &["config", name, value]);
    }
    git_in(&host, &["config", "remote.origin.url", &host.path("/srv/repo").display().to_string()]);
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "post-merge",
        "pre-push",
        "post-index-change",
    ] {
        for folder in ["/srv/repo/hooks", "/srv/repo/.git/hooks"] {
            let host = &host;
            host.write(&format!("{folder}/{hook}"), format!("#!/bin/sh\n{evil}\n"));
            let place = host.path(&format!("{folder}/{hook}"));
            std::fs::set_permissions(place, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
    }
    host.write("/srv/repo/.gitattributes", "* filter=evil diff=evil merge=evil\n");
    host.write("/srv/repo/a.txt", "two\n");
    let cx = context(host);
    let all = [
        params(Operation::Status),
        params(Operation::Diff),
        params(Operation::Log),
        params(Operation::Branch),
        Params { files: vec!["a.txt".into()], ..params(Operation::Add) },
        Params { staged: true, ..params(Operation::Diff) },
        Params { message: Some("m".into()), ..params(Operation::Commit) },
        params(Operation::Stash),
        Params {
            files: vec!["a.txt".into()],
            revision: Some("HEAD~1".into()),
            ..params(Operation::Checkout)
        },
        Params { revision: Some("HEAD~1".into()), mode: ResetMode::Hard, ..params(Operation::Reset) },
        Params { revision: Some("main".into()), ..params(Operation::Pull) },
        Params { revision: Some("main".into()), ..params(Operation::Push) },
    ];
    for one in all {
        let operation = one.operation;
        let ended = run(&cx, one).await;
        assert!(!mark.exists(), "{operation:?} started something: {ended:?}");
        if !matches!(operation, Operation::Stash | Operation::Push) {
            ended.unwrap_or_else(|error| panic!("{operation:?}: {error}"));
        }
    }
}

#[tokio::test]
async fn what_may_not_be_changed_is_only_looked_at() {
    let host = host();
    let rules = ChangeRules { write_roots: vec!["/other".into()], ..ChangeRules::default() };
    let cx = context(host.with_changes(rules));
    run(&cx, params(Operation::Status)).await.unwrap();
    let add = Params { files: vec![".".into()], ..params(Operation::Add) };
    assert_eq!(run(&cx, add.clone()).await.unwrap_err().kind, SkillErrorKind::Refused);
    let moved = self::host();
    std::fs::rename(moved.path("/srv/repo/.git"), moved.path("/gitdir")).unwrap();
    moved.write("/srv/repo/.git", format!("gitdir: {}\n", moved.path("/gitdir").display()));
    let error = run(&context(moved), add).await.unwrap_err();
    assert!(error.kind == SkillErrorKind::Refused && error.message.contains("/gitdir"), "{error}");
}

#[tokio::test]
async fn a_call_never_does_more_than_it_was_accepted_for() {
    let mut cx = context(host());
    cx.class = Class::Safe;
    let error = run(&cx, Params { files: vec![".".into()], ..params(Operation::Add) }).await.unwrap_err();
    assert!(error.message.contains("accepted as safe"), "{error}");
    let class = |operation: &str| GitOperations::classify(&serde_json::json!({"operation": operation}));
    assert_eq!(
        [class("log"), class("commit"), class("push"), class("x")],
        [Class::Safe, Class::Mutating, Class::Dangerous, Class::Dangerous]
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_invalid() {
    let cx = context(host().with("/srv/plain/x", ""));
    for bad in [
        params(Operation::Add),
        params(Operation::Commit),
        params(Operation::Checkout),
        params(Operation::Push),
        params(Operation::Reset),
        Params { files: vec!["/etc/passwd".into()], ..params(Operation::Diff) },
        Params { files: vec!["a".into()], ..params(Operation::Pull) },
    ] {
        let operation = bad.operation;
        assert_eq!(run(&cx, bad).await.unwrap_err().kind, SkillErrorKind::Invalid, "{operation:?}");
    }
    let outside = Params { path: "/srv/none".to_owned(), ..params(Operation::Status) };
    assert_eq!(run(&cx, outside).await.unwrap_err().kind, SkillErrorKind::NotFound);
    let odd =
        Params { files: vec!["--output=/tmp/x".into(), ":(exclude)a".into()], ..params(Operation::Diff) };
    assert_eq!(run(&cx, odd).await.unwrap().text, "");
}
