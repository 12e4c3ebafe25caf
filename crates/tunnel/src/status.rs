//! Kinds of errors as gRPC codes, in one place.

use model::{Classify, ErrorKind};
use tonic::{Code, Status};

/// The gRPC code that stands for a kind.
pub const fn code_of(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::Invalid => Code::InvalidArgument,
        ErrorKind::Unauthenticated => Code::Unauthenticated,
        ErrorKind::Forbidden => Code::PermissionDenied,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::Conflict => Code::FailedPrecondition,
        ErrorKind::TooMany => Code::ResourceExhausted,
        ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::Internal => Code::Internal,
    }
}

/// The kind that a gRPC code stands for.
pub const fn kind_of(code: Code) -> ErrorKind {
    match code {
        Code::InvalidArgument | Code::OutOfRange => ErrorKind::Invalid,
        Code::Unauthenticated => ErrorKind::Unauthenticated,
        Code::PermissionDenied => ErrorKind::Forbidden,
        Code::NotFound | Code::Unimplemented => ErrorKind::NotFound,
        Code::FailedPrecondition | Code::AlreadyExists | Code::Aborted => ErrorKind::Conflict,
        Code::ResourceExhausted => ErrorKind::TooMany,
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown => {
            ErrorKind::Unavailable
        }
        Code::Ok | Code::Internal | Code::DataLoss => ErrorKind::Internal,
    }
}

/// The status that tells the other end about an error. Defects and broken parts are told as a fixed sentence; their
/// cause belongs into the log of the end where they happened.
pub fn status_of(error: &impl Classify) -> Status {
    let kind = error.kind();
    let text = match kind {
        ErrorKind::Internal => "something went wrong inside; the log of that machine says what".to_owned(),
        ErrorKind::Unavailable => "a part that is needed can't be reached; try again later".to_owned(),
        _ => error.to_string(),
    };
    Status::new(code_of(kind), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives_the_way_to_the_other_end() {
        for kind in [
            ErrorKind::Invalid,
            ErrorKind::Unauthenticated,
            ErrorKind::Forbidden,
            ErrorKind::NotFound,
            ErrorKind::Conflict,
            ErrorKind::TooMany,
            ErrorKind::Unavailable,
            ErrorKind::Internal,
        ] {
            assert_eq!(kind_of(code_of(kind)), kind);
        }
    }
}
