//! Sequences of numbers, one per document: in memory up to a limit, the rest in a temporary file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use hamdex::Names;
use hamdex_atomic_file::read_exact_at;
use hamdex_simhash::SHINGLE_BITS;

use crate::error::Error;

/// A number that can be written to a file.
pub(crate) trait Stored: Copy {
    /// The bytes of a number in the file.
    const BYTES: usize;

    fn write(items: &[Self], output: &mut impl Write) -> io::Result<()>;

    /// Decodes numbers of [`Stored::BYTES`] bytes each.
    fn of_bytes(bytes: Vec<u8>) -> Vec<Self>;
}

impl Stored for u8 {
    const BYTES: usize = 1;

    fn write(items: &[Self], output: &mut impl Write) -> io::Result<()> {
        output.write_all(items)
    }

    fn of_bytes(bytes: Vec<u8>) -> Vec<Self> {
        bytes
    }
}

/// Shingles, whose upper bytes are zero.
impl Stored for u64 {
    const BYTES: usize = SHINGLE_BITS as usize / 8;

    fn write(items: &[Self], output: &mut impl Write) -> io::Result<()> {
        items.iter().try_for_each(|item| output.write_all(&item.to_le_bytes()[..Self::BYTES]))
    }

    fn of_bytes(bytes: Vec<u8>) -> Vec<Self> {
        let number = |&[a, b, c, d, e, f]: &[u8; <Self as Stored>::BYTES]| {
            Self::from_le_bytes([a, b, c, d, e, f, 0, 0])
        };
        bytes.as_chunks().0.iter().map(number).collect()
    }
}

/// Writes sequences: 8 bytes of memory for each, and up to a limit for their contents.
pub(crate) struct SpillWriter<T> {
    directory: PathBuf,
    max_items: usize,
    front: Vec<T>,
    ends: Vec<u64>,
    back: Option<BufWriter<File>>,
}

/// The written sequences, read by number from any thread.
#[derive(Debug)]
pub(crate) struct Spilled<T> {
    directory: PathBuf,
    front: Vec<T>,
    ends: Vec<u64>,
    back: Option<File>,
}

impl<T: Stored> SpillWriter<T> {
    /// Keeps up to `max_bytes` in memory. The temporary file is created in `directory` when it is needed.
    pub(crate) fn new(directory: &Path, max_bytes: u64) -> Self {
        let max_items = usize::try_from(max_bytes).unwrap_or(usize::MAX) / size_of::<T>();
        Self { directory: directory.to_owned(), max_items, front: Vec::new(), ends: Vec::new(), back: None }
    }

    pub(crate) fn push(&mut self, items: &[T]) -> Result<(), Error> {
        self.ends.push(self.ends.last().copied().unwrap_or(0) + items.len() as u64);
        let fits = self.back.is_none() && self.front.len() + items.len() <= self.max_items;
        if fits && self.front.try_reserve(items.len()).is_ok() {
            self.front.extend_from_slice(items);
            return Ok(());
        }
        let back = match &mut self.back {
            Some(back) => back,
            none => {
                let file = tempfile::tempfile_in(&self.directory)
                    .map_err(Error::temporary("create a temporary file in it", &self.directory))?;
                none.insert(BufWriter::with_capacity(1 << 16, file))
            }
        };
        T::write(items, back).map_err(Error::temporary("write a temporary file in it", &self.directory))
    }

    pub(crate) fn finish(self) -> Result<Spilled<T>, Error> {
        let Self { directory, front, ends, back, .. } = self;
        let failed = Error::temporary("write a temporary file in it", &directory);
        let back = match back {
            Some(back) => Some(back.into_inner().map_err(|error| failed(error.into_error()))?),
            None => None,
        };
        Ok(Spilled { directory, front, ends, back })
    }
}

impl<T: Stored> Spilled<T> {
    /// Returns the length of a sequence.
    pub(crate) fn len(&self, number: u32) -> usize {
        let (start, end) = self.bounds(number);
        (end - start) as usize
    }

    /// Returns a sequence.
    pub(crate) fn get(&self, number: u32) -> Result<Cow<'_, [T]>, Error> {
        let (start, end) = self.bounds(number);
        let in_memory = self.front.len() as u64;
        if end <= in_memory {
            return Ok(Cow::Borrowed(&self.front[start as usize..end as usize]));
        }
        let file = self.back.as_ref().expect("sequences that are not in memory are in the file");
        let mut bytes = vec![0; (end - start) as usize * T::BYTES];
        read_exact_at(file, &mut bytes, (start - in_memory) * T::BYTES as u64)
            .map_err(Error::temporary("read a temporary file in it", &self.directory))?;
        Ok(Cow::Owned(T::of_bytes(bytes)))
    }

    fn bounds(&self, number: u32) -> (u64, u64) {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        (start, self.ends[number])
    }
}

impl Spilled<u8> {
    /// Returns a string as text: see [`Names::text_of`].
    pub(crate) fn text(&self, number: u32) -> Result<Cow<'_, str>, Error> {
        Ok(match self.get(number)? {
            Cow::Borrowed(bytes) => Names::text_of(bytes),
            Cow::Owned(bytes) => Cow::Owned(Names::text_of(&bytes).into_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_found_whether_they_fit_into_memory_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let sequences: Vec<Vec<u64>> =
            (0..40).map(|length| (0..length).map(|n| n << 40 | length).collect()).collect();
        for max_bytes in [0, 8, 500, 4000, u64::MAX] {
            let mut shelf = SpillWriter::new(directory.path(), max_bytes);
            sequences.iter().for_each(|sequence| shelf.push(sequence).unwrap());
            let shelved = shelf.finish().unwrap();
            for (number, sequence) in (0..).zip(&sequences) {
                assert_eq!(&*shelved.get(number).unwrap(), sequence.as_slice(), "{max_bytes}");
                assert_eq!(shelved.len(number), sequence.len());
            }
        }
    }

    #[test]
    fn a_missing_directory_matters_only_when_memory_is_full() {
        let directory = tempfile::tempdir().unwrap().path().join("missing");
        let mut shelf = SpillWriter::new(&directory, 3);
        shelf.push(b"abc").unwrap();
        assert!(matches!(shelf.push(b"d"), Err(Error::Temporary { .. })));
    }
}
