//! A directory of the file system.
//!
//! - `by_handle`: addresses its files from a handle that is held, and notices when its path leads elsewhere
//! - `by_path`: addresses them by path, on systems without such handles

#[cfg(unix)]
mod by_handle;
#[cfg(any(not(unix), test))]
mod by_path;

use std::any::Any;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hamdex::Mapping;
use hamdex_atomic_file::sync_directory;

#[cfg(unix)]
use by_handle::{Directory, Identity};
#[cfg(not(unix))]
use by_path::{Directory, Identity};

use crate::disk::{Disk, DiskFile, DiskLock};

/// A directory of the file system.
///
/// On Unix it is opened when it is first used, and held: later operations concern the files of this directory, also
/// when it was moved, or another was put in its place. What changes files fails then.
#[derive(Debug, Clone)]
pub struct RealDisk {
    directory: Arc<Directory>,
}

/// The ways to open a file.
#[derive(Debug, Clone, Copy)]
enum Access {
    Read,
    Write,
    CreateNew,
    /// For reading and writing; created if it is missing.
    Lock,
}

impl RealDisk {
    /// Returns the directory of a path, which need not exist yet.
    pub fn new(root: impl AsRef<Path>) -> Self {
        Self { directory: Arc::new(Directory::new(root.as_ref())) }
    }

    fn file(&self, name: &str, access: Access) -> io::Result<RealFile> {
        let file = self.directory.open(name, access)?;
        let identity = Identity::of(&file)?;
        Ok(RealFile { file, identity, name: name.to_owned(), directory: Arc::clone(&self.directory) })
    }

    fn names(&self, directory: &str, are_directories: bool) -> io::Result<Vec<String>> {
        let mut names = self.directory.names(directory, are_directories)?;
        names.sort_unstable();
        Ok(names)
    }
}

impl Disk for RealDisk {
    fn path(&self, name: &str) -> PathBuf {
        let root = self.directory.path();
        // Joining nothing would add a separator.
        if name.is_empty() { root.to_path_buf() } else { root.join(name) }
    }

    fn create_directory(&self, name: &str) -> io::Result<()> {
        if !name.is_empty() {
            return self.directory.create_directory(name);
        }
        let path = self.directory.path();
        match std::fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            outcome => outcome?,
        }
        match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => sync_directory(Path::new(".")),
            Some(parent) => sync_directory(parent),
            None => Ok(()),
        }
    }

    fn create_new(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(self.file(name, Access::CreateNew)?))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut file = self.file(name, Access::Write)?;
        file.file.seek(SeekFrom::End(0))?;
        Ok(Box::new(file))
    }

    fn sync_directory(&self, name: &str) -> io::Result<()> {
        self.directory.sync(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.directory.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.directory.remove(name)
    }

    fn link(&self, name: &str, to: &dyn Disk, to_name: &str) -> io::Result<()> {
        let to = (to as &dyn Any).downcast_ref::<Self>().ok_or(io::ErrorKind::CrossesDevices)?;
        self.directory.link(name, &to.directory, to_name)
    }

    fn open(&self, name: &str) -> io::Result<File> {
        let file = self.directory.open(name, Access::Read)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        self.names(directory, false)
    }

    fn list_directories(&self, directory: &str) -> io::Result<Vec<String>> {
        self.names(directory, true)
    }

    fn is_link(&self, name: &str) -> bool {
        self.directory.is_link(name)
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        self.directory.length(name)
    }

    fn read_from(&self, name: &str, offset: u64) -> io::Result<Vec<u8>> {
        let mut file = self.open(name)?;
        // The length first: bytes that a writer appends meanwhile might be read in part.
        let length = file.metadata()?.len().saturating_sub(offset);
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        let capacity = usize::try_from(length).map_err(io::Error::other)?;
        bytes.try_reserve_exact(capacity).map_err(io::Error::other)?;
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_first(&self, name: &str, bytes: usize) -> io::Result<Vec<u8>> {
        let mut first = Vec::new();
        self.open(name)?.take(bytes as u64).read_to_end(&mut first)?;
        Ok(first)
    }

    fn map(&self, name: &str) -> io::Result<Mapping> {
        Mapping::open_file(&self.open(name)?)
    }

    fn load(&self, name: &str) -> io::Result<Mapping> {
        Mapping::load_file(&self.open(name)?)
    }

    fn map_changed(&self, name: &str, length: u64, change: &mut dyn FnMut(&mut [u8])) -> io::Result<Mapping> {
        Mapping::changed_file(&self.open(name)?, length, change)
    }

    fn temporary_directory(&self) -> Option<PathBuf> {
        Some(self.path(""))
    }

    fn lock(&self, name: &str, text: &str) -> io::Result<Result<Box<dyn DiskLock>, String>> {
        take_lock(&self.directory, name, text)
    }

    fn lock_text(&self, name: &str) -> io::Result<Option<String>> {
        match self.directory.open(name, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => text_of(&file?),
        }
    }

    fn check_held(&self) -> io::Result<()> {
        self.directory.check_held()
    }

    fn opened_anew(&self) -> Box<dyn Disk> {
        Box::new(Self { directory: Arc::new(self.directory.opened_anew()) })
    }
}

/// A file of the file system.
#[derive(Debug)]
struct RealFile {
    file: File,
    identity: Identity,
    name: String,
    directory: Arc<Directory>,
}

impl Write for RealFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for RealFile {
    fn sync(&mut self) -> io::Result<()> {
        // Data and length; nothing depends on the timestamps.
        self.file.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length)).map(drop)
    }

    #[cfg(target_os = "linux")]
    fn share_blocks_of(&mut self, original: &File) -> io::Result<()> {
        rustix::fs::ioctl_ficlone(&self.file, original).map_err(io::Error::from)
    }

    #[cfg(target_os = "linux")]
    fn reserve(&mut self, length: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, length).map_err(io::Error::from)
    }

    fn check_held(&self) -> io::Result<()> {
        self.directory.check_file(&self.name, self.identity)
    }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Makes the names in an open directory durable.
