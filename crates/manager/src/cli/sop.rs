//! `steadyhand sop`: makes, signs and checks procedures, on files alone: the private key is never on a manager. And imports,
//! lists and revokes them there.

use super::client::{Client, ClientArgs};
use super::keyfile::{self, Written};
use super::local;
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::Months;
use clap::Subcommand;
use model::{Clock as _, SystemClock, Timestamp};
use reqwest::Method;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PSS_SHA256, RsaKeyPair};
use rsa::pkcs8::{EncodePrivateKey as _, EncodePublicKey as _};
use serde_json::{Value, json};
use signing::{MIN_RSA_BITS, Sop, SopKey, Targets};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum SopCommand {
    /// Make a key that signs procedures: PREFIX.key.pem (keep it off every manager and host) and PREFIX.pub.pem
    Keygen {
        /// Where to write, without the ending
        #[arg(value_name = "PREFIX")]
        prefix: PathBuf,
        /// Bits of the RSA key, 3072 to 4096
        #[arg(long, default_value_t = MIN_RSA_BITS, value_parser = bits)]
        bits: usize,
    },
    /// Write a procedure to start from
    New {
        /// Its id: a-z, 0-9 and `-`
        id: String,
        /// The skill that its step allows
        #[arg(long, value_name = "KEY")]
        skill: String,
        /// Where to write [default: ID.toml]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Sign a procedure; writes FILE.sig beside it
    Sign {
        /// The procedure
        file: PathBuf,
        /// The private key, PREFIX.key.pem
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Check a procedure and its signature, and tell what it allows
    Verify {
        /// The procedure
        file: PathBuf,
        /// Its signature [default: FILE.sig]
        #[arg(long, value_name = "FILE")]
        signature: Option<PathBuf>,
        /// A public key that may have signed it, PREFIX.pub.pem; may be given several times
        #[arg(long, value_name = "FILE", required = true)]
        key: Vec<PathBuf>,
    },
    /// Bring a signed procedure to the manager: shows what it changes, then asks; takes an admin's token
    Import {
        /// The procedure
        file: PathBuf,
        /// Its signature [default: FILE.sig]
        #[arg(long, value_name = "FILE")]
        sig: Option<PathBuf>,
        /// Import it without asking
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// List the imported procedures
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Revoke a procedure: no call starts by it from then on; takes an admin's token
    Revoke {
        /// Its id
        id: String,
        /// This version and all before it [default: all]
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        #[command(flatten)]
        client: ClientArgs,
    },
}

/// What ring signs with, at most.
const MAX_BITS: usize = 4096;

fn bits(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|bits| (MIN_RSA_BITS..=MAX_BITS).contains(bits) && bits % 256 == 0)
        .ok_or_else(|| format!("expected {MIN_RSA_BITS} to {MAX_BITS}, a multiple of 256"))
}

impl SopCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let text = match self {
            Self::Keygen { prefix, bits } => keygen(&prefix, bits)?,
            Self::New { id, skill, out } => new(&id, &skill, out, SystemClock.now())?,
            Self::Sign { file, key } => sign(&file, &key, SystemClock.now())?,
            Self::Verify { file, signature, key } => verify(&file, signature, &key, SystemClock.now())?,
            Self::Import { file, sig, yes, client } => import(&client.connect()?, &file, sig, yes).await?,
            Self::List { json, client } => list(&client.connect()?, json).await?,
            Self::Revoke { id, version, client } => revoke(&client.connect()?, &id, version).await?,
        };
        local::print(&text)
    }
}

fn keygen(prefix: &Path, bits: usize) -> anyhow::Result<String> {
    let private = rsa::PrivateKey::new(&mut rand::rng(), bits).context("no key could be made")?;
    let public = private.to_public_key().to_public_key_der().context("the public key can't be written")?;
    let key = SopKey::from_spki(public.as_bytes())?;
    let secret = private.to_pkcs8_der().context("the private key can't be written")?;
    let Written { private, public } = keyfile::write_pair(prefix, secret.as_bytes(), public.as_bytes())?;
    Ok(format!(
        "private key: {} (keep it off every manager and host)\npublic key:  {} ({bits} bits, fingerprint {})\n\
         pin the public key in each host's edge.toml and in steadyhand.toml: [security.sop] trusted_keys\n",
        private.display(),
        public.display(),
        key.fingerprint()
    ))
}

