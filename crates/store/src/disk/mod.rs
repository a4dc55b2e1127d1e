//! The file operations of a store, behind one small trait.
//!
//! - [`RealDisk`]: a directory of the file system
//! - `SimulatedDisk`, in the crate `hamdex-simulated-disk` for tests: tracks durability, and can crash and fail
//!
//! Also what the files of a store have in common:
//!
//! - `layout`: their names
//! - `lock`: one writing process at a time
//! - `copy`: second names and copies, also of damaged files

pub(crate) mod copy;
pub(crate) mod layout;
pub(crate) mod lock;
mod real;

use std::any::Any;
use std::fs::File;
use std::path::PathBuf;
use std::{fmt, io};

use hamdex::Mapping;

pub(crate) use copy::link_or_copy;
pub use real::RealDisk;

/// A directory in which a store lives.
///
/// Names are relative to it, with `/` between directory and file; `""` is the directory itself. The trait has
/// the operations that a store needs and no more: files are created, appended to, synced, renamed, linked and
/// removed, and never changed in place. It promises what POSIX promises: bytes are durable after
/// [`DiskFile::sync`], names after [`Disk::sync_directory`], and a rename is atomic.
///
/// Every operation fails if the operating system refuses it, and so does every function that calls one. Sections
/// about errors say what else fails, and what holds afterwards.
///
/// A store holds it as a trait object. Clones are handles of the same directory.
pub trait Disk: DiskClone + Any + fmt::Debug + Send + Sync {
    /// Returns the path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Creates a directory, unless it exists. Its name is durable when this returns.
    fn create_directory(&self, name: &str) -> io::Result<()>;

