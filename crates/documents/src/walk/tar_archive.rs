//! The files of a tar archive, in the order in which they lie there, since it is read once from its start.

use hamdex::Names;
use std::cell::Cell;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::rc::Rc;

use tar::{Archive, EntryType};

use crate::error::Error;
use crate::input::Input;
use crate::read::collector::Collector;
use crate::walk::file_set::FileSet;
use crate::walk::litter::Litter;
use crate::walk::selection::globs;

/// The most bytes of the headers between two files: names and attributes, which are kept in memory, and padding.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// Bytes of a file in memory; a longer one goes through a temporary file.
const MAX_FILE_BYTES: usize = 4 << 20;

/// Zero bytes at the end of an archive that is whole.
const END_BYTES: u64 = 512;

/// Reads all files of an archive. Globs match `path` followed by the path within the archive.
pub(super) fn read(input: Input, path: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.expect_several();
    let name = input.name().to_owned();
    collector.refuse_file_form(&name, "an archive")?;
    let globs = globs(&collector.documents.selection, path)?;
    // Read once from its start, so that no file tells in advance whether it is one of tables.
    let mut file_set = FileSet::of(&name, Litter::of(path, collector.documents)?);
    let damaged = |source: io::Error| Error::NotArchive { input: name.clone(), source: source.into() };
    let meter = Rc::new(Meter::default());
    let mut archive = Archive::new(Metered { inner: input, meter: Rc::clone(&meter) });
    // Archives can follow each other; and whatever follows the last one is read to its end.
    archive.set_ignore_zeros(true);
    let mut entries = archive.entries().map_err(damaged)?;
    let mut unread = 0;
    loop {
        meter.allow(MAX_HEADER_BYTES.saturating_add(unread));
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(damaged)?;
        meter.allow(u64::MAX);
        unread = entry.header().entry_size().map_err(damaged)?.max(entry.size());
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::Directory => continue,
            // Links, whose targets are in the archive under another name, and devices; and files with holes.
            _ => {
                collector.ignore();
                continue;
            }
        }
        let inner = Names::text_of(&entry.path_bytes()).into_owned();
        let inner = inner.trim_start_matches("./").trim_start_matches('/');
        let whole = path.join(inner);
        if globs.matched(&whole, false).is_ignore() || file_set.is_hidden(&whole) {
            continue;
        }
        let bytes = entry.size();
        let directory = collector.temp_dir();
        let mut file = tempfile::spooled_tempfile_in(MAX_FILE_BYTES, &directory);
        copy(&mut entry, &mut file).map_err(|failure| match failure {
            Failure::Read(source) => damaged(source),
            Failure::Write(source) => Error::temporary("write a temporary file in it", &directory)(source),
        })?;
        if file.stream_position().ok() != Some(bytes) {
            return Err(damaged(io::Error::other(format!("it ends within {inner}"))));
        }
        file.rewind().map_err(Error::temporary("read a temporary file in it", &directory))?;
        unread = 0;
        let opened = Input::of(format!("{name}/{inner}"), &whole, Box::new(file));
        file_set.read_member(&whole, opened, collector)?;
    }
    if meter.zeros.get() < END_BYTES {
        return Err(damaged(io::Error::other("it has no end, so it may be cut off")));
    }
    file_set.finish(collector);
    Ok(())
}

enum Failure {
    Read(io::Error),
    Write(io::Error),
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&buffer[..count]).map_err(Failure::Write)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::Read(error)),
        }
    }
}

/// Bytes that may still be read, and the zero bytes at the end of the bytes read.
#[derive(Default)]
struct Meter {
    left: Cell<u64>,
    zeros: Cell<u64>,
}

impl Meter {
    fn allow(&self, bytes: u64) {
        self.left.set(bytes);
    }
}

/// A reader that fails when it has read what it may.
struct Metered<R> {
    inner: R,
    meter: Rc<Meter>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let Meter { left, zeros } = &*self.meter;
        match left.get().checked_sub(count as u64) {
            Some(rest) => left.set(rest),
            None => return Err(io::Error::other("the headers of a file are too long")),
        }
        let tail = buffer[..count].iter().rev().take_while(|&&byte| byte == 0).count();
        zeros.set(if tail == count { zeros.get() + tail as u64 } else { tail as u64 });
        Ok(count)
    }
}
