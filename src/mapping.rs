//! The bytes of an index, and huge pages: the only module that maps files, and that advises the system about memory.
//!
//! - `lost`: files that are truncated while they are mapped

#[cfg(target_os = "linux")]
mod lost;

use std::fs::File;
use std::io::{self, Read};
#[cfg(any(unix, test))]
use std::ops::Range;
use std::path::Path;

#[cfg(unix)]
use memmap2::Advice;
use memmap2::{Mmap, MmapOptions};

/// Bytes that the system is advised of at a time. Linux brings no more for one call than the device's read-ahead,
/// 128 KiB by default, and drops the rest without a word.
#[cfg(any(unix, test))]
const ADVISED_BYTES: usize = 128 << 10;

/// The size of a huge page on common processors; where it is another, advice for such ranges does no harm.
#[cfg(target_os = "linux")]
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The bytes of an index: a file mapped read-only ([`Mapping::open`]) or read into memory ([`Mapping::load`]), or bytes
/// of the program (`From<Vec<u8>>`; `From<&[u8]>` copies).
///
/// Three conditions hold for a mapped file that no check can stand in for:
///
/// - **It is not truncated** while it is mapped. A read beyond its new end ends the process with `SIGBUS`.
/// - **It is not written to.** Bytes that change after their checksum was verified can make a query wrong or
///   fail; [`Checksums::Always`](crate::Checksums::Always) narrows that gap and does not close it.
/// - **Its storage can be read.** An I/O error while a page is brought in has no return value: it is `SIGBUS`,
///   too. That can happen with failing disks, network file systems and removed devices.
///
/// hamdex itself never changes a file in place; a rebuilt index replaces the old one by rename, which leaves
/// mappings of the old one intact. If one of these points cannot be relied on, read the file into memory
/// ([`Mapping::load`], [`OpenOptions::in_memory`](crate::OpenOptions::in_memory)): then I/O errors are errors
/// when it is opened, and nothing that happens to the file afterwards matters. A program that has to go on, such as a
/// service of many files, calls [`Mapping::survive_lost_pages`].
#[derive(Debug)]
pub struct Mapping {
    bytes: Bytes,
    is_file: bool,
    #[cfg(test)]
    pub(crate) hints: Recorded,
}

#[derive(Debug)]
enum Bytes {
    Mapped {
        /// That of a file. It is dropped before the mapping is.
        #[cfg(target_os = "linux")]
        guard: Option<lost::Guard>,
        map: Mmap,
        /// Number of its bytes: no mapping is empty.
        length: usize,
    },
    Owned(Vec<u8>),
}

/// The hints that were given, for tests.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) needed: std::sync::Mutex<Vec<Range<usize>>>,
    pub(crate) kept: std::sync::Mutex<Vec<Range<usize>>>,
}

