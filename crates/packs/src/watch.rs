//! Notices changes of the packs' directories, without polling.

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, timeout_at};

/// How long nothing may happen before the directories are looked at: whoever copies a pack is done then.
const QUIET: Duration = Duration::from_millis(300);

/// How long is waited at most while things keep happening.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most directories that are watched.
const MAX_WATCHES: usize = 2048;

/// How deep is looked, as in packs.
const MAX_DEPTH: usize = 33;

/// Notices changes below some directories, also of one that isn't there yet.
#[derive(Debug)]
pub struct PackWatch {
    events: AsyncFd<OwnedFd>,
    dirs: Vec<PathBuf>,
    watched: BTreeSet<PathBuf>,
}

impl PackWatch {
    /// Begins to watch; what happens from here on is noticed.
    ///
    /// # Errors
    ///
    /// Fails where the kernel gives no more watches.
    pub fn new(dirs: &[PathBuf]) -> io::Result<Self> {
        #[expect(
            deprecated,
            reason = "an `OwnedFd` keeps its descriptor, and nothing unsafe is needed to say so"
        )]
        let events = AsyncFd::new(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?)?;
        let mut watch = Self { events, dirs: dirs.to_vec(), watched: BTreeSet::new() };
        watch.rewatch();
        Ok(watch)
    }

    /// Watches what is there now. Watching a directory again is one watch.
    fn rewatch(&mut self) {
        self.watched.clear();
        for dir in self.dirs.clone() {
            match nearest(&dir) {
                Some(there) if there == dir => self.watch_below(&dir, 0),
                // It may appear in there.
                Some(there) => self.watch(&there),
                None => {}
            }
        }
    }

    fn watch(&mut self, dir: &Path) {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        if self.watched.len() < MAX_WATCHES && self.watched.insert(dir.to_owned()) {
            // One that is gone already has left an event with its parent.
            let _ = inotify::add_watch(self.events.get_ref(), dir, flags);
        }
    }

    fn watch_below(&mut self, dir: &Path, depth: usize) {
        self.watch(dir);
        if depth >= MAX_DEPTH {
            return;
        }
        for entry in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // A pack may be a link to a directory; inside of packs links are not followed.
            let is_linked = depth == 0 && entry.path().is_dir();
            if is_dir || is_linked {
                self.watch_below(&entry.path(), depth + 1);
            }
        }
    }

    /// Waits until something has changed and it has become quiet.
    ///
    /// Cancel safety: nothing that happens is missed by a later call, but what had begun to be waited for is.
    ///
    /// # Errors
    ///
    /// Fails if the kernel tells no more.
    pub async fn changed(&mut self) -> io::Result<()> {
        self.some_event().await?;
        let patience = Instant::now() + PATIENCE;
        loop {
            // What is new inside of a new directory is noticed too.
            self.rewatch();
            let quiet = (Instant::now() + QUIET).min(patience);
            match timeout_at(quiet, self.some_event()).await {
                Ok(event) => event?,
                Err(_) => return Ok(()),
            }
            if Instant::now() >= patience {
                return Ok(());
            }
        }
    }

    /// Takes every event that there is; waits for the first.
    async fn some_event(&self) -> io::Result<()> {
        loop {
            let mut ready = self.events.readable().await?;
            let taken = ready.try_io(|fd| {
                let mut buffer = [MaybeUninit::uninit(); 4096];
                let mut reader = Reader::new(fd.get_ref(), &mut buffer);
                let mut taken = 0;
                loop {
                    match reader.next() {
                        Ok(_) => taken += 1,
                        Err(rustix::io::Errno::WOULDBLOCK) if taken > 0 => return Ok(taken),
                        Err(error) => return Err(error.into()),
                    }
                }
            });
            match taken {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) => return Err(error),
                Err(_not_ready) => {}
            }
        }
    }
}

/// The directory itself, or the nearest above it that is there.
fn nearest(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|path| path.is_dir()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails a test that would wait for ever.
    async fn notices(watch: &mut PackWatch) -> bool {
        tokio::time::timeout(Duration::from_secs(10), watch.changed())
            .await
            .is_ok_and(|result| result.is_ok())
    }

    #[tokio::test]
    async fn whatever_changes_in_a_pack_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let dirs = [folder.path().join("packs")];
        let mut watch = PackWatch::new(&dirs).unwrap();
        fs::create_dir(&dirs[0]).unwrap();
        assert!(notices(&mut watch).await, "the directory itself");
        let pack = dirs[0].join("alpha/lib");
        fs::create_dir_all(&pack).unwrap();
        assert!(notices(&mut watch).await, "a new pack");
        fs::write(pack.join("data"), "1").unwrap();
        assert!(notices(&mut watch).await, "a file deep in a pack");
        fs::remove_dir_all(dirs[0].join("alpha")).unwrap();
        assert!(notices(&mut watch).await, "a pack that goes");
    }

    #[tokio::test]
    async fn looking_at_packs_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("data"), "1").unwrap();
        let mut watch = PackWatch::new(&[folder.path().to_owned()]).unwrap();
        fs::read(folder.path().join("data")).unwrap();
        fs::read_dir(folder.path()).unwrap().count();
        let waited = tokio::time::timeout(Duration::from_millis(50), watch.changed()).await;
        assert!(waited.is_err());
    }
}