fn new(id: &str, skill: &str, out: Option<PathBuf>, now: Timestamp) -> anyhow::Result<String> {
    let from = now.date_naive();
    let until = from.checked_add_months(Months::new(12)).context("the clock is beyond the calendar")?;
    let text = TEMPLATE
        .replace("{from}", &from.to_string())
        .replace("{until}", &until.to_string())
        .replace("{id}", id)
        .replace("{skill}", skill);
    // What is wrong with the id or the key is told before anything is written.
    Sop::parse(&text).map_err(|error| anyhow::anyhow!("{error}"))?;
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{id}.toml")));
    keyfile::write_new(&out, text.as_bytes(), keyfile::FOR_ALL)?;
    Ok(format!("{}: fill it in, then `steadyhand sop sign {0} --key PREFIX.key.pem`\n", out.display()))
}

const TEMPLATE: &str = r#"# A standard operating procedure: what a dangerous call must be covered by.
id = "{id}"
# Raise it with every change; a signature is good for these very bytes.
version = 1
title = "What this is for, in a few words"
description = ""
valid_from = {from}T00:00:00Z
# At most two years later.
valid_until = {until}T00:00:00Z

[[steps]]
name = "step-1"
skill = "{skill}"
# Hosts that have all of these labels in their own configuration; or `any_host = true`.
labels = { role = "web" }
# On one host, in all.
maximum_runs = 1

# JSON Schema of the arguments, beside the skill's own. Whatever it leaves open, people can ask for.
[steps.parameters]
type = "object"
additionalProperties = false
required = []

[steps.parameters.properties]
"#;

fn sign(file: &Path, key: &Path, now: Timestamp) -> anyhow::Result<String> {
    let document = keyfile::read(file)?;
    let text = std::str::from_utf8(&document).with_context(|| format!("{} is not UTF-8", file.display()))?;
    let sop = Sop::parse(text).with_context(|| format!("{} can't be signed", file.display()))?;
    let pair = RsaKeyPair::from_pkcs8(&keyfile::read_private(key)?).map_err(|error| {
        anyhow::anyhow!("{} is no RSA key of 2048 to {MAX_BITS} bits: {error}", key.display())
    })?;
    let bits = pair.public().modulus_len() * 8;
    anyhow::ensure!(
        bits >= MIN_RSA_BITS,
        "{} has {bits} bits; procedures need {MIN_RSA_BITS} or more",
        key.display()
    );
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PSS_SHA256, &SystemRandom::new(), &document, &mut signature)
        .map_err(|_| anyhow::anyhow!("the key can't sign"))?;
    let out = keyfile::signature_of(file);
    keyfile::replace(&out, &signature)?;
    Ok(format!("{}\n{}", out.display(), summary(&sop, now)))
}

