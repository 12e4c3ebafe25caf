//! Evidence that is good, and every way of it that isn't.

use crate::*;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use model::{CallId, Class, EdgeId, Timestamp};
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PSS_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const SOP: &str = include_str!("../fixtures/reboot-web.toml");
const SOP_SIGNATURE: &str = include_str!("../fixtures/reboot-web.toml.sig");
const SOP_KEY: &str = include_str!("../fixtures/sop.pub.pem");
const SHORT_KEY: &str = include_str!("../fixtures/short.pub.pem");
const ORIGIN: &str = "https://steadyhand.example.org";
const RP_ID: &str = "steadyhand.example.org";

static SOP_SIGNER: LazyLock<RsaKeyPair> =
    LazyLock::new(|| RsaKeyPair::from_pkcs8(include_bytes!("../fixtures/sop.pkcs8.der")).unwrap());

/// Five people: `ana` with a key file, `ben` with a passkey, `cho` with a key file, `olga` who asks, and `mallory`, who
/// is on no list.
struct World {
    root: Ed25519KeyPair,
    people: BTreeMap<&'static str, Ed25519KeyPair>,
    passkey: EcdsaKeyPair,
    now: Timestamp,
    args: Value,
    labels: BTreeMap<String, String>,
    call_id: CallId,
}

fn ed25519() -> Ed25519KeyPair {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()
}

fn ed25519_spki(raw: &[u8]) -> Vec<u8> {
    [&hex::decode("302a300506032b6570032100").unwrap(), raw].concat()
}

fn p256_spki(raw: &[u8]) -> Vec<u8> {
    [&hex::decode("3059301306072a8648ce3d020106082a8648ce3d030107034200").unwrap(), raw].concat()
}

fn key_id(spki: &[u8]) -> String {
    model::canonical::sha256_hex(spki).chars().take(16).collect()
}

