//! What is said about a command.

use model::Class;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;

/// The class of one command with everything a decider wants to know about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The strictest class of all its parts.
    pub class: Class,
    /// Why, in the order of the text. A safe command has one reason for each simple command that the table vouches for.
    pub reasons: Vec<Reason>,
    /// What the read-only profile must open for it, if it is safe. Empty for other classes.
    pub needs: BTreeSet<Need>,
    /// Whether it can do anything: an interpreter, a word that only running tells, or text that can't be parsed.
    pub opaque: bool,
    /// Where it sends something to, as far as the text tells.
    pub destinations: Vec<Destination>,
}

/// Why a part of the text has its class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The class that this part alone asks for.
    pub class: Class,
    /// First byte of the part in the command's text.
    pub start: usize,
    /// The byte after its last one. Both are on character borders and not beyond the text.
    pub end: usize,
    /// A short sentence for the approval card.
    pub text: String,
}

/// Something that the read-only profile lacks and a safe command needs. Where the sandbox can't open exactly this, the
/// command isn't safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// Internet sockets.
    Network,
    /// One Unix socket, by its absolute path.
    Socket(&'static str),
    /// Reading one file or folder that the profile hides, by its absolute path.
    Read(&'static str),
}

impl Serialize for Need {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Network => serializer.serialize_str("network"),
            Self::Socket(path) => serializer.collect_str(&format_args!("socket:{path}")),
            Self::Read(path) => serializer.collect_str(&format_args!("read:{path}")),
        }
    }
}

/// A place that the command reaches out to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Destination {
    /// Host name or address as written, without brackets; `None` where only running the command would tell.
    pub host: Option<String>,
    /// Port, where the text tells one or its scheme implies one.
    pub port: Option<u16>,
    /// First byte of the word that names it.
    pub start: usize,
    /// The byte after its last one.
    pub end: usize,
}
