/// The lines of a corpus of commands.
fn lines(corpus: &str) -> Vec<Vec<u8>> {
    corpus
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.replace("\\n", "\n").into_bytes())
        .collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// As many repetitions as fit what is looked at.
fn long(unit: &str) -> Vec<u8> {
    unit.repeat(shellclass::MAX_BYTES / unit.len()).into_bytes()
}

pub(crate) fn shell() -> Vec<Vec<u8>> {
    let mut seeds = lines(include_str!("../../shellclass/tests/corpus/safe.txt"));
    seeds.extend(lines(include_str!("../../shellclass/tests/corpus/adversarial.txt")));
    seeds.extend(lines(include_str!("../../shellclass/tests/corpus/dangerous.txt")));
    for unit in [
        "$(",
        "((",
        "( ",
        "{ ",
        "`",
        "\"$(",
        "[[ ",
        "if ",
        "case ",
        "<(",
        "${a:-",
        "$((",
        "a|",
        "a;",
        "a&&",
        "! ",
        "x=1 ",
        "<<A\n",
        "[a-",
        "{a,b}",
        "\\",
        "'",
        "\"",
        "ls -l /tmp; ",
        "echo $x ",
        "for i in ",
        "f() { ",
        "\n",
        "@(a|",
        "a[",
        "xargs ",
        "env ",
    ] {
        seeds.push(long(unit));
    }
    seeds
}

pub(crate) fn sql() -> Vec<Vec<u8>> {
    texts(&[
        "select 1",
        "with x as (delete from t returning *) select * from x",
        "explain analyze update t set a = 1",
        "select 'it''s; drop table t' -- drop\n, /* nested /* comment */ */ $tag$ drop $tag$",
        "copy t to program 'sh'",
        "drop table a cascade; truncate b",
        "set statement_timeout = 1; show all; values (1)",
    ])
}

pub(crate) fn schema() -> Vec<Vec<u8>> {
    texts(&[
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":1,\"multipleOf\":0.1}},\"required\":[\"a\"],\"additionalProperties\":false}\n{\"a\":3}",
        "{\"$defs\":{\"n\":{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#/$defs/n\"}]}},\"$ref\":\"#/$defs/n\"}\n{}",
        "{\"pattern\":\"^(a+)+$\",\"minLength\":2,\"format\":\"uri\"}\n\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"",
        "{\"prefixItems\":[{\"const\":1}],\"unevaluatedItems\":false,\"uniqueItems\":true,\"contains\":{\"enum\":[2]}}\n[1,2,2]",
        "{\"if\":{\"required\":[\"a\"]},\"then\":{\"maxProperties\":1},\"else\":{\"dependentRequired\":{\"b\":[\"c\"]}}}\n{\"b\":1e400}",
        "{\"$dynamicRef\":\"#n\",\"$defs\":{\"x\":{\"$dynamicAnchor\":\"n\",\"oneOf\":[true,false]}}}\n9007199254740993.0",
    ])
}

pub(crate) fn stream() -> Vec<Vec<u8>> {
    texts(&[
        "data: {\"choices\":[{\"delta\":{\"content\":\"h\u{e9}llo\"}}]}\n\ndata: [DONE]\n\n",
        "event: message_start\r\ndata: {}\r\n\r\n: keep-alive\r\n\r\nevent: x\rdata: a\rdata: b\r\r",
        "\u{feff}data:no space\n\nid: 1\nretry: 5\nunknown\ndata\n\ndata: no end",
    ])
}

pub(crate) fn redact() -> Vec<Vec<u8>> {
    texts(&[
        "password=hunter2secret and then some words",
        "Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345",
        "postgres://user:s3cr3tpassword@db.example/app?sslmode=require",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n",
        "aws AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "{\"token\": \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"}",
    ])
}

pub(crate) fn manifest() -> Vec<Vec<u8>> {
    let mut seeds = texts(&[
        "{\"name\":\"demo\",\"version\":\"1.0.0\",\"description\":\"Shows how a pack looks.\",\"entry\":\"run\",\"skills\":[{\"key\":\"demo_look\",\"name\":\"Look\",\"description\":\"Looks.\",\"class\":\"safe\"}]}",
        "{\"name\":\"demo\",\"name\":\"demo\"}",
    ]);
    for pack in ["net-tools", "k8s-check", "sql-admin"] {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packs/").to_owned() + pack + "/skill.json";
        seeds.extend(std::fs::read(path));
    }
    seeds
}
