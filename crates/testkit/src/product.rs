//! A manager and edges, as the real binaries, in a folder of their own, on ports that the system picks.

use crate::process::{Lines, binary};
use crate::session::Session;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Once;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// How to start a [`Product`].
#[derive(Default)]
pub struct ProductBuilder {
    environment: Vec<(String, String)>,
    configuration: String,
    data: Option<PathBuf>,
}

impl ProductBuilder {
    /// Sets a variable of the manager's environment.
    #[must_use]
    pub fn environment(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Adds TOML to the manager's configuration.
    #[must_use]
    pub fn configuration(mut self, toml: &str) -> Self {
        self.configuration.push_str(toml);
        self.configuration.push('\n');
        self
    }

    /// Keeps the manager's data in this folder, not in the one of everything.
    #[must_use]
    pub fn data(mut self, folder: &Path) -> Self {
        self.data = Some(folder.to_owned());
        self
    }

    /// Starts the manager and waits until it serves.
    ///
    /// # Errors
    ///
    /// Fails if the binary is missing or the manager doesn't start; the end of its log is in the error.
    pub async fn start(self) -> Result<Product> {
        install_crypto();
        let folder = tempfile::tempdir()?;
        let mut product = Product {
            configuration: folder.path().join("steadyhand.toml"),
            folder,
            environment: self.environment,
            manager: None,
            console: String::new(),
            tunnel: String::new(),
            first_password: None,
        };
        let text = format!(
            "[http]\nlisten = \"127.0.0.1:0\"\n\n[tunnel]\nlisten = \"127.0.0.1:0\"\n\n[storage]\ndir = {:?}\n\n[chat]\naccess_mode = \"all-users\"\n\n{}",
            self.data.unwrap_or_else(|| product.folder.path().join("manager")),
            self.configuration
        );
        std::fs::write(&product.configuration, text)?;
        product.start_manager().await?;
        Ok(product)
    }
}

/// A running manager with its folder. Everything ends when it is dropped.
pub struct Product {
    folder: TempDir,
    configuration: PathBuf,
    environment: Vec<(String, String)>,
    manager: Option<Child>,
    /// Address of the console, `http://127.0.0.1:PORT`.
    pub console: String,
    /// Address of the tunnel, `127.0.0.1:PORT`.
    pub tunnel: String,
    /// What the manager printed at its first start.
    pub first_password: Option<String>,
}

/// The password that [`Product::admin`] chooses.
pub const ADMIN_PASSWORD: &str = "a long enough passphrase 9";

impl Product {
    /// Starts to describe one.
    pub fn builder() -> ProductBuilder {
        ProductBuilder::default()
    }

    /// The manager's configuration file.
    pub fn configuration(&self) -> &Path {
        &self.configuration
    }

    /// The folder of everything.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Process id of the running manager.
    pub fn manager_pid(&self) -> Option<u32> {
        self.manager.as_ref().and_then(Child::id)
    }

    /// Starts the manager (again) and waits until it serves.
    ///
    /// # Errors
    ///
    /// Fails if it ends before it serves; the end of its log is in the error.
    pub async fn start_manager(&mut self) -> Result<()> {
        let log_path = self.folder.path().join("manager.log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&log_path)?;
        let mut child = Command::new(binary("steadyhand")?)
            .arg("serve")
            .arg("--config")
            .arg(&self.configuration)
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = Lines::new(child.stdout.take().context("no pipe")?);
        loop {
            let Some(line) = lines.next().await? else {
                let text = std::fs::read_to_string(&log_path).unwrap_or_default();
                let tail: Vec<&str> = text.lines().rev().take(20).collect();
                anyhow::bail!(
                    "the manager did not start:\n{}",
                    tail.into_iter().rev().collect::<Vec<_>>().join("\n")
                );
            };
            if let Some(password) = line.strip_prefix("first password for admin: ") {
                self.first_password = Some(password.trim().to_owned());
            } else if let Some(address) = line.strip_prefix("tunnel: ") {
                address.trim().clone_into(&mut self.tunnel);
            } else if let Some(address) = line.strip_prefix("console: ") {
                address.trim().clone_into(&mut self.console);
                break;
            }
        }
        lines.drain();
        self.manager = Some(child);
        self.pin_ports()
    }

    /// Writes the ports that the system picked into the configuration, so that a restart serves where edges and
    /// sessions look for it.
    fn pin_ports(&self) -> Result<()> {
        let console = self.console.trim_start_matches("http://").trim_end_matches('/');
        let text = std::fs::read_to_string(&self.configuration)?;
        let text = text
            .replacen("[http]\nlisten = \"127.0.0.1:0\"", &format!("[http]\nlisten = \"{console}\""), 1)
            .replacen(
                "[tunnel]\nlisten = \"127.0.0.1:0\"",
                &format!("[tunnel]\nlisten = \"{}\"", self.tunnel),
                1,
            );
        std::fs::write(&self.configuration, text)?;
        Ok(())
    }

    /// Ends the manager with SIGKILL, as a crash would.
    ///
    /// # Errors
    ///
    /// Fails if there is none.
    pub async fn kill_manager(&mut self) -> Result<()> {
        let mut child = self.manager.take().context("no manager runs")?;
        child.kill().await?;
        Ok(())
    }

    /// Ends the manager with SIGTERM and waits for it.
    ///
    /// # Errors
    ///
    /// Fails if it doesn't end well.
    pub async fn stop_manager(&mut self) -> Result<()> {
        let mut child = self.manager.take().context("no manager runs")?;
        let pid = child.id().context("the manager has ended")?;
        let status = Command::new("kill").args(["-TERM", &pid.to_string()]).status().await?;
        ensure!(status.success(), "kill failed");
        let status = child.wait().await?;
        ensure!(status.success(), "the manager ended with {status}");
        Ok(())
    }

    /// What the manager logged so far.
    pub fn manager_log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("manager.log")).unwrap_or_default()
    }

