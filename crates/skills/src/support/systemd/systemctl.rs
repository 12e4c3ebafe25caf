//! systemd through `systemctl`, for hosts whose bus can't be reached.

use super::{Properties, UnitLine, Verb, WANTED};
use crate::support::child;
use crate::support::errors::{denied, failed, not_found, refused};
use skill::{Host, SkillError};

pub(crate) async fn units(host: &dyn Host) -> Result<Vec<UnitLine>, SkillError> {
    let lines = run(host, &["list-units", "--all", "--plain", "--no-legend", "--full"]).await?;
    Ok(lines.iter().filter_map(|line| parse_unit(line)).collect())
}

pub(crate) async fn properties(host: &dyn Host, unit: &str) -> Result<Properties, SkillError> {
    let wanted = format!("--property={}", WANTED.join(","));
    let lines = run(host, &["show", "--timestamp=unix", &wanted, "--", unit]).await?;
    Ok(lines.iter().filter_map(|line| parse_property(line)).collect())
}

pub(crate) async fn system_state(host: &dyn Host) -> Result<String, SkillError> {
    let lines = run(host, &["show", "--property=SystemState", "--value"]).await?;
    Ok(lines.into_iter().next().unwrap_or_default())
}

/// Runs a job and waits for its end.
pub(crate) async fn change(host: &dyn Host, verb: Verb, unit: &str) -> Result<String, SkillError> {
    let arguments = ["--no-pager", "--no-ask-password", verb.word(), "--", unit].map(str::to_owned);
    let mut running = child::start(host, "systemctl", &arguments)?;
    while running.line().await?.is_some() {}
    let ended = running.end().await?;
    if ended.code == Some(0) {
        return Ok("done".to_owned());
    }
    let said = ended.errors.lines().next().unwrap_or("no reason given");
    let has = |part: &str| ended.errors.contains(part);
    let message = format!("could not {} `{unit}` with `systemctl`: {said}", verb.word());
    Err(if has("not found") || has("not loaded") {
        not_found(message)
    } else if has("is masked") || has("by dependency only") {
        refused(message)
    } else if has("Access denied") || has("authentication required") || has("Permission denied") {
        denied(message)
    } else if has("Job for ") {
        // The job ran and failed; the unit's properties tell more than this.
        return Ok("failed".to_owned());
    } else {
        failed(message)
    })
}

pub(crate) async fn reboot(host: &dyn Host) -> Result<(), SkillError> {
    run(host, &["reboot"]).await.map(|_| ())
}

async fn run(host: &dyn Host, arguments: &[&str]) -> Result<Vec<String>, SkillError> {
    let mut all = vec!["--no-pager".to_owned(), "--no-ask-password".to_owned()];
    all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let mut running = child::start(host, "systemctl", &all)?;
    let mut lines = Vec::new();
    while let Some(line) = running.line().await? {
        lines.push(String::from_utf8_lossy(&line).into_owned());
        if lines.len() > 20_000 {
            running.stop().await;
            return Ok(lines);
        }
    }
    let ended = running.end().await?;
    if ended.code == Some(0) {
        return Ok(lines);
    }
    let last = ended.errors.lines().next_back().unwrap_or("no reason given").to_owned();
    Err(failed(format!("systemctl failed: {last}")))
}

/// `name load active sub description…`
fn parse_unit(line: &str) -> Option<UnitLine> {
    let mut rest = line.trim_start_matches(['●', '*', ' ']);
    let mut word = || {
        rest = rest.trim_start();
        let end = rest.find(' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then(|| word.to_owned())
    };
    let (name, load, active, sub) = (word()?, word()?, word()?, word()?);
    Some(UnitLine { name, description: rest.trim().to_owned(), load, active, sub })
}

/// `Name=value`. Times come as `@seconds` and are made microseconds, as on the bus; what is unset is left out.
fn parse_property(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let value = match value.strip_prefix('@').and_then(|seconds| seconds.parse::<u64>().ok()) {
        Some(seconds) => (seconds * 1_000_000).to_string(),
        None => value.to_owned(),
    };
    (!value.is_empty() && value != "[not set]" && value != "n/a").then(|| (name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_systemctl_are_read() {
        let unit =
            parse_unit("● nginx.service   loaded failed failed A high performance web server").unwrap();
        assert_eq!(
            (unit.name.as_str(), unit.active.as_str(), unit.sub.as_str()),
            ("nginx.service", "failed", "failed")
        );
        assert_eq!(unit.description, "A high performance web server");
        assert_eq!(
            parse_property("StateChangeTimestamp=@17"),
            Some(("StateChangeTimestamp".to_owned(), "17000000".to_owned()))
        );
        assert_eq!(parse_property("MemoryCurrent=[not set]"), None);
        assert_eq!(parse_property("StatusText=a=b"), Some(("StatusText".to_owned(), "a=b".to_owned())));
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".{0,80}") {
            let _ = (parse_unit(&line), parse_property(&line));
        }
    }
}
