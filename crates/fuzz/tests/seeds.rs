//! Each target holds for what it begins with, and for what a fuzzer once found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::path::Path;

#[test]
fn every_target_holds_for_its_seeds_cut_at_any_half() {
    for target in fuzz::TARGETS {
        let seeds = (target.seeds)();
        assert!(seeds.len() >= 3, "{} has hardly a seed", target.name);
        for seed in seeds {
            for cut in [&seed[..], &seed[..seed.len() / 2], &seed[seed.len() / 2..]] {
                (target.run)(cut);
            }
        }
    }
}

#[test]
fn every_target_holds_for_what_was_found_before() {
    for target in fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").join(target.name);
        // A target without a folder has had nothing found.
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            (target.run)(&std::fs::read(entry.unwrap().path()).unwrap());
        }
    }
}
