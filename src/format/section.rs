//! Sections: stretches of bytes whose pages are checksummed one by one.
//!
//! The contents come first, padded with zeros to a multiple of 4; then a CRC-32 for each 4,096 bytes
//! of contents (the last page may be shorter); then zeros to a multiple of 8. Pages rather than the
//! whole, since a reader of one id should not have to read all of them, and since CRC-32 finds every
//! error of up to 3 bits (Hamming distance 4) only in units below 11,450 bytes.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use crate::bits;
use crate::error::{Place, ReadError};
use crate::format::checksum::Checked;
use crate::format::checksum::Context;
use crate::format::{SECTION_ALIGNMENT, align};

/// Pages that are verified between cancellation checks.
const PAGES_AT_ONCE: usize = 1024;

/// Bytes of contents under one checksum.
pub(crate) const PAGE: usize = 4096;

const CHECKSUM_BYTES: u64 = 4;

/// Returns the bytes that a section takes in the file, by the bytes of its contents; `None` beyond 64 bits.
pub(crate) fn extent(contents: u64) -> Option<u64> {
    let checksums = contents.div_ceil(PAGE as u64) * CHECKSUM_BYTES;
    align(align(contents, CHECKSUM_BYTES)?.checked_add(checksums)?, SECTION_ALIGNMENT)
}

/// Writes a section piece by piece.
pub(crate) struct SectionWriter {
    context: Context,
    page: Vec<u8>,
    checksums: Vec<u8>,
    length: u64,
}

impl SectionWriter {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, page: Vec::with_capacity(PAGE), checksums: Vec::new(), length: 0 }
    }

    pub(crate) fn write(&mut self, output: &mut impl Write, mut contents: &[u8]) -> io::Result<()> {
        self.length += contents.len() as u64;
        while !contents.is_empty() {
            let (now, later) = contents.split_at(contents.len().min(PAGE - self.page.len()));
            self.page.extend_from_slice(now);
            contents = later;
            if self.page.len() == PAGE {
                self.end_page(output)?;
            }
        }
        Ok(())
    }

    fn end_page(&mut self, output: &mut impl Write) -> io::Result<()> {
        let number = self.checksums.len() as u64 / CHECKSUM_BYTES;
        self.checksums.extend(self.context.checksum(number, &self.page).to_le_bytes());
        output.write_all(&self.page)?;
        self.page.clear();
        Ok(())
    }

    /// Writes the checksums; returns the length of the contents.
    pub(crate) fn finish(mut self, output: &mut impl Write) -> io::Result<u64> {
        if !self.page.is_empty() {
            self.end_page(output)?;
        }
        let padding = self.length.next_multiple_of(CHECKSUM_BYTES) - self.length;
        output.write_all(&[0; CHECKSUM_BYTES as usize][..padding as usize])?;
        output.write_all(&self.checksums)?;
        let written = self.length + padding + self.checksums.len() as u64;
        let extent = extent(self.length).expect("what has been written has a length");
        output.write_all(&[0; SECTION_ALIGNMENT as usize][..(extent - written) as usize])?;
        Ok(self.length)
    }
}

/// A section of a file, read page by page.
pub(crate) struct Section {
    place: Place,
    context: Context,
    /// Start and length of the contents.
    offset: usize,
    length: usize,
    checked: Checked,
    /// Whether pages are checked at every read.
    always_check: bool,
}

impl Section {
    /// Returns a section that lies wholly inside the file.
    pub(crate) fn new(place: Place, context: Context, offset: usize, length: usize) -> Self {
        Self {
            place,
            context,
            offset,
            length,
            checked: Checked::new(length.div_ceil(PAGE)),
            always_check: false,
        }
    }

    /// Returns the same section, its pages checked each time that they are read.
    pub(crate) fn always_checked(self) -> Self {
        Self { always_check: true, ..self }
    }

    /// Returns the range of the contents in the file.
    pub(crate) fn contents(&self) -> Range<usize> {
        self.offset..self.offset + self.length
    }

