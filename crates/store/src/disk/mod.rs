//! The file operations of a store: all of them go through one small trait.
//!
//! - [`RealDisk`]: a directory of the file system
//! - `SimulatedDisk`, with the feature `unstable`: knows what is durable, can crash and can fail
//!
//! Also what the files of a store have in common:
//!
//! - `layout`: their names
//! - `lock`: one writing process at a time
//! - `checksum`: checksums that fail for bytes of another place
//! - `copy`, `keep_aside`: second names and copies, also of damaged files

pub(crate) mod checksum;
pub(crate) mod copy;
pub(crate) mod keep_aside;
pub(crate) mod layout;
pub(crate) mod lock;
mod real;
#[cfg(feature = "unstable")]
mod simulated;

use std::any::Any;
use std::fmt;
use std::io;
use std::path::PathBuf;

use hamdex::Mapping;

pub(crate) use copy::link_or_copy;
pub use real::RealDisk;
#[cfg(feature = "unstable")]
pub use simulated::{Failure, SimulatedDisk, Survival};

/// A directory in which a store lives.
///
/// Names are relative to it, with `/` between directory and file; `""` is the directory itself. The trait has
/// the operations that a store needs and no more: files are created, appended to, synced, renamed, linked and
/// removed, and never changed in place. It promises what POSIX promises: bytes are durable after
/// [`DiskFile::sync`], names after [`Disk::sync_directory`], and a rename is atomic.
///
/// A store holds it as a trait object. Clones are handles of the same directory.
pub trait Disk: DiskClone + Any + fmt::Debug + Send + Sync {
    /// The path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Creates a directory; one that exists is no error. Its name is durable when this returns.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn create_directory(&self, name: &str) -> io::Result<()>;

    /// Creates a file, which must not exist, and opens it for writing.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn create_new(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Opens an existing file for writing at its end.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn append(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn sync_directory(&self, name: &str) -> io::Result<()>;

    /// Renames a file within its directory; what had the new name is replaced, atomically.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Who has it open or mapped keeps it.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Gives a file a second name, in the directory of another disk of the same kind, or of the same one.
    ///
    /// # Errors
    /// Whatever the operating system refuses: [`io::ErrorKind::CrossesDevices`] where only a copy will do,
    /// [`io::ErrorKind::AlreadyExists`] where the name is taken.
    fn link(&self, name: &str, to: &dyn Disk, to_name: &str) -> io::Result<()>;

    /// The names of the files in a directory, in ascending order.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn list(&self, directory: &str) -> io::Result<Vec<String>>;

    /// How many bytes a file has.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn length(&self, name: &str) -> io::Result<u64>;

    /// Reads a file from an offset up to the end that it has when this is called.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn read_from(&self, name: &str, offset: u64) -> io::Result<Vec<u8>>;

    /// Reads at most so many bytes from the start of a file.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn read_first(&self, name: &str, bytes: usize) -> io::Result<Vec<u8>>;

    /// Maps a file that nothing will change.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn map(&self, name: &str) -> io::Result<Mapping>;

    /// Reads a file that nothing will change into memory; where a disk knows no better, as [`Disk::map`] does.
    ///
    /// # Errors
    /// Whatever the operating system refuses, too little memory above all.
    fn load(&self, name: &str) -> io::Result<Mapping> {
        self.map(name)
    }

    /// Maps a copy of a file that is cut, or filled with zeros, to a length, and changes it in memory: the file stays as
    /// it is.
    ///
    /// # Errors
    /// Whatever the operating system refuses, too little memory above all.
    fn map_changed(&self, name: &str, length: u64, change: &mut dyn FnMut(&mut [u8])) -> io::Result<Mapping>;

    /// Takes an exclusive hold on a file, which is created if need be, without waiting. The text is written into
    /// it, for others to read; `Err` of the inner result is the text of the one who holds it.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn lock(&self, name: &str, text: &str) -> io::Result<Result<Box<dyn DiskLock>, String>>;

    /// The text of the process that holds a file; `None` if none does.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn lock_text(&self, name: &str) -> io::Result<Option<String>>;

    /// Where files without names may be made for large work; `None` for the system's directory for such files.
    fn temporary_directory(&self) -> Option<PathBuf> {
        None
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.read_from(name, 0)
    }

    /// Whether there is a file of this name.
    ///
    /// # Errors
    /// Whatever the operating system refuses, other than that there is none.
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

/// An exclusive hold on a file, until it is dropped or the process ends.
pub trait DiskLock: fmt::Debug + Send + Sync + 'static {
    /// Replaces the text that others read while the file is held. It is for information only, and need not be durable.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn set_text(&self, text: &str) -> io::Result<()>;
}

/// A file that is written from front to back.
pub trait DiskFile: io::Write + fmt::Debug + Send + 'static {
    /// Makes all bytes durable written so far, through whichever handle. After a failure it is not known
    /// which of them are.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to a length; what is written next follows there.
    ///
    /// # Errors
    /// Whatever the operating system refuses.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Reserves space on the disk, so that the file can grow to a length. Its length stays.
    ///
    /// # Errors
    /// When there is not so much space; [`io::ErrorKind::Unsupported`] where the file system cannot reserve any.
    fn reserve(&mut self, length: u64) -> io::Result<()> {
        let _ = length;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Creates a file that has no part in the store yet; one that a crash or a failure left under its name goes.
pub(crate) fn create_anew(disk: &dyn Disk, name: &str) -> io::Result<Box<dyn DiskFile>> {
    match disk.create_new(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(name)?;
            disk.create_new(name)
        }
        outcome => outcome,
    }
}
