//! A manager that nobody should trust: the client side of the tunnel built anew, so that it can send what no honest one
//! would. It owns the authority, the address and the port, everything that a taken-over manager has; the people's keys it
//! doesn't have.

#![allow(dead_code, reason = "each test file uses its part of it")]

use edge::{DataDir, EdgeConfig, Refusals};
use model::{CallId, Class, Clock, EdgeId, SystemClock, Timestamp};
use proto::v1::enrollment_server::{Enrollment, EnrollmentServer};
use proto::v1::{self, EnrollRequest, EnrollResponse, RejoinRequest, execute_event};
use serde_json::Value;
use signing::{Evidence, Signature, SignedDocument, SopRef, Statement};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use testkit::{Assertion, SOP_KEY, Signers};
use tokio::net::TcpListener;
use tonic::{Request, Response, Status};
use tunnel::pki::{Authority, EdgeIdentity, EdgeKey};
use tunnel::{ConnectionHandle, EdgeClient, Listener, ListenerConfig, ManagerTls, Settings};

/// No condition of these tests takes longer, however busy the machine is.
pub const LIMIT: Duration = Duration::from_secs(120);

pub const ORIGIN: &str = "https://steadyhand.example";
pub const RP_ID: &str = "steadyhand.example";

/// The version of the list of approvers that people use.
pub const LIST_VERSION: u64 = 7;

/// Nobody enrols here.
struct NoEnrollment;

#[tonic::async_trait]
impl Enrollment for NoEnrollment {
    async fn enroll(&self, _: Request<EnrollRequest>) -> Result<Response<EnrollResponse>, Status> {
        Err(Status::permission_denied("not here"))
    }

    async fn rejoin(&self, _: Request<RejoinRequest>) -> Result<Response<EnrollResponse>, Status> {
        Err(Status::permission_denied("not here"))
    }
}

/// The manager.
pub struct Rogue {
    authority: Arc<Authority>,
    listener: Listener,
    clock: Arc<dyn Clock>,
}

/// A connection of an edge, in the manager's hands.
pub struct Reached {
    pub client: EdgeClient,
    _handle: ConnectionHandle,
}

/// What came of a call that was sent.
#[derive(Debug)]
pub struct Told {
    pub accepted: bool,
    pub state: String,
    pub error: String,
    pub result: Value,
}

pub fn now() -> Timestamp {
    SystemClock.now()
}

pub fn from_now(seconds: i64) -> Timestamp {
    let moved = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { now() - moved } else { now() + moved }
}

impl Rogue {
    pub async fn start() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let authority = Arc::new(Authority::in_memory("test", clock.clone()).unwrap());
        let tls = Arc::new(ManagerTls::new(authority.clone(), clock.clone()).unwrap());
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = ListenerConfig::new(tls, clock.clone());
        let listener = Listener::start(socket, config, EnrollmentServer::new(NoEnrollment)).unwrap();
        Self { authority, listener, clock }
    }

    /// Gives a data directory the identity of an edge, as enrolling would.
    pub fn enroll(&self, dir: &Path, edge: i64) {
        std::fs::create_dir_all(dir).unwrap();
        let key = EdgeKey::generate().unwrap();
        let day = Duration::from_secs(86_400);
        let issued = self.authority.issue_edge(&key.request().unwrap(), EdgeId(edge), day).unwrap();
        let chain = issued.chain.iter().map(|der| der.to_vec()).collect();
        let identity = EdgeIdentity::assemble(key, chain, issued.ca.to_vec()).unwrap();
        identity.store(&dir.join("identity.pem")).unwrap();
    }

    /// The head of a configuration that dials this manager.
    pub fn tunnel_section(&self) -> String {
        format!(
            "[tunnel]\nmanager = \"{}\"\nreconnect_min = \"20ms\"\nreconnect_max = \"200ms\"\n",
            self.listener.local_addr()
        )
    }

    /// Waits until an edge dials.
    pub async fn reach(&mut self) -> Reached {
        let stream =
            tokio::time::timeout(LIMIT, self.listener.accept()).await.expect("nobody dialled").unwrap();
        let (client, handle) = tunnel::open(stream, &Settings::default(), &self.clock).await.unwrap();
        Reached { client, _handle: handle }
    }
}

