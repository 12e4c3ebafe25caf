//! `steadyhand approvers`: makes, signs and checks the list of approvers, and the key files that it names, on files alone: no
//! private key is ever on a manager. And imports the list there.

use super::client::{Client, ClientArgs};
use super::keyfile::{self, Written};
use super::local;
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Subcommand;
use reqwest::Method;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use signing::{ApproverList, RootKey, SignatureKind};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum ApproversCommand {
    /// Make the key that signs the list: PREFIX.key.pem (keep it off every manager and host), and print the public key
    RootKeygen {
        /// Where to write, without the ending
        #[arg(value_name = "PREFIX")]
        prefix: PathBuf,
    },
    /// Make a key file for one approver, and print the lines for the list
    Keygen {
        /// Where to write, without the ending
        #[arg(value_name = "PREFIX")]
        prefix: PathBuf,
        /// The name of the approver's account
        #[arg(long, value_name = "NAME")]
        person: String,
    },
    /// Sign a list; writes FILE.sig beside it
    Sign {
        /// The list
        file: PathBuf,
        /// The root key, PREFIX.key.pem
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Check a list and its signature, and tell who is in it
    Verify {
        /// The list
        file: PathBuf,
        /// Its signature [default: FILE.sig]
        #[arg(long, value_name = "FILE")]
        signature: Option<PathBuf>,
        /// The public key, as `root-keygen` printed it
        #[arg(long, value_name = "BASE64")]
        root: String,
    },
    /// Bring a signed list to the manager; takes an admin's token
    Import {
        /// The list
        file: PathBuf,
        /// Its signature [default: FILE.sig]
        #[arg(long, value_name = "FILE")]
        sig: Option<PathBuf>,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Show the list that the manager has
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
}

impl ApproversCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let text = match self {
            Self::RootKeygen { prefix } => root_keygen(&prefix)?,
            Self::Keygen { prefix, person } => keygen(&prefix, &person)?,
            Self::Sign { file, key } => sign(&file, &key)?,
            Self::Verify { file, signature, root } => verify(&file, signature, &root)?,
            Self::Import { file, sig, client } => import(&client.connect()?, &file, sig).await?,
            Self::Show { json, client } => show(&client.connect()?, json).await?,
        };
        local::print(&text)
    }
}

fn make(prefix: &Path) -> anyhow::Result<(Written, Vec<u8>)> {
    let failed = |_| anyhow::anyhow!("no key could be made");
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(failed)?;
    let pair =
        Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(|_| anyhow::anyhow!("no key could be made"))?;
    let spki = keyfile::ed25519_spki(pair.public_key().as_ref());
    Ok((keyfile::write_pair(prefix, document.as_ref(), &spki)?, spki))
}

fn root_keygen(prefix: &Path) -> anyhow::Result<String> {
    let (written, spki) = make(prefix)?;
    let root = RootKey::from_base64(
        &STANDARD.encode(spki.get(keyfile::ED25519_SPKI_PREFIX.len()..).unwrap_or_default()),
    )?;
    Ok(format!(
        "private key: {} (keep it off every manager and host)\npublic key:  \"{}\" (fingerprint {})\n\
         pin the public key in each host's edge.toml and in steadyhand.toml: [security.approvers] root_key\n",
        written.private.display(),
        root.to_base64(),
        root.fingerprint()
    ))
}

fn keygen(prefix: &Path, person: &str) -> anyhow::Result<String> {
    let head = "version = 1\nexpires = 2100-01-01T00:00:00Z\n";
    let lines = |spki: &[u8]| {
        format!(
            "[[people]]\nperson = {}\n[[people.keys]]\nkind = \"ed25519\"\npublic = \"{}\"\nlabel = \"key file\"\n",
            toml::Value::from(person),
            STANDARD.encode(spki)
        )
    };
    // A name that no list can hold is told before a key is written.
    ApproverList::parse(&(head.to_owned() + &lines(&keyfile::ed25519_spki(&[0; 32]))))?;
    let (written, spki) = make(prefix)?;
    Ok(format!("# private key: {} (it stays with {person})\n{}", written.private.display(), lines(&spki)))
}

fn sign(file: &Path, key: &Path) -> anyhow::Result<String> {
    let document = keyfile::read(file)?;
    let text = std::str::from_utf8(&document).with_context(|| format!("{} is not UTF-8", file.display()))?;
    let list = ApproverList::parse(text).with_context(|| format!("{} can't be signed", file.display()))?;
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&keyfile::read_private(key)?)
        .map_err(|error| anyhow::anyhow!("{} is no Ed25519 key: {error}", key.display()))?;
    let out = keyfile::signature_of(file);
    keyfile::replace(&out, pair.sign(&document).as_ref())?;
    Ok(format!("{}\n{}", out.display(), summary(&list)))
}

