//! Writes a schema in the dialect of one provider.

use super::dialect::Dialect;
use super::node::{Additional, Node, Types};
use super::restore::{Property, Restore};
use super::unite::flattened;
use super::words;
use serde_json::{Map, Value, json};

/// Deepest nesting of the strict mode. Servers that speak the protocol keep to the lower limits of its beginning.
const STRICT_DEPTH: usize = 5;
/// Most properties of the strict mode.
const STRICT_PROPERTIES: usize = 100;
/// Most listed values of the strict mode.
const STRICT_VALUES: usize = 500;
/// Most listed values that are sent as a list elsewhere.
const MAX_VALUES: usize = 500;
/// Deepest nesting that is written; deeper is JSON as text, or anything.
const MAX_DEPTH: usize = 12;

/// Why a schema can't be written in a dialect.
pub(super) struct Unfit(pub(super) String);

type Written = (Map<String, Value>, Restore);

/// Writes the parameters of a tool. `None` where the dialect wants nothing for a tool without parameters.
pub(super) fn parameters(node: &Node, dialect: Dialect) -> Result<(Option<Value>, Restore), Unfit> {
    if !node.types.has(Types::OBJECT) {
        let is_nothing = node.types.is_none();
        let what = if is_nothing { "nothing can fulfil".to_owned() } else { node.types.words() };
        return Err(Unfit(if is_nothing {
            "its parameters contradict each other: nothing can fulfil them".to_owned()
        } else {
            format!("its parameters must be an object, and are: {what}")
        }));
    }
    // No provider takes a union at the root.
    let mut root = if node.alternatives.is_empty() { node.narrowed(Types::OBJECT) } else { flattened(node) };
    root.description.clone_from(&node.description);
    for note in &node.notes {
        root.note(note.clone());
    }
    let mut renderer = Renderer { dialect, properties: 0, values: 0 };
    let (mut fields, restore) = renderer.object(&root, 0)?;
    renderer.describe(&mut fields, &root, &[]);
    let is_empty = fields.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty);
    if dialect == Dialect::Gemini && is_empty {
        return Ok((None, Restore::Same));
    }
    Ok((Some(Value::Object(fields)), restore))
}

struct Renderer {
    dialect: Dialect,
    properties: usize,
    values: usize,
}

impl Renderer {
    /// One form. `is_optional`: whether its property may be left out.
    fn form(&mut self, node: &Node, is_optional: bool, depth: usize) -> Result<Written, Unfit> {
        let strict = self.dialect == Dialect::OpenAiStrict;
        if strict && depth > STRICT_DEPTH {
            return Err(Unfit(format!("it nests deeper than {STRICT_DEPTH} levels")));
        }
        let is_compound = node.types.has(Types::OBJECT) || node.types.has(Types::ARRAY);
        if depth > MAX_DEPTH && (is_compound || !node.alternatives.is_empty()) {
            return Ok(self.anything(node));
        }
        let is_nullable = node.types.has(Types::NULL) && node.types != Types::ALL;
        let types = if node.types == Types::ALL { node.types } else { node.types.without(Types::NULL) };
        if types.is_none() {
            return self.only_null(node);
        }
        if node.alternatives.is_empty() && (types == Types::ALL || types.without(Types::NULL) == all_values())
        {
            return if strict {
                Err(Unfit("a parameter may be anything".to_owned()))
            } else {
                Ok(self.anything(node))
            };
        }
        let variants = variants(node, types);
        let wants_null = is_nullable || strict && is_optional;
        if let [single] = variants.as_slice() {
            let (mut fields, restore) = self.single(single, depth)?;
            let mut sentences = std::mem::take(&mut fields).into_iter().collect::<Vec<_>>();
            let spoken = take_spoken(&mut sentences);
            fields = sentences.into_iter().collect();
            self.allow_null(&mut fields, wants_null);
            self.describe(&mut fields, &merged_words(node, single), &spoken);
            return Ok((fields, restore));
        }
        if self.dialect == Dialect::Ollama {
            return self.narrowed(node, &variants, depth);
        }
        self.union(node, &variants, wants_null, depth)
    }

