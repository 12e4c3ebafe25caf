//! A schema as a document: checked in its form, its parts found by name, its references followed.

use super::{pattern, quoted};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

/// What relative names in a schema without a name of its own are relative to.
const BASE: &str = "schema://parameters/";

/// Deepest nesting of subschemas in each other.
const MAX_DEPTH: usize = 256;

/// A schema whose form is right and whose references all lead somewhere.
#[derive(Debug)]
pub(super) struct Document {
    root: Value,
    names: Names,
    /// Whether anything in it asks what other keywords have looked at.
    pub(super) tracks: bool,
}

/// A part of the document with a name (`$id`) of its own; the first is the whole.
#[derive(Debug)]
struct Resource {
    url: Url,
    /// JSON pointer to it.
    at: String,
    /// JSON pointers of its anchors.
    anchors: BTreeMap<String, String>,
    /// Which of them are dynamic.
    dynamic: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Names {
    resources: Vec<Resource>,
    by_url: BTreeMap<String, usize>,
}

/// Where a reference leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'s> {
    pub(super) schema: &'s Value,
    pub(super) resource: usize,
    /// Set if it leads to a dynamic anchor by its name.
    pub(super) dynamic: Option<&'s str>,
}

impl Document {
    /// Takes a schema.
    ///
    /// # Errors
    ///
    /// Tells where its form is wrong and what would be right, or which reference leads nowhere.
    pub(super) fn new(root: Value) -> Result<Self, String> {
        let mut names = Names::default();
        let base = Url::parse(BASE).map_err(|error| error.to_string())?;
        names.add(base, String::new());
        let mut reader = Reader { names, visited: BTreeSet::new(), references: Vec::new(), tracks: false };
        reader.read(&root, String::new(), 0, 0)?;
        while let Some(Reference { at, text, resource }) = reader.references.pop() {
            let (schema, resource, pointer) = reader
                .names
                .resolve(&root, resource, &text)
                .ok_or_else(|| format!("{at} refers to {}, which is not in this schema", quoted(&text)))?;
            // A part that no keyword makes a schema becomes one by being referred to.
            reader.read(schema, pointer, resource, 0)?;
        }
        let Reader { names, tracks, .. } = reader;
        Ok(Self { root, names, tracks })
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    /// The resource in which a subschema is evaluated.
    pub(super) fn resource_of(&self, outer: usize, keywords: &Map<String, Value>) -> usize {
        self.names.resource_of(outer, keywords).unwrap_or(outer)
    }

    /// Follows a reference.
    pub(super) fn resolve<'s>(&'s self, resource: usize, reference: &'s str) -> Option<Target<'s>> {
        let (schema, found, _) = self.names.resolve(&self.root, resource, reference)?;
        let dynamic = reference
            .split_once('#')
            .map(|(_, fragment)| fragment)
            .filter(|name| schema.get("$dynamicAnchor").and_then(Value::as_str) == Some(*name));
        Some(Target { schema, resource: found, dynamic })
    }

    /// The schema of a dynamic anchor of a resource.
    pub(super) fn dynamic(&self, resource: usize, anchor: &str) -> Option<&Value> {
        let resource = self.names.resources.get(resource).filter(|it| it.dynamic.contains(anchor))?;
        self.root.pointer(resource.anchors.get(anchor)?)
    }
}

impl Names {
    fn add(&mut self, mut url: Url, at: String) -> usize {
        url.set_fragment(None);
        let number = self.resources.len();
        self.by_url.insert(url.to_string(), number);
        self.resources.push(Resource { url, at, anchors: BTreeMap::new(), dynamic: BTreeSet::new() });
        number
    }

    fn url(&self, resource: usize, reference: &str) -> Option<Url> {
        self.resources.get(resource)?.url.join(reference).ok()
    }

    fn find(&self, mut url: Url) -> Option<usize> {
        url.set_fragment(None);
        self.by_url.get(url.as_str()).copied()
    }

    fn resource_of(&self, outer: usize, keywords: &Map<String, Value>) -> Option<usize> {
        self.find(self.url(outer, keywords.get("$id")?.as_str()?)?)
    }

