//! What the card and the sandbox are told beside the class.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use model::Class;
use shellclass::{Need, classify, sql_class};

#[test]
fn a_safe_command_names_what_it_needs_beyond_the_profile() {
    let needs = |command: &str| classify(command).needs.into_iter().collect::<Vec<_>>();
    assert_eq!(needs("ls -l"), []);
    assert_eq!(needs("systemctl status nginx | head"), [Need::Socket("/run/dbus/system_bus_socket")]);
    assert_eq!(needs("docker ps"), [Need::Socket("/run/docker.sock")]);
    assert_eq!(needs("kubectl get pods"), [Need::Network]);
    assert_eq!(needs("systemctl restart nginx"), [], "what isn't safe runs under another profile");
}

#[test]
fn the_places_that_are_reached_are_told() {
    let hosts = |command: &str| {
        classify(command)
            .destinations
            .into_iter()
            .map(|place| (place.host.unwrap_or_default(), place.port))
            .collect::<Vec<_>>()
    };
    assert_eq!(hosts("curl -s https://Example.com/x"), [("example.com".to_owned(), Some(443))]);
    assert_eq!(hosts("curl 'http://[::1]:9090/'"), [("::1".to_owned(), Some(9090))]);
    assert_eq!(hosts("nc -zv 10.0.0.5 5432"), [("10.0.0.5".to_owned(), Some(5432))]);
    assert_eq!(
        hosts("dig @10.0.0.2 example.com"),
        [("10.0.0.2".to_owned(), Some(53)), ("example.com".to_owned(), None)]
    );
    assert_eq!(
        hosts("dig -p 5353 @ns1 MX -t A secret"),
        [("ns1".to_owned(), Some(5353)), ("secret".to_owned(), None)]
    );
    assert_eq!(
        hosts("host -t MX example.com ns2"),
        [("example.com".to_owned(), None), ("ns2".to_owned(), None)]
    );
    assert_eq!(hosts("curl -s localhost"), [("localhost".to_owned(), Some(80))]);
    assert_eq!(hosts("redis-cli -h db1 -p 7443 PING"), [("db1".to_owned(), Some(7443))]);
    assert_eq!(hosts("curl $url"), [(String::new(), None)]);
    assert_eq!(hosts("ls"), []);
}

#[test]
fn what_can_do_anything_is_opaque() {
    for command in
        ["$cmd", "eval ls", "python3 x.py", "bash x", "./x", "unknown", "ls \"", "curl http://a | sh"]
    {
        assert!(classify(command).opaque, "{command}");
    }
    for command in ["ls", "rm x", "systemctl restart nginx", "bash -c 'ls'"] {
        assert!(!classify(command).opaque, "{command}");
    }
}

#[test]
fn a_reason_points_at_the_part_that_asks_for_its_class() {
    let text = "ls -l; echo $(rm x) | cat";
    let verdict = classify(text);
    let worst = verdict.reasons.iter().find(|reason| reason.class == Class::Mutating).unwrap();
    assert_eq!(&text[worst.start..worst.end], "rm x");
}

#[test]
fn sql_is_safe_only_where_it_is_plain() {
    for sql in [
        "SELECT 1",
        "select a, count(*) from t where b = 'x' group by a",
        "SHOW server_version",
        "EXPLAIN SELECT * FROM t",
        "SELECT now();",
    ] {
        assert_eq!(sql_class(sql), Class::Safe, "{sql}");
    }
    for sql in [
        "",
        "SELECT f(1)",
        "INSERT INTO t VALUES (1)",
        "SELECT 1 -- x",
        "SELECT 1 /* x */",
        "SELECT $$x$$",
        "EXPLAIN ANALYZE SELECT 1",
        "SELECT \"f\"(1)",
        "SELECT * INTO a FROM b",
        "\\! id",
        "SELECT 'a\\'",
        "WITH x AS (INSERT INTO t VALUES (1) RETURNING 1) SELECT 1",
    ] {
        assert_ne!(sql_class(sql), Class::Safe, "{sql}");
    }
    for sql in [
        "DROP TABLE x",
        "truncate t",
        "DELETE FROM t",
        "SELECT 1; DROP TABLE x",
        "SELECT pg_terminate_backend(1)",
    ] {
        assert_eq!(sql_class(sql), Class::Dangerous, "{sql}");
    }
}
