//! What can be wrong with keys, documents and evidence.

/// A key that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(pub(crate) String);

/// A procedure or a list of approvers that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It can't be read; the text says where and what would be right.
    #[error("{0}")]
    Malformed(String),
    /// None of the pinned keys made its signature.
    #[error(
        "the signature of {what} fits none of the pinned keys ({pinned}): it was made by another key, or the file was changed after it was signed"
    )]
    Unsigned {
        /// What was signed.
        what: &'static str,
        /// The fingerprints of the keys that were tried.
        pinned: String,
    },
    /// No key is pinned, so nothing can be trusted.
    #[error("no key is pinned for {what}, so none can be trusted")]
    NothingPinned {
        /// What was signed.
        what: &'static str,
    },
}

/// Why evidence doesn't let a call through. Each names the rule that it breaks; none tells a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    /// The evidence can't be read.
    #[error("the evidence can't be read: {0}")]
    Malformed(String),
    /// A document in it is not to be trusted.
    #[error("{0}")]
    Document(#[from] DocumentError),
    /// The statement is about something else than this call.
    #[error("the signed statement is for another call: its {field} differs")]
    OtherCall {
        /// The field that differs.
        field: &'static str,
    },
    /// The statement is too old.
    #[error("the signed statement was good until {0}, which is past")]
    Expired(String),
    /// The procedure doesn't cover the call.
    #[error("the procedure {sop} doesn't cover this call: {why}")]
    NotCovered {
        /// Its id and version.
        sop: String,
        /// What doesn't fit.
        why: String,
    },
    /// The list of approvers can't be used now.
    #[error("the list of approvers can't be used: {0}")]
    List(String),
    /// A signature is not one of a listed key over this statement.
    #[error("a signature in the name of `{person}` is not good: {why}")]
    Signature {
        /// In whose name.
        person: String,
        /// What is wrong.
        why: String,
    },
    /// Too few people.
    #[error(
        "{have} of {need} people have signed; one person counts once, and neither the requester nor the chat's owner counts"
    )]
    TooFew {
        /// Different people whose signatures are good.
        have: usize,
        /// How many there have to be.
        need: usize,
    },
    /// Too few signatures by key file.
    #[error(
        "{have} of {need} signatures were made by a key file outside of the browser, which this host asks for"
    )]
    TooFewIndependent {
        /// Good ones.
        have: usize,
        /// How many there have to be.
        need: usize,
    },
}