fn sop_signed(text: &str) -> SignedDocument {
    let mut signature = vec![0; SOP_SIGNER.public().modulus_len()];
    SOP_SIGNER.sign(&RSA_PSS_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
    SignedDocument { document: text.into(), signature }
}

impl World {
    fn new() -> Self {
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new()).unwrap();
        let passkey = EcdsaKeyPair::from_pkcs8(
            &ECDSA_P256_SHA256_ASN1_SIGNING,
            document.as_ref(),
            &SystemRandom::new(),
        )
        .unwrap();
        Self {
            root: ed25519(),
            people: ["ana", "cho", "olga", "mallory"].map(|name| (name, ed25519())).into(),
            passkey,
            now: "2026-12-01T12:00:00Z".parse().unwrap(),
            args: json!({"delay_seconds": 60, "reason": "kernel update 6.12.9"}),
            labels: BTreeMap::from([("role".to_owned(), "web".to_owned())]),
            call_id: CallId::generate(),
        }
    }

    fn list_text(&self, version: u64) -> String {
        let mut text = format!("version = {version}\nexpires = 2027-01-01T00:00:00Z\n");
        for name in ["ana", "cho", "olga"] {
            let spki = STANDARD.encode(ed25519_spki(self.people[name].public_key().as_ref()));
            text += &format!(
                "[[people]]\nperson = \"{name}\"\n[[people.keys]]\nkind = \"ed25519\"\npublic = \"{spki}\"\n"
            );
        }
        let spki = STANDARD.encode(p256_spki(self.passkey.public_key().as_ref()));
        text + &format!(
            "[[people]]\nperson = \"ben\"\n[[people.keys]]\nkind = \"webauthn\"\npublic = \"{spki}\"\n"
        )
    }

    fn list(&self) -> SignedDocument {
        self.list_signed_by(&self.root, &self.list_text(7))
    }

    fn list_signed_by(&self, root: &Ed25519KeyPair, text: &str) -> SignedDocument {
        SignedDocument { document: text.into(), signature: root.sign(text.as_bytes()).as_ref().to_vec() }
    }

    fn pins(&self) -> Pins {
        Pins {
            sop_keys: vec![SopKey::from_pem(SOP_KEY).unwrap()],
            approver_root: Some(RootKey::from_base64(&STANDARD.encode(self.root.public_key())).unwrap()),
            relying_party: Some(RelyingParty { origin: ORIGIN.to_owned(), id: RP_ID.to_owned() }),
            min_independent_signatures: 0,
        }
    }

    fn facts(&self) -> CallFacts<'_> {
        CallFacts {
            call_id: self.call_id,
            edge_id: EdgeId(4),
            tool: "reboot_host",
            definition_hash: "d1",
            args: &self.args,
            class: Class::Dangerous,
            labels: &self.labels,
        }
    }

    fn statement(&self) -> Statement {
        Statement {
            domain: Statement::domain(),
            call_id: self.call_id,
            edge_id: EdgeId(4),
            tool: "reboot_host".to_owned(),
            definition_hash: "d1".to_owned(),
            args_hash: Statement::hash_of(&self.args),
            sop: Some(SopRef { id: "reboot-web".to_owned(), version: 3, step: "reboot".to_owned() }),
            requester: "olga".to_owned(),
            nonce: "ab".repeat(32),
            not_after: "2026-12-01T12:30:00Z".parse().unwrap(),
        }
    }

    fn by_file(&self, name: &str, statement: &Statement) -> Signature {
        let pair = &self.people[name];
        Signature {
            person: name.to_owned(),
            key: key_id(&ed25519_spki(pair.public_key().as_ref())),
            signature: pair.sign(statement.text().as_bytes()).as_ref().to_vec(),
            client_data: Vec::new(),
            authenticator_data: Vec::new(),
        }
    }

    /// `change` may falsify the browser's data, `flags` what the authenticator says.
    fn by_passkey(
        &self,
        statement: &Statement,
        rp_id: &str,
        flags: u8,
        change: impl Fn(&mut Value),
    ) -> Signature {
        let mut client = json!({
            "type": "webauthn.get", "challenge": URL_SAFE_NO_PAD.encode(statement.digest()), "origin": ORIGIN,
            "crossOrigin": false,
        });
        change(&mut client);
        let client_data = client.to_string().into_bytes();
        let mut authenticator_data = Sha256::digest(rp_id.as_bytes()).to_vec();
        authenticator_data.extend([flags, 0, 0, 0, 0]);
        let signed = [authenticator_data.as_slice(), &Sha256::digest(&client_data)].concat();
        Signature {
            person: "ben".to_owned(),
            key: key_id(&p256_spki(self.passkey.public_key().as_ref())),
            signature: self.passkey.sign(&SystemRandom::new(), &signed).unwrap().as_ref().to_vec(),
            client_data,
            authenticator_data,
        }
    }

    /// `ana` by file and `ben` by passkey, on what is asked.
    fn good(&self) -> Evidence {
        let statement = self.statement();
        let signatures =
            vec![self.by_file("ana", &statement), self.by_passkey(&statement, RP_ID, 0b101, |_| {})];
        self.evidence(&statement, signatures)
    }

    fn evidence(&self, statement: &Statement, signatures: Vec<Signature>) -> Evidence {
        Evidence {
            statement: statement.text(),
            signatures,
            approvers: self.list(),
            sop: Some(sop_signed(SOP)),
        }
    }

    fn refusal(&self, evidence: &Evidence) -> String {
        self.refusal_with(evidence, &self.facts(), &self.pins())
    }

    fn refusal_with(&self, evidence: &Evidence, facts: &CallFacts<'_>, pins: &Pins) -> String {
        check(evidence, facts, pins, self.now).expect_err("this was let through").to_string()
    }
}

