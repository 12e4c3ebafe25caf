//! Why a call has its class, in words for the people who decide on it.

use model::{Class, ClassReason};
use serde_json::Value;
use skill::Capability;

fn whole(text: String) -> ClassReason {
    ClassReason { text, start: None, end: None }
}

/// Why a call of `capability` with these valid arguments has its class: part by part where the capability can tell, else
/// in one sentence. `described` is the host's name and the class that the skill has there, which may lift it.
pub(crate) fn class_reasons(
    capability: &Capability,
    args: &Value,
    described: Option<(&str, Class)>,
) -> Vec<ClassReason> {
    let definition = capability.definition();
    let key = &definition.key;
    let mut reasons = capability.class_reasons(args);
    let Some(own) = capability.try_class_of(args) else {
        return vec![whole(format!("How `{key}` classes its arguments is broken."))];
    };
    if reasons.is_empty() {
        reasons.push(whole(if own > capability.least_class() {
            format!("`{key}` is {own} with these arguments.")
        } else if own > definition.class {
            format!("`{key}` counts as {own} here, because no sandbox holds what it starts.")
        } else {
            format!("`{key}` is {own} by its definition.")
        }));
    }
    if let Some((host, described)) = described
        && described > own
    {
        reasons.push(whole(format!("Host `{host}` says that `{key}` is {described} there.")));
    }
    reasons
}