impl Reached {
    pub async fn challenge(&self) -> String {
        let answer = self.client.clone().challenge(v1::ChallengeRequest {}).await.unwrap();
        let nonce = answer.into_inner().nonce;
        assert_eq!(nonce.len(), 32);
        nonce.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub async fn describe(&self) -> v1::DescribeResponse {
        self.client.clone().describe(v1::DescribeRequest {}).await.unwrap().into_inner()
    }

    pub async fn definition_hash(&self, skill: &str) -> String {
        let said = self.describe().await;
        said.skills.into_iter().find(|known| known.key == skill).unwrap().definition_hash
    }

    /// Sends a call and waits for its end.
    pub async fn send(&self, request: v1::ExecuteRequest) -> Result<Told, Status> {
        let mut events = self.client.clone().execute(request).await?.into_inner();
        let (mut accepted, mut result) = (false, Vec::new());
        while let Some(event) = events.message().await? {
            match event.event {
                Some(execute_event::Event::Accepted(_)) => accepted = true,
                Some(execute_event::Event::ResultChunk(chunk)) => result.extend_from_slice(&chunk),
                Some(execute_event::Event::Outcome(v1::CallOutcome { state, error, .. })) => {
                    let result = serde_json::from_slice(&result).unwrap_or_default();
                    return Ok(Told { accepted, state, error, result });
                }
                Some(execute_event::Event::Progress(_)) | None => {}
            }
        }
        Err(Status::unavailable("it ended early"))
    }
}

/// A host's directory and configuration.
pub struct Host {
    pub folder: tempfile::TempDir,
    pub config: PathBuf,
}

impl Host {
    /// Enrols a host with this configuration behind the tunnel's section.
    pub fn new(rogue: &Rogue, edge: i64, configuration: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        rogue.enroll(&folder.path().join("data"), edge);
        let config = folder.path().join("edge.toml");
        std::fs::write(&config, format!("{}{configuration}", rogue.tunnel_section())).unwrap();
        Self { folder, config }
    }

    pub fn dir(&self) -> DataDir {
        DataDir::new(self.folder.path().join("data"))
    }

    pub fn loaded(&self) -> EdgeConfig {
        EdgeConfig::load(&self.config).unwrap()
    }

    pub fn refusals(&self) -> Refusals {
        Refusals::load(&self.dir()).unwrap()
    }
}

/// What a host's owner pins, in the words of the configuration.
pub fn pins(signers: &Signers) -> String {
    format!(
        "[security.sop]\ntrusted_keys = [{SOP_KEY:?}]\n[security.approvers]\nroot_key = \"{}\"\norigin = \"{ORIGIN}\"\n\
         rp_id = \"{RP_ID}\"\n",
        signers.root_key()
    )
}

/// What the evidence of a call is.
#[derive(Clone, Debug)]
pub enum Brought {
    Nothing,
    /// The manager's word.
    Word,
    Signed,
    /// Any bytes.
    Bytes(Vec<u8>),
}

/// A call with everything that it brings, each part of which can be falsified.
#[derive(Clone, Debug)]
pub struct Plan {
    pub call_id: CallId,
    pub seq: u64,
    pub skill: String,
    pub args: Value,
    pub class: Class,
    pub definition_hash: String,
    pub brought: Brought,
    pub statement: Statement,
    pub signatures: Vec<Signature>,
    pub approvers: SignedDocument,
    pub sop: Option<SignedDocument>,
}

impl Plan {
    /// An honest call that nobody has signed yet.
    pub fn new(
        seq: u64,
        edge: i64,
        skill: &str,
        definition_hash: String,
        args: Value,
        nonce: String,
        signers: &Signers,
    ) -> Self {
        let call_id = CallId::generate();
        let statement = Statement {
            domain: Statement::domain(),
            call_id,
            edge_id: EdgeId(edge),
            tool: skill.to_owned(),
            definition_hash: definition_hash.clone(),
            args_hash: Statement::hash_of(&args),
            sop: None,
            requester: "olga".to_owned(),
            nonce,
            not_after: from_now(1800),
        };
        Self {
            call_id,
            seq,
            skill: skill.to_owned(),
            args,
            class: Class::Mutating,
            definition_hash,
            brought: Brought::Signed,
            statement,
            signatures: Vec::new(),
            approvers: signers.list(LIST_VERSION, from_now(86_400)),
            sop: None,
        }
    }

