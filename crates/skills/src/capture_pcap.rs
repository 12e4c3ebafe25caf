//! Captures packets of one network interface into a file of the agent, and sums up what is in it. Mutating: it reads
//! what others say to each other.

mod pcap;

use crate::support::changes::captures::{self, Capture};
use crate::support::child;
use crate::support::errors::{denied, failed, invalid, not_found, of_io, unsupported};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Class, Scope};
use pcap::{NoPcap, Splitter, Summary, Tally};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::{Host, Metadata, Prerequisite, Skill, SkillContext, SkillError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::Child;
use tokio::time::{Instant, timeout, timeout_at};

/// Largest capture that the result itself carries.
const MAX_INLINE: u64 = 1024 * 1024;

/// What is kept back of the call's time.
const MARGIN: Duration = Duration::from_secs(5);

/// How long tcpdump may take to end.
const END_WITHIN: Duration = Duration::from_secs(2);

pub(crate) struct CapturePcap;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Name of the network interface, for example `eth0`; `any` stands for all.
    #[schemars(length(min = 1, max = 15), regex(pattern = r"^[A-Za-z0-9_][A-Za-z0-9_.@:\-]*$"))]
    interface: String,
    /// Which packets, as tcpdump takes it, for example `tcp port 443 and host 10.0.0.7`. Default: all.
    #[schemars(length(min = 1, max = 1000), regex(pattern = r"^[ -~]*$"))]
    filter: Option<String>,
    /// For how many seconds.
    #[serde(default = "default_seconds")]
    #[schemars(range(min = 1, max = 300))]
    seconds: u32,
    /// Largest file, in bytes. It ends earlier when that is full.
    #[serde(default = "default_max_bytes")]
    #[schemars(range(min = 1024, max = 268_435_456))]
    max_bytes: u64,
    /// Bytes that are kept of each packet. The headers are in the first 256.
    #[serde(default = "default_snaplen")]
    #[schemars(range(min = 64, max = 262_144))]
    snaplen: u32,
}

fn default_seconds() -> u32 {
    10
}

fn default_max_bytes() -> u64 {
    16 * 1024 * 1024
}

fn default_snaplen() -> u32 {
    256
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Who talked to whom, over what.
    summary: Summary,
    /// Where the capture is on the host, which only its owner can read. The latest ones are kept.
    file: String,
    /// Its size in bytes.
    file_bytes: u64,
    /// Its SHA-256.
    sha256: String,
    /// Whether it ended early, because the file was full.
    full: bool,
    /// Packets that the kernel had to drop, because they came too fast.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The file itself in base64, if it is small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pcap_base64: Option<String>,
}

impl Skill for CapturePcap {
    type Params = Params;
    type Output = Output;

    const METADATA: Metadata = Metadata {
        key: "capture_pcap",
        name: "Capture packets",
        description: "Capture the packets of one network interface for a while with tcpdump, keep them as a pcap file on the host, and sum up protocols, ports and who talked most. Reads what others say to each other: needs an approval.",
        class: Class::Mutating,
        scope: Scope::Host,
        category: "network",
        result_preview: "1,204 packets in 10 s, most of it 10.0.0.7 → 10.0.0.9 tcp 443",
        prerequisites: &[Prerequisite::Binary("tcpdump")],
    };

    async fn run(&self, cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        let host = cx.host.as_ref();
        if host.program("tcpdump").is_none() {
            return Err(unsupported("this host has no `tcpdump`"));
        }
        find_interface(host, &params.interface)?;
        let mut notes = Vec::new();
        let asked = Duration::from_secs(u64::from(params.seconds));
        let mut until = Instant::now() + asked;
        if let Some(deadline) = cx.deadline {
            let latest = deadline.checked_sub(MARGIN).unwrap_or(deadline);
            if latest < until {
                notes.push("the call's time was shorter than the capture was to be".to_owned());
                until = latest;
            }
        }
        let capture = captures::begin(host, cx.call_id)?;
        let mut running = start(host, &params)?;
        let recorded = record(&mut running, capture, until, params.max_bytes).await?;
        let said = running.finish().await?;
        judge(&recorded, &said, params.filter.as_deref())?;
        let Recorded { capture, tally, full, .. } = recorded;
        let summary = tally.summary();
        let kept = capture.keep()?;
        let pcap_base64 = (kept.bytes <= MAX_INLINE)
            .then(|| std::fs::read(&kept.path))
            .transpose()
            .map_err(|error| of_io("read the capture", &error))?
            .map(|bytes| STANDARD.encode(bytes));
        Ok(Output {
            summary,
            file: kept.path.display().to_string(),
            file_bytes: kept.bytes,
            sha256: kept.sha256,
            full,
            dropped: dropped(&said),
            notes,
            pcap_base64,
        })
    }
}

