//! Names inside certificates: `spiffe://<deployment>/manager` and `spiffe://<deployment>/edge/<id>`.

use model::EdgeId;
use std::fmt;
use std::str::FromStr;

/// Trust domain of one installation: 1 to 63 of `[a-z0-9.-]`, starting and ending with a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deployment(String);

impl Deployment {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Deployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Deployment {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let inner =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
        let outer = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let bytes = text.as_bytes();
        if bytes.len() > 63
            || !bytes.iter().all(|byte| inner(*byte))
            || !outer(bytes.first())
            || !outer(bytes.last())
        {
            return Err(BadName { name: text.to_owned() });
        }
        Ok(Self(text.to_owned()))
    }
}

/// Who a certificate is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpiffeId {
    /// The manager of a deployment.
    Manager(Deployment),
    /// One edge of a deployment.
    Edge(Deployment, EdgeId),
}

impl SpiffeId {
    /// The deployment that the name belongs to.
    pub fn deployment(&self) -> &Deployment {
        match self {
            Self::Manager(deployment) | Self::Edge(deployment, _) => deployment,
        }
    }

    /// The edge that the name is for, if it is an edge's.
    pub fn edge(&self) -> Option<EdgeId> {
        match self {
            Self::Manager(_) => None,
            Self::Edge(_, id) => Some(*id),
        }
    }
}

impl fmt::Display for SpiffeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manager(deployment) => write!(f, "spiffe://{deployment}/manager"),
            Self::Edge(deployment, id) => write!(f, "spiffe://{deployment}/edge/{id}"),
        }
    }
}

impl FromStr for SpiffeId {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let bad = || BadName { name: text.to_owned() };
        let (domain, path) =
            text.strip_prefix("spiffe://").and_then(|rest| rest.split_once('/')).ok_or_else(bad)?;
        let deployment: Deployment = domain.parse()?;
        if path == "manager" {
            return Ok(Self::Manager(deployment));
        }
        let digits = path.strip_prefix("edge/").ok_or_else(bad)?;
        let id = digits.parse::<i64>().map_err(|_| bad())?;
        // One way to write each id, so that two texts never name one edge.
        if id < 1 || id.to_string() != digits {
            return Err(bad());
        }
        Ok(Self::Edge(deployment, EdgeId(id)))
    }
}

/// A text that is no name of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a name of a Steadyhand deployment, manager or edge")]
pub struct BadName {
    /// The text.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_edge_has_exactly_one_name() {
        for text in [
            "spiffe://d/edge/01",
            "spiffe://d/edge/+1",
            "spiffe://d/edge/0",
            "spiffe://d/edge/-1",
            "spiffe://d/edge/1/",
            "spiffe://D/edge/1",
            "spiffe:///edge/1",
            "spiffe://d/manager/",
            "https://d/manager",
            "spiffe://d/edge/9223372036854775808",
        ] {
            assert!(text.parse::<SpiffeId>().is_err(), "{text} was taken for a name");
        }
    }

    proptest! {
        #[test]
        fn every_name_reads_back(domain in "[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", id in 1..i64::MAX) {
            let deployment: Deployment = domain.parse().unwrap();
            for name in [SpiffeId::Manager(deployment.clone()), SpiffeId::Edge(deployment, EdgeId(id))] {
                prop_assert_eq!(name.to_string().parse::<SpiffeId>().unwrap(), name);
            }
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".{0,80}") {
            if let Ok(name) = text.parse::<SpiffeId>() {
                prop_assert_eq!(name.to_string(), text);
            }
        }
    }
}
