//! The files and streams behind inputs.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a file, or standard input for no path.
pub(crate) fn open(path: Option<&Path>) -> io::Result<Box<dyn Read + Send>> {
    let Some(path) = path else { return Ok(Box::new(Once { inner: io::stdin(), has_ended: false })) };
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let left = if metadata.is_file() { metadata.len() } else { 0 };
    Ok(Box::new(Watched { inner: file, left }))
}

/// A stream that is not read again after its end: a terminal would wait for more input.
struct Once<R> {
    inner: R,
    has_ended: bool,
}

impl<R: Read> Read for Once<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_ended || buffer.is_empty() {
            return Ok(0);
        }
        let count = self.inner.read(buffer)?;
        self.has_ended = count == 0;
        Ok(count)
    }
}

/// A file that must not end before the length that it had when it was opened.
struct Watched<R> {
    inner: R,
    /// Bytes not read yet.
    left: u64,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() && self.left > 0 {
            let what = format!("it became shorter while it was read: {} bytes are missing", self.left);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        self.left = self.left.saturating_sub(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_becomes_shorter_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in.u64");
        std::fs::write(&path, [7; 4096]).unwrap();
        let mut reader = open(Some(&path)).unwrap();
        reader.read_exact(&mut [0; 1024]).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(2048).unwrap();
        let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("2048 bytes are missing"), "{error}");
    }

    #[test]
    fn the_end_is_read_once() {
        /// Ends after every line, as a terminal does with Ctrl-D.
        struct Terminal(Vec<&'static [u8]>);
        impl Read for Terminal {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let Some(line) = self.0.pop() else { return Ok(0) };
                buffer[..line.len()].copy_from_slice(line);
                Ok(line.len())
            }
        }
        let mut typed = Vec::new();
        let mut reader = Once { inner: Terminal(vec![b"second\n", b"", b"first\n"]), has_ended: false };
        reader.read_to_end(&mut typed).unwrap();
        reader.read_to_end(&mut typed).unwrap();
        assert_eq!(typed, b"first\n");
    }
}
