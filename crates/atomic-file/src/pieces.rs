//! Writing a file in the pieces that are read best.

use std::hint;
use std::io::{self, BufWriter, IntoInnerError, Write};

/// Bytes gathered before they are written where memory is short, and for a stream.
pub(crate) const STREAM_BUFFER_BYTES: usize = 1 << 18;

/// Bytes gathered before they are written to a file, which starts at a multiple of them: a huge page of most processors.
const PIECE_BYTES: usize = 2 << 20;

/// Memory without which a file is written in the pieces of a stream: others need what is left.
const SPARE_BYTES: usize = 12 << 20;

/// Writes a new file 2 MiB at a time, from its start on.
///
/// Linux (ext4 since 6.16, XFS since 6.6) keeps what is written at once in one piece of its page cache, and maps that as
/// a huge page: random reads of a mapped file are faster then. Where memory is short, the pieces are smaller.
#[derive(Debug)]
pub struct Pieces<W: Write> {
    buffer: BufWriter<W>,
    written_bytes: u64,
}

impl<W: Write> Pieces<W> {
    /// Writes to a file in which there is nothing yet.
    pub fn new(file: W) -> Self {
        Self { buffer: BufWriter::with_capacity(buffer_bytes(), file), written_bytes: 0 }
    }

    /// Writes what is left, and returns the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn into_inner(self) -> io::Result<W> {
        self.buffer.into_inner().map_err(IntoInnerError::into_error)
    }
}

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is gathered ends where a piece of the file does.
        let room = PIECE_BYTES - self.written_bytes as usize % PIECE_BYTES;
        let written = self.buffer.write(&bytes[..bytes.len().min(room)])?;
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.buffer.flush()
    }
}

/// Asked of the system beforehand, since a buffer that cannot be had ends the process.
fn buffer_bytes() -> usize {
    let mut spare = Vec::<u8>::new();
    let is_there = spare.try_reserve_exact(SPARE_BYTES).is_ok();
    drop(hint::black_box(spare));
    if is_there { PIECE_BYTES } else { STREAM_BUFFER_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the lengths of what is written at once.
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