impl Mapping {
    /// Maps a file.
    ///
    /// # Errors
    /// When the operating system refuses, or it is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_file(&open_regular(path.as_ref())?)
    }

    /// Maps a file that is open for reading: see [`Mapping::open`].
    ///
    /// # Errors
    /// As for [`Mapping::open`].
    pub fn open_file(file: &File) -> io::Result<Self> {
        check_regular(file)?;
        // SAFETY: the mapping is read-only, and its bytes are only ever read as plain bytes, each
        // unit checked before it is used. That the file is neither truncated nor rewritten meanwhile is
        // the caller's part, documented above and with `Index::open`.
        let map = unsafe { Mmap::map(file)? };
        // Queries jump about: the system's own reading ahead would only push out what is of use. A refusal is no harm.
        #[cfg(unix)]
        let _ = map.advise(Advice::Random);
        let length = map.len();
        #[cfg(target_os = "linux")]
        let guard = Some(lost::Guard::of(&map));
        let bytes = Bytes::Mapped {
            #[cfg(target_os = "linux")]
            guard,
            map,
            length,
        };
        Ok(Self::new(bytes, true))
    }

    /// Lets the process survive, from now on, that a mapped file is truncated or its storage cannot be read: instead of
    /// `SIGBUS`, the reader gets zeros in place of the whole file, and [`Mapping::is_lost`] says so. Results may be
    /// wrong then, so ask before you use one: [`Index::check_file`](crate::Index::check_file),
    /// [`FingerprintSet::check_files`](crate::FingerprintSet::check_files). For Linux; elsewhere nothing changes.
    ///
    /// It sets the action for the signal `SIGBUS`, which belongs to the whole process; a signal that is not of such a
    /// file has the action of before. Files that are written to, and not truncated, remain the caller's part.
    ///
    /// # Errors
    /// When the system refuses it.
    pub fn survive_lost_pages() -> io::Result<()> {
        #[cfg(target_os = "linux")]
        lost::survive()?;
        Ok(())
    }

    /// Whether the file was truncated, or could not be read, after it was mapped: see [`Mapping::survive_lost_pages`].
    #[must_use]
    pub fn is_lost(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Bytes::Mapped { guard: Some(guard), .. } = &self.bytes {
            return guard.is_lost();
        }
        false
    }

    /// Bytes of memory of the process, or of a private copy of a file.
    fn unguarded(map: Mmap, length: usize, is_file: bool) -> Self {
        let bytes = Bytes::Mapped {
            #[cfg(target_os = "linux")]
            guard: None,
            map,
            length,
        };
        Self::new(bytes, is_file)
    }

    fn new(bytes: Bytes, is_file: bool) -> Self {
        Self {
            bytes,
            is_file,
            #[cfg(test)]
            hints: Recorded::default(),
        }
    }

    /// Bytes that record their hints, as a mapped file would get them.
    #[cfg(test)]
    pub(crate) fn recording(bytes: Vec<u8>) -> Self {
        Self::new(Bytes::Owned(bytes), true)
    }

    /// Reads a whole file into memory of the process, in huge pages if the system has them: queries of a file
    /// of gigabytes otherwise spend much of their time on address translation. Later changes of the file do not
    /// matter.
    ///
    /// # Errors
    /// When the operating system refuses, mostly for lack of memory, it is not a regular file, or it changes
    /// its length meanwhile.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::load_file(&open_regular(path.as_ref())?)
    }

    /// Reads a file that is open for reading, from its start on: see [`Mapping::load`].
    ///
    /// # Errors
    /// As for [`Mapping::load`].
    pub fn load_file(mut file: &File) -> io::Result<Self> {
        check_regular(file)?;
        let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        Self::anonymous(length, |bytes| file.read_exact(bytes))
    }

    /// Maps a copy of a file that is cut, or filled with zeros, to a length, and changes it in memory: the file
    /// is unchanged. Only changed pages take memory, unless the file is shorter than the length.
    ///
    /// # Errors
    /// When the operating system refuses, mostly for lack of memory, or it is not a regular file.
    pub fn changed(path: impl AsRef<Path>, length: u64, change: impl FnOnce(&mut [u8])) -> io::Result<Self> {
        Self::changed_file(&open_regular(path.as_ref())?, length, change)
    }

    /// Maps a changed copy of a file that is open for reading: see [`Mapping::changed`].
    ///
    /// # Errors
    /// As for [`Mapping::changed`].
    pub fn changed_file(mut file: &File, length: u64, change: impl FnOnce(&mut [u8])) -> io::Result<Self> {
        check_regular(file)?;
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let file_length = file.metadata()?.len();
        if length == 0 || file_length < length as u64 {
            return Self::anonymous(length, |bytes| {
                file.read_exact(&mut bytes[..file_length as usize])?;
                change(bytes);
                Ok(())
            });
        }
        // SAFETY: the mapping is private, and what others do to the file meanwhile is the caller's part, as for `open`.
        let mut map = unsafe { MmapOptions::new().len(length).map_copy(file)? };
        change(&mut map);
        Ok(Self::unguarded(map.make_read_only()?, length, true))
    }

    /// Fills memory of the process, in huge pages if the system has them.
    pub(crate) fn anonymous(
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<Self> {
        // An empty file is refused later, for what it is.
        let mut map = MmapOptions::new().len(length.max(1)).map_anon()?;
        #[cfg(target_os = "linux")]
        let _ = map.advise(Advice::HugePage);
        fill(&mut map[..length])?;
        Ok(Self::unguarded(map.make_read_only()?, length, false))
    }

    /// Returns whether its bytes may have to come from storage.
    pub(crate) fn is_file(&self) -> bool {
        self.is_file
    }

    /// Hints that a range of the file will be read, so that the system prefetches it, and does not wait. Ranges
    /// beyond the end, or refused by the system, are ignored.
    pub(crate) fn will_need(&self, offset: usize, length: usize) {
        #[cfg(test)]
        self.hints.needed.lock().unwrap().push(offset..offset + length);
        #[cfg(unix)]
        if let Bytes::Mapped { map, length: end, .. } = &self.bytes {
            in_pieces(offset..offset.saturating_add(length).min(*end), |piece| {
                // From the start of its page on, to which memmap2 takes it; a refusal costs a wait later.
                let _ = map.advise_range(Advice::WillNeed, piece.start, piece.len());
            });
        }
        #[cfg(not(unix))]
        let _ = (offset, length);
    }

    /// Hints that a range of the file will be read repeatedly, so that the system keeps its most used pages in
    /// memory.
    ///
    /// It does not for other ranges: [`Mapping::open`] advises random reads, so that a read brings only its own
    /// pages, and Linux (since 6.3) ignores how often such pages are read. If memory is short it evicts them in
    /// the order of their arrival. With this hint, a page that is not in memory comes with its neighbours,
    /// unless it is prefetched ([`Mapping::will_need`]).
    pub(crate) fn keep(&self, offset: usize, length: usize) {
        #[cfg(test)]
        self.hints.kept.lock().unwrap().push(offset..offset + length);
        #[cfg(unix)]
        if let Bytes::Mapped { map, length: end, .. } = &self.bytes {
            let end = offset.saturating_add(length).min(*end);
            if offset < end {
                let _ = map.advise_range(Advice::Normal, offset, end - offset);
            }
        }
        #[cfg(not(unix))]
        let _ = (offset, length);
    }
}