fn find_interface(host: &dyn Host, name: &str) -> Result<(), SkillError> {
    if name == "any" || host.path(&format!("/sys/class/net/{name}")).exists() {
        return Ok(());
    }
    let entries = std::fs::read_dir(host.path("/sys/class/net")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    model::order::sort(&mut names);
    Err(not_found(format!("this host has no network interface `{name}`; it has: {}", names.join(", "))))
}

/// tcpdump at work.
struct Tcpdump {
    child: Child,
    stdout: tokio::process::ChildStdout,
    errors: tokio::task::JoinHandle<String>,
}

fn start(host: &dyn Host, params: &Params) -> Result<Tcpdump, SkillError> {
    const MAX_ERRORS: u64 = 16 * 1024;
    let mut words = vec![
        format!("--interface={}", params.interface),
        format!("--snapshot-length={}", params.snaplen),
        "--packet-buffered".to_owned(),
        "--no-promiscuous-mode".to_owned(),
        "-n".to_owned(),
        "-w".to_owned(),
        "-".to_owned(),
        "--".to_owned(),
    ];
    words.extend(params.filter.clone());
    let mut child =
        child::prepare(host, "tcpdump", &words)?.spawn().map_err(|error| of_io("start `tcpdump`", &error))?;
    let stdout = child.stdout.take().ok_or_else(|| failed("tcpdump has no output"))?;
    let stderr = child.stderr.take();
    let errors = tokio::spawn(async move {
        let mut kept = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = (&mut stderr).take(MAX_ERRORS).read_to_end(&mut kept).await;
            let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
        }
        String::from_utf8_lossy(&kept).into_owned()
    });
    Ok(Tcpdump { child, stdout, errors })
}

impl Tcpdump {
    /// Asks it to end, which makes it tell what it dropped.
    fn interrupt(&self) {
        // The child has not been waited for, so the id is still its own.
        let id = self.child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(id) = id {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::INT);
        }
    }

    /// Waits for its end and tells what it said.
    async fn finish(mut self) -> Result<String, SkillError> {
        self.interrupt();
        if timeout(END_WITHIN, self.child.wait()).await.is_err() {
            self.child.kill().await.map_err(|error| of_io("end `tcpdump`", &error))?;
        }
        Ok(self.errors.await.unwrap_or_default())
    }
}

/// What was captured.
struct Recorded {
    capture: Capture,
    tally: Tally,
    full: bool,
    /// Whether tcpdump ended by itself.
    ended: bool,
    /// Whether the file has its header.
    begun: bool,
}

impl From<NoPcap> for SkillError {
    fn from(_: NoPcap) -> Self {
        failed("tcpdump wrote something that is no pcap")
    }
}

async fn record(
    running: &mut Tcpdump,
    mut capture: Capture,
    until: Instant,
    max_bytes: u64,
) -> Result<Recorded, SkillError> {
    let (mut splitter, mut tally) = (Splitter::default(), Tally::default());
    let mut buffer = vec![0; 64 * 1024];
    let (mut full, mut ended, mut begun) = (false, false, false);
    let mut until = until;
    let mut interrupted = false;
    while !full && !ended {
        let read = match timeout_at(until, running.stdout.read(&mut buffer)).await {
            Ok(read) => read.map_err(|error| of_io("read what tcpdump captured", &error))?,
            Err(_) if interrupted => break,
            Err(_) => {
                // What it still has comes now, and then its end.
                running.interrupt();
                interrupted = true;
                until = Instant::now() + END_WITHIN;
                continue;
            }
        };
        ended = read == 0 && !interrupted;
        if read == 0 {
            break;
        }
        let file = std::cell::RefCell::new(&mut capture);
        let go_on = splitter.push(
            &buffer[..read],
            |header| {
                begun = true;
                file.borrow_mut().write(header)
            },
            |packet| {
                if file.borrow().bytes() + packet.raw.len() as u64 > max_bytes {
                    return Ok(false);
                }
                tally.add(packet);
                file.borrow_mut().write(packet.raw).map(|()| true)
            },
        )?;
        full = !go_on;
    }
    Ok(Recorded { capture, tally, full, ended, begun })
}

