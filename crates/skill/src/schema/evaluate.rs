//! Whether a value is as a schema wants it, and if not, why, in words that help to mend it.

use super::document::{Document, count};
use super::{Problem, format, number, pattern, quoted};
use regex::Regex;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

const MAX_PROBLEMS: usize = 16;

/// Deepest nesting of evaluations in each other. Arguments are at most 128 deep; only a schema that refers to itself
/// without end gets there.
const MAX_DEPTH: usize = 512;

/// Most evaluations of one check. Schemas that try combinations of combinations would take more.
const MAX_STEPS: u32 = 4_000_000;

/// Checks a value.
///
/// # Errors
///
/// Everything that is wrong with it, up to 16 problems.
pub(super) fn check(document: &Document, instance: &Value) -> Result<(), Vec<Problem>> {
    let mut evaluation = Evaluation {
        document,
        patterns: BTreeMap::new(),
        problems: Vec::new(),
        muted: 0,
        depth: 0,
        steps: 0,
        exhausted: None,
    };
    let scope = Scope { resource: 0, outer: None };
    let seen = evaluation.evaluate(document.root(), instance, &Place::Root, &scope);
    if let Some(message) = evaluation.exhausted {
        return Err(vec![Problem { at: String::new(), message: message.to_owned() }]);
    }
    if seen.is_some() { Ok(()) } else { Err(evaluation.problems) }
}

/// Where in the value something is.
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field(outer, name) => {
                format!("{}/{}", outer.pointer(), name.replace('~', "~0").replace('/', "~1"))
            }
            Self::Item(outer, index) => format!("{}/{index}", outer.pointer()),
        }
    }
}

/// The resources that evaluation went through on its way: what `$dynamicRef` looks through.
struct Scope<'a> {
    resource: usize,
    outer: Option<&'a Scope<'a>>,
}

/// What the keywords of a schema that held have looked at, for `unevaluatedProperties` and `unevaluatedItems`.
#[derive(Default)]
struct Seen<'v> {
    properties: BTreeSet<&'v str>,
    all_items: bool,
    items_before: usize,
    items: BTreeSet<usize>,
}

impl<'v> Seen<'v> {
    fn add(&mut self, other: Seen<'v>) {
        self.properties.extend(other.properties);
        self.all_items |= other.all_items;
        self.items_before = self.items_before.max(other.items_before);
        self.items.extend(other.items);
    }
}

/// One schema object on one value.
#[derive(Clone, Copy)]
struct Frame<'a, 's, 'v> {
    keywords: &'s Map<String, Value>,
    instance: &'v Value,
    at: &'a Place<'a>,
    scope: &'a Scope<'a>,
}

struct Evaluation<'s> {
    document: &'s Document,
    patterns: BTreeMap<&'s str, Option<Regex>>,
    problems: Vec<Problem>,
    /// Above 0 while it is only asked whether something holds.
    muted: usize,
    depth: usize,
    steps: u32,
    exhausted: Option<&'static str>,
}

