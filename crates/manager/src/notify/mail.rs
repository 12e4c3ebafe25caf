//! Mail, over TLS from the first byte (`smtps`) or by STARTTLS, which the server must then offer; in clear only to this
//! machine.

use super::{Asked, LIMIT, read_secret};
use crate::config::{MailConfig, MailSecurity};
use anyhow::Context as _;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::ExposeSecret as _;

pub(super) struct Mail {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    to: Vec<Mailbox>,
}

impl Mail {
    pub(super) fn new(config: &MailConfig) -> anyhow::Result<Self> {
        let parameters =
            || TlsParameters::new(config.host.clone()).context("security.approval.mail_server: no TLS");
        let tls = match config.security {
            MailSecurity::Tls => Tls::Wrapper(parameters()?),
            MailSecurity::StartTls => Tls::Required(parameters()?),
            MailSecurity::Clear => Tls::None,
        };
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&config.host)
            .port(config.port)
            .timeout(Some(LIMIT))
            .tls(tls);
        if let Some((user, path)) = &config.credentials {
            let password = read_secret("security.approval.mail_password_file", path, 1)?;
            let password = password.expose_secret().to_owned();
            transport = transport.credentials(Credentials::new(user.clone(), password));
        }
        Ok(Self { transport: transport.build(), from: config.from.clone(), to: config.to.clone() })
    }

    pub(super) async fn tell(&self, asked: &Asked<'_>) -> Result<(), String> {
        let mut message = Message::builder().from(self.from.clone()).subject(asked.title());
        for to in &self.to {
            message = message.to(to.clone());
        }
        let text = format!("{}\r\n\r\n{}\r\n", asked.text(), asked.url);
        let message = message
            .header(ContentType::TEXT_PLAIN)
            .body(text)
            .map_err(|error| format!("the mail can't be written: {error}"))?;
        self.transport.send(message).await.map(drop).map_err(|error| error.to_string())
    }
}
