//! Standard output, whose failures are all reported.
//!
//! The standard library takes a closed standard output for one that swallows everything: it opens `/dev/null` in its
//! place before `main`, and ignores that a descriptor cannot be written. A result would be lost at exit code 0.

use std::io::{self, BufWriter, LineWriter, StdoutLock, Write};

use anstream::AutoStream;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::failure::Failure;

/// The bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 16;

/// Standard output without a buffer of its own.
#[derive(Debug)]
pub(crate) struct StandardOutput;

/// Returns standard output for many lines. The caller flushes it.
pub(crate) fn buffered() -> BufWriter<StandardOutput> {
    BufWriter::with_capacity(BUFFER_BYTES, StandardOutput)
}

/// Returns standard output for a few lines, each of which is written when it ends.
pub(crate) fn lines() -> LineWriter<StandardOutput> {
    LineWriter::new(StandardOutput)
}

/// A JSON object, with its fields in the order in which they are added.
#[derive(Default)]
pub(crate) struct Object(Vec<(&'static str, Box<RawValue>)>);

impl Object {
    /// Adds a field.
    pub(crate) fn field(mut self, name: &'static str, value: impl Serialize) -> Self {
        self.0.push((name, to_raw_value(&value).expect("a value that JSON has")));
        self
    }

    /// Adds a field if it has a value.
    pub(crate) fn optional(self, name: &'static str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Prints an object as a line of JSON.
pub(crate) fn print_json(object: &impl Serialize) -> Result<(), Failure> {
    let mut output = buffered();
    write_json(&mut output, object)?;
    Ok(output.flush()?)
}

/// Writes an object of JSON on a line.
pub(crate) fn write_json(output: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, object)?;
    writeln!(output)
}

/// Writes a value of JSON on several lines.
pub(crate) fn write_pretty_json(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, value)?;
    writeln!(output)
}

/// Returns standard output without a buffer.
pub(crate) fn unbuffered() -> StandardOutput {
    StandardOutput
}

/// Returns standard output for text with colours, which it loses unless a terminal shows them.
pub(crate) fn in_colour() -> io::Result<AutoStream<StdoutLock<'static>>> {
    require_open()?;
    Ok(anstream::stdout().lock())
}

/// Refuses a standard output that was closed, for a command that has something to print.
pub(crate) fn require_open() -> io::Result<()> {
    if closed::was_closed() { Err(io::Error::other("it is closed")) } else { Ok(()) }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        require_open()?;
        write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
fn write(bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::write(io::stdout(), bytes)?)
}

#[cfg(not(unix))]
fn write(bytes: &[u8]) -> io::Result<usize> {
    let mut output = io::stdout().lock();
    let written = output.write(bytes)?;
    output.flush()?;
    Ok(written)
}

#[cfg(unix)]
mod closed {
    use std::sync::atomic::{AtomicBool, Ordering};

    static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

    /// Looks at standard output before the standard library replaces it.
    #[ctor::ctor(unsafe)]
    fn look() {
        let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
        WAS_CLOSED.store(is_closed, Ordering::Relaxed);
    }

    pub(super) fn was_closed() -> bool {
        WAS_CLOSED.load(Ordering::Relaxed)
    }
}

#[cfg(not(unix))]
mod closed {
    pub(super) fn was_closed() -> bool {
        false
    }
}