    /// Creates a new file and opens it for writing.
    fn create_new(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Opens an existing file for writing at its end.
    fn append(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Makes the names in a directory durable.
    fn sync_directory(&self, name: &str) -> io::Result<()>;

    /// Renames a file within its directory. A file of the new name is replaced atomically.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Open handles and mappings of it stay valid.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Links a file to a second name, on this disk or another one.
    ///
    /// # Errors
    /// When the operating system refuses it: [`io::ErrorKind::CrossesDevices`] if only a copy is possible, as to a
    /// disk of another kind, [`io::ErrorKind::AlreadyExists`] if the name is taken.
    fn link(&self, name: &str, to: &dyn Disk, to_name: &str) -> io::Result<()>;

    /// Opens a file of the file system for reading, so that others can share its blocks. Unsupported by default.
    ///
    /// # Errors
    /// When the operating system refuses it; [`io::ErrorKind::Unsupported`] if this is not a directory of a file system.
    fn open(&self, name: &str) -> io::Result<File> {
        let _ = name;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the names of the files in a directory, in ascending order.
    fn list(&self, directory: &str) -> io::Result<Vec<String>>;

    /// Returns the names of the directories in a directory, in ascending order. By default none.
    fn list_directories(&self, directory: &str) -> io::Result<Vec<String>> {
        let _ = directory;
        Ok(Vec::new())
    }

    /// Whether a name is a symbolic link. By default none is.
    fn is_link(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Returns the length of a file, in bytes.
    fn length(&self, name: &str) -> io::Result<u64>;

    /// Reads a file from an offset to its end at the time of the call.
    fn read_from(&self, name: &str, offset: u64) -> io::Result<Vec<u8>>;

    /// Reads at most `bytes` bytes from the start of a file.
    fn read_first(&self, name: &str, bytes: usize) -> io::Result<Vec<u8>>;

    /// Maps an immutable file.
    fn map(&self, name: &str) -> io::Result<Mapping>;

    /// Reads an immutable file into memory. By default as [`Disk::map`].
    fn load(&self, name: &str) -> io::Result<Mapping> {
        self.map(name)
    }

    /// Maps a private copy of a file that is truncated, or extended with zeros, to a length, and applies a change to
    /// it. The file itself stays unchanged.
    fn map_changed(&self, name: &str, length: u64, change: &mut dyn FnMut(&mut [u8])) -> io::Result<Mapping>;

    /// Tries to lock a file exclusively, without waiting. The file is created if needed, and the text is written into
    /// it for other processes. `Err` of the inner result is the text of the present holder.
    fn lock(&self, name: &str, text: &str) -> io::Result<Result<Box<dyn DiskLock>, String>>;

    /// Returns the text of the process that has locked a file; `None` if none has.
    fn lock_text(&self, name: &str) -> io::Result<Option<String>>;

    /// Checks that the path still leads to this directory, and the name of a locked file to the file that is locked.
    /// Otherwise another process may use the store, and later changes by this disk fail. By default it always succeeds.
    ///
    /// # Errors
    /// When one of them leads elsewhere; when the operating system refuses to look.
    fn check_held(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns a disk of what the path leads to now. By default that is this one.
    fn opened_anew(&self) -> Box<dyn Disk> {
        self.box_clone()
    }

    /// Returns the directory for temporary files; `None` for the one of the system.
    fn temporary_directory(&self) -> Option<PathBuf> {
        None
    }

    /// Reads a whole file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.read_from(name, 0)
    }

    /// Whether a file exists.
    fn exists(&self, name: &str) -> io::Result<bool> {
        match self.length(name) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Clones a boxed [`Disk`]. Every disk that implements [`Clone`] has it.
pub trait DiskClone {
    /// Returns another handle of the same directory.
    fn box_clone(&self) -> Box<dyn Disk>;
}

impl<D: Disk + Clone> DiskClone for D {
    fn box_clone(&self) -> Box<dyn Disk> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Disk> {
    fn clone(&self) -> Self {
        (**self).box_clone()
    }
}

/// An exclusive lock on a file, until it is dropped or the process ends.
pub trait DiskLock: fmt::Debug + Send + Sync + 'static {
    /// Whether the file had the text of an earlier holder. Otherwise it may have been removed from one that holds it
    /// still. By default it had.
    fn was_held(&self) -> bool {
        true
    }

    /// Replaces the text that other processes read. It is for information only, and need not be durable.
    fn set_text(&self, text: &str) -> io::Result<()>;
}

/// A file that is written sequentially.
pub trait DiskFile: io::Write + fmt::Debug + Send + 'static {
    /// Makes all bytes durable that have been written through any handle. After a failure it is unknown which of them
    /// are durable.
    fn sync(&mut self) -> io::Result<()>;

    /// Truncates the file to a length, and continues to write there.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes this file, which is empty, a copy of another one that shares its blocks until either is written to, which
    /// changes that one alone. By default it cannot.
    ///
    /// # Errors
    /// When the file system cannot do that, or the operating system refuses it. The file is empty then.
    fn share_blocks_of(&mut self, original: &File) -> io::Result<()> {
        let _ = original;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Reserves disk space, so that the file can grow to a length. Its present length stays.
    ///
    /// # Errors
    /// When there is too little space; [`io::ErrorKind::Unsupported`] if the file system cannot reserve any.
    fn reserve(&mut self, length: u64) -> io::Result<()> {
        let _ = length;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// As [`Disk::check_held`], and that the name of this file still leads to it.
    fn check_held(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates a new file, and replaces a leftover of its name.
pub(crate) fn create_replacing(disk: &dyn Disk, name: &str) -> io::Result<Box<dyn DiskFile>> {
    match disk.create_new(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(name)?;
            disk.create_new(name)
        }
        outcome => outcome,
    }
}

/// Writes a file, and replaces a leftover of its name. Its bytes are durable when this returns.
pub(crate) fn write_replacing(disk: &dyn Disk, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_replacing(disk, name)?;
    file.write_all(bytes)?;
    file.sync()
}

/// Removes a file, if it exists.
pub(crate) fn remove_if_there(disk: &dyn Disk, name: &str) -> io::Result<()> {
    match disk.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// The reason for which a process leaves a store alone. It is the cause of an [`io::Error`].
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    /// The directory.
    pub(crate) path: PathBuf,
    /// The file or directory that another has replaced.
    pub(crate) what: String,
}

impl Lost {
    /// Returns the reason of an error, if it is the loss of a store.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

impl std::error::Error for Lost {}

impl From<Lost> for io::Error {
    fn from(lost: Lost) -> Self {
        Self::other(lost)
    }
}
