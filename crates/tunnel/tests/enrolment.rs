//! Joining a deployment with a one-time token, and rejoining with an old key.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use model::{Clock, EdgeId};
use std::sync::Arc;
use support::{DAY, Manager};
use tunnel::{HandshakeReason, JoinToken, ManagerRefusal, Pin, TunnelError, enroll, rejoin};

#[tokio::test]
async fn a_good_token_gives_an_identity_that_connects() {
    let mut manager = Manager::start().await;
    let identity = manager.enrolled(7).await;
    assert_eq!(identity.edge(), EdgeId(7));
    assert_eq!(identity.facts().names_text(), "spiffe://test/edge/7");
    assert!(identity.facts().for_clients_only);

    let mut connected = manager.connect(&identity, None).await;
    assert_eq!(connected.edge, EdgeId(7));
    let described = connected.client.describe(proto::v1::DescribeRequest {}).await.unwrap();
    assert_eq!(described.into_inner().hostname, "test");
}

#[tokio::test]
async fn an_identity_survives_the_disk_and_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut manager = Manager::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state").join("identity.pem");
    manager.enrolled(1).await.store(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let loaded = tunnel::pki::EdgeIdentity::load(&path).unwrap().unwrap();
    assert_eq!(manager.connect(&loaded, None).await.edge, EdgeId(1));

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = tunnel::pki::EdgeIdentity::load(&path).unwrap_err().to_string();
    assert!(error.contains("others may read it (mode 640)"), "{error}");
}

#[tokio::test]
async fn a_used_token_and_an_invented_one_are_refused_with_the_same_words() {
    let manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let token = manager.token(1);
    enroll(&manager.dial_config(), &token, "a", &clock).await.unwrap();

    let used = enroll(&manager.dial_config(), &token, "a", &clock).await.unwrap_err();
    let invented = JoinToken::generate(manager.authority.spki_pin());
    let invented = enroll(&manager.dial_config(), &invented, "a", &clock).await.unwrap_err();
    assert!(matches!(used, TunnelError::TokenRefused), "{used}");
    assert_eq!(used.to_string(), invented.to_string());
}

#[tokio::test]
async fn a_wrong_pin_is_noticed_before_the_secret_is_sent() {
    let mut manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let token = manager.token(1);
    let (secret, _) = token.to_string().split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let wrong: JoinToken = format!("{secret}.{}", Pin([9; 32])).parse().unwrap();

    let error = enroll(&manager.dial_config(), &wrong, "a", &clock).await.unwrap_err();
    assert!(matches!(error, TunnelError::PinMismatch { .. }), "{error}");
    assert!(!error.to_string().contains(&secret));
    let failure = manager.failure().await;
    assert_eq!(failure.reason, HandshakeReason::ManagerRefused(ManagerRefusal::UnknownAuthority));

    enroll(&manager.dial_config(), &token, "a", &clock).await.expect("the token is still good");
}

#[tokio::test]
async fn an_edge_whose_certificate_ran_out_rejoins_only_when_it_is_allowed() {
    let mut manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let old = manager.enrolled(3).await;
    manager.clock.forward(DAY * 5);

    let error = rejoin(&manager.dial_config(), &old, &clock).await.unwrap_err();
    assert!(matches!(error, TunnelError::RejoinRefused), "{error}");

    manager.tokens.allow_rejoin();
    let fresh = rejoin(&manager.dial_config(), &old, &clock).await.unwrap();
    assert_eq!(fresh.edge(), EdgeId(3));
    assert_ne!(fresh.serial(), old.serial());
    manager.connect(&fresh, None).await;
}

#[tokio::test]
async fn a_strangers_certificate_is_no_proof_for_rejoining() {
    let manager = Manager::start().await;
    let stranger = Manager::start().await;
    let old = stranger.enrolled(3).await;
    let key = tunnel::pki::EdgeKey::generate().unwrap();
    let now = manager.clock.now();
    let good = tunnel::pki::sign_rejoin(&manager.enrolled(3).await, &key, now).unwrap();
    let foreign = tunnel::pki::sign_rejoin(&old, &key, now).unwrap();
    let mut borrowed = foreign.clone();
    borrowed.old_certificate_der = good.old_certificate_der.clone();
    let mut stale = good.clone();
    stale.at = (now - DAY).to_rfc3339();

    assert_eq!(tunnel::pki::verify_rejoin(&manager.authority, &good, now).unwrap().edge, EdgeId(3));
    for wrong in [foreign, borrowed, stale] {
        let error = tunnel::pki::verify_rejoin(&manager.authority, &wrong, now).unwrap_err();
        assert_eq!(error.to_string(), "the proof of the old key doesn't hold");
    }
}

#[tokio::test]
async fn a_port_that_is_not_the_tunnels_is_named_as_such() {
    let manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = plain.local_addr().unwrap();
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        let (mut socket, _) = plain.accept().await.unwrap();
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nthis is a web server\r\n").await;
    });
    let error = enroll(&manager.dial_config_to(address), &manager.token(1), "a", &clock).await.unwrap_err();
    assert!(matches!(error, TunnelError::NotTls { .. }), "{error}");

    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = enroll(&manager.dial_config_to(free), &manager.token(1), "a", &clock).await.unwrap_err();
    assert!(error.to_string().contains("nothing listens there"), "{error}");
}
