//! Every malformed manifest gets an error with a name that says which.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use packs::Manifest;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Files are called `<name of the error>.<case>.json`.
fn corpus() -> Vec<(String, PathBuf)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
    files.into_iter().map(|path| (name(&path), path)).collect()
}

fn good() -> Value {
    json!({
        "name": "demo", "version": "1.0.0", "description": "Shows how a pack looks.", "entry": "run",
        "skills": [{"key": "demo_look", "name": "Look", "description": "Looks at something.", "class": "safe"}],
    })
}

#[test]
fn every_malformed_manifest_has_exactly_the_error_that_its_file_is_named_after() {
    let corpus = corpus();
    assert!(corpus.len() >= 40, "the corpus has {} files", corpus.len());
    let mut wrong = Vec::new();
    for (expected, path) in &corpus {
        match Manifest::parse(&fs::read(path).unwrap()) {
            Ok(_) => wrong.push(format!("{}: accepted", path.display())),
            Err(error) => {
                let names: Vec<_> = error.problems.iter().map(|problem| problem.fault.name()).collect();
                if names != [expected.clone()] {
                    wrong.push(format!("{}: {error}", path.display()));
                }
                if error.problems.iter().any(|problem| problem.message.trim().is_empty()) {
                    wrong.push(format!("{}: no words in {error:?}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_manifest_that_is_too_large_is_told_without_being_read() {
    let error = Manifest::parse(&vec![b' '; 256 * 1024 + 1]).unwrap_err();
    assert_eq!(error.problems[0].fault.name(), "too_large");
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_its_place() {
    let mut manifest = good();
    manifest["timeout_seconds"] = json!(0);
    manifest["skills"][0]["key"] = json!("no-dash");
    manifest["entry"] = json!("/bin/sh");
    let error = Manifest::parse(manifest.to_string().as_bytes()).unwrap_err();
    let places: BTreeSet<_> = error.problems.iter().map(|problem| problem.at.as_str()).collect();
    assert_eq!(places, BTreeSet::from(["entry", "skills[0].key", "timeout_seconds"]));
}

#[test]
fn what_is_left_out_has_the_documented_default() {
    let manifest = Manifest::parse(good().to_string().as_bytes()).unwrap();
    assert_eq!((manifest.category.as_str(), manifest.timeout_seconds), ("packs", 60));
    let skill = &manifest.skills[0];
    assert_eq!(skill.scope, model::Scope::Host);
    assert_eq!(skill.params, json!({"type": "object", "properties": {}, "additionalProperties": false}));
    assert!(!skill.sandbox.network && skill.sandbox.write_paths.is_empty());
}

#[test]
fn a_schema_is_kept_word_for_word_and_refuses_unknown_parameters_unless_it_says_otherwise() {
    let mut manifest = good();
    let own = json!({"type": "object", "properties": {"a": {"type": "string", "x-unit": "m"}}, "additionalProperties": true});
    manifest["skills"][0]["params"] = own.clone();
    assert_eq!(Manifest::parse(manifest.to_string().as_bytes()).unwrap().skills[0].params, own);
    manifest["skills"][0]["params"].as_object_mut().unwrap().remove("additionalProperties");
    let params = &Manifest::parse(manifest.to_string().as_bytes()).unwrap().skills[0].params;
    assert_eq!(params["additionalProperties"], json!(false));
    assert_eq!(params["properties"], own["properties"]);
}

#[test]
fn a_skill_may_have_a_sandbox_of_its_own_in_place_of_the_packs() {
    let mut manifest = good();
    manifest["sandbox"] = json!({"write_paths": ["/var/lib/demo"]});
    manifest["skills"][0]["sandbox"] = json!({"network": true});
    let manifest = Manifest::parse(manifest.to_string().as_bytes()).unwrap();
    assert!(manifest.skills[0].sandbox.network && manifest.skills[0].sandbox.write_paths.is_empty());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        ".{0,12}",
        proptest::sample::select(vec![
            "name",
            "version",
            "description",
            "entry",
            "skills",
            "key",
            "class",
            "scope",
            "params",
            "sandbox",
            "write_paths",
            "limits",
            "type",
            "properties",
            "$ref",
            "pattern",
            "env_allow",
            "prerequisites",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_json_never_panics_and_is_never_silently_wrong(value in any_json()) {
        if let Err(error) = Manifest::parse(value.to_string().as_bytes()) {
            prop_assert!(!error.problems.is_empty());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Manifest::parse(&bytes);
    }

    #[test]
    fn a_good_manifest_with_one_field_replaced_is_read_or_told(
        place in proptest::sample::select(vec![
            "/name", "/version", "/description", "/entry", "/skills", "/skills/0", "/skills/0/key", "/skills/0/class",
        ]),
        value in any_json(),
    ) {
        let mut manifest = good();
        *manifest.pointer_mut(place).unwrap() = value;
        if let Err(error) = Manifest::parse(manifest.to_string().as_bytes()) {
            prop_assert!(!error.problems.is_empty());
        }
    }

    #[test]
    fn every_prefix_of_a_good_manifest_is_an_error(cut in 0usize..150) {
        let text = good().to_string();
        prop_assume!(cut < text.len());
        prop_assert!(Manifest::parse(&text.as_bytes()[..cut]).is_err());
    }
}
