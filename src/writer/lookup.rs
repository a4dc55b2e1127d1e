//! A table of places: gathered by hash, and written once all are known.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use crate::error::BuildError;
use crate::ids::Packer;
use crate::lookup::Geometry;
use crate::progress::Counter;
use crate::writer::sort::{Sorted, Sorter};
use crate::writer::temporary::{failed, rewind, spool};

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 16;

/// Takes places in any order.
pub(super) struct LookupWriter {
    geometry: Geometry,
    sorter: Sorter<u64>,
    temp_dir: PathBuf,
}

impl LookupWriter {
    /// Creates a writer of `count` places. Keeps to `memory` bytes; spills to `temp_dir` beyond.
    pub(super) fn new(count: u64, memory: usize, temp_dir: &Path) -> Self {
        let sorter = Sorter::new(memory, temp_dir);
        Self { geometry: Geometry::of(count), sorter, temp_dir: temp_dir.to_owned() }
    }

    /// Takes a place and the hash of its key.
    pub(super) fn push(&mut self, hash: u64, place: u64, done: &Counter) -> Result<(), BuildError> {
        self.sorter.push(self.geometry.key(hash, place), done)
    }

    /// Returns the contents of the section, in a temporary file.
    pub(super) fn finish(self, done: &Counter) -> Result<BufReader<File>, BuildError> {
        let Self { geometry, sorter, temp_dir } = self;
        let sorted = sorter.finish(done)?;
        let mut output = Packed::new(spool(&temp_dir)?, &temp_dir);
        put_starts(&sorted, geometry, &mut output)?;
        output.end_list()?;
        let mut entries = sorted.one_by_one()?;
        while let Some(key) = entries.next()? {
            let entry = key & ((1u64.checked_shl(geometry.entry_bits()).unwrap_or(0)).wrapping_sub(1));
            output.put(entry, geometry.entry_bits())?;
        }
        output.end_list()?;
        rewind(output.output).map_err(|source| failed(&temp_dir, source))
    }
}

/// Puts the number of places before each bucket, and of all.
fn put_starts<W: Write>(
    sorted: &Sorted<u64>,
    geometry: Geometry,
    output: &mut Packed<'_, W>,
) -> Result<(), BuildError> {
    let mut keys = sorted.one_by_one()?;
    let (mut next, mut before) = (0, 0);
    while let Some(key) = keys.next()? {
        let bucket = key.checked_shr(geometry.entry_bits()).unwrap_or(0);
        while next <= bucket {
            output.put(before, geometry.start_bits)?;
            next += 1;
        }
        before += 1;
    }
    (next..=geometry.buckets()).try_for_each(|_| output.put(before, geometry.start_bits))
}

/// Packs numbers for a temporary file.
struct Packed<'t, W> {
    packer: Packer,
    packed: Vec<u8>,
    output: W,
    temp_dir: &'t Path,
}

impl<'t, W: Write> Packed<'t, W> {
    fn new(output: W, temp_dir: &'t Path) -> Self {
        Self { packer: Packer::default(), packed: Vec::with_capacity(GATHER_BYTES + 8), output, temp_dir }
    }

    fn put(&mut self, number: u64, bits: u32) -> Result<(), BuildError> {
        self.packer.put(number, bits, &mut self.packed);
        if self.packed.len() >= GATHER_BYTES { self.write() } else { Ok(()) }
    }

    /// Fills up to a whole byte.
    fn end_list(&mut self) -> Result<(), BuildError> {
        std::mem::take(&mut self.packer).finish(&mut self.packed);
        self.write()
    }

    fn write(&mut self) -> Result<(), BuildError> {
        self.output.write_all(&self.packed).map_err(|source| failed(self.temp_dir, source))?;
        self.packed.clear();
        Ok(())
    }
}
