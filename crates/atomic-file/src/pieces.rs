//! Writing a file in pieces of a huge page.

use std::hint;
use std::io::{self, BufWriter, IntoInnerError, Write};

/// Buffer size for streams, and for files if memory is short.
pub(crate) const STREAM_BUFFER_BYTES: usize = 1 << 18;

/// Buffer size for files, and the alignment of writes: a huge page of most processors.
const PIECE_BYTES: usize = 2 << 20;

/// If less memory than this can be allocated, files are written with the buffer size of streams.
const SPARE_BYTES: usize = 12 << 20;

/// A writer of a new file in aligned pieces of 2 MiB.
///
/// Linux (ext4 since 6.16, XFS since 6.6) keeps each write in one piece of its page cache and maps that as a huge page,
/// which makes random reads of a mapped file faster. If memory is short, the pieces are smaller.
#[derive(Debug)]
pub struct Pieces<W: Write> {
    buffer: BufWriter<W>,
    written_bytes: u64,
}

impl<W: Write> Pieces<W> {
    /// Creates a writer to an empty file.
    pub fn new(file: W) -> Self {
        Self { buffer: BufWriter::with_capacity(buffer_bytes(), file), written_bytes: 0 }
    }

    /// Writes the rest of the buffer, and returns the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn into_inner(self) -> io::Result<W> {
        self.buffer.into_inner().map_err(IntoInnerError::into_error)
    }
}

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The buffer ends at the end of a piece of the file.
        let room = PIECE_BYTES - self.written_bytes as usize % PIECE_BYTES;
        let written = self.buffer.write(&bytes[..bytes.len().min(room)])?;
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.buffer.flush()
    }
}

/// Returns the buffer size. Tries the allocation first, since a failed allocation aborts the process.
fn buffer_bytes() -> usize {
    let mut spare = Vec::<u8>::new();
    let is_there = spare.try_reserve_exact(SPARE_BYTES).is_ok();
    drop(hint::black_box(spare));
    if is_there { PIECE_BYTES } else { STREAM_BUFFER_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the length of every write.
    #[derive(Default)]
    struct Lengths(Vec<usize>);

    impl Write for Lengths {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_piece_but_the_last_is_whole() {
        for at_once in [1000, 65_537, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES + 5] {
            let mut pieces = Pieces::new(Lengths::default());
            let bytes = vec![7; at_once];
            let mut all = 0;
            while all < 5 * PIECE_BYTES {
                pieces.write_all(&bytes).unwrap();
                all += at_once;
            }
            let Lengths(mut lengths) = pieces.into_inner().unwrap();
            assert_eq!(lengths.iter().sum::<usize>(), all);
            let last = lengths.pop().unwrap();
            assert!(last <= PIECE_BYTES && lengths.iter().all(|&length| length == PIECE_BYTES), "{at_once}");
        }
    }
}