/// Cuts a range of a file at the multiples of [`ADVISED_BYTES`].
///
/// From there, because advice reaches from the first page of a range to its last: a piece of that length that starts
/// inside a page would have one page too many.
#[cfg(any(unix, test))]
fn in_pieces(range: Range<usize>, mut advise: impl FnMut(Range<usize>)) {
    let mut start = range.start;
    while start < range.end {
        let end = (start / ADVISED_BYTES).saturating_add(1).saturating_mul(ADVISED_BYTES).min(range.end);
        advise(start..end);
        start = end;
    }
}

/// Asks the system for huge pages for the memory of a large vector, so that random reads of it wait less. The vector
/// should not have been written to: pages that are there stay as they are. It does nothing where the system has none.
pub fn prefer_huge_pages<T>(values: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        let memory = values.as_mut_ptr();
        let length = values.capacity() * size_of::<T>();
        // Nothing but whole huge pages: their boundaries are those of pages of any size, too.
        let start = memory.addr().next_multiple_of(HUGE_PAGE_BYTES);
        let end = (memory.addr() + length) & !(HUGE_PAGE_BYTES - 1);
        if start < end {
            let memory = memory.with_addr(start).cast();
            // SAFETY: the range lies within the memory of the vector, and the advice changes no byte in it.
            let _ = unsafe { rustix::mm::madvise(memory, end - start, rustix::mm::Advice::LinuxHugepage) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}

/// Limits the heaps among which glibc divides the memory of threads: for a program whose threads come and go, and that
/// runs for long. Each heap keeps what was free when its threads ended, so the memory of the process grows with their
/// number, 8 per processor by default. It does nothing where the allocator is another, or the user has chosen by
/// `MALLOC_ARENA_MAX`. To be called before threads are started.
pub fn limit_heaps(heaps: u16) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        // SAFETY: it takes two numbers, and changes a parameter of the allocator under its lock.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, heaps.into()) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = heaps;
}

fn open_regular(path: &Path) -> io::Result<File> {
    // Before it is opened: that of a pipe would wait for a writer.
    if !path.metadata()?.is_file() {
        return Err(not_regular());
    }
    File::open(path)
}

fn check_regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { Ok(()) } else { Err(not_regular()) }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped { map, length, .. } => &map[..*length],
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Mapping {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(Bytes::Owned(bytes), false)
    }
}

impl From<&[u8]> for Mapping {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl From<&Vec<u8>> for Mapping {
    fn from(bytes: &Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_any_size_keep_their_values() {
        for length in [0, 1, 1000, (3 << 20) + 5] {
            let mut values: Vec<u64> = Vec::with_capacity(length);
            prefer_huge_pages(&mut values);
            values.extend(0..length as u64);
            prefer_huge_pages(&mut values);
            assert!(values.iter().copied().eq(0..length as u64));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_cut_off_is_lost_and_others_are_not() {
        use std::sync::atomic::{AtomicBool, Ordering};
        Mapping::survive_lost_pages().unwrap();
        Mapping::survive_lost_pages().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let length = 9 << 12 | 17;
        let open = |name: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, vec![7; length]).unwrap();
            (Mapping::open(&path).unwrap(), File::options().write(true).open(&path).unwrap())
        };
        let sum = |mapping: &Mapping| mapping.as_ref().iter().map(|&byte| usize::from(byte)).sum::<usize>();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Mappings that come and go meanwhile take the places of others in the list.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let (mapping, _) = open("other");
                    assert!(sum(&mapping) == 7 * length && !mapping.is_lost());
                }
            });
            for round in 0..50 {
                let (whole, _) = open("whole");
                let (cut, file) = open("cut");
                assert_eq!(sum(&cut), 7 * length);
                file.set_len((round % 4) << 12).unwrap();
                // All threads that read it at once.
                std::thread::scope(|scope| {
                    let read = || {
                        assert!(sum(&cut) < 7 * length);
                        assert!(cut.is_lost());
                    };
                    scope.spawn(read);
                    scope.spawn(read);
                });
                assert_eq!(sum(&cut), 0, "all of it");
                assert!(sum(&whole) == 7 * length && !whole.is_lost());
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let (again, _) = open("cut");
        assert!(sum(&again) == 7 * length && !again.is_lost());
    }

    #[test]
    fn advice_is_given_in_pieces_that_the_system_does_not_cut() {
        const PAGE_BYTES: usize = 4096;
        for range in [0..0, 7..7, 0..1, 5000..5001, 5000..5000 + ADVISED_BYTES, 4095..(9 << 20) + 1] {
            let mut end = range.start;
            let mut pieces = 0;
            in_pieces(range.clone(), |piece| {
                assert_eq!(piece.start, end, "without gaps");
                let pages = piece.end.div_ceil(PAGE_BYTES) - piece.start / PAGE_BYTES;
                assert!((1..=ADVISED_BYTES / PAGE_BYTES).contains(&pages), "{pages} pages in {piece:?}");
                end = piece.end;
                pieces += 1;
            });
            assert_eq!(end, range.end);
            assert!(pieces <= range.len() / ADVISED_BYTES + 2, "{pieces} in {range:?}");
        }
    }
}