    /// Several forms as `anyOf`.
    fn union(
        &mut self,
        node: &Node,
        variants: &[Node],
        wants_null: bool,
        depth: usize,
    ) -> Result<Written, Unfit> {
        let mut forms = Vec::new();
        let mut restores = Vec::new();
        for variant in variants {
            let (mut fields, restore) = self.form(variant, false, depth + 1)?;
            restores.push(restore);
            // A form that is several itself, and says nothing else, is as many forms of this one.
            let nested = match fields.get_mut("anyOf") {
                Some(Value::Array(nested)) => Some(std::mem::take(nested)),
                _ => None,
            };
            let written = match nested {
                Some(nested) if fields.len() == 1 => nested,
                Some(nested) => {
                    fields.insert("anyOf".to_owned(), Value::Array(nested));
                    vec![Value::Object(fields)]
                }
                None => vec![Value::Object(fields)],
            };
            for form in written {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        let restore = Restore::any(restores);
        // One that may be anything makes it all so.
        if forms.iter().any(|form| form.get("type").is_none() && form.get("anyOf").is_none()) {
            let node = Node { types: Types::ALL, ..node.clone() };
            return Ok(self.anything(&node));
        }
        // Different forms may look the same here, as integers and numbers in their bounds.
        if forms.len() == 1
            && let Some(Value::Object(mut only)) = forms.pop()
        {
            self.allow_null(&mut only, wants_null);
            self.describe(&mut only, node, &[]);
            return Ok((only, restore));
        }
        let mut fields = Map::new();
        if self.dialect == Dialect::Gemini {
            // Beside `anyOf` it takes nothing, so the words go with the first form.
            let mut words = Map::new();
            self.describe(&mut words, node, &[]);
            if let (Some(Value::String(text)), Some(Value::Object(first))) =
                (words.remove("description"), forms.first_mut())
            {
                let own = first.get("description").and_then(Value::as_str).map(str::to_owned);
                let joined = words::described(Some(&text), own.as_slice());
                first.insert("description".to_owned(), json!(joined));
            }
            fields.insert("anyOf".to_owned(), Value::Array(forms));
            return Ok((fields, restore));
        }
        if wants_null && self.takes_null() {
            forms.push(json!({"type": "null"}));
        }
        fields.insert("anyOf".to_owned(), Value::Array(forms));
        self.describe(&mut fields, node, &[]);
        Ok((fields, restore))
    }

    /// Several forms where only one can be told: the richest, and the others in words.
    fn narrowed(&mut self, node: &Node, variants: &[Node], depth: usize) -> Result<Written, Unfit> {
        let is_object = |variant: &&Node| variant.types == Types::OBJECT;
        let objects: Vec<Node> = variants.iter().filter(is_object).cloned().collect();
        let chosen = match objects.len() {
            0 => variants.first().cloned().unwrap_or_else(Node::any),
            1 => objects.into_iter().next().unwrap_or_else(Node::any),
            _ => flattened(&Node { alternatives: objects, ..Node::of(Types::OBJECT) }),
        };
        let others = variants
            .iter()
            .filter(|variant| variant.types != chosen.types)
            .fold(Types::NONE, |types, variant| types.or(variant.types));
        let mut told = merged_words(node, &chosen);
        if !others.is_none() {
            told.note(format!("May also be: {}.", others.words()));
        }
        let (fields, restore) = self.single(&chosen, depth)?;
        let mut entries = fields.into_iter().collect::<Vec<_>>();
        let spoken = take_spoken(&mut entries);
        let mut fields: Map<String, Value> = entries.into_iter().collect();
        self.describe(&mut fields, &told, &spoken);
        Ok((fields, restore))
    }

    /// A form of one type. What it could only say in words is under [`SPOKEN`].
    fn single(&mut self, node: &Node, depth: usize) -> Result<Written, Unfit> {
        if node.types == Types::OBJECT {
            return self.object(node, depth);
        }
        if node.types == Types::ARRAY {
            return self.array(node, depth);
        }
        let mut spoken = Vec::new();
        let mut fields = Map::new();
        self.name_type(&mut fields, node.types);
        if let Some(choices) = &node.choices {
            self.choices(&mut fields, node.types, choices, &mut spoken)?;
        }
        self.limits(&mut fields, node, &mut spoken);
        speak(&mut fields, spoken);
        Ok((fields, Restore::Same))
    }

    fn choices(
        &mut self,
        fields: &mut Map<String, Value>,
        types: Types,
        choices: &[Value],
        spoken: &mut Vec<String>,
    ) -> Result<(), Unfit> {
        self.values += choices.len();
        if self.dialect == Dialect::OpenAiStrict && self.values > STRICT_VALUES {
            return Err(Unfit(format!("it lists more than {STRICT_VALUES} values")));
        }
        let is_empty_text = |value: &Value| value.as_str() == Some("");
        let listed: Vec<Value> = match self.dialect {
            // Gemini lists texts only, and none that is empty.
            Dialect::Gemini if types != Types::STRING || choices.iter().any(is_empty_text) => Vec::new(),
            _ if choices.len() > MAX_VALUES => Vec::new(),
            _ => choices.to_vec(),
        };
        if listed.is_empty() {
            spoken.push(words::choices(choices));
        } else {
            fields.insert("enum".to_owned(), Value::Array(listed));
        }
        Ok(())
    }

    fn limits(&self, fields: &mut Map<String, Value>, node: &Node, spoken: &mut Vec<String>) {
        for (keyword, bound) in &node.limits {
            if self.dialect.keeps(keyword, node.types, bound) {
                fields.insert((*keyword).to_owned(), bound.clone());
            } else if !(*keyword == "format" && is_size_of_number(bound)) {
                spoken.push(words::limit(keyword, bound));
            }
        }
    }

    fn object(&mut self, node: &Node, depth: usize) -> Result<Written, Unfit> {
        let strict = self.dialect == Dialect::OpenAiStrict;
        let mut spoken = Vec::new();
        let mut fields = Map::new();
        let mut properties = Map::new();
        let mut restores = Restore::object();
        let mut required = Vec::new();
        let undeclared: Vec<(String, Node)> = node
            .required
            .iter()
            .filter(|name| node.property(name).is_none())
            .map(|name| (name.clone(), Node::any()))
            .collect();
        for (name, form) in node.properties.iter().chain(&undeclared) {
            let is_required = node.required.contains(name);
            if form.types.is_none() {
                if is_required {
                    return Err(Unfit(format!("nothing can be given for `{name}`, which must be given")));
                }
                continue;
            }
            self.properties += 1;
            if strict && self.properties > STRICT_PROPERTIES {
                return Err(Unfit(format!("it has more than {STRICT_PROPERTIES} properties")));
            }
            let (mut written, restore) = self.form(form, !is_required, depth + 1)?;
            let Some(sent) = self.dialect.property_name(name, &properties) else {
                return Err(Unfit(format!("two properties are known by the name of `{name}`")));
            };
            if sent != *name {
                let own = written.get("description").and_then(Value::as_str);
                let told = words::described(own, &[format!("Stands for `{}`.", super::read::quoted(name))]);
                written.insert("description".to_owned(), json!(told));
            }
            if strict || is_required {
                required.push(Value::String(sent.clone()));
            }
            restores.property(
                &sent,
                Property {
                    original: (sent != *name).then(|| name.clone()),
                    drop_null: strict && !is_required && !form.types.has(Types::NULL),
                    inner: restore,
                },
            );
            properties.insert(sent, Value::Object(written));
        }
        // An object of which nothing is said takes any names, but at the root: there it is a tool that takes nothing.
        let is_free = properties.is_empty() && depth > 0 && node.additional == Additional::Unsaid;
        let is_open = is_free || matches!(node.additional, Additional::Open | Additional::Of(_));
        if strict && is_open {
            return Err(Unfit("it takes properties of any name".to_owned()));
        }
        // Gemini refuses an object without properties, so that one goes as text.
        if self.dialect == Dialect::Gemini && properties.is_empty() && depth > 0 {
            return Ok(self.anything(node));
        }
        self.name_type(&mut fields, Types::OBJECT);
        fields.insert("properties".to_owned(), Value::Object(properties));
        if strict || !required.is_empty() {
            fields.insert("required".to_owned(), Value::Array(required));
        }
        self.additional(&mut fields, node, &mut spoken, depth)?;
        self.limits(&mut fields, node, &mut spoken);
        if let Some(choices) = &node.choices {
            spoken.push(words::choices(choices));
        }
        speak(&mut fields, spoken);
        Ok((fields, restores))
    }

    fn additional(
        &mut self,
        fields: &mut Map<String, Value>,
        node: &Node,
        spoken: &mut Vec<String>,
        depth: usize,
    ) -> Result<(), Unfit> {
        let value = match (self.dialect, &node.additional) {
            (Dialect::Gemini | Dialect::Ollama, additional) => {
                spoken.extend(words::additional(additional));
                return Ok(());
            }
            (Dialect::OpenAiStrict, _) | (_, Additional::Closed) => Value::Bool(false),
            (_, Additional::Unsaid) => return Ok(()),
            (_, Additional::Open) => Value::Bool(true),
            (_, Additional::Of(form)) => match self.form(form, false, depth + 1)?.0 {
                nothing if nothing.is_empty() => Value::Bool(true),
                form => Value::Object(form),
            },
        };
        fields.insert("additionalProperties".to_owned(), value);
        Ok(())
    }

    fn array(&mut self, node: &Node, depth: usize) -> Result<Written, Unfit> {
        let mut spoken = Vec::new();
        let mut fields = Map::new();
        self.name_type(&mut fields, Types::ARRAY);
        let item = if node.tuple.is_empty() {
            node.items.as_deref().cloned()
        } else {
            let places: Vec<String> = node.tuple.iter().map(words::form).collect();
            spoken.push(format!("In this order: {}.", places.join(", ")));
            let forms: Vec<Node> = node.tuple.iter().cloned().chain(node.items.as_deref().cloned()).collect();
            Some(super::unite::unite(Node::any(), forms, false))
        };
        let item = item.unwrap_or_else(Node::any);
        let (written, restore) = self.form(&item, false, depth + 1)?;
        fields.insert("items".to_owned(), Value::Object(written));
        self.limits(&mut fields, node, &mut spoken);
        if let Some(choices) = &node.choices {
            spoken.push(words::choices(choices));
        }
        speak(&mut fields, spoken);
        Ok((fields, Restore::items(restore)))
    }

    /// A value of any form: without a type, or as text where the dialect wants one.
    fn anything(&self, node: &Node) -> Written {
        let mut fields = Map::new();
        if self.dialect != Dialect::Gemini {
            let mut spoken = Vec::new();
            if node.types != Types::ALL && !node.types.is_none() {
                spoken.push(format!("Type: {}.", node.types.words()));
            }
            self.describe(&mut fields, node, &spoken);
            return (fields, Restore::Same);
        }
        self.name_type(&mut fields, Types::STRING);
        let what = if node.types == Types::OBJECT { "A JSON object" } else { "A JSON value" };
        let mut spoken = vec![format!("{what}, written as text.")];
        spoken.extend(words::additional(&node.additional).filter(|_| node.additional != Additional::Open));
        spoken.extend(node.choices.as_deref().map(words::choices));
        for (keyword, bound) in &node.limits {
            spoken.push(words::limit(keyword, bound));
        }
        self.describe(&mut fields, node, &spoken);
        (fields, Restore::Json)
    }

    fn only_null(&self, node: &Node) -> Result<Written, Unfit> {
        let mut fields = Map::new();
        let restore = match self.dialect {
            Dialect::Gemini => {
                self.name_type(&mut fields, Types::STRING);
                fields.insert("nullable".to_owned(), Value::Bool(true));
                Restore::Json
            }
            _ => {
                self.name_type(&mut fields, Types::NULL);
                Restore::Same
            }
        };
        self.describe(&mut fields, node, &["Always null.".to_owned()]);
        Ok((fields, restore))
    }

    fn name_type(&self, fields: &mut Map<String, Value>, types: Types) {
        let Some((_, name)) = types.singles().into_iter().next() else { return };
        let name = if self.dialect == Dialect::Gemini { name.to_ascii_uppercase() } else { name.to_owned() };
        fields.insert("type".to_owned(), Value::String(name));
    }

    /// Whether the dialect has null as a type beside others.
    fn takes_null(&self) -> bool {
        matches!(self.dialect, Dialect::OpenAiStrict | Dialect::Anthropic)
    }

    /// Lets a value be null. Where the dialect has no way, leaving it out or another value must do.
    fn allow_null(&self, fields: &mut Map<String, Value>, wants_null: bool) {
        if !wants_null {
            return;
        }
        if self.dialect == Dialect::Gemini {
            if fields.contains_key("type") {
                fields.insert("nullable".to_owned(), Value::Bool(true));
            }
            return;
        }
        if !self.takes_null() {
            return;
        }
        if let Some(Value::String(name)) = fields.get("type").cloned() {
            fields.insert("type".to_owned(), json!([name, "null"]));
            if let Some(Value::Array(choices)) = fields.get_mut("enum") {
                choices.push(Value::Null);
            }
        } else if let Some(Value::Array(forms)) = fields.get_mut("anyOf") {
            forms.push(json!({"type": "null"}));
        }
    }

    /// Adds the words: description, notes, what else could only be said, default, examples.
    fn describe(&self, fields: &mut Map<String, Value>, node: &Node, spoken: &[String]) {
        let mut entries: Vec<(String, Value)> = std::mem::take(fields).into_iter().collect();
        let own = take_spoken(&mut entries);
        fields.extend(entries);
        let mut sentences: Vec<String> = node.notes.clone();
        sentences.extend(own);
        sentences.extend(spoken.iter().cloned());
        if let Some(default) = &node.default {
            sentences.push(format!("Default: {}.", words::value(default)));
        }
        if !node.examples.is_empty() {
            let examples: Vec<String> = node.examples.iter().map(words::value).collect();
            sentences.push(format!("For example: {}.", examples.join(", ")));
        }
        // What was written for the form itself goes after the value's own words.
        if let Some(Value::String(known)) = fields.remove("description") {
            sentences.insert(0, known);
        }
        if let Some(text) = words::described(node.description.as_deref(), &sentences) {
            fields.insert("description".to_owned(), Value::String(text));
        }
    }
}

/// Where sentences wait for the description. No keyword, and no name of a property: it stands beside `type`.
const SPOKEN: &str = "\u{0}spoken";

fn speak(fields: &mut Map<String, Value>, spoken: Vec<String>) {
    if !spoken.is_empty() {
        fields.insert(SPOKEN.to_owned(), json!(spoken));
    }
}

fn take_spoken(entries: &mut Vec<(String, Value)>) -> Vec<String> {
    let Some(place) = entries.iter().position(|(keyword, _)| keyword == SPOKEN) else { return Vec::new() };
    let (_, spoken) = entries.remove(place);
    spoken.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn all_values() -> Types {
    Types::ALL.without(Types::NULL)
}

/// The forms that a value may have, each of one type or of nothing but types.
fn variants(node: &Node, types: Types) -> Vec<Node> {
    if node.alternatives.is_empty() {
        return types.singles().into_iter().map(|(single, _)| node.narrowed(single)).collect();
    }
    let mut out = Vec::new();
    for option in &node.alternatives {
        let option_types = option.types.without(Types::NULL);
        if option.types == Types::ALL || !option.alternatives.is_empty() {
            out.push(option.clone());
            continue;
        }
        for (single, _) in option_types.singles() {
            let mut form = option.narrowed(single);
            form.description.clone_from(&option.description);
            form.notes.clone_from(&option.notes);
            out.push(form);
        }
    }
    out
}

/// The words of a value and of its only form.
fn merged_words(node: &Node, form: &Node) -> Node {
    let mut out = Node {
        description: node.description.clone().or_else(|| form.description.clone()),
        default: node.default.clone(),
        examples: node.examples.clone(),
        notes: node.notes.clone(),
        ..Node::any()
    };
    for note in &form.notes {
        out.note(note.clone());
    }
    out
}

/// Rust's and OpenAPI's sizes of numbers, which tell a model nothing.
fn is_size_of_number(bound: &Value) -> bool {
    bound.as_str().is_some_and(|name| {
        name.starts_with("int") || name.starts_with("uint") || matches!(name, "float" | "double")
    })
}