impl<'s> Evaluation<'s> {
    /// `None` if the value isn't as the schema wants it.
    fn evaluate<'v>(
        &mut self,
        schema: &'s Value,
        instance: &'v Value,
        at: &Place<'_>,
        scope: &Scope<'_>,
    ) -> Option<Seen<'v>> {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => {
                self.report(at, || "nothing is allowed here".to_owned());
                return None;
            }
            _ => return Some(Seen::default()),
        };
        self.steps += 1;
        if self.depth >= MAX_DEPTH {
            self.exhausted = Some("the schema refers to itself without end");
        } else if self.steps > MAX_STEPS {
            self.exhausted = Some("these arguments are too many to be checked against this schema");
        }
        if self.exhausted.is_some() {
            return None;
        }
        self.depth += 1;
        let resource = self.document.resource_of(scope.resource, keywords);
        let inner = Scope { resource, outer: Some(scope) };
        let scope = if resource == scope.resource { scope } else { &inner };
        let seen = self.keywords(Frame { keywords, instance, at, scope });
        self.depth -= 1;
        seen
    }

    fn keywords<'v>(&mut self, frame: Frame<'_, 's, 'v>) -> Option<Seen<'v>> {
        let mut seen = Seen::default();
        let mut good = self.value(frame);
        // Of a value of the wrong type the rest would only tell the same again.
        if !good && frame.keywords.contains_key("type") {
            return None;
        }
        good &= self.references(frame, &mut seen);
        good &= self.combinations(frame, &mut seen);
        good &= match frame.instance {
            Value::Object(fields) => self.object(frame, fields, &mut seen),
            Value::Array(items) => self.array(frame, items, &mut seen),
            Value::String(text) => self.text(frame, text),
            Value::Number(number) => self.number(frame, number),
            Value::Null | Value::Bool(_) => true,
        };
        if self.document.tracks {
            good &= self.unevaluated(frame, &mut seen);
        }
        good.then_some(seen)
    }

    /// `type`, `enum`, `const`.
    fn value(&mut self, frame: Frame<'_, 's, '_>) -> bool {
        let Frame { keywords, instance, at, .. } = frame;
        let mut good = true;
        if let Some(wanted) = keywords.get("type") {
            let has = |name: &Value| name.as_str().is_some_and(|name| has_type(instance, name));
            let (fits, names) = match wanted {
                Value::Array(all) => (all.iter().any(has), all.as_slice()),
                one => (has(one), std::slice::from_ref(one)),
            };
            if !fits {
                good = false;
                self.report(at, || {
                    let names: Vec<_> = names.iter().filter_map(Value::as_str).map(with_article).collect();
                    format!("must be {}, but is {}", names.join(" or "), kind(instance))
                });
            }
        }
        if let Some(Value::Array(allowed)) = keywords.get("enum")
            && !allowed.iter().any(|one| number::equal(one, instance))
        {
            good = false;
            self.report(at, || format!("must be one of {}", list(allowed.iter().map(shown))));
        }
        if let Some(wanted) = keywords.get("const")
            && !number::equal(wanted, instance)
        {
            good = false;
            self.report(at, || format!("must be {}", shown(wanted)));
        }
        good
    }

    /// `$ref`, `$dynamicRef`.
    fn references<'v>(&mut self, frame: Frame<'_, 's, 'v>, seen: &mut Seen<'v>) -> bool {
        let Frame { keywords, instance, at, scope } = frame;
        let mut good = true;
        for keyword in ["$ref", "$dynamicRef"] {
            let Some(reference) = keywords.get(keyword).and_then(Value::as_str) else { continue };
            let Some(target) = self.document.resolve(scope.resource, reference) else { continue };
            let (mut schema, mut resource) = (target.schema, target.resource);
            if keyword == "$dynamicRef"
                && let Some(anchor) = target.dynamic
            {
                // The outermost that has an anchor of this name.
                let mut way = Some(scope);
                while let Some(scope) = way {
                    if let Some(outer) = self.document.dynamic(scope.resource, anchor) {
                        (schema, resource) = (outer, scope.resource);
                    }
                    way = scope.outer;
                }
            }
            let inner = Scope { resource, outer: Some(scope) };
            match self.evaluate(schema, instance, at, &inner) {
                Some(more) => seen.add(more),
                None => good = false,
            }
        }
        good
    }

    /// `allOf`, `anyOf`, `oneOf`, `not`, `if`, and `dependentSchemas`.
    fn combinations<'v>(&mut self, frame: Frame<'_, 's, 'v>, seen: &mut Seen<'v>) -> bool {
        let Frame { keywords, instance, at, scope } = frame;
        let mut good = true;
        for schema in schemas(keywords, "allOf") {
            match self.evaluate(schema, instance, at, scope) {
                Some(more) => seen.add(more),
                None => good = false,
            }
        }
        let any = schemas(keywords, "anyOf");
        if !any.is_empty() {
            let mut fitting = 0;
            for schema in any {
                if let Some(more) = self.ask(schema, frame) {
                    fitting += 1;
                    seen.add(more);
                    // All of them are asked only where it matters what they have looked at.
                    if !self.document.tracks {
                        break;
                    }
                }
            }
            if fitting == 0 {
                good = false;
                self.nearest(any, frame);
            }
        }
        let one = schemas(keywords, "oneOf");
        if !one.is_empty() {
            let mut fitting = 0;
            for schema in one {
                if let Some(more) = self.ask(schema, frame) {
                    fitting += 1;
                    seen.add(more);
                }
            }
            good &= fitting == 1;
            match fitting {
                0 => self.nearest(one, frame),
                1 => {}
                _ => self.report(at, || "fits several of the forms of which it must have one".to_owned()),
            }
        }
        if let Some(schema) = keywords.get("not")
            && self.ask(schema, frame).is_some()
        {
            good = false;
            self.report(at, || "has a form that is not allowed here".to_owned());
        }
        if let Some(condition) = keywords.get("if") {
            let branch = match self.ask(condition, frame) {
                Some(more) => {
                    seen.add(more);
                    "then"
                }
                None => "else",
            };
            if let Some(schema) = keywords.get(branch) {
                match self.evaluate(schema, instance, at, scope) {
                    Some(more) => seen.add(more),
                    None => good = false,
                }
            }
        }
        if let (Some(Value::Object(dependent)), Value::Object(fields)) =
            (keywords.get("dependentSchemas"), instance)
        {
            for (_, schema) in dependent.iter().filter(|(name, _)| fields.contains_key(*name)) {
                match self.evaluate(schema, instance, at, scope) {
                    Some(more) => seen.add(more),
                    None => good = false,
                }
            }
        }
        good
    }

    /// Whether a schema holds, without a word.
    fn ask<'v>(&mut self, schema: &'s Value, frame: Frame<'_, 's, 'v>) -> Option<Seen<'v>> {
        self.muted += 1;
        let seen = self.evaluate(schema, frame.instance, frame.at, frame.scope);
        self.muted -= 1;
        seen
    }

    /// Tells why a value has none of several forms: what is wrong with the one that it was meant to have, if that can
    /// be told by its type.
    fn nearest(&mut self, forms: &'s [Value], frame: Frame<'_, 's, '_>) {
        if self.muted > 0 {
            return;
        }
        let meant: Vec<_> = forms
            .iter()
            .filter(|schema| match &schema["type"] {
                Value::String(name) => has_type(frame.instance, name),
                Value::Array(names) => {
                    names.iter().filter_map(Value::as_str).any(|name| has_type(frame.instance, name))
                }
                _ => false,
            })
            .collect();
        match meant.as_slice() {
            [one] => drop(self.evaluate(one, frame.instance, frame.at, frame.scope)),
            _ => {
                let constants: Option<Vec<_>> = forms.iter().map(|schema| schema.get("const")).collect();
                match constants {
                    Some(all) => self
                        .report(frame.at, || format!("must be one of {}", list(all.into_iter().map(shown)))),
                    None => {
                        self.report(frame.at, || "has none of the forms that are allowed here".to_owned())
                    }
                }
            }
        }
    }

    fn object<'v>(
        &mut self,
        frame: Frame<'_, 's, 'v>,
        fields: &'v Map<String, Value>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let Frame { keywords, at, scope, .. } = frame;
        let mut good = self.object_size(frame, fields);
        let properties = keywords.get("properties").and_then(Value::as_object);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let additional = keywords.get("additionalProperties");
        for (name, value) in fields {
            let mut covered = false;
            let here = Place::Field(at, name);
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                covered = true;
                good &= self.evaluate(schema, value, &here, scope).is_some();
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                if self.matches(pattern, name) {
                    covered = true;
                    good &= self.evaluate(schema, value, &here, scope).is_some();
                }
            }
            if !covered && let Some(schema) = additional {
                covered = true;
                if *schema == Value::Bool(false) {
                    good = false;
                    self.report(at, || unknown(name, properties));
                } else {
                    good &= self.evaluate(schema, value, &here, scope).is_some();
                }
            }
            if covered && self.document.tracks {
                seen.properties.insert(name);
            }
            if let Some(schema) = keywords.get("propertyNames") {
                let instance = Value::String(name.clone());
                good &= self.evaluate(schema, &instance, &here, scope).is_some();
            }
            if !good && self.muted > 0 {
                return false;
            }
        }
        good
    }

    /// What an object must have, and how much.
    fn object_size(&mut self, frame: Frame<'_, 's, '_>, fields: &Map<String, Value>) -> bool {
        let Frame { keywords, at, .. } = frame;
        let mut good = true;
        for name in names(keywords.get("required")).filter(|name| !fields.contains_key(*name)) {
            good = false;
            self.report(at, || format!("{} is a required property", quoted(name)));
        }
        if let Some(Value::Object(dependent)) = keywords.get("dependentRequired") {
            for (name, wanted) in dependent.iter().filter(|(name, _)| fields.contains_key(*name)) {
                for other in names(Some(wanted)).filter(|other| !fields.contains_key(*other)) {
                    good = false;
                    self.report(at, || format!("{} is required beside {}", quoted(other), quoted(name)));
                }
            }
        }
        good & self.bounded(frame, fields.len(), ("minProperties", "maxProperties"), "properties")
    }

    fn array<'v>(&mut self, frame: Frame<'_, 's, 'v>, items: &'v [Value], seen: &mut Seen<'v>) -> bool {
        let Frame { keywords, at, scope, .. } = frame;
        let mut good = self.bounded(frame, items.len(), ("minItems", "maxItems"), "items");
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut known = BTreeMap::new();
            for (index, item) in items.iter().enumerate() {
                if let Some(first) = known.insert(number::fingerprint(item), index) {
                    good = false;
                    self.report(at, || format!("items {first} and {index} are the same"));
                    break;
                }
            }
        }
        let prefix = schemas(keywords, "prefixItems");
        let rest = keywords.get("items");
        for (index, item) in items.iter().enumerate() {
            let Some(schema) = prefix.get(index).or(rest) else { break };
            good &= self.evaluate(schema, item, &Place::Item(at, index), scope).is_some();
            if !good && self.muted > 0 {
                return false;
            }
        }
        seen.items_before = seen.items_before.max(prefix.len());
        seen.all_items |= rest.is_some();
        if let Some(schema) = keywords.get("contains") {
            good &= self.contains(frame, schema, items, seen);
        }
        good
    }

    fn contains<'v>(
        &mut self,
        frame: Frame<'_, 's, 'v>,
        schema: &'s Value,
        items: &'v [Value],
        seen: &mut Seen<'v>,
    ) -> bool {
        let limit = |name: &str| frame.keywords.get(name).and_then(count);
        let (least, most) = (limit("minContains").unwrap_or(1), limit("maxContains"));
        let mut found = 0;
        for (index, item) in items.iter().enumerate() {
            if self.ask(schema, Frame { instance: item, ..frame }).is_some() {
                found += 1;
                seen.items.insert(index);
            }
        }
        if found < least {
            self.report(frame.at, || {
                format!("must have at least {least} items of the wanted form, but has {found}")
            });
        }
        if most.is_some_and(|most| found > most) {
            self.report(frame.at, || format!("has {found} items of a form of which there may be fewer"));
        }
        found >= least && most.is_none_or(|most| found <= most)
    }

    fn text(&mut self, frame: Frame<'_, 's, '_>, text: &str) -> bool {
        let Frame { keywords, at, .. } = frame;
        let sized = keywords.contains_key("minLength") || keywords.contains_key("maxLength");
        let mut good =
            !sized || self.bounded(frame, text.chars().count(), ("minLength", "maxLength"), "characters");
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str)
            && !self.matches(pattern, text)
        {
            good = false;
            self.report(at, || format!("must match the pattern {}", quoted(pattern)));
        }
        if let Some(name) = keywords.get("format").and_then(Value::as_str)
            && !format::holds(name, text)
        {
            good = false;
            self.report(at, || format!("must be a text of the format {}", quoted(name)));
        }
        good
    }

    fn number(&mut self, frame: Frame<'_, 's, '_>, number: &Number) -> bool {
        use Ordering::{Equal, Greater, Less};
        let bounds: [(&str, &[Ordering], &str); 4] = [
            ("minimum", &[Equal, Greater], "at least"),
            ("maximum", &[Equal, Less], "at most"),
            ("exclusiveMinimum", &[Greater], "more than"),
            ("exclusiveMaximum", &[Less], "less than"),
        ];
        let mut good = true;
        for (keyword, allowed, words) in bounds {
            if let Some(Value::Number(bound)) = frame.keywords.get(keyword)
                && !allowed.contains(&number::compare(number, bound))
            {
                good = false;
                self.report(frame.at, || format!("must be {words} {bound}"));
            }
        }
        if let Some(Value::Number(step)) = frame.keywords.get("multipleOf")
            && !number::is_multiple(number, step)
        {
            good = false;
            self.report(frame.at, || format!("must be a multiple of {step}"));
        }
        good
    }

    /// `unevaluatedProperties`, `unevaluatedItems`.
    fn unevaluated<'v>(&mut self, frame: Frame<'_, 's, 'v>, seen: &mut Seen<'v>) -> bool {
        let Frame { keywords, instance, at, scope } = frame;
        let mut good = true;
        if let (Some(schema), Value::Object(fields)) = (keywords.get("unevaluatedProperties"), instance) {
            for (name, value) in fields {
                if seen.properties.contains(name.as_str()) {
                    continue;
                }
                if *schema == Value::Bool(false) {
                    good = false;
                    self.report(at, || unknown(name, None));
                } else {
                    good &= self.evaluate(schema, value, &Place::Field(at, name), scope).is_some();
                }
                seen.properties.insert(name);
            }
        }
        if let (Some(schema), Value::Array(items)) = (keywords.get("unevaluatedItems"), instance)
            && !seen.all_items
        {
            for (index, item) in items.iter().enumerate().skip(seen.items_before) {
                if !seen.items.contains(&index) {
                    good &= self.evaluate(schema, item, &Place::Item(at, index), scope).is_some();
                }
            }
            seen.all_items = true;
        }
        good
    }

    /// Reports a number of things outside its bounds.
    fn bounded(
        &mut self,
        frame: Frame<'_, 's, '_>,
        found: usize,
        (least, most): (&str, &str),
        what: &str,
    ) -> bool {
        let limit = |name: &str| frame.keywords.get(name).and_then(count);
        let (least, most) = (limit(least).unwrap_or(0), limit(most).unwrap_or(usize::MAX));
        if found < least {
            self.report(frame.at, || format!("must have at least {least} {what}, but has {found}"));
        }
        if found > most {
            self.report(frame.at, || format!("must have at most {most} {what}, but has {found}"));
        }
        (least..=most).contains(&found)
    }

    fn matches(&mut self, pattern: &'s str, text: &str) -> bool {
        // The document has compiled it once, so that it can't fail.
        let compiled = self.patterns.entry(pattern).or_insert_with(|| pattern::compile(pattern).ok());
        compiled.as_ref().is_some_and(|compiled| compiled.is_match(text))
    }

    fn report(&mut self, at: &Place<'_>, message: impl FnOnce() -> String) {
        if self.muted == 0 && self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { at: at.pointer(), message: message() });
        }
    }
}

