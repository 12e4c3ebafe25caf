//! `steadyhand approvers`: makes, signs and checks the list of approvers, and the key files that it names. Works on files
//! alone: no private key is ever on a manager.

use super::keyfile::{self, Written};
use super::local;
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Subcommand;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
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
}

/// What comes before the 32 bytes of the key in an Ed25519 SubjectPublicKeyInfo (RFC 8410 §4).
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

impl ApproversCommand {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let text = match self {
            Self::RootKeygen { prefix } => root_keygen(&prefix)?,
            Self::Keygen { prefix, person } => keygen(&prefix, &person)?,
            Self::Sign { file, key } => sign(&file, &key)?,
            Self::Verify { file, signature, root } => verify(&file, signature, &root)?,
        };
        local::print(&text)
    }
}

fn make(prefix: &Path) -> anyhow::Result<(Written, Vec<u8>)> {
    let failed = |_| anyhow::anyhow!("no key could be made");
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(failed)?;
    let pair =
        Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(|_| anyhow::anyhow!("no key could be made"))?;
    let spki = [SPKI_PREFIX.as_slice(), pair.public_key().as_ref()].concat();
    Ok((keyfile::write_pair(prefix, document.as_ref(), &spki)?, spki))
}

fn root_keygen(prefix: &Path) -> anyhow::Result<String> {
    let (written, spki) = make(prefix)?;
    let root = RootKey::from_base64(&STANDARD.encode(spki.get(SPKI_PREFIX.len()..).unwrap_or_default()))?;
    Ok(format!(
        "private key: {} (keep it off every manager and host)\npublic key:  \"{}\" (fingerprint {})\n\
         This version pins no keys yet: put none into a configuration, where it would be an unknown key.\n",
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
    ApproverList::parse(&(head.to_owned() + &lines(&[SPKI_PREFIX.as_slice(), &[0; 32]].concat())))?;
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
