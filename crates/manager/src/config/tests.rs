use super::*;
use gate::Policy;
use model::{Class, Scope};
use skill::Source;
use std::collections::BTreeMap;

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn parse(text: &str, variables: &[(&str, &str)]) -> Result<Config, Vec<Problem>> {
    Config::parse(text, &environment(variables), None, &["host_load".to_owned()])
}

fn problems(text: &str, variables: &[(&str, &str)]) -> String {
    let problems = parse(text, variables).unwrap_err();
    problems.iter().map(|problem| format!("{}: {}\n", problem.key, problem.message)).collect()
}

#[test]
fn keys_that_are_pinned_are_read_and_what_is_wrong_with_them_is_told() {
    let sop = include_str!("../../../signing/fixtures/sop.pub.pem");
    let root = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    let text = format!(
        "[security.sop]\ntrusted_keys = ['''{sop}''']\n[security.approvers]\nroot_key = \"{root}\"\n\
         origin = \"https://console.example\"\nrp_id = \"example\"\n"
    );
    let pins = parse(&text, &[]).unwrap().security.signing;
    assert_eq!((pins.sop_keys.len(), pins.relying_party.unwrap().id), (1, "example".to_owned()));
    assert_eq!(pins.approver_root.unwrap().to_base64(), root);
    for (text, at, told) in [
        ("[security.sop]\ntrusted_keys = [\"keys/a.pem\"]", "security.sop.trusted_keys", "absolute path"),
        ("[security.sop]\ntrusted_keys = [\"/nowhere/a.pem\"]", "security.sop.trusted_keys", "can't be read"),
        ("[security.approvers]\nroot_key = \"abc\"", "security.approvers.root_key", "32 bytes"),
        (
            "[security.approvers]\norigin = \"https://a.example\"",
            "security.approvers.rp_id",
            "must be there too",
        ),
        (
            "[security.approvers]\norigin = \"https://a.example/\"\nrp_id = \"a.example\"",
            "security.approvers.origin",
            "as browsers write it",
        ),
        (
            "[security.approvers]\norigin = \"https://a.example\"\nrp_id = \"b.example\"",
            "security.approvers.rp_id",
            "a domain above it",
        ),
    ] {
        let problems = parse(text, &[]).unwrap_err();
        assert!(problems.iter().any(|it| it.key == at && it.message.contains(told)), "{text}: {problems:?}");
    }
}

#[test]
fn nothing_configured_is_a_usable_configuration() {
    let config = parse("", &[]).unwrap();
    assert_eq!(config.http.listen.to_string(), "127.0.0.1:7180");
    assert_eq!(config.chat.access_mode.as_str(), "off");
    assert!(config.models.is_empty());
}

#[test]
fn all_problems_are_told_together_and_unknown_keys_name_the_nearest() {
    let told = problems(
        "[http]\nlisten = 7\nlissten = \"x\"\n[tunnel]\ncert_ttl = \"soon\"\n[telemtry]\nlog = \"info\"\n\
         [security.tool_policy]\ndefault = \"maybe\"",
        &[("STEADYHAND__CHAT__ACESS_MODE", "off"), ("TOOLS_ACCESS_MODE", "everyone")],
    );
    for part in [
        "http.listen: must be a text in quotes, not a number",
        "http.lissten: is not a known key; did you mean `http.listen`?",
        "tunnel.cert_ttl: `soon` isn't a length of time",
        "telemtry: is not a known key; did you mean `telemetry`?",
        "security.tool_policy.default: `maybe` is not allow, deny or supervised",
        "STEADYHAND__CHAT__ACESS_MODE: is not a known key; did you mean `STEADYHAND__CHAT__ACCESS_MODE`?",
        "TOOLS_ACCESS_MODE: `everyone` is not an access mode; use off, admins or all-users",
    ] {
        assert!(told.contains(part), "missing `{part}` in:\n{told}");
    }
}

#[test]
fn the_environment_comes_before_the_file() {
    let config = parse(
        "[http]\nlisten = \"127.0.0.1:1\"\n[chat]\nmodel_requests = 4",
        &[
            ("STEADYHAND__HTTP__LISTEN", "127.0.0.1:2"),
            ("STEADYHAND__CHAT__MODEL_REQUESTS", "5"),
            ("STEADYHAND__HTTP__ALLOWED_HOSTS", "one, two"),
        ],
    )
    .unwrap();
    assert_eq!(config.http.listen.port(), 2);
    assert_eq!(config.chat.limits.model_requests, 5);
    assert_eq!(config.http.allowed_hosts, ["one", "two"]);
}

#[test]
fn a_console_beyond_loopback_needs_tls() {
    assert!(problems("[http]\nlisten = \"0.0.0.0:7180\"", &[]).contains("isn't a loopback address"));
    parse("[http]\nlisten = \"0.0.0.0:7180\"\ntls_cert = \"c.pem\"\ntls_key = \"k.pem\"", &[]).unwrap();
    assert!(problems("[http]\ntls_cert = \"c.pem\"", &[]).contains("http.tls_key"));
}