fn schemas<'s>(keywords: &'s Map<String, Value>, name: &str) -> &'s [Value] {
    keywords.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn has_type(instance: &Value, name: &str) -> bool {
    match (instance, name) {
        (Value::Null, "null")
        | (Value::Bool(_), "boolean")
        | (Value::Number(_), "number")
        | (Value::String(_), "string")
        | (Value::Array(_), "array")
        | (Value::Object(_), "object") => true,
        (Value::Number(number), "integer") => number::is_integer(number),
        _ => false,
    }
}

fn kind(instance: &Value) -> &'static str {
    match instance {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number::is_integer(number) => "an integer",
        Value::Number(_) => "a number with a fraction",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn with_article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

/// A value of the schema's, for a message.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(_) => "a certain list".to_owned(),
        Value::Object(_) => "a certain object".to_owned(),
        other => other.to_string(),
    }
}

/// The first of many, for a message.
fn list(all: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 24;
    let mut words: Vec<_> = all.take(SHOWN + 1).collect();
    if words.len() > SHOWN {
        words.truncate(SHOWN);
        words.push("…".to_owned());
    }
    words.join(", ")
}

fn unknown(name: &str, properties: Option<&Map<String, Value>>) -> String {
    match properties.filter(|properties| !properties.is_empty()) {
        Some(known) => {
            format!(
                "{} is not allowed here; there are {}",
                quoted(name),
                list(known.keys().map(|key| quoted(key)))
            )
        }
        None => format!("{} is not allowed here", quoted(name)),
    }
}
