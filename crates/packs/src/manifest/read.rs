//! From JSON text to a manifest.

use super::fields::{Fields, list_of};
use super::{LimitsManifest, Manifest, Need, SandboxManifest, SkillManifest};
use crate::json;
use crate::problem::{Fault, PackError, Problem};
use model::{Class, Scope};
use serde_json::{Value, json};
use skill::{Definition, Validator};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Most skills of one pack.
const MAX_SKILLS: usize = 32;

/// Most items of any other list.
const MAX_ITEMS: usize = 32;

/// Largest parameter schema, as JSON text.
const MAX_PARAMS_BYTES: usize = 64 * 1024;

/// Longest time of one call.
const MAX_TIMEOUT_SECONDS: u64 = 600;

/// Largest answer.
const MAX_STDOUT_BYTES: u64 = 16 * 1024 * 1024;

/// Variables that change what programs do, or that belong to the agent.
const RESERVED_ENVIRONMENT: &[&str] =
    &["PATH", "HOME", "TMPDIR", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "GCONV_PATH", "PS4"];

/// Sockets behind which somebody does whatever is asked of him: whoever may talk to them isn't held by any sandbox.
const MIGHTY_SOCKETS: &[&str] =
    &["docker", "containerd", "podman", "crio", "dbus", "systemd", "snapd", "libvirt", "lxd", "incus"];

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong with it, as far as can be told without looking at the pack's files.
    pub fn parse(text: &[u8]) -> Result<Self, PackError> {
        let value = json::parse(text)?;
        let mut problems = Vec::new();
        let manifest = read(&value, &mut problems);
        match manifest {
            Some(manifest) if problems.is_empty() => Ok(manifest),
            _ => Err(PackError { problems }),
        }
    }
}

fn read(value: &Value, problems: &mut Vec<Problem>) -> Option<Manifest> {
    let mut fields = Fields::open("", value, problems)?;
    let name = fields.required("name", 64, problems).and_then(|name| {
        checked(
            name,
            "name",
            is_pack_name,
            Fault::BadName,
            "must be 1 to 64 of a-z, 0-9 and -, beginning with a letter",
            problems,
        )
    });
    let version = fields.required("version", 64, problems).and_then(|version| {
        checked(
            version,
            "version",
            is_version,
            Fault::BadVersion,
            "must begin with a digit and hold only letters, digits, `.`, `+` and `-`, such as 1.0.2",
            problems,
        )
    });
    let description = fields.required("description", 500, problems);
    let category = fields.text("category", 40, problems).and_then(|category| {
        checked(
            category,
            "category",
            is_category,
            Fault::BadCategory,
            "must be of a-z, 0-9, - and _",
            problems,
        )
    });
    let entry = fields.required("entry", 255, problems).and_then(|entry| entry_of(&entry, problems));
    let env_allow = fields.texts("env_allow", MAX_ITEMS, problems);
    for (at, name) in &env_allow {
        check_variable(at, name, problems);
    }
    let timeout_seconds = fields.number("timeout_seconds", 1..=MAX_TIMEOUT_SECONDS, problems);
    let limits = fields.get("limits").map(|value| limits_of(value, problems)).unwrap_or_default();
    let sandbox = match fields.get("sandbox") {
        Some(value) => sandbox_of("sandbox", value, problems),
        None => SandboxManifest::default(),
    };
    let prerequisites = needs_of(&mut fields, problems);
    let skills = match fields.get("skills") {
        Some(value) => skills_of(value, &sandbox, &prerequisites, problems),
        None => {
            fields.missing("skills", problems);
            Vec::new()
        }
    };
    fields.close(problems);
    Some(Manifest {
        name: name?,
        version: version?,
        description: description?,
        category: category.unwrap_or_else(|| "packs".to_owned()),
        entry: entry?,
        skills,
        env_allow: env_allow.into_iter().map(|(_, name)| name).collect(),
        timeout_seconds: timeout_seconds.unwrap_or(60) as u32,
        limits,
    })
}

/// Keeps a text that is well formed.
fn checked(
    text: String,
    at: &str,
    is_good: fn(&str) -> bool,
    fault: Fault,
    wanted: &str,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    if is_good(&text) {
        return Some(text);
    }
    problems.push(Problem::new(fault, at, format!("`{text}` {wanted}")));
    None
}

fn is_pack_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte))
}

fn is_category(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
}

/// A path that stays below where it begins, as far as its words tell.
fn entry_of(text: &str, problems: &mut Vec<Problem>) -> Option<PathBuf> {
    let path = Path::new(text);
    let problem = if path.is_absolute() {
        Problem::new(Fault::EntryAbsolute, "entry", format!("`{text}` must be relative to the pack"))
    } else if path.components().any(|part| part == Component::ParentDir) {
        Problem::new(
            Fault::EntryOutside,
            "entry",
            format!("`{text}` must stay inside the pack, without `..`"),
        )
    } else if !path.components().any(|part| matches!(part, Component::Normal(_))) {
        Problem::new(Fault::EntryNotRegular, "entry", format!("`{text}` names no file"))
    } else {
        return Some(path.to_owned());
    };
    problems.push(problem);
    None
}

