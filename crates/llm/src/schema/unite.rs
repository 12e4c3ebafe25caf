//! Puts schemas together: all of them (`allOf`, a reference and what stands beside it), or one of them.

use super::node::{Additional, Node, Types};
use serde_json::Value;
use std::cmp::Ordering;

/// Most forms that one value may have; further ones are only told of.
const MAX_ALTERNATIVES: usize = 16;

/// What fulfils both. The first one's words count.
pub(super) fn merge(mut base: Node, other: Node) -> Node {
    if base.types == Types::ALL && base.is_bare() {
        // Nothing to narrow; the words stay.
        let Node { description, default, examples, notes, .. } = base;
        let mut out = other;
        out.description = description.or(out.description);
        out.default = default.or(out.default);
        if !examples.is_empty() {
            out.examples = examples;
        }
        for note in notes {
            out.note(note);
        }
        return out;
    }
    base.types = base.types.and(other.types);
    base.description = base.description.or(other.description);
    base.default = base.default.or(other.default);
    if base.examples.is_empty() {
        base.examples = other.examples;
    }
    base.choices = match (base.choices, other.choices) {
        (Some(mut ours), Some(theirs)) => {
            ours.retain(|value| theirs.contains(value));
            Some(ours)
        }
        (ours, theirs) => ours.or(theirs),
    };
    if let Some(choices) = &mut base.choices {
        let allowed = base.types;
        choices.retain(|value| allowed.admits(value));
        base.types = allowed.and(choices.iter().fold(Types::NONE, |types, v| types.or(Types::of(v))));
    }
    for (name, theirs) in other.properties {
        match base.properties.iter().position(|(known, _)| *known == name) {
            Some(place) => {
                let (_, ours) = base.properties.remove(place);
                base.properties.insert(place, (name, merge(ours, theirs)));
            }
            None => base.properties.push((name, theirs)),
        }
    }
    base.required.extend(other.required);
    base.additional = match (base.additional, other.additional) {
        (Additional::Closed, _) | (_, Additional::Closed) => Additional::Closed,
        (Additional::Of(ours), Additional::Of(theirs)) => Additional::Of(Box::new(merge(*ours, *theirs))),
        (Additional::Of(only), _) | (_, Additional::Of(only)) => Additional::Of(only),
        (Additional::Open, _) | (_, Additional::Open) => Additional::Open,
        (Additional::Unsaid, Additional::Unsaid) => Additional::Unsaid,
    };
    base.items = match (base.items, other.items) {
        (Some(ours), Some(theirs)) => Some(Box::new(merge(*ours, *theirs))),
        (ours, theirs) => ours.or(theirs),
    };
    if base.tuple.is_empty() {
        base.tuple = other.tuple;
    }
    for (keyword, value) in other.limits {
        add_limit(&mut base, keyword, value);
    }
    for note in other.notes {
        base.note(note);
    }
    let alternatives = std::mem::take(&mut base.alternatives);
    match (alternatives.is_empty(), other.alternatives.is_empty()) {
        (_, true) => {
            base.alternatives = alternatives;
            base
        }
        (true, false) => choose(base, other.alternatives),
        (false, false) => {
            let mut crossed = Vec::new();
            for ours in &alternatives {
                for theirs in &other.alternatives {
                    if crossed.len() <= MAX_ALTERNATIVES {
                        crossed.push(merge(ours.clone(), theirs.clone()));
                    }
                }
            }
            choose(base, crossed)
        }
    }
}

/// Takes a bound, the tighter one where there are two.
fn add_limit(node: &mut Node, keyword: &'static str, value: Value) {
    let Some(place) = node.limits.iter().position(|(known, _)| *known == keyword) else {
        node.limits.push((keyword, value));
        return;
    };
    let ours = &node.limits[place].1;
    let order = match (ours.as_f64(), value.as_f64()) {
        (Some(ours), Some(theirs)) => ours.partial_cmp(&theirs).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    };
    let is_lower_bound = keyword.starts_with("min") || keyword == "exclusiveMinimum";
    let is_upper_bound = keyword.starts_with("max") || keyword == "exclusiveMaximum";
    if is_lower_bound && order == Ordering::Less || is_upper_bound && order == Ordering::Greater {
        node.limits[place].1 = value;
    } else if !is_lower_bound && !is_upper_bound && *ours != value {
        let words = super::words::limit(keyword, &value);
        node.note(words);
    }
}

/// A base of which one of the branches holds, too.
pub(super) fn unite(mut base: Node, branches: Vec<Node>, is_exclusive: bool) -> Node {
    if branches.iter().all(only_requires) {
        let forms: Vec<String> = branches.iter().map(|branch| names(branch.required.iter())).collect();
        let how_many = if is_exclusive { "exactly one" } else { "at least one" };
        base.note(format!("Give {how_many} of: {}.", forms.join("; ")));
        return base;
    }
    choose(base, branches)
}

fn only_requires(branch: &Node) -> bool {
    !branch.required.is_empty()
        && branch.types == Types::ALL
        && Node { required: Default::default(), ..branch.clone() }.is_bare()
}

fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}