#[cfg(unix)]
fn sync_opened(directory: &File) -> io::Result<()> {
    match directory.sync_all() {
        // A file system that cannot sync a directory has nothing more to offer.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        outcome => outcome,
    }
}

/// Attempts to take a lock, and the pause between them: a process that looks up the holder has the lock for an instant.
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
fn take_lock(
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
fn text_of(file: &File) -> io::Result<Option<String>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Does everything that a directory can do.
    macro_rules! check {
        ($way:ident) => {{
            let root = tempfile::tempdir().unwrap();
            let directory = $way::Directory::new(root.path());
            assert_eq!(directory.path(), root.path());
            directory.create_directory("log").unwrap();
            directory.create_directory("log").unwrap();
            let mut file = directory.open("log/1", Access::CreateNew).unwrap();
            file.write_all(b"1234").unwrap();
            assert_eq!(
                directory.open("log/1", Access::CreateNew).unwrap_err().kind(),
                io::ErrorKind::AlreadyExists
            );
            assert!(directory.open("log", Access::Read).is_err() || cfg!(unix), "it is no file");
            directory.open("log/1", Access::Write).unwrap().write_all(b"5").unwrap();
            let mut text = String::new();
            directory.open("log/1", Access::Read).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "5234");
            let locked = directory.open("lock", Access::Lock).unwrap();
            let identity = $way::Identity::of(&locked).unwrap();
            directory.set_locked(Some(("lock".to_owned(), identity)));
            assert!(directory.leads_to("lock", identity).unwrap());
            directory.check_held().unwrap();
            directory.check_file("lock", identity).unwrap();
            directory.rename("log/1", "log/2").unwrap();
            directory.link("log/2", &directory.opened_anew(), "second").unwrap();
            assert_eq!(directory.length("second").unwrap(), 4);
            assert!(!directory.is_link("second"));
            directory.sync("").unwrap();
            directory.sync("log").unwrap();
            assert_eq!(directory.names("log", false).unwrap(), ["2"]);
            assert_eq!(directory.names("", true).unwrap(), ["log"]);
            directory.remove("log/2").unwrap();
            assert_eq!(directory.length("log/2").unwrap_err().kind(), io::ErrorKind::NotFound);
            directory.set_locked(None);
        }};
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_with_a_handle_has_its_files() {
        check!(by_handle);
    }

    #[test]
    fn a_directory_with_a_path_has_its_files() {
        check!(by_path);
    }
}