    /// Returns the error of a damaged section.
    #[cold]
    pub(crate) fn damaged(&self, what: impl fmt::Display) -> ReadError {
        ReadError::damaged(self.place, what)
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns a range of the contents, its pages checked if they have not been, or are to be each time.
    pub(crate) fn read<'a>(&self, file: &'a [u8], range: Range<usize>) -> Result<&'a [u8], ReadError> {
        if range.end > self.length || range.start > range.end {
            return Err(ReadError::damaged(self.place, "it is shorter than what refers to it"));
        }
        for page in range.start / PAGE..range.end.div_ceil(PAGE) {
            self.verify_page_once(file, page)?;
        }
        Ok(&file[self.offset + range.start..self.offset + range.end])
    }

    /// Returns a number of a packed list that starts at a byte of the contents, and whose length has been compared with
    /// them.
    pub(crate) fn packed(&self, file: &[u8], list_at: u64, place: u64, bits: u32) -> Result<u64, ReadError> {
        let first_bit = place * u64::from(bits);
        let start = list_at + first_bit / 8;
        let end = list_at + (first_bit + u64::from(bits)).div_ceil(8);
        let bytes = self.read(file, start as usize..end as usize)?;
        Ok(bits::read::<u64>(bytes, (first_bit % 8) as usize, bits))
    }

    /// Verifies the checksum of a page, if it has not been, or is to be each time.
    #[inline(always)]
    pub(crate) fn verify_page_once(&self, file: &[u8], page: usize) -> Result<(), ReadError> {
        if self.always_check || !self.checked.contains(page) { self.first_check(file, page) } else { Ok(()) }
    }

    #[cold]
    fn first_check(&self, file: &[u8], page: usize) -> Result<(), ReadError> {
        self.check(file, page)?;
        self.checked.insert(page);
        Ok(())
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.checked.bytes()
    }

    /// Returns all of the contents.
    pub(crate) fn read_all<'a>(&self, file: &'a [u8]) -> Result<&'a [u8], ReadError> {
        self.read(file, 0..self.length)
    }

    /// Checks everything again, and that all padding is zero.
    pub(crate) fn verify(&self, file: &[u8]) -> Result<(), ReadError> {
        self.verify_while(file, &|| Ok(()))
    }

    /// As [`Self::verify`]; ends early with an error of `check_cancelled`.
    pub(crate) fn verify_while(
        &self,
        file: &[u8],
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let pages = self.length.div_ceil(PAGE);
        for page in 0..pages {
            if page % PAGES_AT_ONCE == 0 {
                check_cancelled()?;
            }
            self.check(file, page)?;
            self.checked.insert(page);
        }
        let checksums = self.checksums_at();
        let checksums_end = checksums + pages * CHECKSUM_BYTES as usize;
        let end = self.offset + extent(self.length as u64).expect("it lies inside the file") as usize;
        for padding in [self.offset + self.length..checksums, checksums_end..end] {
            check_zeros(file, padding)?;
        }
        Ok(())
    }

    fn checksums_at(&self) -> usize {
        self.offset + self.length.next_multiple_of(CHECKSUM_BYTES as usize)
    }

    fn check(&self, file: &[u8], page: usize) -> Result<(), ReadError> {
        let contents = &file[self.offset..self.offset + self.length];
        let bytes = &contents[page * PAGE..contents.len().min((page + 1) * PAGE)];
        let stored = LittleEndian::read_u32(&file[self.checksums_at() + page * CHECKSUM_BYTES as usize..]);
        if self.context.checksum(page as u64, bytes) == stored {
            Ok(())
        } else {
            Err(ReadError::damaged(
                self.place,
                format_args!("the checksum of its page {page} does not match"),
            ))
        }
    }
}

/// Checks that a range of the file is zero.
pub(crate) fn check_zeros(file: &[u8], range: Range<usize>) -> Result<(), ReadError> {
    match file[range.clone()].iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => {
            let offset = (range.start + at) as u64;
            Err(ReadError::damaged(Place::Padding { offset }, "unused bytes are not zero"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::FileId;
    use crate::format::checksum::UnitKind;

    fn context() -> Context {
        Context::new(FileId([1; 16]), UnitKind::Ids, 0)
    }

    fn written(contents: &[u8], piece: usize) -> Vec<u8> {
        let mut file = Vec::new();
        let mut writer = SectionWriter::new(context());
        for piece in contents.chunks(piece) {
            writer.write(&mut file, piece).unwrap();
        }
        assert_eq!(writer.finish(&mut file).unwrap(), contents.len() as u64);
        file
    }

    #[test]
    fn contents_of_any_length_are_read_back_from_any_pieces() {
        for length in [0, 1, 3, 4, 5, 4095, 4096, 4097, 12_345] {
            let contents: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            let file = written(&contents, 1000);
            assert_eq!(file, written(&contents, 5000));
            assert_eq!(file.len() as u64, extent(length as u64).unwrap());
            let section = Section::new(Place::Ids, context(), 0, length);
            assert_eq!(section.read_all(&file).unwrap(), contents);
            section.verify(&file).unwrap();
        }
    }

    #[test]
    fn one_flipped_bit_is_seen() {
        let contents: Vec<u8> = (0..4099).map(|i| (i * 7) as u8).collect();
        let mut file = written(&contents, 100);
        for bit in 0..file.len() * 8 {
            file[bit / 8] ^= 1 << (bit % 8);
            let section = Section::new(Place::Ids, context(), 0, contents.len());
            assert!(section.verify(&file).is_err(), "bit {bit}");
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_page_that_changes_is_seen_where_it_is_checked_each_time() {
        let contents: Vec<u8> = (0..10_000).map(|i| (i * 7) as u8).collect();
        let whole = written(&contents, 1000);
        let mut changed = whole.clone();
        changed[5000] ^= 1;
        let section = || Section::new(Place::Ids, context(), 0, contents.len());
        for (section, sees_it) in [(section(), false), (section().always_checked(), true)] {
            assert_eq!(section.read(&whole, 4990..5010).unwrap(), &contents[4990..5010]);
            assert_eq!(section.read(&changed, 4990..5010).is_err(), sees_it);
            assert_eq!(section.read(&changed, 0..10).unwrap(), &contents[..10]);
        }
    }

    #[test]
    fn a_range_outside_is_refused() {
        let file = written(&[1, 2, 3], 3);
        let section = Section::new(Place::Ids, context(), 0, 3);
        assert!(section.read(&file, 2..4).is_err());
        assert!(section.read(&file, 3..3).unwrap().is_empty());
    }
}
