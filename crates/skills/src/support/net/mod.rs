//! Names, addresses and what may be talked to.

pub(crate) mod connect;
pub(crate) mod dns;
pub(crate) mod netlink;
pub(crate) mod ping;
pub(crate) mod request;
pub(crate) mod resolve;
pub(crate) mod rules;
pub(crate) mod target;
pub(crate) mod tls;
