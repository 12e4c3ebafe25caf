use super::*;
use crate::strict::check_schema;
use proptest::prelude::*;
use serde_json::{Map, json};
use skill::LlmTool;

const TABLE: &str = include_str!("../../tests/schemas.json");

/// What each dialect makes of a schema; dialects that say the same share a line.
fn told(params: &Value) -> String {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for dialect in Dialect::ALL {
        let line = match form(dialect, params) {
            Err(reason) => format!("left out: {reason}"),
            Ok(Form { params: None, .. }) => "no parameters".to_owned(),
            Ok(Form { params: Some(params), strict, .. }) if dialect == Dialect::OpenAiStrict && !strict => {
                format!("not strict: {params}")
            }
            Ok(Form { params: Some(params), .. }) => params.to_string(),
        };
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, dialects)) => dialects.push(dialect.as_str()),
            None => lines.push((line, vec![dialect.as_str()])),
        }
    }
    lines.into_iter().map(|(line, dialects)| format!("{}:\n  {line}\n", dialects.join(", "))).collect()
}

fn check_everything(params: &Value) -> Result<(), String> {
    for dialect in Dialect::ALL {
        let Ok(once) = form(dialect, params) else { continue };
        let fail = |what: String| format!("{}: {what}\n{params}\n{once:?}", dialect.as_str());
        check_schema(dialect, once.strict, once.params.as_ref()).map_err(fail)?;
        if let Some(sent) = &once.params {
            let size = sent.to_string().len();
            if size > MAX_SCHEMA_BYTES {
                return Err(format!("{}: {size} bytes", dialect.as_str()));
            }
            let again = form(dialect, sent).map_err(|reason| format!("a second time: {reason}\n{sent}"))?;
            if again.params.as_ref() != Some(sent) || again.strict != once.strict {
                return Err(format!(
                    "{}: a second time it differs\n{params}\n{sent}\n{}",
                    dialect.as_str(),
                    again.params.unwrap_or_default()
                ));
            }
        }
    }
    Ok(())
}

#[test]
fn every_schema_of_the_table_is_told_as_reviewed() {
    let table: Map<String, Value> = serde_json::from_str(TABLE).unwrap();
    assert!(table.len() >= 60, "{} schemas", table.len());
    let mut wrong = Vec::new();
    for (name, params) in &table {
        wrong.extend(check_everything(params).err().map(|what| format!("{name}: {what}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (name, params) in table {
        settings.set_description(params.to_string());
        settings.bind(|| insta::assert_snapshot!(name, told(&params)));
    }
}

#[test]
fn every_tool_that_is_compiled_in_can_be_told_to_every_provider() {
    let tools = crate::builtin::compiled_in_tools();
    for dialect in Dialect::ALL {
        let toolbox = Toolbox::new(dialect, &tools);
        assert_eq!(toolbox.left_out, [], "{}", dialect.as_str());
        for tool in &toolbox.tools {
            let form = &tool.form;
            check_schema(dialect, form.strict, form.params.as_ref())
                .unwrap_or_else(|what| panic!("{}: {what}", tool.name));
        }
        if dialect == Dialect::OpenAiStrict {
            let strict = toolbox.tools.iter().filter(|tool| tool.form.strict).count();
            assert!(
                strict * 10 >= toolbox.tools.len() * 8,
                "only {strict} of {} are strict",
                toolbox.tools.len()
            );
        }
    }
}

fn tool(name: &str, params: Value) -> LlmTool {
    LlmTool { name: name.to_owned(), description: "d".to_owned(), params, scope: ::model::Scope::Host }
}

#[test]
fn a_tool_that_cannot_be_told_is_left_out_and_the_others_stay() {
    let tools = [
        tool("good", json!({"type": "object", "properties": {"a": {"type": "string"}}})),
        tool("text", json!({"type": "string"})),
        tool("never", json!({"type": "object", "allOf": [false]})),
        tool("good", json!({"type": "object"})),
    ];
    for dialect in Dialect::ALL {
        let toolbox = Toolbox::new(dialect, &tools);
        let names: Vec<&str> = toolbox.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["good"], "{}", dialect.as_str());
        let left: Vec<&str> = toolbox.left_out.iter().map(|left| left.tool.as_str()).collect();
        assert_eq!(left, ["text", "never", "good"], "{}", dialect.as_str());
    }
}

#[test]
fn arguments_come_back_as_the_tool_wants_them() {
    let params = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "depth": {"type": "integer"},
            "owner": {"type": ["string", "null"]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "키": {"type": "array", "items": {"type": "object", "properties": {"a b": {"type": "string"}}}},
        },
        "required": ["path"],
    });
    let back = |dialect, args: Value| Toolbox::new(dialect, &[tool("x", params.clone())]).restored("x", args);
    // Strict: null stands for left out, but where null is a value of its own.
    let simple = json!({"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string"}, "depth": {"type": "integer"}, "owner": {"type": ["string", "null"]},
        "inner": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }});
    let toolbox = Toolbox::new(Dialect::OpenAiStrict, &[tool("x", simple)]);
    assert!(toolbox.tools[0].form.strict);
    assert_eq!(
        toolbox.restored("x", json!({"path": "/", "depth": null, "owner": null, "inner": {"n": null}})),
        json!({"path": "/", "owner": null, "inner": {}})
    );
    // Gemini: an object of free names is asked for as text.
    assert_eq!(
        back(Dialect::Gemini, json!({"path": "{}", "labels": "{\"a\": \"b\"}"})),
        json!({"path": "{}", "labels": {"a": "b"}})
    );
    // Anthropic: names of properties that it refuses are replaced.
    let toolbox = Toolbox::new(Dialect::Anthropic, &[tool("x", params.clone())]);
    let sent = toolbox.tools[0].form.params.clone().unwrap();
    let name = sent["properties"].as_object().unwrap().keys().next_back().unwrap().clone();
    let inner =
        sent["properties"][&name]["items"]["properties"].as_object().unwrap().keys().next().unwrap().clone();
    assert_eq!(toolbox.restored("x", json!({&name: [{&inner: "v"}]})), json!({"키": [{"a b": "v"}]}));
    // What isn't understood stays.
    assert_eq!(
        back(Dialect::Gemini, json!({"labels": "no json", "other": 1})),
        json!({"labels": "no json", "other": 1})
    );
    assert_eq!(toolbox.restored("unknown", json!({"a": null})), json!({"a": null}));
}

