//! A small DNS client. Unlike a resolver library it tells which server answered, with which code and when, which is
//! what an operator wants to know. Messages are encoded and decoded by hickory.

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, RecordType};
use skill::Host;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, timeout};

/// Largest UDP answer that is asked for; the size that crosses the internet unfragmented.
const UDP_BYTES: u16 = 1232;

/// What `/etc/resolv.conf` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvConf {
    pub(crate) servers: Vec<SocketAddr>,
    pub(crate) search: Vec<String>,
    pub(crate) ndots: usize,
    pub(crate) timeout: Duration,
    pub(crate) attempts: u32,
}

/// An answer, and where it came from.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) message: Message,
    pub(crate) server: SocketAddr,
    pub(crate) elapsed: Duration,
    /// The answer came over TCP, because the one over UDP was cut.
    pub(crate) over_tcp: bool,
}

/// Why one server gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("no answer in time")]
    Timeout,
    #[error("{}", crate::support::errors::plain(.0))]
    Network(#[from] io::Error),
    #[error("the answer is not a DNS message")]
    Garbage,
}

impl ResolvConf {
    /// Reads the host's. As in libc, no file or no server means the server on this host.
    pub(crate) fn of(host: &dyn Host) -> Self {
        Self::parse(&std::fs::read_to_string(host.path("/etc/resolv.conf")).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut conf = Self {
            servers: Vec::new(),
            search: Vec::new(),
            ndots: 1,
            timeout: Duration::from_secs(5),
            attempts: 2,
        };
        for line in text.lines() {
            let line = line.split(['#', ';']).next().unwrap_or_default();
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    // A zone such as `%eth0` makes no `IpAddr`; such a server is left out.
                    conf.servers.extend(
                        words
                            .next()
                            .and_then(|word| word.parse::<IpAddr>().ok())
                            .map(|ip| SocketAddr::new(ip, 53)),
                    );
                }
                Some("search" | "domain") => conf.search = words.take(6).map(str::to_owned).collect(),
                Some("options") => words.for_each(|option| conf.set(option)),
                _ => {}
            }
        }
        conf.servers.truncate(3);
        if conf.servers.is_empty() {
            conf.servers.push(SocketAddr::from((Ipv4Addr::LOCALHOST, 53)));
        }
        conf
    }

    fn set(&mut self, option: &str) {
        let Some((name, Ok(value))) = option.split_once(':').map(|(name, value)| (name, value.parse::<u8>()))
        else {
            return;
        };
        match name {
            "ndots" => self.ndots = usize::from(value.min(15)),
            "timeout" => self.timeout = Duration::from_secs(u64::from(value.clamp(1, 30))),
            "attempts" => self.attempts = u32::from(value.clamp(1, 5)),
            _ => {}
        }
    }

    /// The full names to try for `name`, in order.
    pub(crate) fn candidates(&self, name: &str) -> Vec<String> {
        let absolute = format!("{}.", name.trim_end_matches('.'));
        if name.ends_with('.') || self.search.is_empty() {
            return vec![absolute];
        }
        let searched = self.search.iter().map(|domain| format!("{absolute}{}.", domain.trim_matches('.')));
        let mut all: Vec<String> = searched.filter(|name| !name.ends_with("..")).collect();
        if name.matches('.').count() >= self.ndots {
            all.insert(0, absolute);
        } else {
            all.push(absolute);
        }
        all
    }
}

/// Asks one server: over UDP, and over TCP if that answer was cut.
pub(crate) async fn ask(
    server: SocketAddr,
    name: &Name,
    record_type: RecordType,
    within: Duration,
) -> Result<Answer, AskError> {
    let begun = Instant::now();
    let work = async {
        let query = query(name, record_type);
        let bytes = query.to_vec().map_err(|_| AskError::Garbage)?;
        let message = over_udp(server, &query, &bytes).await?;
        if !message.metadata.truncation {
            return Ok::<_, AskError>((message, false));
        }
        Ok((over_tcp(server, &query, &bytes).await?, true))
    };
    let (message, over_tcp) = timeout(within, work).await.map_err(|_| AskError::Timeout)??;
    Ok(Answer { message, server, elapsed: begun.elapsed(), over_tcp })
}

fn query(name: &Name, record_type: RecordType) -> Message {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name.clone(), record_type));
    let mut edns = Edns::new();
    edns.set_max_payload(UDP_BYTES).set_version(0);
    message.set_edns(edns);
    message
}

async fn over_udp(server: SocketAddr, query: &Message, bytes: &[u8]) -> Result<Message, AskError> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        socket.send(bytes).await?;
        // UDP may lose it: asked again each second, until the caller's time is over.
        let again = Instant::now() + Duration::from_secs(1);
        while let Ok(received) = tokio::time::timeout_at(again, socket.recv(&mut buffer)).await {
            // Anything that doesn't answer this very question is someone else's, or forged.
            if let Ok(message) = Message::from_vec(&buffer[..received?])
                && answers(&message, query)
            {
                return Ok(message);
            }
        }
    }
}