/// Narrows a union as far as nothing is lost, and keeps what remains as alternatives.
fn choose(mut base: Node, branches: Vec<Node>) -> Node {
    let mut is_nullable = false;
    let mut options: Vec<Node> = Vec::new();
    for branch in spliced(branches) {
        let mut option = merge_into_option(&base, branch);
        if option.types.has(Types::NULL) && option.types != Types::ALL {
            is_nullable = true;
            option.types = option.types.without(Types::NULL);
            if let Some(choices) = &mut option.choices {
                choices.retain(|value| !value.is_null());
            }
        }
        if option.types.is_none() {
            continue;
        }
        if !options.contains(&option) {
            options.push(option);
        }
    }
    if options.iter().any(|option| option.types == Types::ALL && option.is_bare()) {
        return words_of(&base);
    }
    if options.len() > MAX_ALTERNATIVES && !options.iter().all(|option| option.choices.is_some()) {
        base.note(format!("{} further forms are possible.", options.len() - MAX_ALTERNATIVES));
        options.truncate(MAX_ALTERNATIVES);
    }
    let null = if is_nullable { Types::NULL } else { Types::NONE };
    if options.is_empty() {
        return Node { types: null, ..words_of(&base) };
    }
    if options.len() == 1 {
        let mut only = options.remove(0);
        only.types = only.types.or(null);
        if let (true, Some(choices)) = (is_nullable, only.choices.as_mut()) {
            choices.push(Value::Null);
        }
        let words = words_of(&base);
        only.description = words.description.or(only.description);
        only.default = words.default.or(only.default);
        for note in words.notes {
            only.note(note);
        }
        return only;
    }
    if options.iter().all(|option| option.choices.is_some()) {
        return listed(words_of(&base), options, is_nullable);
    }
    let is_plain = |option: &Node| {
        option.is_bare()
            && option.notes.is_empty()
            && option.description.is_none()
            && option.types != Types::ALL
            && !option.types.has(Types::OBJECT)
            && !option.types.has(Types::ARRAY)
    };
    if options.iter().all(is_plain) {
        let types = options.iter().fold(null, |types, option| types.or(option.types));
        return Node { types, ..words_of(&base) };
    }
    let types = options.iter().fold(null, |types, option| types.or(option.types));
    Node { types, alternatives: options, ..words_of(&base) }
}

/// Alternatives of an alternative are alternatives.
fn spliced(branches: Vec<Node>) -> Vec<Node> {
    let mut out = Vec::new();
    for mut branch in branches {
        if branch.alternatives.is_empty() {
            out.push(branch);
            continue;
        }
        let nested = std::mem::take(&mut branch.alternatives);
        if branch.types.has(Types::NULL) {
            out.push(Node::of(Types::NULL));
        }
        for mut option in nested {
            option.description = option.description.or_else(|| branch.description.clone());
            out.push(option);
        }
    }
    out
}

/// A branch with everything that the base says of the value, and without the words, which the base keeps.
fn merge_into_option(base: &Node, branch: Node) -> Node {
    let base = Node {
        description: None,
        default: None,
        examples: Vec::new(),
        notes: Vec::new(),
        alternatives: Vec::new(),
        ..base.clone()
    };
    let mut option = merge(base, branch);
    option.default = None;
    option.examples = Vec::new();
    option
}

fn words_of(base: &Node) -> Node {
    Node {
        description: base.description.clone(),
        default: base.default.clone(),
        examples: base.examples.clone(),
        notes: base.notes.clone(),
        ..Node::any()
    }
}

/// Lists of values become one list; what each means is told.
fn listed(mut base: Node, options: Vec<Node>, is_nullable: bool) -> Node {
    let mut choices: Vec<Value> = Vec::new();
    let mut meanings = Vec::new();
    for option in options {
        let values = option.choices.unwrap_or_default();
        if let (Some(meaning), [value]) = (&option.description, values.as_slice()) {
            meanings.push(format!("`{}`: {}", super::words::value(value), meaning.trim_end_matches('.')));
        }
        for value in values {
            if !choices.contains(&value) {
                choices.push(value);
            }
        }
    }
    if !meanings.is_empty() {
        base.note(format!("{}.", meanings.join("; ")));
    }
    if is_nullable {
        choices.push(Value::Null);
    }
    base.types = choices.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
    base.choices = Some(choices);
    base
}

/// Alternatives that are objects, as one object that has all of their properties; which go together is told.
pub(super) fn flattened(node: &Node) -> Node {
    let objects: Vec<Node> = node
        .alternatives
        .iter()
        .filter(|option| option.types.has(Types::OBJECT))
        .map(|option| option.narrowed(Types::OBJECT))
        .collect();
    let mut out = Node { types: Types::OBJECT, alternatives: Vec::new(), ..node.clone() };
    out.choices = None;
    let Some((first, rest)) = objects.split_first() else { return out };
    out.required.clone_from(&first.required);
    out.additional = first.additional.clone();
    for option in rest {
        out.required.retain(|name| option.required.contains(name));
        if option.additional != out.additional {
            out.additional = Additional::Unsaid;
        }
    }
    for option in &objects {
        for (name, form) in &option.properties {
            match out.properties.iter().position(|(known, _)| known == name) {
                None => out.properties.push((name.clone(), form.clone())),
                Some(place) if out.properties[place].1 == *form => {}
                Some(place) => {
                    let (_, known) = out.properties.remove(place);
                    let words = Node { description: known.description.clone(), ..Node::any() };
                    out.properties.insert(place, (name.clone(), choose(words, vec![known, form.clone()])));
                }
            }
        }
    }
    let forms: Vec<String> = objects.iter().map(form_in_words).filter(|form| !form.is_empty()).collect();
    if forms.len() > 1 {
        out.note(format!("One of these forms: {}.", forms.join("; ")));
    }
    out
}

/// `kind` = "a" with `x`
fn form_in_words(option: &Node) -> String {
    let fixed = |node: &Node| match node.choices.as_deref() {
        Some([only]) => Some(super::words::value(only)),
        _ => None,
    };
    let names: Vec<String> = option
        .properties
        .iter()
        .filter(|(name, _)| option.required.contains(name))
        .map(|(name, node)| match fixed(node) {
            Some(value) => format!("`{name}` = {value}"),
            None => format!("`{name}`"),
        })
        .collect();
    names.join(" with ")
}