#[test]
fn a_procedure_and_two_people_let_a_dangerous_call_through() {
    let world = World::new();
    let evidence = Evidence::read(&world.good().to_bytes()).unwrap();
    let proof = check(&evidence, &world.facts(), &world.pins(), world.now).unwrap();
    assert_eq!(proof.people.iter().map(String::as_str).collect::<Vec<_>>(), ["ana", "ben"]);
    assert_eq!((proof.list_version, proof.nonce), (7, "ab".repeat(32)));
    let (step, covering) = proof.step.unwrap();
    assert_eq!((step.id.as_str(), step.version, covering.maximum_runs), ("reboot-web", 3, 5));
}

#[test]
fn what_openssl_signed_is_taken() {
    let signature = STANDARD.decode(SOP_SIGNATURE.trim()).unwrap();
    let key = SopKey::from_pem(SOP_KEY).unwrap();
    let (sop, signer) = Sop::verify(SOP.as_bytes(), &signature, std::slice::from_ref(&key)).unwrap();
    assert_eq!((sop.label().as_str(), signer.fingerprint()), ("reboot-web version 3", key.fingerprint()));
    assert!(sop.warnings().is_empty(), "{:?}", sop.warnings());
}

#[test]
fn a_mutating_call_needs_one_person_and_no_procedure() {
    let world = World::new();
    let mut statement = world.statement();
    statement.sop = None;
    let mut evidence = world.evidence(&statement, vec![world.by_file("cho", &statement)]);
    evidence.sop = None;
    let facts = CallFacts { class: Class::Mutating, ..world.facts() };
    let proof = check(&evidence, &facts, &world.pins(), world.now).unwrap();
    assert!(proof.step.is_none());
    assert_eq!(
        world.refusal(&evidence),
        "the evidence can't be read: a dangerous call needs a signed procedure (SOP)"
    );
}

#[test]
fn a_statement_for_another_call_is_worth_nothing() {
    let world = World::new();
    let good = world.good();
    let other_args = json!({"delay_seconds": 61, "reason": "kernel update 6.12.9"});
    for (facts, field) in [
        (CallFacts { call_id: CallId::generate(), ..world.facts() }, "call id"),
        (CallFacts { edge_id: EdgeId(5), ..world.facts() }, "host"),
        (CallFacts { tool: "remove_path", ..world.facts() }, "skill"),
        (CallFacts { definition_hash: "d2", ..world.facts() }, "definition"),
        (CallFacts { args: &other_args, ..world.facts() }, "arguments"),
    ] {
        let refusal = world.refusal_with(&good, &facts, &world.pins());
        assert_eq!(refusal, format!("the signed statement is for another call: its {field} differs"));
    }
}

#[test]
fn a_statement_that_was_changed_after_it_was_signed_is_worth_nothing() {
    let world = World::new();
    let mut evidence = world.good();
    let mut statement = world.statement();
    statement.requester = "mallory".to_owned();
    evidence.statement = statement.text();
    assert!(world.refusal(&evidence).contains("over another statement"));
    statement.not_after = world.now;
    evidence.statement = statement.text();
    assert!(world.refusal(&evidence).contains("which is past"));
    // One statement has one text: no second spelling of it is taken.
    evidence.statement = world.good().statement.replacen(':', ": ", 1);
    assert!(world.refusal(&evidence).contains("canonical form"));
    evidence.statement = world.statement().text().replace("steadyhand/approval/v1", "steadyhand/approval/v2");
    assert!(world.refusal(&evidence).contains("domain"));
}

#[test]
fn one_person_counts_once_and_who_asks_counts_never() {
    let world = World::new();
    let statement = world.statement();
    let (ana, olga) = (world.by_file("ana", &statement), world.by_file("olga", &statement));
    for (signatures, have) in [
        (vec![], 0),
        (vec![ana.clone()], 1),
        (vec![ana.clone(), ana.clone()], 1),
        (vec![ana.clone(), olga.clone()], 1),
        (vec![olga.clone(), olga], 0),
    ] {
        let refusal = world.refusal(&world.evidence(&statement, signatures));
        assert!(refusal.starts_with(&format!("{have} of 2 people have signed")), "{refusal}");
    }
}

