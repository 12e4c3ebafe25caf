//! Who outside is told when a call waits for a person.

use super::reader::Reader;
use lettre::message::Mailbox;
use std::net::IpAddr;
use std::path::PathBuf;
use url::{Host, Url};

/// Who outside is told, once, when a call waits for a person. Each is told on its own. Default: nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotifyConfig {
    /// A program: `notify_url` and `notify_secret_file`.
    pub webhook: Option<WebhookConfig>,
    /// Phones: `push_url` and `push_token_file`.
    pub push: Option<PushConfig>,
    /// Mail: `mail_server`, `mail_user`, `mail_password_file`, `mail_from` and `mail_to`.
    pub mail: Option<MailConfig>,
}

/// A program outside that is told when a call waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookConfig {
    /// Where it listens, `https://…` or `http://…`.
    pub url: Url,
    /// The file with the secret that signs what it is told: at least 16 bytes; blanks around them don't count.
    pub secret_file: PathBuf,
}

/// A server that speaks ntfy's protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushConfig {
    /// The server, without the topic.
    pub server: Url,
    /// The topic that phones listen to: the last part of `push_url`.
    pub topic: String,
    /// The file with an access token, if the server wants one.
    pub token_file: Option<PathBuf>,
}

/// How mail goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailConfig {
    /// The mail server.
    pub host: String,
    /// Its port: by default 465 with `smtps`, else 587, and 25 on this machine.
    pub port: u16,
    /// What protects the way there.
    pub security: MailSecurity,
    /// The user, and the file with the password.
    pub credentials: Option<(String, PathBuf)>,
    /// Who the mail is from.
    pub from: Mailbox,
    /// Who gets it, 1 to 50.
    pub to: Vec<Mailbox>,
}

/// What protects the way to a mail server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailSecurity {
    /// TLS from the first byte: `smtps://`.
    Tls,
    /// STARTTLS, or no mail: `smtp://`.
    StartTls,
    /// Nothing: `smtp://` to this machine.
    Clear,
}

const MOST_ADDRESSES: usize = 50;

impl NotifyConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self { webhook: webhook(reader), push: push(reader), mail: mail(reader) }
    }
}

fn webhook(reader: &mut Reader<'_>) -> Option<WebhookConfig> {
    const URL: &str = "security.approval.notify_url";
    const SECRET_FILE: &str = "security.approval.notify_secret_file";
    let url = http_url(reader, URL, "\"https://hooks.example/steadyhand\"");
    match (url, file(reader, SECRET_FILE)) {
        (None, None) => None,
        (Some(url), Some(secret_file)) => Some(WebhookConfig { url, secret_file }),
        (Some(_), None) => {
            reader.problem(SECRET_FILE, "must name the file with the secret that signs what is told");
            None
        }
        (None, Some(_)) => {
            reader.problem(URL, "must say where to tell it, since there is a secret for it");
            None
        }
    }
}

fn push(reader: &mut Reader<'_>) -> Option<PushConfig> {
    const URL: &str = "security.approval.push_url";
    const TOKEN_FILE: &str = "security.approval.push_token_file";
    let (url, token_file) =
        (http_url(reader, URL, "\"https://ntfy.example/my-topic\""), file(reader, TOKEN_FILE));
    let Some(mut server) = url else {
        if token_file.is_some() {
            reader.problem(URL, "must say where to tell it, since there is a token for it");
        }
        return None;
    };
    let topic = server.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default().to_owned();
    if topic.is_empty()
        || !topic.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    {
        reader.problem(
            URL,
            "must end with a topic of A-Z, a-z, 0-9, `-` and `_`, such as https://ntfy.example/my-topic",
        );
        return None;
    }
    if let Ok(mut parts) = server.path_segments_mut() {
        parts.pop();
    }
    server.set_query(None);
    Some(PushConfig { server, topic, token_file })
}

fn mail(reader: &mut Reader<'_>) -> Option<MailConfig> {
    const SERVER: &str = "security.approval.mail_server";
    const USER: &str = "security.approval.mail_user";
    const PASSWORD_FILE: &str = "security.approval.mail_password_file";
    const FROM: &str = "security.approval.mail_from";
    const TO: &str = "security.approval.mail_to";
    let url: Option<Url> = reader.parsed(SERVER, "\"smtps://mail.example\"");
    let (user, password_file) = (reader.text(USER), file(reader, PASSWORD_FILE));
    let from = reader.text(FROM);
    let to = reader.list(TO);
    let Some(url) = url else {
        if user.is_some() || password_file.is_some() || from.is_some() || !to.is_empty() {
            reader.problem(SERVER, "must name the mail server, such as smtps://mail.example");
        }
        return None;
    };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let security = match url.scheme() {
        "smtps" => MailSecurity::Tls,
        "smtp" if is_this_machine(url.host()) => MailSecurity::Clear,
        "smtp" => MailSecurity::StartTls,
        _ => {
            reader.problem(SERVER, "must begin with smtps:// or smtp://");
            return None;
        }
    };
    if host.is_empty() {
        reader.problem(SERVER, "names no host");
    }
    if url.password().is_some() || !url.username().is_empty() {
        reader.problem(SERVER, "names a user; that belongs into mail_user, and the password into a file");
    }
    let port = url.port().unwrap_or(match security {
        MailSecurity::Tls => 465,
        MailSecurity::StartTls => 587,
        MailSecurity::Clear => 25,
    });
    let credentials = match (user, password_file) {
        (Some(user), Some(file)) => Some((user, file)),
        (None, None) => None,
        (Some(_), None) => {
            reader.problem(PASSWORD_FILE, "must name the file with the password of that user");
            None
        }
        (None, Some(_)) => {
            reader.problem(USER, "must name the user that the password is for");
            None
        }
    };
    let mut address = |key: &str, text: &str| match text.parse::<Mailbox>() {
        Ok(mailbox) => Some(mailbox),
        Err(_) => {
            reader.problem(key, &format!("`{text}` is no mail address, such as ops@example.org"));
            None
        }
    };
    let to: Vec<Mailbox> = to.iter().filter_map(|text| address(TO, text)).collect();
    let from = match from {
        Some(text) => address(FROM, &text),
        None => {
            reader.problem(FROM, "must say who the mail is from");
            None
        }
    };
    if to.is_empty() || to.len() > MOST_ADDRESSES {
        reader.problem(TO, &format!("must list 1 to {MOST_ADDRESSES} mail addresses"));
    }
    Some(MailConfig { host, port, security, credentials, from: from?, to })
}

fn http_url(reader: &mut Reader<'_>, key: &str, example: &str) -> Option<Url> {
    let url: Option<Url> = reader.parsed(key, example);
    if url.as_ref().is_some_and(|url| !matches!(url.scheme(), "https" | "http")) {
        reader.problem(key, "must begin with https:// or http://");
    }
    url
}

fn file(reader: &mut Reader<'_>, key: &str) -> Option<PathBuf> {
    let path = reader.text(key).map(PathBuf::from);
    if path.as_ref().is_some_and(|path| !path.is_absolute()) {
        reader.problem(key, "must begin with /");
    }
    path
}

/// Where nobody is on the way. A URL of this scheme keeps addresses as text.
fn is_this_machine(host: Option<Host<&str>>) -> bool {
    match host {
        Some(Host::Domain(name)) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
