//! The validator by its keywords, and against another implementation of the draft.

use super::Validator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn holds(schema: &Value, instance: &Value) -> bool {
    Validator::new(schema).unwrap().check(instance).is_ok()
}

fn told(schema: &Value, instance: &Value) -> String {
    Validator::new(schema).unwrap().check(instance).unwrap_err().to_string()
}

#[test]
fn a_problem_tells_where_and_what_would_be_right() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "lines": {"type": ["integer", "null"], "minimum": 1},
            "unit": {"oneOf": [{"const": "seconds"}, {"const": "minutes"}]},
            "since": {"anyOf": [{"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}, {"type": "null"}]},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    for (instance, message) in [
        (json!({"path": 7}), "`path`: must be a string, but is an integer"),
        (json!({"path": ""}), "`path`: must have at least 1 characters, but has 0"),
        (json!({}), "\"path\" is a required property"),
        (
            json!({"path": "x", "lines": 1.5}),
            "`lines`: must be an integer or null, but is a number with a fraction",
        ),
        (json!({"path": "x", "lines": 0}), "`lines`: must be at least 1"),
        (json!({"path": "x", "unit": "hours"}), "`unit`: must be one of \"seconds\", \"minutes\""),
        (json!({"path": "x", "since": {}}), "`since`: \"at\" is a required property"),
        (json!({"path": "x", "since": 3}), "`since`: has none of the forms that are allowed here"),
        (
            json!({"path": "x", "pth": 1}),
            "\"pth\" is not allowed here; there are \"path\", \"lines\", \"unit\", \"since\"",
        ),
    ] {
        assert_eq!(told(&schema, &instance), message);
    }
}

#[test]
fn a_problem_never_repeats_what_was_sent() {
    let schema = json!({"properties": {"password": {"pattern": "^[0-9]+$", "maxLength": 3, "enum": ["1"], "format": "date", "const": "2"}}});
    let text = told(&schema, &json!({"password": "hunter2hunter2"}));
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn at_most_sixteen_problems_are_told() {
    let many = Value::Array(vec![json!("x"); 100]);
    let invalid = Validator::new(&json!({"items": {"type": "integer"}})).unwrap().check(&many).unwrap_err();
    assert_eq!(invalid.problems.len(), 16);
}

#[test]
fn a_schema_of_the_wrong_form_is_refused_with_the_place() {
    for (schema, part) in [
        (json!(7), "the schema must be a schema"),
        (json!({"properties": {"a": {"minLength": -1}}}), "`/properties/a/minLength` must be a whole number"),
        (json!({"type": "strnig"}), "`/type` must be one or several of null"),
        (json!({"anyOf": []}), "`/anyOf` must be a list of at least one schema"),
        (json!({"items": [{}]}), "`/items` must be a schema"),
        (json!({"required": ["a", "a"]}), "`/required` must be a list of different texts"),
        (json!({"multipleOf": 0}), "`/multipleOf` must be a number above 0"),
        (json!({"pattern": "(?=x)"}), "`/pattern` must be a usable pattern: look-around"),
        (json!({"patternProperties": {"(": {}}}), "`/patternProperties/(` is no usable pattern"),
        (
            json!({"$ref": "#/$defs/absent"}),
            "`/$ref` refers to \"#/$defs/absent\", which is not in this schema",
        ),
        (json!({"$ref": "file:///etc/passwd"}), "which is not in this schema"),
        (json!({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}), "is used twice"),
        (json!({"$ref": "#/examples/0", "examples": [{"type": 1}]}), "`/examples/0/type` must be"),
    ] {
        let error = Validator::new(&schema).unwrap_err().to_string();
        assert!(error.contains(part), "{schema}: {error}");
    }
}

#[test]
fn a_schema_that_goes_round_in_circles_is_told_and_ends() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"not": {"$ref": "#"}}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
    ] {
        assert_eq!(told(&schema, &json!(1)), "the schema refers to itself without end");
    }
    let tree = json!({"properties": {"inner": {"$ref": "#"}}, "additionalProperties": false});
    assert!(holds(&tree, &json!({"inner": {"inner": {}}})) && !holds(&tree, &json!({"inner": {"x": 1}})));
}

#[test]
fn a_schema_that_tries_too_many_combinations_is_told_and_ends() {
    let mut schema = json!({"const": 0});
    for _ in 0..60 {
        schema = json!({"anyOf": [schema.clone(), {"allOf": [schema]}]});
        if schema.to_string().len() > 100_000 {
            break;
        }
    }
    let many = Value::Array(vec![json!(1); 10_000]);
    let text = told(&json!({"items": schema}), &many);
    assert!(text.contains("too many"), "{text}");
}

