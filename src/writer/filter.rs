//! A filter in the making: while its table is written, line after line.

use std::io::{self, Seek, Write};
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};
use rayon::prelude::*;
use tempfile::{SpooledTempFile, spooled_tempfile_in};

use crate::filter::{Geometry, LINE_BYTES, prefix_of};
use hamdex_fingerprint::Fingerprint;

/// Values that one thread takes at a time.
const CHUNK: usize = 1 << 16;

/// Bytes of a filter that are kept in memory; longer ones wait for the end of the file in a temporary file.
const KEPT_BYTES: usize = 8 << 20;

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 18;

/// The words of a line, and its number.
type Line = (u64, [u64; 8]);

/// Takes the values of a table in order.
pub(super) struct FilterWriter {
    geometry: Geometry,
    output: io::BufWriter<SpooledTempFile>,
    /// The line that later values may still change.
    current: Line,
}

impl FilterWriter {
    pub(super) fn new(geometry: Geometry, temp_dir: &Path) -> io::Result<Self> {
        let spool = spooled_tempfile_in(KEPT_BYTES, temp_dir);
        let mut output = io::BufWriter::with_capacity(GATHER_BYTES, spool);
        output.write_all(&geometry.head())?;
        Ok(Self { geometry, output, current: (0, [0; 8]) })
    }

    /// Takes ascending values, not below the previous ones, by all threads. `value` returns that of an entry in the
    /// order of the table's bits.
    pub(super) fn push<R: Sync, F: Fingerprint>(
        &mut self,
        entries: &[R],
        value: impl Fn(&R) -> F + Sync,
    ) -> io::Result<()> {
        let geometry = self.geometry;
        let prefix = |entry: &R| prefix_of(value(entry), geometry.prefix_bits);
        let chunks = entries.par_chunks(CHUNK).map(|chunk| lines_of(&geometry, chunk.iter().map(prefix)));
        chunks.collect::<Vec<_>>().into_iter().flatten().try_for_each(|line| self.put(line))
    }

    fn put(&mut self, (number, words): Line) -> io::Result<()> {
        if number == self.current.0 {
            self.current.1.iter_mut().zip(words).for_each(|(word, bits)| *word |= bits);
            return Ok(());
        }
        self.write_up_to(number)?;
        self.current = (number, words);
        Ok(())
    }

    /// Writes the current line, and empty ones up to another.
    fn write_up_to(&mut self, number: u64) -> io::Result<()> {
        let mut bytes = [0; LINE_BYTES];
        LittleEndian::write_u64_into(&self.current.1, &mut bytes);
        self.output.write_all(&bytes)?;
        (self.current.0 + 1..number).try_for_each(|_| self.output.write_all(&[0; LINE_BYTES]))
    }

    /// Returns the contents of the section, to be read.
    pub(super) fn finish(mut self) -> io::Result<io::BufReader<SpooledTempFile>> {
        self.write_up_to(self.geometry.lines)?;
        let mut spool = self.output.into_inner().map_err(io::IntoInnerError::into_error)?;
        spool.rewind()?;
        Ok(io::BufReader::with_capacity(GATHER_BYTES, spool))
    }
}

/// Returns the lines of ascending prefixes that have a bit.
fn lines_of(geometry: &Geometry, prefixes: impl Iterator<Item = u64>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for prefix in prefixes {
        let number = geometry.line(prefix);
        if lines.last().is_none_or(|line| line.0 != number) {
            lines.push((number, [0; 8]));
        }
        let (_, words) = lines.last_mut().expect("one has been added");
        geometry.marks(prefix).into_iter().for_each(|(word, bits)| words[word as usize] |= bits);
    }
    lines
}