async fn over_tcp(server: SocketAddr, query: &Message, bytes: &[u8]) -> Result<Message, AskError> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(bytes.len()).map_err(|_| AskError::Garbage)?;
    stream.write_all(&[&length.to_be_bytes(), bytes].concat()).await?;
    let mut answer = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut answer).await?;
    match Message::from_vec(&answer) {
        Ok(message) if answers(&message, query) => Ok(message),
        _ => Err(AskError::Garbage),
    }
}

/// Whether `message` answers `query`. Servers that fail early may leave out the question.
fn answers(message: &Message, query: &Message) -> bool {
    let metadata = &message.metadata;
    let same_question = message.queries == query.queries
        || (message.queries.is_empty()
            && message.answers.is_empty()
            && u16::from(metadata.response_code) != 0);
    metadata.id == query.metadata.id
        && metadata.message_type == MessageType::Response
        && metadata.op_code == OpCode::Query
        && same_question
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hickory_proto::op::ResponseCode;
    use hickory_proto::rr::{RData, Record};

    /// A DNS server on loopback, which answers with what `reply` makes of each query. Over TCP it always answers
    /// whole.
    pub(crate) async fn server(reply: fn(&Message) -> Message) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        tokio::spawn(async move {
            let mut buffer = [0; 2048];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
                let query = Message::from_vec(&buffer[..length]).unwrap();
                socket.send_to(&reply(&query).to_vec().unwrap(), from).await.unwrap();
            }
        });
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut query = vec![0; usize::from(stream.read_u16().await.unwrap())];
                stream.read_exact(&mut query).await.unwrap();
                let mut answer = reply(&Message::from_vec(&query).unwrap());
                answer.metadata.truncation = false;
                let bytes = answer.to_vec().unwrap();
                stream.write_u16(bytes.len() as u16).await.unwrap();
                stream.write_all(&bytes).await.unwrap();
            }
        });
        address
    }

    /// An answer to `query` with these records.
    pub(crate) fn reply(query: &Message, code: ResponseCode, records: Vec<RData>) -> Message {
        let mut message = Message::response(query.metadata.id, OpCode::Query);
        message.metadata.response_code = code;
        message.queries = query.queries.clone();
        let name = query.queries[0].name().clone();
        message.answers =
            records.into_iter().map(|data| Record::from_rdata(name.clone(), 300, data)).collect();
        message
    }

    #[test]
    fn the_resolver_file_is_read_as_libc_reads_it() {
        let conf = ResolvConf::parse(
            "# comment\nnameserver 10.0.0.2\nnameserver fe80::1%eth0\nnameserver ::1 ; x\nsearch a.example b.example\n\
             options ndots:2 timeout:1 attempts:9 rotate\nnonsense\n",
        );
        assert_eq!(conf.servers, ["10.0.0.2:53".parse().unwrap(), "[::1]:53".parse().unwrap()]);
        assert_eq!((conf.ndots, conf.timeout.as_secs(), conf.attempts), (2, 1, 5));
        assert_eq!(conf.candidates("db"), ["db.a.example.", "db.b.example.", "db."]);
        assert_eq!(conf.candidates("x.y.z")[0], "x.y.z.");
        assert_eq!(conf.candidates("db."), ["db."]);
        assert_eq!(ResolvConf::parse("").servers, ["127.0.0.1:53".parse().unwrap()]);
    }

    #[tokio::test]
    async fn a_cut_answer_is_fetched_again_over_tcp() {
        let server = server(|query| {
            let mut message =
                reply(query, ResponseCode::NoError, vec![RData::A(Ipv4Addr::new(192, 0, 2, 1).into())]);
            message.metadata.truncation = true;
            message
        })
        .await;
        let name = Name::from_ascii("example.com.").unwrap();
        let answer = ask(server, &name, RecordType::A, Duration::from_secs(5)).await.unwrap();
        assert!(answer.over_tcp && answer.message.answers.len() == 1);
        assert_eq!(answer.server, server);
    }

    #[tokio::test]
    async fn an_answer_to_another_question_is_not_believed() {
        let server = server(|query| {
            let mut message = reply(query, ResponseCode::NoError, vec![]);
            message.metadata.id = message.metadata.id.wrapping_add(1);
            message
        })
        .await;
        let name = Name::from_ascii("example.com.").unwrap();
        let error = ask(server, &name, RecordType::A, Duration::from_millis(50)).await.unwrap_err();
        assert!(matches!(error, AskError::Timeout));
    }

    #[tokio::test]
    async fn a_port_where_nobody_listens_fails_at_once() {
        let closed = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let name = Name::from_ascii("example.com.").unwrap();
        let error = ask(closed, &name, RecordType::A, Duration::from_secs(30)).await.unwrap_err();
        assert!(matches!(error, AskError::Network(_)), "{error}");
    }
}
