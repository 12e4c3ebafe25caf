//! Which packs are taken, which are told as broken, and what a digest says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use model::{Class, Scope};
use packs::{Loaded, lint, load};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use support::{Shelf, chmod, write};

fn nothing_is_builtin(_scope: Scope, _key: &str) -> bool {
    false
}

fn loaded(shelf: &Shelf) -> Loaded {
    load(&shelf.rules(), &nothing_is_builtin, None)
}

/// The name of the error of the only broken pack.
fn fault(loaded: &Loaded) -> String {
    assert_eq!(loaded.broken.len(), 1, "{loaded:?}");
    loaded.broken[0].error.problems[0].fault.name()
}

#[test]
fn a_broken_pack_is_told_and_hides_no_other() {
    let shelf = Shelf::new();
    shelf.pack("alpha", "echo 1");
    let broken = shelf.pack("beta", "echo 1");
    write(&broken.join("skill.json"), "{", 0o644);
    shelf.pack("gamma", "echo 1");
    let loaded = loaded(&shelf);
    let names: Vec<_> = loaded.packs.iter().map(|pack| pack.manifest.name.as_str()).collect();
    assert_eq!(names, ["alpha", "gamma"]);
    assert_eq!((loaded.broken[0].name.as_str(), fault(&loaded).as_str()), ("beta", "not_json"));
}

#[test]
fn a_directory_without_a_manifest_is_broken_and_hidden_ones_are_none() {
    let shelf = Shelf::new();
    fs::create_dir(shelf.packs().join("empty")).unwrap();
    fs::create_dir(shelf.packs().join(".git")).unwrap();
    let loaded = loaded(&shelf);
    assert_eq!(fault(&loaded), "not_readable");
    assert!(loaded.broken[0].error.to_string().contains("there is no skill.json"), "{:?}", loaded.broken);
}

#[test]
fn directories_that_are_not_there_have_no_packs() {
    let shelf = Shelf::new();
    let mut rules = shelf.rules();
    rules.dirs = vec!["/nonexistent/packs".into()];
    let loaded = load(&rules, &nothing_is_builtin, None);
    assert!(loaded.packs.is_empty() && loaded.broken.is_empty());
}

#[test]
fn a_key_never_replaces_a_builtin_nor_another_packs() {
    let shelf = Shelf::new();
    shelf.pack("alpha", "echo 1");
    shelf.pack_with("beta", "echo 1", |manifest| manifest["skills"][0]["key"] = json!("alpha_look"));
    let loaded = loaded(&shelf);
    assert_eq!((loaded.packs.len(), fault(&loaded).as_str()), (1, "key_taken"));
    let all_builtin = load(&shelf.rules(), &|_, key| key == "alpha_look", None);
    assert_eq!((all_builtin.packs.len(), all_builtin.broken.len()), (0, 2));
}

#[test]
fn a_name_is_taken_once() {
    let shelf = Shelf::new();
    shelf.pack("alpha", "echo 1");
    shelf.pack_with("beta", "echo 1", |manifest| manifest["name"] = json!("alpha"));
    assert_eq!(fault(&loaded(&shelf)), "name_taken");
}

#[test]
fn a_skill_without_a_class_is_dangerous_and_told() {
    let shelf = Shelf::new();
    shelf.pack_with("alpha", "echo 1", |manifest| {
        manifest["skills"][0].as_object_mut().unwrap().remove("class");
    });
    let strict = loaded(&shelf);
    assert_eq!(strict.skills[0].definition().class, Class::Dangerous);
    assert_eq!(strict.packs[0].warnings, ["`alpha_look` has no class in skill.json, so it is dangerous"]);
    let mut rules = shelf.rules();
    rules.default_class = Class::Mutating;
    assert_eq!(load(&rules, &nothing_is_builtin, None).skills[0].definition().class, Class::Mutating);
}

#[test]
fn a_default_of_safe_does_not_make_a_writing_skill_safe() {
    let shelf = Shelf::new();
    shelf.pack_with("alpha", "echo 1", |manifest| {
        manifest["skills"][0].as_object_mut().unwrap().remove("class");
        manifest["sandbox"] = json!({"write_paths": ["/var/lib/alpha"]});
    });
    let mut rules = shelf.rules();
    rules.default_class = Class::Safe;
    assert_eq!(fault(&load(&rules, &nothing_is_builtin, None)), "safe_skill_writes");
}

#[test]
fn the_entry_must_be_an_executable_of_the_pack() {
    type Break = fn(&std::path::Path);
    let breaks: [(&str, Break); 7] = [
        ("entry_not_found", |pack| fs::remove_file(pack.join("run")).unwrap()),
        ("entry_not_executable", |pack| chmod(&pack.join("run"), 0o644)),
        ("entry_world_writable", |pack| chmod(&pack.join("run"), 0o757)),
        ("writable", |pack| chmod(&pack.join("run"), 0o775)),
        ("bad_file", |pack| chmod(&pack.join("run"), 0o4755)),
        ("entry_not_regular", |pack| {
            fs::remove_file(pack.join("run")).unwrap();
            fs::create_dir(pack.join("run")).unwrap();
        }),
        ("entry_outside", |pack| {
            fs::remove_file(pack.join("run")).unwrap();
            symlink("/bin/sh", pack.join("run")).unwrap();
        }),
    ];
    for (expected, break_it) in breaks {
        let shelf = Shelf::new();
        let pack = shelf.pack("alpha", "echo 1");
        break_it(&pack);
        assert_eq!(fault(&loaded(&shelf)), expected);
        let error = lint(&pack, &shelf.rules()).unwrap_err();
        assert_eq!(error.problems[0].fault.name(), expected, "lint tells what loading tells");
    }
}