/// Explains why tcpdump ended by itself.
fn judge(recorded: &Recorded, said: &str, filter: Option<&str>) -> Result<(), SkillError> {
    if recorded.begun && !recorded.ended {
        return Ok(());
    }
    let has = |part: &str| said.contains(part);
    let last = said.lines().rev().find(|line| line.starts_with("tcpdump: ")).unwrap_or_else(|| said.trim());
    let last = last.trim_start_matches("tcpdump: ");
    Err(if has("syntax error") || has("can't parse filter") || has("unknown host") || has("illegal token") {
        invalid(format!("`{}` is not a filter: {last}", filter.unwrap_or_default()))
    } else if has("permission") || has("Operation not permitted") {
        denied(format!("the agent may not capture packets: {last}"))
    } else if has("No such device") {
        not_found(format!("there is no such interface any more: {last}"))
    } else if last.is_empty() {
        failed("tcpdump ended at once and gave no reason")
    } else {
        failed(format!("tcpdump ended by itself: {last}"))
    })
}

/// The number in "3 packets dropped by kernel".
fn dropped(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("dropped by kernel"))?;
    line.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fixture::FakeHost;
    use skill::{ChangeRules, SkillErrorKind};

    /// A host whose tcpdump is a script.
    fn host(script: &str) -> FakeHost {
        let host = FakeHost::empty()
            .with("/sys/class/net/eth0/mtu", "1500")
            .with_program("/usr/bin/tcpdump", &format!("#!/bin/sh\n{script}\n"));
        let changes = ChangeRules { keep: Some(host.path("/keep")), ..ChangeRules::default() };
        host.with_changes(changes)
    }

    /// Writes a file header of Ethernet, and packets of 40 bytes of zeroes.
    const HEADER: &str = r"printf '\324\303\262\241\002\000\004\000\000\000\000\000\000\000\000\000\000\000\004\000\001\000\000\000'";
    const PACKET: &str = r"printf '\001\000\000\000\000\000\000\000\050\000\000\000\050\000\000\000'; /usr/bin/head -c 40 /dev/zero";

    fn params(seconds: u32, max_bytes: u64) -> Params {
        Params { interface: "eth0".to_owned(), filter: None, seconds, max_bytes, snaplen: 256 }
    }

    async fn run(cx: &SkillContext, params: Params) -> Result<Output, SkillError> {
        Skill::run(&CapturePcap, cx, params).await
    }

    #[tokio::test]
    async fn a_capture_is_kept_and_summed_up() {
        let script = format!(
            "trap 'echo 3 packets dropped by kernel >&2; exit 0' INT\n{HEADER}; {PACKET}; {PACKET}; while :; do /bin/sleep 0.05; done"
        );
        let cx = host(&script).context();
        let output = run(&cx, params(1, 100_000)).await.unwrap();
        assert_eq!((output.summary.packets, output.summary.bytes, output.dropped), (2, 80, Some(3)));
        assert_eq!((output.file_bytes, output.full), (24 + 2 * 56, false));
        let bytes = std::fs::read(&output.file).unwrap();
        assert_eq!(STANDARD.encode(&bytes), output.pcap_base64.unwrap());
        assert_eq!(output.sha256, model::canonical::sha256_hex(&bytes));
    }

    #[tokio::test]
    async fn a_capture_ends_with_a_whole_packet_when_its_file_is_full() {
        let script = format!("{HEADER}; while :; do {PACKET}; done");
        let cx = host(&script).context();
        let output = run(&cx, params(300, 1024)).await.unwrap();
        assert!(output.full && output.file_bytes <= 1024 && (output.file_bytes - 24) % 56 == 0, "{output:?}");
        assert_eq!(output.summary.packets, 17);
    }

    #[tokio::test]
    async fn why_tcpdump_gives_up_is_told_and_nothing_is_kept() {
        for (said, kind) in [
            ("tcpdump: can't parse filter expression: syntax error", SkillErrorKind::Invalid),
            (
                "tcpdump: eth0: You don't have permission to perform this capture",
                SkillErrorKind::PermissionDenied,
            ),
            ("tcpdump: eth0: No such device exists", SkillErrorKind::NotFound),
            ("tcpdump: something else", SkillErrorKind::Failed),
        ] {
            let host = host(&format!("echo \"{said}\" >&2; exit 1"));
            let keep = host.path("/keep/captures");
            let cx = host.context();
            let error = run(&cx, params(300, 1024)).await.unwrap_err();
            assert_eq!(error.kind, kind, "{error}");
            assert_eq!(std::fs::read_dir(keep).unwrap().count(), 0);
        }
    }

    #[tokio::test]
    async fn an_unknown_interface_is_told_with_those_that_there_are() {
        let cx = host("exit 99").context();
        let error = run(&cx, Params { interface: "eth9".to_owned(), ..params(1, 1024) }).await.unwrap_err();
        assert!(error.kind == SkillErrorKind::NotFound && error.message.ends_with("eth0"), "{error}");
    }
}