    /// The schema that a reference leads to, its resource, and its JSON pointer.
    fn resolve<'s>(
        &self,
        root: &'s Value,
        from: usize,
        reference: &str,
    ) -> Option<(&'s Value, usize, String)> {
        let url = self.url(from, reference)?;
        let fragment = decode(url.fragment().unwrap_or_default())?;
        let mut number = self.find(url)?;
        let resource = self.resources.get(number)?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let pointer = resource.anchors.get(&fragment)?;
            return Some((root.pointer(pointer)?, number, pointer.clone()));
        }
        let mut schema = root.pointer(&resource.at)?;
        for token in fragment.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            schema = match schema {
                Value::Object(fields) => fields.get(&token)?,
                Value::Array(items) => items.get(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
            // The way may lead into a part with a name of its own.
            if let Some(keywords) = schema.as_object() {
                number = self.resource_of(number, keywords).unwrap_or(number);
            }
        }
        Some((schema, number, format!("{}{fragment}", resource.at)))
    }
}

/// Undoes percent escapes.
fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

struct Reference {
    at: String,
    text: String,
    resource: usize,
}

struct Reader {
    names: Names,
    /// JSON pointers of the schemas that were read.
    visited: BTreeSet<String>,
    references: Vec<Reference>,
    tracks: bool,
}

