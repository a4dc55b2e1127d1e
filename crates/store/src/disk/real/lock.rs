//! The lock on a file of the file system.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{Access, Directory, Identity};
use crate::disk::DiskLock;

/// Attempts to take a lock, and the pause between them: a process that asks for the holder has the lock for an instant.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(2);

/// Bytes of a lock file that are read at most.
const MAX_HOLDER_BYTES: u64 = 1 << 16;

/// A lock on a file of the file system.
#[derive(Debug)]
struct RealLock {
    file: File,
    process: u32,
    was_held: bool,
    directory: Arc<Directory>,
}

/// Locks a file, which is created if it is missing. `Err` of the inner result is the text of the holder.
pub(super) fn take(
    directory: &Arc<Directory>,
    name: &str,
    text: &str,
) -> io::Result<Result<Box<dyn DiskLock>, String>> {
    let mut file = directory.open(name, Access::Lock)?;
    for _ in 0..ATTEMPTS {
        match file.try_lock() {
            Ok(()) => {
                let identity = Identity::of(&file)?;
                if !directory.leads_to(name, identity)? {
                    // It was removed or replaced before it was locked.
                    file = directory.open(name, Access::Lock)?;
                    continue;
                }
                let was_held = file.metadata()?.len() > 0;
                directory.set_locked(Some((name.to_owned(), identity)));
                let (process, directory) = (std::process::id(), Arc::clone(directory));
                let lock = RealLock { file, process, was_held, directory };
                // For information only: a full disk must not keep a store closed.
                let _ = lock.set_text(text);
                return Ok(Ok(Box::new(lock)));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    read_holder(&file).map(Err)
}

/// Returns the text of the process that has locked a file; `None` if none has.
pub(super) fn text_of(file: &File) -> io::Result<Option<String>> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| None),
        Err(TryLockError::WouldBlock) => read_holder(file).map(Some),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn read_holder(file: &File) -> io::Result<String> {
    let mut holder = Vec::new();
    file.take(MAX_HOLDER_BYTES).read_to_end(&mut holder)?;
    Ok(String::from_utf8_lossy(&holder).into_owned())
}

impl DiskLock for RealLock {
    fn was_held(&self) -> bool {
        self.was_held
    }

    fn set_text(&self, text: &str) -> io::Result<()> {
        self.directory.check_held()?;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())?;
        // Truncated last, so that a full disk need not allocate a block.
        file.set_len(text.len() as u64)
    }
}

impl Drop for RealLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child between fork and exec has it open as well. A forked process does not
        // own the lock.
        if std::process::id() == self.process {
            self.directory.set_locked(None);
            let _ = self.file.unlock();
        }
    }
}