fn check_variable(at: &str, name: &str, problems: &mut Vec<Problem>) {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let upper = name.to_ascii_uppercase();
    if !is_name {
        let message = format!("`{name}` is no name of a variable: letters, digits and _, no digit first");
        problems.push(Problem::new(Fault::BadEnvironmentName, at, message));
    } else if RESERVED_ENVIRONMENT.contains(&upper.as_str())
        || ["LD_", "DYLD_", "BASH_FUNC_", "STEADYHAND"].iter().any(|prefix| upper.starts_with(prefix))
    {
        let message = format!("`{name}` is set by the agent or changes what programs do; leave it out");
        problems.push(Problem::new(Fault::ReservedEnvironmentName, at, message));
    }
}

fn limits_of(value: &Value, problems: &mut Vec<Problem>) -> LimitsManifest {
    let Some(mut fields) = Fields::open("limits", value, problems) else { return LimitsManifest::default() };
    let limits = LimitsManifest {
        memory_mb: fields.number("memory_mb", 1..=65_536, problems).unwrap_or(0) as u32,
        cpu_seconds: fields.number("cpu_seconds", 1..=MAX_TIMEOUT_SECONDS, problems).unwrap_or(0) as u32,
        pids: fields.number("pids", 1..=4096, problems).unwrap_or(0) as u32,
        stdout_bytes: fields.number("stdout_bytes", 1..=MAX_STDOUT_BYTES, problems).unwrap_or(0) as u32,
    };
    fields.close(problems);
    limits
}

fn sandbox_of(at: &str, value: &Value, problems: &mut Vec<Problem>) -> SandboxManifest {
    let Some(mut fields) = Fields::open(at, value, problems) else { return SandboxManifest::default() };
    let sandbox = SandboxManifest {
        network: fields.flag("network", problems).unwrap_or(false),
        write_paths: paths_of(&mut fields, "write_paths", problems),
        read_paths: paths_of(&mut fields, "read_paths", problems),
        sockets: paths_of(&mut fields, "sockets", problems),
    };
    fields.close(problems);
    sandbox
}

fn paths_of(fields: &mut Fields<'_>, name: &'static str, problems: &mut Vec<Problem>) -> BTreeSet<PathBuf> {
    let texts = fields.texts(name, MAX_ITEMS, problems);
    texts.into_iter().filter_map(|(at, text)| plain_path(&at, &text, problems)).collect()
}

/// An absolute path without `.`, `..`, `//` or a slash at its end, so that it says what it means.
fn plain_path(at: &str, text: &str, problems: &mut Vec<Problem>) -> Option<PathBuf> {
    let problem = if !text.starts_with('/') {
        Problem::new(Fault::PathNotAbsolute, at, format!("`{text}` must begin with /"))
    } else if text != "/" && text.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")) {
        let message = format!("`{text}` must be written without `.`, `..`, `//` and a slash at its end");
        Problem::new(Fault::PathNotPlain, at, message)
    } else {
        return Some(PathBuf::from(text));
    };
    problems.push(problem);
    None
}

fn needs_of(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Vec<Need> {
    let mut needs = Vec::new();
    for (at, text) in fields.texts("prerequisites", MAX_ITEMS, problems) {
        let is_program = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-@".contains(&byte))
            && !text.starts_with(['-', '.']);
        if text.starts_with('/') {
            needs.extend(plain_path(&at, &text, problems).map(Need::Path));
        } else if is_program {
            needs.push(Need::Program(text));
        } else {
            let message =
                format!("`{text}` must be the name of a program, such as kubectl, or an absolute path");
            problems.push(Problem::new(Fault::BadPrerequisite, at, message));
        }
    }
    needs
}

fn skills_of(
    value: &Value,
    sandbox: &SandboxManifest,
    needs: &[Need],
    problems: &mut Vec<Problem>,
) -> Vec<SkillManifest> {
    let Some(items) = list_of(value, "skills", usize::MAX, problems) else { return Vec::new() };
    if items.is_empty() {
        problems.push(Problem::new(Fault::NoSkills, "skills", "a pack has at least one skill"));
    } else if items.len() > MAX_SKILLS {
        let message = format!("{} skills; a pack has at most {MAX_SKILLS}", items.len());
        problems.push(Problem::new(Fault::TooManySkills, "skills", message));
        return Vec::new();
    }
    let mut skills: Vec<SkillManifest> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let at = format!("skills[{index}]");
        let Some(skill) = skill_of(&at, item, sandbox, needs, problems) else { continue };
        if skills.iter().any(|other| (&other.key, other.scope) == (&skill.key, skill.scope)) {
            let message = format!("`{}` is there twice", skill.key);
            problems.push(Problem::new(Fault::DuplicateKey, format!("{at}.key"), message));
        } else {
            skills.push(skill);
        }
    }
    skills
}

