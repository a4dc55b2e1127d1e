//! A directory of the file system.

use std::any::Any;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hamdex::Mapping;
use hamdex_atomic_file::sync_directory;

use super::{Disk, DiskFile, DiskLock};

/// A directory of the file system.
#[derive(Debug, Clone)]
pub struct RealDisk {
    root: Arc<Path>,
}

impl RealDisk {
    /// Returns the directory of a path, which need not exist yet.
    pub fn new(root: impl AsRef<Path>) -> Self {
        Self { root: root.as_ref().into() }
    }

    /// Returns the names of one kind in a directory, in ascending order.
    fn names(&self, directory: &str, is_wanted: impl Fn(&fs::FileType) -> bool) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(directory))? {
            let entry = entry?;
            if is_wanted(&entry.file_type()?) {
                // A name that is not UTF-8 is foreign, and only shown.
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

impl Disk for RealDisk {
    fn path(&self, name: &str) -> PathBuf {
        // Joining nothing would add a separator.
        if name.is_empty() { self.root.to_path_buf() } else { self.root.join(name) }
    }

    fn create_directory(&self, name: &str) -> io::Result<()> {
        let path = self.path(name);
        match fs::create_dir(&path) {
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
        let file = File::options().write(true).create_new(true).open(self.path(name))?;
        Ok(Box::new(RealFile(file)))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut file = File::options().write(true).open(self.path(name))?;
        file.seek(SeekFrom::End(0))?;
        Ok(Box::new(RealFile(file)))
    }

    fn sync_directory(&self, name: &str) -> io::Result<()> {
        sync_directory(&self.path(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn link(&self, name: &str, to: &dyn Disk, to_name: &str) -> io::Result<()> {
        if !(to as &dyn Any).is::<Self>() {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        fs::hard_link(self.path(name), to.path(to_name))
    }

    fn open(&self, name: &str) -> io::Result<File> {
        open_regular(&self.path(name))
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        self.names(directory, |kind| !kind.is_dir())
    }

    fn list_directories(&self, directory: &str) -> io::Result<Vec<String>> {
        self.names(directory, fs::FileType::is_dir)
    }

    fn is_link(&self, name: &str) -> bool {
        fs::symlink_metadata(self.path(name)).is_ok_and(|metadata| metadata.is_symlink())
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        fs::metadata(self.path(name)).map(|metadata| metadata.len())
    }

    fn read_from(&self, name: &str, offset: u64) -> io::Result<Vec<u8>> {
        let mut file = open_regular(&self.path(name))?;
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
        open_regular(&self.path(name))?.take(bytes as u64).read_to_end(&mut first)?;
        Ok(first)
    }

    fn map(&self, name: &str) -> io::Result<Mapping> {
        Mapping::open(self.path(name))
    }

    fn load(&self, name: &str) -> io::Result<Mapping> {
        Mapping::load(self.path(name))
    }

    fn map_changed(&self, name: &str, length: u64, change: &mut dyn FnMut(&mut [u8])) -> io::Result<Mapping> {
        Mapping::changed(self.path(name), length, change)
    }

    fn temporary_directory(&self) -> Option<PathBuf> {
        Some(self.path(""))
    }

    fn lock(&self, name: &str, text: &str) -> io::Result<Result<Box<dyn DiskLock>, String>> {
        let path = self.path(name);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        for _ in 0..LOCK_ATTEMPTS {
            match file.try_lock() {
                Ok(()) => {
                    let lock = RealLock { file, process: std::process::id() };
                    // For information only: a full disk must not keep a store closed.
                    let _ = lock.set_text(text);
                    return Ok(Ok(Box::new(lock)));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        read_holder(&file).map(Err)
    }

    fn lock_text(&self, name: &str) -> io::Result<Option<String>> {
        let file = match File::open(self.path(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        match file.try_lock_shared() {
            Ok(()) => file.unlock().map(|()| None),
            Err(TryLockError::WouldBlock) => read_holder(&file).map(Some),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Attempts to take a lock, and the pause between them: a process that asks for the holder has the lock for an instant.
const LOCK_ATTEMPTS: u32 = 3;
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// Bytes of a lock file that are read at most.
const MAX_HOLDER_BYTES: u64 = 1 << 16;

fn read_holder(file: &File) -> io::Result<String> {
    let mut holder = Vec::new();
    file.take(MAX_HOLDER_BYTES).read_to_end(&mut holder)?;
    Ok(String::from_utf8_lossy(&holder).into_owned())
}

/// A lock on a file of the file system.
#[derive(Debug)]
struct RealLock {
    file: File,
    process: u32,
}

impl DiskLock for RealLock {
    fn set_text(&self, text: &str) -> io::Result<()> {
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
            let _ = self.file.unlock();
        }
    }
}

/// A file of the file system.
#[derive(Debug)]
struct RealFile(File);

impl Write for RealFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for RealFile {
    fn sync(&mut self) -> io::Result<()> {
        // Data and length; nothing depends on the timestamps.
        self.0.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)?;
        self.0.seek(SeekFrom::Start(length)).map(drop)
    }

    #[cfg(target_os = "linux")]
    fn share_blocks_of(&mut self, original: &File) -> io::Result<()> {
        rustix::fs::ioctl_ficlone(&self.0, original).map_err(io::Error::from)
    }

    #[cfg(target_os = "linux")]
    fn reserve(&mut self, length: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        fallocate(&self.0, FallocateFlags::KEEP_SIZE, 0, length).map_err(io::Error::from)
    }
}

fn open_regular(path: &Path) -> io::Result<File> {
    // Checked before it is opened, since opening a pipe would wait for a writer.
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}