fn verify(
    file: &Path,
    signature: Option<PathBuf>,
    keys: &[PathBuf],
    now: Timestamp,
) -> anyhow::Result<String> {
    let signature = signature.unwrap_or_else(|| keyfile::signature_of(file));
    let keys = keys
        .iter()
        .map(|path| {
            let text = String::from_utf8(keyfile::read(path)?).unwrap_or_default();
            SopKey::from_pem(&text).with_context(|| path.display().to_string())
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let (sop, key) = Sop::verify(&keyfile::read(file)?, &keyfile::read(&signature)?, &keys)
        .with_context(|| file.display().to_string())?;
    Ok(format!("good: signed by the key {}\n{}", key.fingerprint(), summary(&sop, now)))
}

async fn import(client: &Client, file: &Path, sig: Option<PathBuf>, yes: bool) -> anyhow::Result<String> {
    let signature = keyfile::read(&sig.unwrap_or_else(|| keyfile::signature_of(file)))?;
    let mut body = json!({
        "document": STANDARD.encode(keyfile::read(file)?), "signature": STANDARD.encode(signature), "dry_run": true,
    });
    let shown = client.post("/sops", &body).await?;
    local::print(&changes(&shown))?;
    if !yes && !local::asked("Import it?")? {
        return Ok("Nothing was imported.\n".to_owned());
    }
    body["dry_run"] = json!(false);
    let imported = client.post("/sops", &body).await?;
    Ok(format!("imported: {} version {}\n", word(&imported["id"]), imported["version"]))
}

/// What an import would change, and what to look at twice.
fn changes(shown: &Value) -> String {
    let mut text = match shown["diff"].as_str() {
        Some(diff) => diff.to_owned(),
        None => format!("the first version of this procedure:\n{}", word(&shown["document"])),
    };
    text += &format!("signed by the key {}\n", word(&shown["signer"]));
    for warning in shown["warnings"].as_array().into_iter().flatten() {
        text += &format!("look twice: {}\n", word(warning));
    }
    text
}

async fn list(client: &Client, json: bool) -> anyhow::Result<String> {
    let mut page = client.json(client.request(Method::GET, "/sops")).await?;
    let items = page["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    if json {
        return Ok(format!("{:#}\n", Value::Array(items)));
    }
    let line = |sop: &Value| {
        let steps: Vec<&str> =
            sop["steps"].as_array().into_iter().flatten().map(|step| word(&step["name"])).collect();
        format!(
            "{} version {} {}: {} (steps {}; valid until {})\n",
            word(&sop["id"]),
            sop["version"],
            word(&sop["state"]),
            word(&sop["title"]),
            steps.join(", "),
            word(&sop["valid_until"])
        )
    };
    Ok(items.iter().map(line).collect())
}

async fn revoke(client: &Client, id: &str, version: Option<u64>) -> anyhow::Result<String> {
    let version = match version {
        Some(version) => version,
        None => {
            let page = client.json(client.request(Method::GET, "/sops")).await?;
            let all = page["items"].as_array().into_iter().flatten();
            all.filter(|sop| sop["id"] == id && sop["state"] != "revoked")
                .filter_map(|sop| sop["version"].as_u64())
                .max()
                .with_context(|| format!("no procedure `{id}` is imported that isn't revoked"))?
        }
    };
    client.send(client.request(Method::DELETE, &format!("/sops/{id}/{version}"))).await?;
    Ok(format!("revoked: {id} version {version} and all before it\n"))
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

/// What a procedure allows, and what to look at twice.
fn summary(sop: &Sop, now: Timestamp) -> String {
    let mut text = format!(
        "{}: {}\nvalid from {} until {}\n",
        sop.label(),
        sop.title,
        sop.valid_from.to_rfc3339(),
        sop.valid_until.to_rfc3339()
    );
    for step in &sop.steps {
        let targets = match &step.targets {
            Targets::AnyHost => "on every host".to_owned(),
            Targets::Labels(labels) => {
                let labels: Vec<String> =
                    labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("on hosts with {}", labels.join(", "))
            }
        };
        text += &format!(
            "  step {}: {} {targets}, at most {} times on one host, with {}\n",
            step.name, step.skill, step.maximum_runs, step.parameters
        );
    }
    for warning in sop.warnings() {
        text += &format!("look twice: {warning}\n");
    }
    if let Some(why) = sop.not_valid(now) {
        text += &format!("no call can be made by it now: {why}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Noon of a day that not every year has.
    fn today() -> Timestamp {
        "2028-02-29T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_made_key_signs_what_is_then_found_good_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = dir.path().join("team");
        let told = keygen(&prefix, MIN_RSA_BITS).unwrap();
        assert!(told.contains("3072 bits"), "{told}");
        let (private, public) = (dir.path().join("team.key.pem"), dir.path().join("team.pub.pem"));
        assert_eq!(keyfile::mode_of(&private), 0o600);
        assert!(keygen(&prefix, MIN_RSA_BITS).unwrap_err().to_string().contains("is there already"));

        let file = dir.path().join("reboot.toml");
        new("reboot", "reboot_host", Some(file.clone()), today()).unwrap();
        sign(&file, &private, today()).unwrap();
        let keys = [public.clone()];
        let told = verify(&file, None, &keys, today()).unwrap();
        assert!(
            told.starts_with("good: signed by the key ") && told.contains("step-1: reboot_host"),
            "{told}"
        );
        assert!(
            told.contains("valid from 2028-02-29T00:00:00+00:00 until 2029-02-28T00:00:00+00:00"),
            "{told}"
        );
        assert!(!told.contains("no call can be made"), "{told}");
        let told = verify(&file, None, &keys, today() + Duration::from_secs(400 * 86_400)).unwrap();
        assert!(told.contains("no call can be made by it now: it was valid until 2029-02-28"), "{told}");
        let told = verify(&file, None, &keys, today() - Duration::from_secs(2 * 86_400)).unwrap();
        assert!(told.contains("no call can be made by it now: it is valid only from 2028-02-29"), "{told}");

        let text = std::fs::read_to_string(&file).unwrap().replace("maximum_runs = 1", "maximum_runs = 9");
        std::fs::write(&file, text).unwrap();
        let refused = format!("{:#}", verify(&file, None, &keys, today()).unwrap_err());
        assert!(refused.contains("fits none of the pinned keys"), "{refused}");
        let refused = format!("{:#}", verify(&file, None, &[private], today()).unwrap_err());
        assert!(refused.contains("this is a private key"), "{refused}");
        let refused = sign(&file, &public, today()).unwrap_err().to_string();
        assert!(refused.contains("expected a private key"), "{refused}");
    }

    #[test]
    fn a_bad_id_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.toml");
        assert!(new("Reboot Web", "reboot_host", Some(file.clone()), today()).is_err());
        assert!(!file.exists());
    }
}