impl Reader {
    fn read(&mut self, schema: &Value, at: String, outer: usize, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("{} is nested more than {MAX_DEPTH} deep", place(&at)));
        }
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return Err(format!("{} must be a schema: an object, true or false", place(&at))),
        };
        if !self.visited.insert(at.clone()) {
            return Ok(());
        }
        let resource = self.name(keywords, &at, outer)?;
        for (keyword, value) in keywords {
            let here = format!("{at}/{}", keyword.replace('~', "~0").replace('/', "~1"));
            let wrong = |right: &str| Err(format!("{} must be {right}", place(&here)));
            match Form::of(keyword) {
                Form::Free => {}
                Form::Schema => self.read(value, here, resource, depth + 1)?,
                Form::Schemas => match value {
                    Value::Array(all) if !all.is_empty() => {
                        for (index, schema) in all.iter().enumerate() {
                            self.read(schema, format!("{here}/{index}"), resource, depth + 1)?;
                        }
                    }
                    _ => return wrong("a list of at least one schema"),
                },
                Form::NamedSchemas => match value {
                    Value::Object(all) => {
                        for (name, schema) in all {
                            let at = format!("{here}/{}", name.replace('~', "~0").replace('/', "~1"));
                            if keyword == "patternProperties" {
                                pattern::compile(name).map_err(|problem| {
                                    format!("{} is no usable pattern: {problem}", place(&at))
                                })?;
                            }
                            self.read(schema, at, resource, depth + 1)?;
                        }
                    }
                    _ => return wrong("an object of schemas"),
                },
                Form::Text if !value.is_string() => return wrong("a text"),
                Form::Text => {}
                Form::Pattern => match value.as_str().map(pattern::compile) {
                    Some(Ok(_)) => {}
                    Some(Err(problem)) => return wrong(&format!("a usable pattern: {problem}")),
                    None => return wrong("a text"),
                },
                Form::Flag if !value.is_boolean() => return wrong("true or false"),
                Form::Flag => {}
                Form::Number if !value.is_number() => return wrong("a number"),
                Form::Number => {}
                Form::Step if value.as_f64().is_none_or(|step| step <= 0.0) => {
                    return wrong("a number above 0");
                }
                Form::Step => {}
                Form::Count if count(value).is_none() => return wrong("a whole number, 0 or more"),
                Form::Count => {}
                Form::List if !value.is_array() => return wrong("a list"),
                Form::List => {}
                Form::Names if !is_names(value) => return wrong("a list of different texts"),
                Form::Names => {}
                Form::NamedNames => {
                    if !value.as_object().is_some_and(|all| all.values().all(is_names)) {
                        return wrong("an object of lists of different texts");
                    }
                }
                Form::Type if !is_type(value) => {
                    return wrong("one or several of null, boolean, object, array, number, integer, string");
                }
                Form::Type => {}
                Form::Reference => {
                    let Some(text) = value.as_str() else { return wrong("a text") };
                    self.references.push(Reference { at: place(&here), text: text.to_owned(), resource });
                }
                Form::Unevaluated => {
                    self.tracks = true;
                    self.read(value, here, resource, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    /// Notes `$id` and anchors. Returns the resource to which the schema belongs.
    fn name(&mut self, keywords: &Map<String, Value>, at: &str, outer: usize) -> Result<usize, String> {
        let mut resource = outer;
        if let Some(id) = keywords.get("$id") {
            let url = id
                .as_str()
                .filter(|id| !id.trim_end_matches('#').contains('#'))
                .and_then(|id| self.names.url(outer, id))
                .ok_or_else(|| format!("{} must be a URI without a fragment", place(&format!("{at}/$id"))))?;
            resource = match self.names.find(url.clone()) {
                // The whole is the part that it was before it was read.
                Some(known) if at.is_empty() => known,
                Some(_) => return Err(format!("{} is used twice", place(&format!("{at}/$id")))),
                None if at.is_empty() => {
                    self.names.resources.clear();
                    self.names.add(url, String::new())
                }
                None => self.names.add(url, at.to_owned()),
            };
        }
        for (keyword, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
            let Some(anchor) = keywords.get(keyword) else { continue };
            let here = || place(&format!("{at}/{keyword}"));
            let name = anchor
                .as_str()
                .filter(|name| is_anchor(name))
                .ok_or_else(|| format!("{} must be a name of letters, digits, `-`, `_` and `.`", here()))?;
            if let Some(owner) = self.names.resources.get_mut(resource) {
                if owner.anchors.insert(name.to_owned(), at.to_owned()).is_some_and(|other| other != at) {
                    return Err(format!("{} is used twice", here()));
                }
                if dynamic {
                    owner.dynamic.insert(name.to_owned());
                }
            }
        }
        Ok(resource)
    }
}

/// What may stand behind a keyword.
enum Form {
    Free,
    Schema,
    Schemas,
    NamedSchemas,
    Text,
    Pattern,
    Flag,
    Number,
    Step,
    Count,
    List,
    Names,
    NamedNames,
    Type,
    Reference,
    Unevaluated,
}

impl Form {
    fn of(keyword: &str) -> Self {
        match keyword {
            "items"
            | "contains"
            | "additionalProperties"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contentSchema" => Self::Schema,
            "unevaluatedItems" | "unevaluatedProperties" => Self::Unevaluated,
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Self::Schemas,
            "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                Self::NamedSchemas
            }
            "$schema" | "$comment" | "title" | "description" | "format" | "contentEncoding"
            | "contentMediaType" => Self::Text,
            "pattern" => Self::Pattern,
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Self::Flag,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Self::Number,
            "multipleOf" => Self::Step,
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
            | "minContains" | "maxContains" => Self::Count,
            "enum" | "examples" => Self::List,
            "required" => Self::Names,
            "dependentRequired" => Self::NamedNames,
            "type" => Self::Type,
            "$ref" | "$dynamicRef" => Self::Reference,
            _ => Self::Free,
        }
    }
}

/// A whole number that isn't negative; more than there can be of anything is as good as the most.
pub(super) fn count(value: &Value) -> Option<usize> {
    let number = value.as_number()?;
    let whole = super::number::is_integer(number) && number.as_f64()? >= 0.0;
    whole.then(|| match number.as_u64() {
        Some(count) => usize::try_from(count).unwrap_or(usize::MAX),
        None => number.as_f64().unwrap_or(f64::MAX) as usize,
    })
}

fn is_names(value: &Value) -> bool {
    let Some(names) = value.as_array() else { return false };
    let mut seen = BTreeSet::new();
    names.iter().all(|name| name.as_str().is_some_and(|name| seen.insert(name)))
}

fn is_type(value: &Value) -> bool {
    const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    known(value)
        || value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(known)) && is_names(value)
}

fn is_anchor(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// A JSON pointer for a message.
fn place(pointer: &str) -> String {
    if pointer.is_empty() { "the schema".to_owned() } else { format!("`{pointer}`") }
}
