//! The deployment's authority on its disk, and what it signs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use model::{Clock, EdgeId, SystemClock};
use rcgen::{CertificateParams, KeyPair, SanType};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use support::DAY;
use tunnel::pki::{Authority, CertificateFacts, EdgeKey, PkiError};

fn load(folder: &Path, deployment: &str) -> Result<Authority, PkiError> {
    Authority::load_or_create(folder, deployment, Arc::new(SystemClock))
}

#[test]
fn the_key_is_made_once_and_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("pki");
    let first = load(&folder, "prod").unwrap();
    let again = load(&folder, "prod").unwrap();
    assert_eq!(first.spki_pin(), again.spki_pin());
    assert_eq!(first.certificate(), again.certificate());
    assert_eq!(fs::metadata(folder.join("ca.key")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), "prod").unwrap();
    fs::set_permissions(folder.path().join("ca.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let error = load(folder.path(), "prod").unwrap_err();
    assert!(matches!(error, PkiError::Exposed { mode: 0o644, .. }), "{error}");
}

#[test]
fn a_first_start_that_was_cut_off_keeps_its_pin() {
    let folder = tempfile::tempdir().unwrap();
    let pin = load(folder.path(), "prod").unwrap().spki_pin();
    fs::remove_file(folder.path().join("ca.crt")).unwrap();
    assert_eq!(load(folder.path(), "prod").unwrap().spki_pin(), pin);
}

#[test]
fn a_lost_key_is_never_replaced_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), "prod").unwrap();
    fs::remove_file(folder.path().join("ca.key")).unwrap();
    assert!(matches!(load(folder.path(), "prod").unwrap_err(), PkiError::KeyMissing { .. }));
}

#[test]
fn an_authority_signs_for_one_deployment_only() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), "prod").unwrap();
    let error = load(folder.path(), "staging").unwrap_err().to_string();
    assert!(error.contains("the one of deployment `prod`, not of `staging`"), "{error}");
}

#[test]
fn a_key_beside_another_certificate_is_noticed() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    load(one.path(), "prod").unwrap();
    load(other.path(), "prod").unwrap();
    fs::copy(other.path().join("ca.crt"), one.path().join("ca.crt")).unwrap();
    let error = load(one.path(), "prod").unwrap_err().to_string();
    assert!(error.contains("doesn't fit the key beside it"), "{error}");
}

#[test]
fn of_a_request_only_the_public_key_is_used() {
    let authority = Authority::in_memory("prod", Arc::new(SystemClock)).unwrap();
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let mut wish = CertificateParams::new(vec!["manager.example".to_owned()]).unwrap();
    wish.subject_alt_names.push(SanType::URI("spiffe://prod/manager".try_into().unwrap()));
    wish.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    wish.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let request = wish.serialize_request(&key).unwrap();

    let issued = authority.issue_edge(request.der(), EdgeId(9), DAY).unwrap();
    let facts = CertificateFacts::read(&issued.chain[0]).unwrap();
    assert_eq!(facts.names, ["spiffe://prod/edge/9"]);
    assert!(facts.for_clients_only && !facts.for_servers_only);
    assert_eq!(facts.serial, issued.serial);
    let (_, certificate) = x509_parser::parse_x509_certificate(&issued.chain[0]).unwrap();
    assert!(!certificate.is_ca());
    let left = issued.not_after - SystemClock.now();
    assert!(left <= chrono::TimeDelta::days(1) && left > chrono::TimeDelta::hours(23), "{left}");
}

#[test]
fn a_request_with_a_foreign_key_or_a_broken_signature_is_refused() {
    let authority = Authority::in_memory("prod", Arc::new(SystemClock)).unwrap();
    let request = EdgeKey::generate().unwrap().request().unwrap();
    // The last bytes are the signature.
    for place in [request.len() - 1, request.len() - 20, request.len() / 3] {
        let mut broken = request.clone();
        broken[place] ^= 1;
        authority.issue_edge(&broken, EdgeId(1), DAY).unwrap_err();
    }
    let mut longer = request.clone();
    longer.push(0);
    authority.issue_edge(&longer, EdgeId(1), DAY).unwrap_err();
    authority.issue_edge(&vec![0x30; 100_000], EdgeId(1), DAY).unwrap_err();
    let large = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    let large = CertificateParams::default().serialize_request(&large).unwrap();
    let error = authority.issue_edge(large.der(), EdgeId(1), DAY).unwrap_err().to_string();
    assert!(error.contains("neither ECDSA P-256 nor Ed25519"), "{error}");
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let authority = Authority::in_memory("prod", Arc::new(SystemClock)).unwrap();
        proptest::prop_assert!(authority.issue_edge(&bytes, EdgeId(1), DAY).is_err());
        proptest::prop_assert!(CertificateFacts::read(&bytes).is_err());
    }
}
