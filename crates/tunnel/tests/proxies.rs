//! Through an HTTP CONNECT proxy.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use model::Clock;
use std::sync::Arc;
use support::{ConnectProxy, DAY, Manager, dial_error, execute, read_all};
use tunnel::{TunnelError, enroll};

#[tokio::test]
async fn an_edge_joins_and_connects_through_a_proxy_with_a_password() {
    let mut manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    // "me:p@ss" in base64.
    let proxy = ConnectProxy::start(Some("Basic bWU6cEBzcw==")).await;
    let mut config = manager.dial_config();
    config.proxy = Some(format!("http://me:p%40ss@{}", proxy.address).parse().unwrap());

    let identity = enroll(&config, &manager.token(5), "behind-a-proxy", &clock).await.unwrap();
    let edge = manager.connect_with(&identity, &config).await;
    let (answer, _) = read_all(execute(&edge.client, "echo", "through").await.unwrap()).await.unwrap();
    assert_eq!(answer, b"through");
    let requests = proxy.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].starts_with(&format!("CONNECT {} HTTP/1.1\r\n", manager.address)), "{requests:?}");
}

#[tokio::test]
async fn a_proxy_that_wants_a_password_says_so() {
    let manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let proxy = ConnectProxy::start(Some("Basic bWU6cEBzcw==")).await;
    let mut config = manager.dial_config();
    config.proxy = Some(proxy.address.to_string().parse().unwrap());
    let error = dial_error(&config, &manager.identity(1, DAY), &clock).await;
    assert!(matches!(error, TunnelError::ProxyRefused { .. }), "{error}");
    assert!(error.to_string().contains("give the user and password"), "{error}");
}

#[tokio::test]
async fn a_proxy_that_can_not_reach_the_manager_says_so() {
    let manager = Manager::start().await;
    let clock: Arc<dyn Clock> = manager.clock.clone();
    let proxy = ConnectProxy::start(None).await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut config = manager.dial_config_to(free);
    config.proxy = Some(proxy.address.to_string().parse().unwrap());
    let error = dial_error(&config, &manager.identity(1, DAY), &clock).await;
    assert!(error.to_string().contains("the proxy can't reach the manager"), "{error}");
}