/// Any JSON, with many words that are keywords somewhere.
fn any_schema() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("a"),
        Just("b"),
        Just("type"),
        Just("enum"),
        Just("$ref"),
        Just("properties"),
        Just("키 x"),
        Just("default"),
    ];
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!(0)),
        Just(json!(2.5)),
        Just(json!(-1)),
        Just(json!("x")),
        Just(json!("")),
        Just(json!({})),
        Just(json!([])),
        Just(json!({"type": "string"})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"const": "k"})),
        Just(json!({"enum": ["a", "", null, 1]})),
        Just(json!({"enum": ["a", "b"], "description": "which"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/$defs/a"})),
        Just(json!({"$ref": "http://x/y"})),
        Just(json!({"required": ["a"]})),
        Just(json!({"type": "null"})),
        Just(json!({"type": "array"})),
        Just(json!({"type": "integer", "minimum": 1, "maximum": 5, "format": "uint8", "default": 3})),
        Just(
            json!({"type": "string", "minLength": 1, "pattern": "^a", "format": "uuid", "examples": ["a", "b"]})
        ),
        Just(json!({"type": "number", "exclusiveMinimum": true, "minimum": 0})),
    ];
    leaf.prop_recursive(4, 48, 5, move |inner| {
        let map = prop::collection::vec((word.clone(), inner.clone()), 0..4)
            .prop_map(|entries| Value::Object(entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()));
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array);
        let schema = prop::collection::vec(
            prop_oneof![
                map.clone().prop_map(|v| ("properties", v)),
                map.clone().prop_map(|v| ("$defs", v)),
                list.clone().prop_map(|v| ("anyOf", v)),
                list.clone().prop_map(|v| ("oneOf", v)),
                list.clone().prop_map(|v| ("allOf", v)),
                list.clone().prop_map(|v| ("prefixItems", v)),
                list.clone().prop_map(|v| ("enum", v)),
                Just(("required", json!(["a", "b", "zz"]))),
                inner.clone().prop_map(|v| ("items", v)),
                inner.clone().prop_map(|v| ("additionalProperties", v)),
                inner.clone().prop_map(|v| ("default", v)),
                inner.clone().prop_map(|v| ("not", v)),
                inner.clone().prop_map(|v| ("const", v)),
                Just(("type", json!("object"))),
                Just(("type", json!(["object", "string", "null"]))),
                Just(("description", json!("About it"))),
                Just(("minLength", json!(2))),
                Just(("maxItems", json!("3"))),
                Just(("nullable", json!(true))),
                Just(("$ref", json!("#/$defs/b"))),
            ],
            0..5,
        )
        .prop_map(|entries| Value::Object(entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()));
        prop_oneof![1 => map, 1 => list, 6 => schema]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_schema_is_told_legally_in_bounds_and_the_same_the_second_time(schema in any_schema()) {
        let mut params = json!({"type": "object", "properties": {"p": schema.clone()}, "$defs": {"a": schema.clone()}});
        prop_assert_eq!(check_everything(&schema), Ok(()));
        prop_assert_eq!(check_everything(&params), Ok(()));
        params["required"] = json!(["p"]);
        params["$defs"]["b"] = params["properties"].clone();
        prop_assert_eq!(check_everything(&params), Ok(()));
    }

    #[test]
    fn undoing_never_invents(args in any_schema()) {
        let params = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "object"}}});
        for dialect in Dialect::ALL {
            let toolbox = Toolbox::new(dialect, &[tool("x", params.clone())]);
            let back = toolbox.restored("x", args.clone());
            prop_assert!(back.to_string().len() <= args.to_string().len());
        }
    }
}

#[test]
fn a_schema_that_names_itself_ends() {
    let tree =
        json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}});
    let wide = json!({
        "type": "object",
        "properties": (0..40).map(|n| (format!("p{n}"), json!({"$ref": "#/$defs/a"}))).collect::<Map<_, _>>(),
        "$defs": {
            "a": {"type": "object", "properties": (0..40).map(|n| (format!("q{n}"), json!({"$ref": "#/$defs/b"}))).collect::<Map<_, _>>()},
            "b": {"type": "object", "properties": (0..40).map(|n| (format!("r{n}"), json!({"$ref": "#/$defs/a"}))).collect::<Map<_, _>>()},
        },
    });
    for params in [tree, wide] {
        assert_eq!(check_everything(&params), Ok(()));
    }
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"deeper": deep}});
    }
    assert_eq!(check_everything(&deep), Ok(()));
}