    /// Under a step of a procedure, as a dangerous call.
    pub fn under(mut self, sop: &SignedDocument, id: &str, step: &str) -> Self {
        self.class = Class::Dangerous;
        self.statement.sop = Some(SopRef { id: id.to_owned(), version: 1, step: step.to_owned() });
        self.sop = Some(sop.clone());
        self
    }

    /// `ana` signs by key file and `ben` by passkey what the statement says at this moment.
    pub fn sign(&mut self, signers: &Signers) {
        let by_passkey = signers.by_passkey("ben", &self.statement, Assertion::on(ORIGIN, RP_ID)).unwrap();
        self.signatures = vec![signers.by_file("ana", &self.statement).unwrap(), by_passkey];
    }

    /// People sign by key file.
    pub fn sign_by_file(&mut self, signers: &Signers, people: &[&str]) {
        self.signatures =
            people.iter().map(|person| signers.by_file(person, &self.statement).unwrap()).collect();
    }

    pub fn evidence(&self) -> Vec<u8> {
        Evidence {
            statement: self.statement.text(),
            signatures: self.signatures.clone(),
            approvers: self.approvers.clone(),
            sop: self.sop.clone(),
        }
        .to_bytes()
    }

    pub fn request(&self) -> v1::ExecuteRequest {
        let signed = |evidence| v1::evidence::Kind::Signed(v1::SignedApproval { evidence });
        let kind = match &self.brought {
            Brought::Nothing => v1::evidence::Kind::None(v1::NoEvidence {}),
            Brought::Word => {
                let approval_id = model::ApprovalId::generate().to_string();
                v1::evidence::Kind::ManagerApproval(v1::ManagerApproval { approval_id })
            }
            Brought::Signed => signed(self.evidence()),
            Brought::Bytes(bytes) => signed(bytes.clone()),
        };
        v1::ExecuteRequest {
            call_id: self.call_id.to_string(),
            seq: self.seq,
            skill: self.skill.clone(),
            args_json: self.args.to_string(),
            class: self.class.to_string(),
            definition_hash: self.definition_hash.clone(),
            deadline_ms: 60_000,
            evidence: Some(v1::Evidence { kind: Some(kind) }),
            origin: "chat".to_owned(),
        }
    }
}

/// A procedure for `skill` with these steps: name, where it may run, how often. A `target`, if there is one, is below /srv.
pub fn procedure(
    id: &str,
    skill: &str,
    steps: &[(&str, &str, u32)],
    from: Timestamp,
    until: Timestamp,
) -> String {
    let time = |at: Timestamp| at.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut text = format!(
        "id = \"{id}\"\nversion = 1\ntitle = \"For tests\"\nvalid_from = {}\nvalid_until = {}\n",
        time(from),
        time(until)
    );
    for (name, place, runs) in steps {
        text += &format!(
            "[[steps]]\nname = \"{name}\"\nskill = \"{skill}\"\n{place}\nmaximum_runs = {runs}\n[steps.parameters]\n\
             type = \"object\"\n[steps.parameters.properties]\ntarget = {{ pattern = \"^/srv/\" }}\n"
        );
    }
    text
}
