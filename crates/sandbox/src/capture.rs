//! Reading what a child writes: always to the end, so that it never blocks, and never keeping more than is allowed.

use skill::sandbox::Captured;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;

const CHUNK_BYTES: usize = 16 * 1024;

/// Longest line of progress that is passed on whole, in bytes.
const MAX_LINE_BYTES: usize = 4096;

/// Reads a stream to its end into `kept`, keeping the first `limit` bytes. Cancel safe: what was read stays.
pub(crate) async fn drain(mut from: impl AsyncRead + Unpin, limit: usize, kept: &mut Captured) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk).await {
            // A stream that fails has no more to give, like one at its end.
            Ok(0) | Err(_) => return,
            Ok(read) => {
                kept.total += read as u64;
                let room = limit.saturating_sub(kept.bytes.len()).min(read);
                kept.bytes.extend_from_slice(&chunk[..room]);
            }
        }
    }
}

/// Passes lines on until the end of the stream. Lines that nobody takes in time are dropped, and long ones are cut.
pub(crate) async fn lines(mut from: impl AsyncRead + Unpin, to: mpsc::Sender<String>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut line = Vec::new();
    let pass = |line: &mut Vec<u8>| {
        if !line.is_empty() {
            let _full = to.try_send(String::from_utf8_lossy(line).into_owned());
            line.clear();
        }
    };
    loop {
        let read = match from.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        for &byte in &chunk[..read] {
            if byte == b'\n' {
                pass(&mut line);
            } else if line.len() < MAX_LINE_BYTES {
                line.push(byte);
            }
        }
    }
    pass(&mut line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[tokio::test]
    async fn the_first_bytes_are_kept_and_the_rest_is_counted() {
        let mut kept = Captured::default();
        drain(&[7; 100_000][..], 1000, &mut kept).await;
        assert_eq!((kept.bytes.len(), kept.total, kept.truncated()), (1000, 100_000, true));
    }

    #[tokio::test]
    async fn lines_that_nobody_takes_do_not_stop_the_reading() {
        let (sender, mut receiver) = mpsc::channel(2);
        lines("one\ntwo\nthree\nfour".as_bytes(), sender).await;
        assert_eq!(receiver.recv().await.as_deref(), Some("one"));
        assert_eq!(receiver.recv().await.as_deref(), Some("two"));
        assert_eq!(receiver.recv().await, None);
    }

    proptest! {
        #[test]
        fn no_line_is_longer_than_allowed(bytes in proptest::collection::vec(any::<u8>(), 0..20_000)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let (sender, mut receiver) = mpsc::channel(20_000);
                lines(&bytes[..], sender).await;
                let wanted = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
                let mut seen = 0;
                while let Some(line) = receiver.recv().await {
                    // Bytes that are no text become three each.
                    assert!(line.len() <= 3 * MAX_LINE_BYTES);
                    seen += 1;
                }
                assert_eq!(seen, wanted);
            });
        }
    }
}
