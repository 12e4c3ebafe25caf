//! Ends a turn that turns in circles.

use model::canonical;
use serde_json::Value;
use std::collections::BTreeMap;

/// How often the same thing may happen.
const LIMIT: u32 = 3;

/// Watches the calls of one turn.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard {
    failures: BTreeMap<String, u32>,
    last: Option<(String, u32)>,
}

impl LoopGuard {
    /// Takes note of an ended call. Returns the reason to end the turn, if there is one.
    pub(crate) fn note(&mut self, tool: &str, args: &Value, failed: bool) -> Option<String> {
        let signature = format!("{tool} {}", canonical::to_string(args));
        let in_a_row = match &self.last {
            Some((last, count)) if *last == signature => count + 1,
            _ => 1,
        };
        let failures = self.failures.entry(signature.clone()).or_default();
        *failures += u32::from(failed);
        let failures = *failures;
        self.last = Some((signature, in_a_row));
        if failures >= LIMIT {
            return Some(format!("the same call of `{tool}` failed {LIMIT} times"));
        }
        (in_a_row >= LIMIT).then(|| format!("the same call of `{tool}` was made {LIMIT} times in a row"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn three_identical_failures_end_it_also_with_others_between() {
        let mut guard = LoopGuard::default();
        assert_eq!(guard.note("a", &json!({"x": 1, "y": 2}), true), None);
        assert_eq!(guard.note("b", &json!({}), false), None);
        assert_eq!(guard.note("a", &json!({"y": 2, "x": 1}), true), None);
        assert_eq!(guard.note("b", &json!({}), false), None);
        assert!(guard.note("a", &json!({"x": 1, "y": 2}), true).unwrap().contains("failed 3 times"));
    }

    #[test]
    fn three_identical_calls_in_a_row_end_it() {
        let mut guard = LoopGuard::default();
        assert_eq!(guard.note("a", &json!({}), false), None);
        assert_eq!(guard.note("a", &json!({}), false), None);
        assert!(guard.note("a", &json!({}), false).unwrap().contains("in a row"));
    }

    #[test]
    fn other_arguments_are_another_call() {
        let mut guard = LoopGuard::default();
        for number in 0..20 {
            assert_eq!(guard.note("a", &json!({"page": number}), true), None);
        }
    }
}
