//! The one place where a file becomes memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

#[cfg(unix)]
use memmap2::Advice;
use memmap2::{Mmap, MmapOptions};

/// A whole file, mapped read-only ([`Mapping::open`]) or read into memory ([`Mapping::load`]).
///
/// What a mapped file rests on, since no check can stand in for it:
///
/// - **Nobody truncates it** while it is mapped. A read beyond its new end ends the process with `SIGBUS`.
/// - **Nobody writes to it.** Bytes that change after their checksum was verified can make a query wrong or
///   fail; [`Checksums::Always`](crate::Checksums::Always) narrows that gap and does not close it.
/// - **Its storage can be read.** An I/O error while a page is brought in has no return value: it is `SIGBUS`,
///   too. That can happen with failing disks, network file systems and removed devices.
///
/// hamdex itself never changes a file in place; a rebuilt index replaces the old one by rename, which leaves
/// mappings of the old one intact. Where one of these points cannot be relied on, read the file into memory
/// ([`Mapping::load`], [`OpenOptions::in_memory`](crate::OpenOptions::in_memory)): then I/O errors are errors
/// when it is opened, and nothing that happens to the file afterwards matters.
#[derive(Debug)]
pub struct Mapping(Mmap);

impl Mapping {
    /// Maps a file.
    ///
    /// # Errors
    /// Whatever the operating system refuses, and what is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = open_regular(path.as_ref())?;
        // SAFETY: the mapping is read-only, and its bytes are only ever read as plain bytes, each
        // unit checked before it is used. That the file is neither truncated nor rewritten meanwhile is
        // the caller's part, documented above and with `Index::open`.
        let map = unsafe { Mmap::map(&file)? };
        // Queries jump about: the system's own reading ahead would only push out what is of use. A refusal is no harm.
        #[cfg(unix)]
        let _ = map.advise(Advice::Random);
        Ok(Self(map))
    }

    /// Reads a whole file into memory of the process, in huge pages where the system has them: queries of a
    /// file of gigabytes otherwise spend much of their time on finding out where a page is. What becomes of
    /// the file afterwards does not matter.
    ///
    /// # Errors
    /// Whatever the operating system refuses, too little memory above all; what is not a regular file, and
    /// a file that changes its length meanwhile.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut file = open_regular(path.as_ref())?;
        let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // There are no mappings of no bytes; an empty file is refused later, for what it is.
        let mut map = MmapOptions::new().len(length.max(1)).map_anon()?;
        #[cfg(target_os = "linux")]
        let _ = map.advise(Advice::HugePage);
        file.read_exact(&mut map[..length])?;
        Ok(Self(map.make_read_only()?))
    }

    /// Hints that a range of the file will be read, so that the system brings it to memory, without waiting for it. What
    /// cannot be had, or lies beyond the end, is left as it is.
    pub fn will_need(&self, offset: usize, length: usize) {
        // From the start of its page on, to which memmap2 takes it; a refusal costs a wait later.
        #[cfg(unix)]
        if length > 0 && offset < self.0.len() {
            let _ = self.0.advise_range(Advice::WillNeed, offset, length.min(self.0.len() - offset));
        }
        #[cfg(not(unix))]
        let _ = (offset, length);
    }
}

fn open_regular(path: &Path) -> io::Result<File> {
    // Before it is opened: that of a pipe would wait for a writer.
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
