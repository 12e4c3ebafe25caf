//! Finds the rotated files of a log, as logrotate and others name them.

use skill::Host;
use std::path::Path;

/// Most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// How a rotated file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    /// In a way that isn't read here.
    Other,
}

/// One rotated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rotated {
    /// Absolute path below the host's root.
    pub(crate) path: String,
    pub(crate) packing: Packing,
}

/// The rotated files of `path`, the newest first: `path.1`, `path.2.gz`, and `path-20260301` or `path.2026-03-01`.
pub(crate) fn of(host: &dyn Host, path: &str) -> Vec<Rotated> {
    let place = Path::new(path);
    let (Some(name), Some(folder)) = (place.file_name().and_then(|name| name.to_str()), place.parent())
    else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(host.path(&folder.display().to_string())) else { return Vec::new() };
    let mut found: Vec<(Age, Rotated)> = entries
        .take(MAX_ENTRIES)
        .flatten()
        .filter_map(|entry| {
            let other = entry.file_name().into_string().ok()?;
            let (age, packing) = age_of(other.strip_prefix(name)?)?;
            Some((age, Rotated { path: folder.join(other).display().to_string(), packing }))
        })
        .collect();
    model::order::sort_by(&mut found, |one, other| {
        one.0.cmp(&other.0).then_with(|| one.1.path.cmp(&other.1.path))
    });
    found.into_iter().map(|(_, rotated)| rotated).collect()
}

/// The younger, the less.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Age {
    /// Rotated so often since.
    Times(u32),
    /// Dates, with the latest first.
    Date(std::cmp::Reverse<String>),
}

/// What stands behind the log's own name: a number or a date, and how it is packed.
fn age_of(rest: &str) -> Option<(Age, Packing)> {
    let (rest, packing) = match rest.rsplit_once('.') {
        Some((front, "gz")) => (front, Packing::Gzip),
        Some((front, "xz" | "zst" | "bz2" | "lz4" | "Z")) => (front, Packing::Other),
        _ => (rest, Packing::Plain),
    };
    let mark = rest.strip_prefix(['.', '-'])?;
    if rest.starts_with('.')
        && let Ok(times) = mark.parse::<u32>()
        && mark.len() <= 4
    {
        return Some((Age::Times(times), packing));
    }
    let digits: String = mark.chars().filter(char::is_ascii_digit).collect();
    let dated =
        digits.len() >= 8 && mark.chars().all(|letter| letter.is_ascii_digit() || "-_T".contains(letter));
    dated.then_some((Age::Date(std::cmp::Reverse(digits)), packing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use proptest::prelude::*;

    #[test]
    fn rotated_files_come_in_the_order_of_their_age() {
        let mut host = FakeHost::empty();
        for name in [
            "app",
            "app.10.gz",
            "app.2.gz",
            "app.1",
            "app.3.xz",
            "application.1",
            "app.conf",
            "app.1.bak",
            "other.1",
        ] {
            host = host.with(&format!("/log/{name}"), "");
        }
        let found: Vec<_> = of(&host, "/log/app").into_iter().map(|one| (one.path, one.packing)).collect();
        let expected = [
            ("/log/app.1", Packing::Plain),
            ("/log/app.2.gz", Packing::Gzip),
            ("/log/app.3.xz", Packing::Other),
            ("/log/app.10.gz", Packing::Gzip),
        ];
        assert_eq!(found, expected.map(|(path, packing)| (path.to_owned(), packing)));
    }

    #[test]
    fn dates_count_from_the_latest() {
        let mut host = FakeHost::empty();
        for name in ["a-20260101.gz", "a-20260301", "a.2026-02-01.gz", "a-1234", "a-2026x0101"] {
            host = host.with(&format!("/log/{name}"), "");
        }
        let found: Vec<String> = of(&host, "/log/a").into_iter().map(|one| one.path).collect();
        assert_eq!(found, ["/log/a-20260301", "/log/a.2026-02-01.gz", "/log/a-20260101.gz"]);
    }

    proptest! {
        #[test]
        fn no_name_panics(rest in ".{0,30}") {
            let _ = age_of(&rest);
        }
    }
}
