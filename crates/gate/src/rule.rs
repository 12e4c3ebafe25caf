//! Which rule has the last word on a call, in the words in which it is configured.

use crate::Policy;
use model::{Class, Role};
use std::fmt;

/// Where in `[security.tool_policy]` the word stands that counts for a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyPlace {
    /// Under `tools`, by its key.
    Tool(String),
    /// Under `groups`: the strictest of its groups.
    Group(String),
    /// The default, which is `allow` where nothing is written.
    Default,
}

/// What the configuration says about a tool, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// What it says.
    pub policy: Policy,
    /// Where.
    pub place: PolicyPlace,
}

impl fmt::Display for PolicyRule {
    /// As it is written in the configuration, for example `security.tool_policy.groups.files = supervised`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.policy.as_str();
        match &self.place {
            PolicyPlace::Tool(key) => write!(f, "security.tool_policy.tools.{key} = {word}"),
            PolicyPlace::Group(group) => write!(f, "security.tool_policy.groups.{group} = {word}"),
            PolicyPlace::Default => write!(f, "security.tool_policy.default = {word}"),
        }
    }
}

/// Which rule has the last word on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// There is no such tool, or no admin has accepted the pack that it comes with.
    Catalogue,
    /// The tool's schema.
    Arguments,
    /// What the chat is narrowed to.
    Narrowing,
    /// How the host stands.
    Host,
    /// The hosts to which the account is restricted.
    Reach,
    /// What the machine lacks.
    Prerequisites,
    /// Where probes never go.
    Probes,
    /// Text from outside that entered the turn.
    UntrustedText,
    /// The configuration's word about the tool.
    Policy(PolicyRule),
    /// The roles of the person.
    Role(Role),
    /// The class of the call.
    Class(Class),
    /// A grant that covers the call.
    Grant,
    /// The procedure that a dangerous call needs.
    Procedure,
    /// The host's own file, which asks for signatures.
    Proof,
    /// Changes are frozen.
    Freeze,
    /// The host is read-only.
    ReadOnly,
    /// How many calls may be made.
    Limits,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalogue => f.write_str("catalogue"),
            Self::Arguments => f.write_str("arguments"),
            Self::Narrowing => f.write_str("tools of the chat"),
            Self::Host => f.write_str("host"),
            Self::Reach => f.write_str("hosts of the account"),
            Self::Prerequisites => f.write_str("prerequisites"),
            Self::Probes => f.write_str("security.probes"),
            Self::UntrustedText => f.write_str("untrusted text"),
            Self::Policy(rule) => rule.fmt(f),
            Self::Role(role) => write!(f, "role = {role}"),
            Self::Class(class) => write!(f, "class = {class}"),
            Self::Grant => f.write_str("grant"),
            Self::Procedure => f.write_str("procedure"),
            Self::Proof => f.write_str("approval_proof of the host"),
            Self::Freeze => f.write_str("freeze"),
            Self::ReadOnly => f.write_str("read_only"),
            Self::Limits => f.write_str("security.limits"),
        }
    }
}
