//! Gzip: a file of members, each of which can be damaged without the others.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::GzDecoder;

use crate::input::source::{Compression, GZIP_MAGIC, Verdict, inspect};

/// Set when something else follows compressed data.
pub(crate) type Trailing = Arc<AtomicBool>;

/// Bytes of a damaged member of gzip in which the next one is looked for: the decoder may have run into it.
const RECENT_BYTES: usize = 1 << 16;

/// Damaged members of a file in whose bytes the next one is looked for; behind the others it is looked for.
const MAX_REWINDS: u32 = 1000;

/// Reads all members of a gzip file. A damaged one is an error; `of_records`, a caller that reads on gets the members
/// behind it.
pub(super) struct GzipMembers<R: BufRead> {
    /// `None` behind the last one.
    member: Option<GzDecoder<Rewindable<R>>>,
    trailing: Trailing,
    damage: Damage,
    rewinds: u32,
    /// Whether each member is for itself, so that the ones behind other bytes are of use.
    of_records: bool,
}

/// The state of a reader of gzip behind a damaged member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Damage {
    None,
    /// The error was returned.
    Reported,
    /// The error was returned, and what was found behind it is not a member until it has a byte.
    Searched,
}

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn of(reader: R, trailing: Trailing, of_records: bool) -> Self {
        let kept = if of_records { RECENT_BYTES } else { GZIP_MAGIC.len() };
        let reader = Rewindable { reader, kept, recent: Vec::new(), at: 0, is_whole: true };
        let member = Some(GzDecoder::new(reader));
        Self { member, trailing, damage: Damage::None, rewinds: 0, of_records }
    }

    /// Looks for the next member in the bytes of a damaged one, and behind it.
    fn find_member(&mut self) -> io::Result<()> {
        let Some(mut reader) = self.member.take().map(GzDecoder::into_inner) else { return Ok(()) };
        if self.rewinds < MAX_REWINDS {
            self.rewinds += 1;
            reader.rewind();
        }
        loop {
            let bytes = reader.fill_buf()?;
            if bytes.is_empty() {
                return Ok(());
            }
            let start = bytes.iter().position(|&byte| byte == GZIP_MAGIC[0]);
            let count = start.unwrap_or(bytes.len());
            reader.consume(count);
            if start.is_some() {
                let (verdict, taken) = inspect(&mut reader)?;
                reader.give_back(taken.len());
                if verdict == Verdict::Is(Compression::Gzip) {
                    self.begin_member(reader);
                    return Ok(());
                }
                reader.consume(1);
            }
        }
    }

    fn begin_member(&mut self, mut reader: Rewindable<R>) {
        reader.forget();
        self.member = Some(GzDecoder::new(reader));
    }

    /// Begins the member behind the one that has ended, if there is one.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(mut reader) = self.member.take().map(GzDecoder::into_inner) else { return Ok(()) };
        let (verdict, taken) = inspect(&mut reader)?;
        match verdict {
            Verdict::Is(Compression::Gzip) => {
                reader.give_back(taken.len());
                self.begin_member(reader);
            }
            Verdict::Undecided if !taken.is_empty() && GZIP_MAGIC.starts_with(&taken) => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "it ends within the header of a member",
                ));
            }
            _ => {
                let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
                let mut is_padding = is_zero(&taken);
                loop {
                    let bytes = reader.fill_buf()?;
                    if bytes.is_empty() {
                        break;
                    }
                    is_padding &= is_zero(bytes);
                    if !is_padding && self.of_records {
                        self.begin_member(reader);
                        let what = "other bytes are between its members";
                        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                    }
                    let count = bytes.len();
                    reader.consume(count);
                }
                self.trailing.fetch_or(!is_padding, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.damage == Damage::Reported {
                self.find_member()?;
                self.damage = Damage::Searched;
            }
            let Some(member) = &mut self.member else { return Ok(0) };
            let error = match member.read(buffer) {
                Ok(0) if !buffer.is_empty() => match self.next_member() {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Ok(count) => {
                    self.damage = Damage::None;
                    return Ok(count);
                }
                Err(error) => error,
            };
            let is_new = self.damage == Damage::None;
            if !self.of_records || !is_of_damage(&error) {
                return Err(error);
            }
            self.damage = Damage::Reported;
            if is_new {
                return Err(error);
            }
        }
    }
}

/// Returns whether a decoder says that its data is damaged; data that ends early may be damaged before its end.
fn is_of_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

/// A reader that keeps the last bytes that were read.
struct Rewindable<R> {
    reader: R,
    /// Number of bytes to keep.
    kept: usize,
    /// Bytes before the place of the reader, of which those from `at` are to be read again.
    recent: Vec<u8>,
    at: usize,
    /// Whether these are all bytes since [`Self::forget`].
    is_whole: bool,
}

impl<R> Rewindable<R> {
    /// Forgets the bytes that were read.
    fn forget(&mut self) {
        self.recent.drain(..self.at);
        (self.at, self.is_whole) = (0, true);
    }

    /// Reads again all bytes that are kept, except the first since [`Self::forget`].
    fn rewind(&mut self) {
        self.at = self.at.min(usize::from(self.is_whole));
    }

    /// Reads again the last few bytes.
    fn give_back(&mut self, count: usize) {
        self.at -= count;
    }
}

impl<R: BufRead> BufRead for Rewindable<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &self.recent[self.at..] {
            [] => self.reader.fill_buf(),
            again => Ok(again),
        }
    }

    fn consume(&mut self, count: usize) {
        if self.at == self.recent.len() {
            // The reader has buffered what is consumed: it was returned by `fill_buf`.
            let bytes = self.reader.fill_buf().unwrap_or_default();
            let bytes = &bytes[..count.min(bytes.len())];
            let last = &bytes[bytes.len().saturating_sub(self.kept)..];
            if last.len() < bytes.len() {
                self.recent.clear();
            }
            self.is_whole &= last.len() == bytes.len();
            self.recent.extend(last);
            self.reader.consume(count);
            if self.recent.len() > 2 * self.kept {
                self.recent.drain(..self.recent.len() - self.kept);
                self.is_whole = false;
            }
            self.at = self.recent.len();
        } else {
            self.at += count;
        }
    }
}

impl<R: BufRead> Read for Rewindable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}