#[test]
fn a_link_inside_the_pack_is_followed_and_one_that_leads_out_is_refused() {
    let shelf = Shelf::new();
    let pack = shelf.pack("alpha", "echo 1");
    fs::rename(pack.join("run"), pack.join("real")).unwrap();
    symlink("real", pack.join("run")).unwrap();
    assert_eq!(loaded(&shelf).packs.len(), 1);
    for target in ["/etc/passwd", "../beta", "x/../../beta"] {
        symlink(target, pack.join("link")).unwrap();
        assert_eq!(fault(&loaded(&shelf)), "link_outside", "{target}");
        fs::remove_file(pack.join("link")).unwrap();
    }
}

#[test]
fn what_others_can_write_or_own_is_not_run() {
    let shelf = Shelf::new();
    let pack = shelf.pack("alpha", "echo 1");
    write(&pack.join("data"), "x", 0o664);
    assert_eq!(fault(&loaded(&shelf)), "writable");
    chmod(&pack.join("data"), 0o644);
    chmod(&pack, 0o777);
    assert_eq!(fault(&loaded(&shelf)), "writable");
    chmod(&pack, 0o755);
    let mut rules = shelf.rules();
    rules.owners = vec![4_000_000_000];
    assert_eq!(fault(&load(&rules, &nothing_is_builtin, None)), "bad_owner");
}

#[test]
fn a_pack_has_nothing_but_files_directories_and_links() {
    let shelf = Shelf::new();
    let pack = shelf.pack("alpha", "echo 1");
    let socket = std::os::unix::net::UnixListener::bind(pack.join("socket")).unwrap();
    assert_eq!(fault(&loaded(&shelf)), "bad_file");
    drop(socket);
}

#[test]
fn a_pack_is_bounded() {
    let shelf = Shelf::new();
    let pack = shelf.pack("alpha", "echo 1");
    let file = fs::File::create(pack.join("huge")).unwrap();
    file.set_len(64 * 1024 * 1024).unwrap();
    chmod(&pack.join("huge"), 0o644);
    assert_eq!(fault(&loaded(&shelf)), "too_much_data");
    fs::remove_file(pack.join("huge")).unwrap();
    for number in 0..1000 {
        write(&pack.join(format!("f{number}")), "", 0o644);
    }
    assert_eq!(fault(&loaded(&shelf)), "too_many_files");
}

#[test]
fn the_digest_is_of_names_modes_and_contents_and_of_nothing_else() {
    let digest = |change: fn(&std::path::Path)| {
        let shelf = Shelf::new();
        let pack = shelf.pack("alpha", "echo 1");
        write(&pack.join("data"), "x", 0o644);
        change(&pack);
        lint(&pack, &shelf.rules()).unwrap().1
    };
    let first = digest(|_| {});
    assert_eq!((first.len(), &first), (64, &digest(|_| {})), "the same files elsewhere have the same digest");
    let others = [
        digest(|pack| write(&pack.join("data"), "y", 0o644)),
        digest(|pack| write(&pack.join("data"), "x", 0o600)),
        digest(|pack| fs::rename(pack.join("data"), pack.join("date")).unwrap()),
        digest(|pack| fs::create_dir(pack.join("lib")).unwrap()),
        digest(|pack| symlink("data", pack.join("link")).unwrap()),
    ];
    let different: std::collections::BTreeSet<_> = others.iter().chain([&first]).collect();
    assert_eq!(different.len(), 6);
}

#[test]
fn the_definition_changes_with_the_program() {
    let hash = |script: &str| {
        let shelf = Shelf::new();
        shelf.pack("alpha", script);
        admission::AnySkill::capability(loaded(&shelf).skills[0].as_ref()).hash().to_owned()
    };
    assert_eq!(hash("echo 1"), hash("echo 1"));
    assert_ne!(hash("echo 1"), hash("echo 2"));
}

#[test]
fn a_copy_can_be_read_by_whom_it_runs_as_and_written_by_nobody_whatever_the_umask_is() {
    use std::os::unix::fs::PermissionsExt;
    let shelf = Shelf::new();
    let pack = shelf.pack("alpha", "echo 1");
    fs::create_dir(pack.join("lib")).unwrap();
    chmod(&pack.join("lib"), 0o755);
    write(&pack.join("lib/data"), "x", 0o644);
    let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let loaded = loaded(&shelf);
    rustix::process::umask(before);
    let copy = &loaded.packs[0].copy;
    let mode = |name: &str| fs::metadata(copy.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["", "lib", "run", "lib/data"].map(mode), [0o755, 0o755, 0o555, 0o444]);
}

#[test]
fn copies_that_nothing_runs_from_are_removed_one_reload_later() {
    let shelf = Shelf::new();
    let pack = shelf.pack("alpha", "echo 1");
    let copies = || fs::read_dir(shelf.keep()).unwrap().count();
    let first = loaded(&shelf);
    write(&pack.join("run"), "#!/bin/sh\necho 2\n", 0o755);
    let second = load(&shelf.rules(), &nothing_is_builtin, Some(&first));
    assert_eq!(copies(), 2, "calls may still run from the first");
    load(&shelf.rules(), &nothing_is_builtin, Some(&second));
    assert_eq!(copies(), 1);
}