    /// Runs the manager's command line against this product's configuration.
    ///
    /// # Errors
    ///
    /// Fails if the program can't be started.
    pub async fn command(&self, arguments: &[&str]) -> Result<std::process::Output> {
        Ok(Command::new(binary("steadyhand")?)
            .args(arguments)
            .arg("--config")
            .arg(&self.configuration)
            .stdin(Stdio::null())
            .output()
            .await?)
    }

    /// Signs in as the first administrator, choosing [`ADMIN_PASSWORD`] at the first time.
    ///
    /// # Errors
    ///
    /// Fails if either step is refused.
    pub async fn admin(&mut self) -> Result<Session> {
        let mut session = Session::new(&self.console);
        if let Some(first) = self.first_password.take() {
            session.sign_in("admin", &first).await?;
            session.change_password(&first, ADMIN_PASSWORD).await?;
        } else {
            session.sign_in("admin", ADMIN_PASSWORD).await?;
        }
        Ok(session)
    }

    /// Enrols an edge under a new name and starts it. It is online only when the API says so:
    /// [`Session::wait_online`].
    ///
    /// # Errors
    ///
    /// Fails if a token can't be had or enrolment fails.
    pub async fn start_edge(&self, name: &str) -> Result<EdgeProcess> {
        let token = self.command(&["enroll-token", "create"]).await?;
        ensure!(token.status.success(), "enroll-token: {}", String::from_utf8_lossy(&token.stderr));
        let token = String::from_utf8(token.stdout)?.trim().to_owned();
        let folder = self.folder.path().join("edges").join(name);
        std::fs::create_dir_all(&folder)?;
        let output = Command::new(binary("steadyhand-edge")?)
            .args(["enroll", "--manager", &self.tunnel, "--token", &token, "--name", name, "--dir"])
            .arg(&folder)
            .arg("--config")
            .arg(folder.join("edge.toml"))
            .output()
            .await?;
        ensure!(output.status.success(), "enroll: {}", String::from_utf8_lossy(&output.stderr));
        let mut edge = EdgeProcess { folder, child: None };
        edge.start()?;
        Ok(edge)
    }
}

/// A running edge. It ends when it is dropped.
pub struct EdgeProcess {
    folder: PathBuf,
    child: Option<Child>,
}

impl EdgeProcess {
    /// Its data folder, with its key and certificate.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Process id while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    /// Starts it (again).
    ///
    /// # Errors
    ///
    /// Fails if the program can't be started.
    pub fn start(&mut self) -> Result<()> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.join("edge.log"))?;
        let child = Command::new(binary("steadyhand-edge")?)
            .arg("run")
            .arg("--dir")
            .arg(&self.folder)
            .arg("--config")
            .arg(self.folder.join("edge.toml"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// Ends it with SIGKILL.
    ///
    /// # Errors
    ///
    /// Fails if it doesn't run.
    pub async fn kill(&mut self) -> Result<()> {
        self.child.take().context("the edge does not run")?.kill().await?;
        Ok(())
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("edge.log")).unwrap_or_default()
    }
}

/// TLS needs a process-wide provider; a second installation is not an error.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
