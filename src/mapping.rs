//! The one place where a file becomes memory.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
use memmap2::Advice;
use memmap2::Mmap;

/// A whole file, mapped read-only.
///
/// The file must not be truncated or written to while it is mapped: the operating system would kill
/// the process on the next access beyond its end. hamdex itself never changes a file in place; a
/// rebuilt index replaces the old one by rename, which leaves mappings of the old one intact.
#[derive(Debug)]
pub struct Mapping(Mmap);

impl Mapping {
    /// Maps a file.
    ///
    /// # Errors
    /// Whatever the operating system refuses, and what is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        // Before it is opened: that of a pipe would wait for a writer.
        if !path.as_ref().metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        // SAFETY: the mapping is read-only, and its bytes are only ever read as plain bytes, each
        // unit checked before it is used. That nobody truncates the file meanwhile is the caller's
        // part, documented above and with `Index::open`.
        let map = unsafe { Mmap::map(&file)? };
        // Queries jump about: reading ahead would only push out what is of use. A refusal is no harm.
        #[cfg(unix)]
        let _ = map.advise(Advice::Random);
        Ok(Self(map))
    }

    /// Asks the system to bring a range of the file to memory, without waiting for it. A hint: what
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

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