fn verify(file: &Path, signature: Option<PathBuf>, root: &str) -> anyhow::Result<String> {
    let signature = signature.unwrap_or_else(|| keyfile::signature_of(file));
    let root = RootKey::from_base64(root).context("--root")?;
    let list = ApproverList::verify(&keyfile::read(file)?, &keyfile::read(&signature)?, &root)
        .with_context(|| file.display().to_string())?;
    Ok(format!("good: signed by the root key {}\n{}", root.fingerprint(), summary(&list)))
}

/// Who is in a list, and with which keys.
fn summary(list: &ApproverList) -> String {
    let mut text = format!("version {}, good until {}\n", list.version, list.expires.to_rfc3339());
    for person in &list.people {
        for key in &person.keys {
            let kind = match key.kind {
                SignatureKind::Ed25519 => "key file",
                SignatureKind::Webauthn => "passkey",
            };
            text += &format!("  {}: {kind} {} {}\n", person.person, key.id, key.label);
        }
    }
    if list.people.len() < 2 {
        text += "look twice: a dangerous call needs two different people\n";
    }
    text
}

async fn import(client: &Client, file: &Path, sig: Option<PathBuf>) -> anyhow::Result<String> {
    let signature = keyfile::read(&sig.unwrap_or_else(|| keyfile::signature_of(file)))?;
    let body =
        json!({"document": STANDARD.encode(keyfile::read(file)?), "signature": STANDARD.encode(signature)});
    Ok(format!("imported\n{}", people(&client.post("/approvers", &body).await?)))
}

async fn show(client: &Client, json: bool) -> anyhow::Result<String> {
    let shown = client.json(client.request(Method::GET, "/approvers")).await?;
    Ok(if json { format!("{shown:#}\n") } else { people(&shown) })
}

/// The list that a manager has, and who is on it.
fn people(shown: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    if shown["configured"] != true {
        return "the manager's configuration pins no root key ([security.approvers] root_key)\n".to_owned();
    }
    let mut text = format!("root key: {}\n", word(&shown["root_fingerprint"]));
    match shown["origin"].as_str() {
        Some(origin) => text += &format!("passkeys: of {origin}\n"),
        None => text += "passkeys: don't count ([security.approvers] origin, rp_id)\n",
    }
    let list = &shown["list"];
    if list.is_null() {
        text += &match shown["problem"].as_str() {
            Some(problem) => format!("the imported list isn't trusted: {problem}\n"),
            None => "no list is imported\n".to_owned(),
        };
        return text;
    }
    text += &format!("version {}, expires {}\n", list["version"], word(&list["expires"]));
    for person in list["people"].as_array().into_iter().flatten() {
        text += &format!("{}\n", word(&person["person"]));
        for key in person["keys"].as_array().into_iter().flatten() {
            text += &format!("  {} {} {}\n", word(&key["id"]), word(&key["kind"]), word(&key["label"]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_made_keys_is_found_good_under_the_root_key_alone() {
        let dir = tempfile::tempdir().unwrap();
        let told = root_keygen(&dir.path().join("root")).unwrap();
        let root = told.split('"').nth(1).unwrap().to_owned();
        let mut text = "version = 4\nexpires = 2100-01-01T00:00:00Z\n".to_owned();
        for person in ["ana", "ben \"b\""] {
            text += &keygen(&dir.path().join(format!("key-{}", person.len())), person).unwrap();
        }
        let file = dir.path().join("approvers.toml");
        std::fs::write(&file, &text).unwrap();
        sign(&file, &dir.path().join("root.key.pem")).unwrap();
        let told = verify(&file, None, &root).unwrap();
        assert!(told.contains("version 4") && told.contains("ben \"b\": key file"), "{told}");

        sign(&file, &dir.path().join("key-3.key.pem")).unwrap();
        let refused = format!("{:#}", verify(&file, None, &root).unwrap_err());
        assert!(refused.contains("fits none of the pinned keys"), "{refused}");
    }

    #[test]
    fn a_name_that_no_list_can_hold_writes_no_key() {
        let dir = tempfile::tempdir().unwrap();
        assert!(keygen(&dir.path().join("x"), " ").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