#[test]
fn models_come_from_the_file_and_from_the_environment_and_the_file_wins() {
    let config = parse(
        "[models.openai]\nkind = \"openai_chat\"\nmodel = \"mine\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         api_key = \"sk-file\"",
        &[("OPENAI_API_KEY", "sk-env"), ("ANTHROPIC_API_KEY", "sk-ant"), ("OLLAMA_HOST", "127.0.0.1")],
    )
    .unwrap();
    let seen: Vec<(&str, &str, Option<&str>)> = config
        .models
        .iter()
        .map(|model| (model.name.as_str(), model.model.as_str(), model.base_url.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            ("openai", "mine", Some("http://127.0.0.1:9/v1")),
            ("anthropic", "claude-sonnet-4-5", None),
            ("ollama", "llama3.1", Some("http://127.0.0.1:11434/v1")),
        ]
    );
}

#[test]
fn secrets_are_not_in_the_debug_form() {
    let config = parse("", &[("ANTHROPIC_API_KEY", "sk-very-secret")]).unwrap();
    assert!(!format!("{config:?}").contains("very-secret"));
}

#[test]
fn a_file_that_is_not_toml_is_told_with_its_line() {
    assert!(problems("[http\nlisten = 1", &[]).contains("line 1"));
}

#[test]
fn policy_of_groups_and_tools_is_read() {
    let config = parse(
        "[security.tool_policy]\ndefault = \"supervised\"\n[security.tool_policy.groups]\nfiles = \"deny\"\n\
         [security.tool_policy.tools]\nhost_load = \"allow\"\n\"net-tools/nft_list\" = \"deny\"",
        &[],
    )
    .unwrap();
    let of = |key: &str, source: Source| config.security.tool_policy.of(Scope::Host, key, &source);
    assert_eq!(of("tail_file", Source::Builtin), Policy::Deny);
    assert_eq!(of("host_load", Source::Builtin), Policy::Allow);
    assert_eq!(of("nft_list", Source::Pack("net-tools".to_owned())), Policy::Deny);
    assert!(
        problems("[security.tool_policy.tools]\nnft_list = \"deny\"", &[]).contains("named with its pack")
    );
    assert!(problems("[security.tool_policy.groups]\nnone = \"deny\"", &[]).contains("there is no group"));
}

#[test]
fn limits_of_calls_and_places_of_probes_are_read_and_checked() {
    let config = parse(
        "[security.limits]\ncalls_per_hour_by_user = 100\ncalls_at_once_by_tool = 0\n\
         calls_per_hour_by_edge = 50\ncalls_at_once_by_edge = 2\n[security.probes]\n\
         allow = [\"*.example.com\", \"192.0.2.7\"]",
        &[("STEADYHAND__SECURITY__LIMITS__CALLS_AT_ONCE_BY_USER", "3")],
    )
    .unwrap();
    let limits = config.security.limits;
    assert_eq!((limits.per_person_hour, limits.per_person_at_once, limits.per_tool_at_once), (100, 3, 0));
    assert_eq!((limits.per_edge_hour, limits.per_edge_at_once), (50, 2));
    assert_eq!(config.security.probes_allow, ["*.example.com", "192.0.2.7"]);
    let told = problems(
        "[security.limits]\ncalls_per_hour_by_user = -1\ncalls_per_hour = 5\n[security.probes]\n\
         allow = [\"https://example.com\", \"example.com:443\"]",
        &[],
    );
    for part in [
        "security.limits.calls_per_hour_by_user: must be a number from 0 to",
        "security.limits.calls_per_hour: is not a known key; did you mean `security.limits.calls_per_hour_by_",
        "security.probes.allow: `https://example.com` is more than a host",
        "security.probes.allow: `example.com:443` has a port",
    ] {
        assert!(told.contains(part), "missing `{part}` in:\n{told}");
    }
}

#[test]
fn packs_and_what_holds_them_are_configured_as_on_an_edge() {
    let config = parse("", &[]).unwrap();
    assert_eq!(config.packs.dirs[1].display().to_string(), "/etc/steadyhand/packs");
    assert_eq!(config.packs.default_class, Class::Dangerous);
    let config = parse(
        "[packs]\ndirs = [\"/srv/packs\"]\ndefault_class = \"mutating\"\nnetwork = false\nwrite_roots = [\"/srv/data\"]\n\
         [security.sandbox]\nbackend = \"bubblewrap\"\nsafe_groups = []\n[security.resources]\nmax_memory_mb = 64",
        &[("STEADYHAND__SECURITY__RESOURCES__MAX_PIDS", "9")],
    )
    .unwrap();
    assert_eq!(
        (config.packs.dirs.len(), config.packs.default_class, config.packs.network),
        (1, Class::Mutating, false)
    );
    assert_eq!(config.children.backend, ::sandbox::Backend::Bubblewrap);
    assert!(config.children.safe_groups.is_empty());
    assert_eq!((config.children.resources.max_memory_mb, config.children.resources.max_pids), (64, 9));
    let told = problems(
        "[storage]\ndir = \"/srv/data\"\n[packs]\ndirs = [\"/etc/steadyhand/packs\", \"/srv/data/packs\"]",
        &[],
    );
    assert!(
        told.contains("packs.dirs: `/srv/data/packs` is where the manager keeps its own copies"),
        "{told}"
    );
    let off = parse("[security.sandbox]\nenabled = false\nbackend = \"docker\"", &[]).unwrap();
    assert_eq!(off.children.backend, ::sandbox::Backend::None);
    let told = problems(
        "[packs]\ndirs = [\"packs\"]\ndefault_class = \"nice\"\nnetwork = 1\n[security.sandbox]\nbackend = \"jail\"",
        &[],
    );
    for part in [
        "packs.dirs: `packs` must begin with /",
        "packs.default_class",
        "packs.network: must be true or false",
        "`jail` is not auto",
    ] {
        assert!(told.contains(part), "missing `{part}` in:\n{told}");
    }
}