#[test]
fn only_listed_keys_of_listed_people_sign() {
    let world = World::new();
    let statement = world.statement();
    let ana = world.by_file("ana", &statement);
    let mallory = world.by_file("mallory", &statement);
    // A stranger; a stranger's key in a listed name; a listed key in another listed name; a listed name and key, but the
    // stranger's signature.
    for bad in [
        mallory.clone(),
        Signature { person: "cho".to_owned(), ..mallory.clone() },
        Signature { person: "cho".to_owned(), ..ana.clone() },
        Signature { signature: mallory.signature, ..world.by_file("cho", &statement) },
    ] {
        let refusal = world.refusal(&world.evidence(&statement, vec![ana.clone(), bad]));
        assert!(refusal.contains("is not good"), "{refusal}");
    }
}

#[test]
fn a_forged_changed_or_expired_list_counts_for_nothing() {
    let world = World::new();
    let forged =
        Evidence { approvers: world.list_signed_by(&ed25519(), &world.list_text(8)), ..world.good() };
    assert!(world.refusal(&forged).contains("fits none of the pinned keys"));
    let mut changed = world.good();
    changed.approvers.document.push(b'\n');
    assert!(world.refusal(&changed).contains("fits none of the pinned keys"));
    let late: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
    let error = check(&world.good(), &world.facts(), &world.pins(), late).unwrap_err().to_string();
    assert!(error.contains("version 7 expired"), "{error}");
    let unpinned = Pins { approver_root: None, ..world.pins() };
    assert!(
        world.refusal_with(&world.good(), &world.facts(), &unpinned).contains("no signature counts here")
    );
}

#[test]
fn a_passkey_must_be_the_consoles_used_by_a_present_and_verified_person() {
    let world = World::new();
    let statement = world.statement();
    let mut other = world.statement();
    other.nonce = "cd".repeat(32);
    let set = |key: &'static str, value: Value| {
        move |client: &mut Value| {
            client[key] = value.clone();
        }
    };
    for (signature, why) in [
        (world.by_passkey(&other, RP_ID, 0b101, |_| {}), "another statement"),
        (world.by_passkey(&statement, "evil.example.org", 0b101, |_| {}), "belongs to another site"),
        (world.by_passkey(&statement, RP_ID, 0b100, |_| {}), "nobody was present"),
        (world.by_passkey(&statement, RP_ID, 0b001, |_| {}), "did not verify"),
        (
            world.by_passkey(&statement, RP_ID, 0b101, set("type", json!("webauthn.create"))),
            "not of an assertion",
        ),
        (
            world.by_passkey(&statement, RP_ID, 0b101, set("origin", json!("https://evil.example.org"))),
            "another site",
        ),
        (world.by_passkey(&statement, RP_ID, 0b101, set("crossOrigin", json!(true))), "frame"),
        (
            world.by_passkey(&statement, RP_ID, 0b101, set("topOrigin", json!("https://evil.example.org"))),
            "frame",
        ),
        (world.by_passkey(&statement, RP_ID, 0b101, set("challenge", json!(""))), "another statement"),
    ] {
        let evidence = world.evidence(&statement, vec![world.by_file("ana", &statement), signature]);
        let refusal = world.refusal(&evidence);
        assert!(refusal.contains(why), "expected {why}: {refusal}");
    }
    // Data that was changed after it was signed; data that is cut.
    let mut changed = world.by_passkey(&statement, RP_ID, 0b101, |_| {});
    changed.authenticator_data[36] = 1;
    let evidence = world.evidence(&statement, vec![world.by_file("ana", &statement), changed.clone()]);
    assert!(world.refusal(&evidence).contains("its data was changed"));
    changed.authenticator_data.truncate(34);
    let evidence = world.evidence(&statement, vec![world.by_file("ana", &statement), changed]);
    assert!(world.refusal(&evidence).contains("too short"));
    let unpinned = Pins { relying_party: None, ..world.pins() };
    assert!(world.refusal_with(&world.good(), &world.facts(), &unpinned).contains("pins no origin"));
}