#[test]
fn names_and_anchors_lead_to_their_schemas() {
    let schema = json!({
        "$id": "https://one.example/root",
        "properties": {
            "a": {"$ref": "item"}, "b": {"$ref": "#word"}, "c": {"$ref": "item#inner"}, "d": {"$ref": "#/$defs/x~1y%25"},
        },
        "$defs": {
            "item": {"$id": "item", "type": "integer", "$defs": {"i": {"$anchor": "inner", "type": "null"}}},
            "word": {"$anchor": "word", "type": "string"},
            "x/y%": {"type": "boolean"},
        },
    });
    assert!(holds(&schema, &json!({"a": 1, "b": "x", "c": null, "d": true})));
    for wrong in [json!({"a": "x"}), json!({"b": 1}), json!({"c": 1}), json!({"d": 1})] {
        assert!(!holds(&schema, &wrong), "{wrong} was taken");
    }
}

#[test]
fn a_dynamic_reference_finds_the_outermost_anchor() {
    let schema = json!({
        "$id": "https://one.example/strict-tree",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "unevaluatedProperties": false,
        "$defs": {
            "tree": {
                "$id": "tree",
                "$dynamicAnchor": "node",
                "properties": {"data": true, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
            },
        },
    });
    assert!(holds(&schema, &json!({"children": [{"data": 1}]})));
    assert!(!holds(&schema, &json!({"children": [{"daat": 1}]})));
}

#[test]
fn numbers_are_exact() {
    for (step, number, fits) in [
        (json!(0.01), json!(4.02), true),
        (json!(0.1), json!(0.3), true),
        (json!(0.01), json!(4.021), false),
        (json!(3), json!(9.0), true),
        (json!(0.5), json!(1e308), true),
        (json!(0.123_456_789), json!(1e308), false),
        (json!(u64::MAX), json!(u64::MAX), true),
        (json!(2), json!(u64::MAX), false),
    ] {
        assert_eq!(holds(&json!({"multipleOf": step}), &number), fits, "{number} by {step}");
    }
    assert!(!holds(&json!({"maximum": 9_007_199_254_740_992.0}), &json!(9_007_199_254_740_993_u64)));
    assert!(
        holds(&json!({"const": 1}), &json!(1.0))
            && holds(&json!({"enum": [{"a": [2.0]}]}), &json!({"a": [2]}))
    );
    assert!(!holds(&json!({"uniqueItems": true}), &json!([1, 1.0])));
    assert!(holds(
        &json!({"uniqueItems": true}),
        &json!([1, true, "1", [1], {"a": 1}, {"a": 2}, null, 0, false])
    ));
}

#[test]
fn formats_are_asserted() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "date-time",
            &[
                "2026-11-30T03:04:05Z",
                "2026-11-30t03:04:05.5+01:00",
                "1998-12-31T23:59:60Z",
                "1998-12-31T15:59:60.1-08:00",
            ],
            &[
                "2026-11-30 03:04:05Z",
                "2026-11-31T00:00:00Z",
                "2026-11-30T24:00:00Z",
                "2026-11-30T03:04:05",
                "1998-12-31T22:59:60Z",
                "2026-11-30T03:04:05+24:00",
            ],
        ),
        (
            "date",
            &["2024-02-29", "2000-02-29"],
            &["2023-02-29", "1900-02-29", "2026-13-01", "2026-1-01", "২০২৬-01-01"],
        ),
        ("time", &["00:00:00Z", "23:59:59.123-23:59"], &["00:00Z", "00:00:00", "00:00:00.Z", "24:00:00Z"]),
        (
            "duration",
            &["P1Y2M3DT4H5M6S", "P2W", "PT0S", "P1D"],
            &["P", "PT", "P1", "1D", "P1YT", "P1D1H", "P1Y1D", "P1W1D", "PT1D", "-P1D"],
        ),
        (
            "email",
            &["joe.bloggs@example.com", "\"joe bloggs\"@example.com", "joe@[127.0.0.1]", "a@[IPv6:::1]"],
            &[
                "2962",
                ".a@example.com",
                "a..b@example.com",
                "a b@example.com",
                "a@ex ample",
                "a@-x.org",
                "a@[127.0.0.300]",
            ],
        ),
        (
            "hostname",
            &["a", "a-b.example", "1host", "xn--bcher-kva.example"],
            &["", "-a", "a-", "a_b", "a..b", "a.", "ab--cd.example"],
        ),
        ("idn-hostname", &["bücher.example", "실례.테스트", "l·l"], &["-a", "a·l", "〮실례"]),
        ("ipv4", &["127.0.0.1"], &["127.0.0", "256.0.0.1", "087.10.0.1", "0x7f000001", "127.0.0.1/8"]),
        ("ipv6", &["::1", "::ffff:1.2.3.4"], &["1::2::3", "::1%eth0", "12345::", "1:2:3"]),
        (
            "uri",
            &[
                "https://a:b@example.org:80/x%20y?q=1#f",
                "urn:isbn:1",
                "http://[::1]:1/",
                "mailto:a@b.example",
                "x:",
            ],
            &[
                "//a/b",
                "/x",
                "a b",
                "http:// x",
                "x:%zz",
                "http://[::1",
                "http://a:b/",
                ":x",
                "1x:y",
                "x:\u{e9}",
                "http://a^b/",
            ],
        ),
        ("uri-reference", &["", "/x", "//a/b", "#f", "a/b:c"], &["\\x", "#a\\b", "a[b", "#\u{e9}"]),
        ("iri", &["http://ƒøø.ßår/?∂éœ=πîx#πîüx"], &["/ƒøø", "http://2001:db8::1", "\\\\ƒ"]),
        ("iri-reference", &["/âππ", "#ƒrägmênt"], &["\\âππ", "#ƒ\\a"]),
        (
            "uri-template",
            &["http://e.org/{a}/{+b,c*}{?d:3}", "x"],
            &["{a", "a}", "{a:0}", "{}", "{a b}", "{a:10000}"],
        ),
        (
            "uuid",
            &["2eb8aa08-AA98-11ea-b4aa-73b441d16380"],
            &["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g"],
        ),
        ("json-pointer", &["", "/a~0b~1c/0", "/"], &["a", "/~", "/~2", "#/a"]),
        ("relative-json-pointer", &["0", "12/a", "0#"], &["", "/a", "01/a", "-1", "0##", "+1"]),
        ("regex", &["^[a-z]+$", "\\d{2}"], &["(", "^(abc]", "\\a"]),
        ("no-such-format", &["anything"], &[]),
    ];
    for (format, good, bad) in table {
        let schema = json!({"format": format});
        for text in *good {
            assert!(holds(&schema, &json!(text)), "`{text}` is a {format}");
        }
        for text in *bad {
            assert!(!holds(&schema, &json!(text)), "`{text}` is no {format}");
        }
        assert!(holds(&schema, &json!(1)), "a format is about texts");
    }
}