fn skill_of(
    at: &str,
    value: &Value,
    pack_sandbox: &SandboxManifest,
    pack_needs: &[Need],
    problems: &mut Vec<Problem>,
) -> Option<SkillManifest> {
    let mut fields = Fields::open(at, value, problems)?;
    let key = fields.required("key", 200, problems).and_then(|key| {
        let place = format!("{at}.key");
        checked(
            key,
            &place,
            Definition::is_legal_key,
            Fault::BadKey,
            "must be 1 to 64 of a-z, 0-9 and _",
            problems,
        )
    });
    let name = fields.required("name", 80, problems);
    let description = fields.required("description", 1000, problems);
    let class = word_of(&mut fields, "class", Fault::UnknownClass, "safe, mutating or dangerous", problems);
    let scope = word_of(&mut fields, "scope", Fault::UnknownScope, "host or manager", problems);
    let scope = scope.unwrap_or(Scope::Host);
    let place = fields.place("params");
    let params = match fields.get("params") {
        Some(params) => params_of(&place, params, scope, problems),
        None => json!({"type": "object", "properties": {}, "additionalProperties": false}),
    };
    let result_preview = fields.text("result_preview", 200, problems).unwrap_or_default();
    let (sandbox, sandbox_at) = match fields.get("sandbox") {
        Some(value) => {
            let place = fields.place("sandbox");
            (sandbox_of(&place, value, problems), place)
        }
        None => (pack_sandbox.clone(), "sandbox".to_owned()),
    };
    if class == Some(Class::Safe) {
        check_safe(at, &sandbox_at, &sandbox, problems);
    }
    let mut prerequisites = pack_needs.to_vec();
    prerequisites.extend(needs_of(&mut fields, problems));
    fields.close(problems);
    Some(SkillManifest {
        key: key?,
        name: name?,
        description: description?,
        class,
        scope,
        params,
        result_preview,
        sandbox,
        prerequisites,
    })
}

/// A skill that is called safe must be one that the kernel can keep safe.
fn check_safe(at: &str, sandbox_at: &str, sandbox: &SandboxManifest, problems: &mut Vec<Problem>) {
    if !sandbox.write_paths.is_empty() {
        let message =
            format!("{at} is safe, so it may write nowhere: leave write_paths out, or call it mutating");
        problems.push(Problem::new(Fault::SafeSkillWrites, format!("{sandbox_at}.write_paths"), message));
    }
    let is_mighty = |path: &PathBuf| {
        let text = path.to_string_lossy();
        MIGHTY_SOCKETS.iter().any(|word| text.contains(word))
    };
    if let Some(socket) = sandbox.sockets.iter().find(|socket| is_mighty(socket)) {
        let message = format!(
            "{at} is safe, but whoever may talk to `{}` can change anything: call it mutating or dangerous",
            socket.display()
        );
        problems.push(Problem::new(Fault::SafeSkillSocket, format!("{sandbox_at}.sockets"), message));
    }
}

/// One word of a few.
fn word_of<T: std::str::FromStr>(
    fields: &mut Fields<'_>,
    name: &'static str,
    fault: Fault,
    wanted: &str,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let text = fields.text(name, 100, problems)?;
    let word = text.parse().ok();
    if word.is_none() {
        problems.push(Problem::new(fault, fields.place(name), format!("`{text}` must be {wanted}")));
    }
    word
}

/// The schema as the author wrote it; unknown parameters are refused unless it says otherwise.
fn params_of(at: &str, value: &Value, scope: Scope, problems: &mut Vec<Problem>) -> Value {
    let mut params = value.clone();
    let bad = |message: String| Problem::new(Fault::BadParams, at, message);
    let Some(schema) = params.as_object_mut() else {
        problems.push(bad("must be a JSON Schema, an object".to_owned()));
        return params;
    };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        problems.push(bad("must have \"type\": \"object\": parameters have names".to_owned()));
        return params;
    }
    if schema.get("properties").is_some_and(|properties| !properties.is_object()) {
        problems.push(bad("`properties` must be an object".to_owned()));
        return params;
    }
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema.entry("additionalProperties").or_insert(Value::Bool(false));
    if scope == Scope::Host && schema["properties"].get("edge_id").is_some() {
        let message = "`edge_id` is put in front of the parameters of every host skill; choose another name";
        problems.push(Problem::new(Fault::ReservedParameter, format!("{at}.properties.edge_id"), message));
    }
    if params.to_string().len() > MAX_PARAMS_BYTES {
        problems.push(bad(format!("larger than {MAX_PARAMS_BYTES} bytes")));
    } else if let Err(error) = Validator::new(&params) {
        problems.push(bad(error.to_string()));
    }
    params
}