#[test]
fn who_is_told_of_waiting_calls_needs_an_address_and_a_secret() {
    let section = |keys: &str| format!("[security.approval]\n{keys}");
    let both = "notify_url = \"https://hooks.example/x\"\nnotify_secret_file = \"/etc/steadyhand/hook\"";
    let notify = parse(&section(both), &[]).unwrap().security.notify;
    assert_eq!(notify.webhook.unwrap().url.as_str(), "https://hooks.example/x");
    assert_eq!((notify.push, notify.mail), (None, None));
    assert_eq!(parse("", &[]).unwrap().security.notify, NotifyConfig::default());
    for (keys, told) in [
        ("notify_url = \"https://hooks.example/x\"", "notify_secret_file: must name the file"),
        ("notify_secret_file = \"/x\"", "notify_url: must say where"),
        ("notify_url = \"ftp://x/\"\nnotify_secret_file = \"/x\"", "notify_url: must begin with https://"),
        ("notify_url = \"https://x/\"\nnotify_secret_file = \"x\"", "notify_secret_file: must begin with /"),
    ] {
        let problems = problems(&section(keys), &[]);
        assert!(problems.contains(told), "no `{told}` in:\n{problems}");
    }
}

#[test]
fn push_messages_and_mail_say_where_they_go() {
    let section = |keys: &str| format!("[security.approval]\n{keys}");
    let text = section(
        "push_url = \"https://ntfy.example/sub/our-topic\"\nmail_server = \"smtps://mail.example\"\nmail_user = \"steady\"\n\
         mail_password_file = \"/etc/steadyhand/mail\"\nmail_from = \"Steadyhand <steady@example.org>\"\n\
         mail_to = [\"ops@example.org\", \"Ana <ana@example.org>\"]",
    );
    let notify = parse(&text, &[]).unwrap().security.notify;
    let push = notify.push.unwrap();
    assert_eq!((push.server.as_str(), push.topic.as_str()), ("https://ntfy.example/sub", "our-topic"));
    let mail = notify.mail.unwrap();
    assert_eq!((mail.host.as_str(), mail.port, mail.security), ("mail.example", 465, MailSecurity::Tls));
    assert_eq!(mail.to.len(), 2);
    let rest = "\nmail_from = \"a@b.example\"\nmail_to = [\"c@d.example\"]";
    for (server, security, port) in [
        ("smtp://mail.example", MailSecurity::StartTls, 587),
        ("smtp://127.0.0.1:2525", MailSecurity::Clear, 2525),
        ("smtp://[::1]", MailSecurity::Clear, 25),
        ("smtp://localhost", MailSecurity::Clear, 25),
    ] {
        let text = section(&format!("mail_server = \"{server}\"{rest}"));
        let mail = parse(&text, &[]).unwrap().security.notify.mail.unwrap();
        assert_eq!((mail.security, mail.port), (security, port), "{server}");
    }
    for (keys, told) in [
        ("push_url = \"https://ntfy.example/\"", "push_url: must end with a topic"),
        ("push_token_file = \"/x\"", "push_url: must say where"),
        ("mail_to = [\"a@b.example\"]", "mail_server: must name the mail server"),
        ("mail_server = \"http://mail.example\"", "mail_server: must begin with smtps:// or smtp://"),
        ("mail_server = \"smtps://me:secret@mail.example\"", "mail_server: names a user"),
        (
            "mail_server = \"smtps://mail.example\"\nmail_user = \"me\"",
            "mail_password_file: must name the file",
        ),
        ("mail_server = \"smtps://mail.example\"", "mail_from: must say who"),
        ("mail_server = \"smtps://mail.example\"", "mail_to: must list 1 to 50"),
        ("mail_server = \"smtps://mail.example\"\nmail_to = [\"nobody\"]", "`nobody` is no mail address"),
    ] {
        let problems = problems(&section(keys), &[]);
        assert!(problems.contains(told), "no `{told}` in:\n{problems}");
        assert!(!problems.contains("secret@"), "{problems}");
    }
}