/// Small values, so that schemas and values meet often.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..6).prop_map(Value::from),
        prop_oneof![
            Just(json!(0.5)),
            Just(json!(1.0)),
            Just(json!(2.5)),
            Just(json!(1e20)),
            Just(json!(1_u64 << 52))
        ],
        prop_oneof![Just(""), Just("a"), Just("ab"), Just("é7"), Just("2026-11-30")].prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("a"), Just("b"), Just("ab"), Just("é7")].prop_map(str::to_owned)
}

fn names() -> impl Strategy<Value = Value> {
    prop::collection::btree_set(name(), 0..3).prop_map(|names| json!(names))
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![Just("^a"), Just("b$"), Just("^\\w+$"), Just("\\d"), Just("[^a]"), Just("^$")]
        .prop_map(str::to_owned)
}

/// One keyword that holds no schema.
fn plain_keyword() -> impl Strategy<Value = (&'static str, Value)> {
    const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];
    let bound = || prop_oneof![(-2_i64..5).prop_map(Value::from), Just(json!(0.5)), Just(json!(1e20))];
    let count = || prop_oneof![(0_u64..4).prop_map(Value::from), Just(json!(2.0))];
    prop_oneof![
        prop::sample::select(&TYPES[..]).prop_map(|name| ("type", json!(name))),
        prop::sample::subsequence(&TYPES[..], 1..4).prop_map(|names| ("type", json!(names))),
        prop::collection::vec(value(), 1..4).prop_map(|all| ("enum", json!(all))),
        value().prop_map(|value| ("const", value)),
        bound().prop_map(|bound| ("minimum", bound)),
        bound().prop_map(|bound| ("maximum", bound)),
        bound().prop_map(|bound| ("exclusiveMinimum", bound)),
        bound().prop_map(|bound| ("exclusiveMaximum", bound)),
        prop_oneof![Just(json!(2)), Just(json!(0.5)), Just(json!(1.5))].prop_map(|step| ("multipleOf", step)),
        count().prop_map(|count| ("minLength", count)),
        count().prop_map(|count| ("maxLength", count)),
        count().prop_map(|count| ("minItems", count)),
        count().prop_map(|count| ("maxItems", count)),
        count().prop_map(|count| ("minProperties", count)),
        count().prop_map(|count| ("maxProperties", count)),
        any::<bool>().prop_map(|flag| ("uniqueItems", json!(flag))),
        pattern().prop_map(|pattern| ("pattern", json!(pattern))),
        Just(("format", json!("date"))),
        names().prop_map(|names| ("required", names)),
        (name(), names()).prop_map(|(name, names)| ("dependentRequired", json!({name: names}))),
        Just(("$ref", json!("#/$defs/one"))),
        Just(("$ref", json!("#two"))),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let object = |keywords: Vec<(&'static str, Value)>| {
        Value::Object(keywords.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    };
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        6 => prop::collection::vec(plain_keyword(), 0..3).prop_map(object),
    ];
    leaf.prop_recursive(3, 24, 3, move |inner| {
        let one = || inner.clone();
        let some = || prop::collection::vec(inner.clone(), 1..3).prop_map(Value::from);
        let named = || prop::collection::btree_map(name(), inner.clone(), 0..3).prop_map(|all| json!(all));
        let keyword = prop_oneof![
            plain_keyword(),
            named().prop_map(|all| ("properties", all)),
            prop::collection::btree_map(pattern(), inner.clone(), 0..3)
                .prop_map(|all| ("patternProperties", json!(all))),
            one().prop_map(|one| ("additionalProperties", one)),
            one().prop_map(|one| ("propertyNames", one)),
            one().prop_map(|one| ("unevaluatedProperties", one)),
            named().prop_map(|all| ("dependentSchemas", all)),
            some().prop_map(|some| ("prefixItems", some)),
            one().prop_map(|one| ("items", one)),
            one().prop_map(|one| ("unevaluatedItems", one)),
            one().prop_map(|one| ("contains", one)),
            (0_u64..3).prop_map(|count| ("minContains", json!(count))),
            (0_u64..3).prop_map(|count| ("maxContains", json!(count))),
            some().prop_map(|some| ("allOf", some)),
            some().prop_map(|some| ("anyOf", some)),
            some().prop_map(|some| ("oneOf", some)),
            one().prop_map(|one| ("not", one)),
            one().prop_map(|one| ("if", one)),
            one().prop_map(|one| ("then", one)),
            one().prop_map(|one| ("else", one)),
        ];
        prop::collection::vec(keyword, 1..5).prop_map(object)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn another_implementation_of_the_draft_agrees(schema in schema(), values in prop::collection::vec(value(), 1..6)) {
        // The parts that references lead to refer to nothing, so that nothing goes in circles.
        let schema = json!({"$defs": {
            "one": {"type": ["object", "string"], "properties": {"a": true}, "maxLength": 1},
            "two": {"$anchor": "two", "prefixItems": [true], "minimum": 1, "patternProperties": {"b$": {"type": "integer"}}},
        }, "allOf": [schema]});
        let ours = Validator::new(&schema).unwrap();
        let theirs = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .build(&schema)
            .unwrap();
        for value in values {
            let (our, their) = (ours.check(&value), theirs.is_valid(&value));
            prop_assert_eq!(our.is_ok(), their, "{} on {}: {:?}", schema, value, our);
            if let Err(invalid) = our {
                prop_assert!(!invalid.problems.is_empty(), "{} on {} gives no reason", schema, value);
            }
        }
    }

    #[test]
    fn any_value_is_read_as_a_schema_without_panic(schema in value(), text in ".{0,40}", instance in value()) {
        for schema in [schema, json!({"pattern": text}), json!({"$ref": text}), json!({"$id": text}), json!({"format": "regex", "const": text})] {
            if let Ok(validator) = Validator::new(&schema) {
                let _ = validator.check(&instance);
            }
        }
        for format in ["date-time", "duration", "email", "idn-hostname", "iri", "uri-template", "regex", "relative-json-pointer"] {
            let _ = holds(&json!({"format": format}), &json!(text));
        }
    }
}