#[test]
fn a_host_may_ask_for_signatures_from_outside_of_the_browser() {
    let world = World::new();
    let asks = |count| Pins { min_independent_signatures: count, ..world.pins() };
    assert!(check(&world.good(), &world.facts(), &asks(1), world.now).is_ok());
    let refusal = world.refusal_with(&world.good(), &world.facts(), &asks(2));
    assert!(refusal.starts_with("1 of 2 signatures were made by a key file"), "{refusal}");
}

#[test]
fn a_procedure_covers_its_own_step_and_nothing_beside() {
    let world = World::new();
    let without = Evidence { sop: None, ..world.good() };
    assert!(world.refusal(&without).contains("needs a signed procedure"));
    let mut changed = world.good();
    changed.sop = changed.sop.map(|mut sop| {
        sop.document = SOP.replace("maximum_runs = 5", "maximum_runs = 500").into();
        sop
    });
    assert!(world.refusal(&changed).contains("fits none of the pinned keys"));
    let unpinned = Pins { sop_keys: Vec::new(), ..world.pins() };
    assert!(world.refusal_with(&world.good(), &world.facts(), &unpinned).contains("no key is pinned"));

    for (text, why) in [
        (SOP.replace("id = \"reboot-web\"", "id = \"reboot-db\""), "the signed statement names"),
        (SOP.replace("version = 3", "version = 4"), "the signed statement names"),
        (SOP.replace("name = \"reboot\"", "name = \"restart\""), "has no step `reboot`"),
        (SOP.replace("skill = \"reboot_host\"", "skill = \"remove_path\""), "is for `remove_path`"),
        (SOP.replace("role = \"web\"", "role = \"db\""), "the labels role=db"),
        (SOP.replace("minimum = 60", "minimum = 61"), "outside of its step"),
        (SOP.replace("2026-11-01", "2026-12-02"), "valid only from"),
        (SOP.replace("2027-05-01", "2026-12-01"), "was valid until"),
    ] {
        let evidence = Evidence { sop: Some(sop_signed(&text)), ..world.good() };
        let refusal = world.refusal(&evidence);
        assert!(refusal.contains(why), "expected {why}: {refusal}");
    }
    let mut statement = world.statement();
    statement.sop = None;
    let signatures = vec![world.by_file("ana", &statement), world.by_file("cho", &statement)];
    assert!(world.refusal(&world.evidence(&statement, signatures)).contains("names no procedure"));
}

#[test]
fn keys_that_are_too_short_private_or_of_another_kind_can_not_be_pinned() {
    for (text, why) in [
        (SHORT_KEY, "this one has 2048"),
        ("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----", "this is a private key"),
        ("ssh-rsa AAAA", "expected a PEM block"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "expected a public key"),
    ] {
        let error = SopKey::from_pem(text).unwrap_err().to_string();
        assert!(error.contains(why), "expected {why}: {error}");
    }
    let ed = STANDARD.encode(ed25519_spki(ed25519().public_key().as_ref()));
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{ed}\n-----END PUBLIC KEY-----");
    assert!(SopKey::from_pem(&pem).unwrap_err().to_string().contains("another kind"));
    assert!(RootKey::from_base64("AAAA").is_err());
}

#[test]
fn each_mistake_in_a_procedure_is_told_with_its_place() {
    for (from, to, why) in [
        ("id = \"reboot-web\"", "id = \"Reboot Web\"", "id: expected"),
        ("version = 3", "version = 0", "version: expected"),
        ("title = \"Reboot a web server\"", "title = \" \"", "title: expected"),
        ("2026-11-01T00:00:00Z", "2026-11-01T00:00:00", "valid_from: expected a time with its zone"),
        ("2027-05-01", "2026-05-01", "valid_until: it must be after"),
        ("2027-05-01", "2030-05-01", "at most 732 days"),
        ("name = \"reboot\"", "name = \"\"", "steps[0].name"),
        ("skill = \"reboot_host\"", "skill = \"reboot-host\"", "steps[0].skill"),
        ("labels = { role = \"web\" }\n", "", "steps[0].labels: say where it may run"),
        ("labels = {", "any_host = true\nlabels = {", "not both"),
        ("maximum_runs = 5", "maximum_runs = 0", "steps[0].maximum_runs"),
        ("maximum_runs = 5", "maximum_run = 5", "unknown field `maximum_run`"),
        ("type = \"integer\"", "type = \"integre\"", "steps[0].parameters"),
        ("[[steps]]", "[[step]]", "unknown field `step`"),
    ] {
        let text = SOP.replacen(from, to, 1);
        assert_ne!(text, SOP, "{from} is not in the procedure");
        let error = Sop::parse(&text).expect_err(to).to_string();
        assert!(error.contains(why), "expected {why}: {error}");
    }
    let twice = format!(
        "{SOP}\n{}",
        SOP.split_once("[[steps]]").map(|(_, step)| format!("[[steps]]{step}")).unwrap()
    );
    assert!(Sop::parse(&twice).unwrap_err().to_string().contains("`reboot` is there twice"));
    let loose = SOP.replace("additionalProperties = false\n", "").replace("\"delay_seconds\", ", "");
    assert_eq!(Sop::parse(&loose).unwrap().warnings().len(), 2);
}

#[test]
fn one_key_never_speaks_for_two_people() {
    let world = World::new();
    let text = world.list_text(7);
    assert_eq!(ApproverList::parse(&text).unwrap().people.len(), 4);
    let ana = STANDARD.encode(ed25519_spki(world.people["ana"].public_key().as_ref()));
    let cho = STANDARD.encode(ed25519_spki(world.people["cho"].public_key().as_ref()));
    for (changed, why) in [
        (text.replace(&cho, &ana), "is there twice"),
        (text.replace("\"cho\"", "\"Ana\""), "`Ana` is there twice"),
        (text.replace("version = 7", "version = 0"), "version: expected"),
        (text.replacen("kind = \"ed25519\"", "kind = \"rsa\"", 1), "unknown variant `rsa`"),
        (text.replace("\"webauthn\"", "\"ed25519\""), "a key file is an Ed25519 key"),
        (text.replace("person = \"ana\"", "person = \" ana\""), "people[0].person"),
    ] {
        let error = ApproverList::parse(&changed).unwrap_err().to_string();
        assert!(error.contains(why), "expected {why}: {error}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), text in "\\PC{0,200}") {
        let _ = Evidence::read(&bytes);
        let _ = SopKey::from_spki(&bytes);
        let _ = SopKey::from_pem(&text);
        let _ = Sop::parse(&text);
        let _ = ApproverList::parse(&text);
        let _ = Statement::read(&text);
    }

    /// However a good call's evidence is bent in one byte, it either still proves the very same or nothing.
    #[test]
    fn a_bent_byte_never_lets_another_call_through(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        static WORLD: LazyLock<(World, Vec<u8>)> = LazyLock::new(|| {
            let world = World::new();
            let bytes = world.good().to_bytes();
            (world, bytes)
        });
        let (world, bytes) = &*WORLD;
        let mut bent = bytes.clone();
        let at = at.index(bent.len());
        bent[at] ^= 1 << bit;
        let proof = Evidence::read(&bent).ok().and_then(|evidence| check(&evidence, &world.facts(), &world.pins(), world.now).ok());
        if let Some(proof) = proof {
            prop_assert_eq!(proof.people.len(), 2);
            prop_assert_eq!(proof.nonce, "ab".repeat(32));
        }
    }
}
