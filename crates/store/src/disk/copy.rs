//! Copies of files, and links in place of copies. Damaged files are kept aside in the directory `damaged`, for people
//! to inspect.

use std::io::{self, Read};

use hamdex::{Mapping, Stopped};

use crate::disk::{Disk, DiskFile, layout};
use crate::error::Error;

/// Bytes per write, as of [`Pieces`](hamdex_atomic_file::Pieces).
const WRITE_BYTES: usize = 2 << 20;

/// How a copy of a file was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// Its blocks are those of the original until either file is written to, which changes that one alone.
    Cloned,
    /// Byte by byte.
    Written,
}

/// Copies the first `at_most` bytes of a file to a new file. The copy is durable when this returns; its name is durable
/// after a sync of its directory. `done` is called with the bytes of each write; if it stops, the copy is removed, and
/// the error is [`io::ErrorKind::Interrupted`]. If the file is truncated meanwhile, in a process that survives that, the
/// error is [`io::ErrorKind::UnexpectedEof`]. Returns the length.
pub fn copy(
    from: &dyn Disk,
    name: &str,
    to: &dyn Disk,
    new_name: &str,
    at_most: u64,
    done: &mut dyn FnMut(u64) -> Result<(), Stopped>,
) -> io::Result<u64> {
    let mapping = from.map(name)?;
    create(to, new_name, |file| write_mapped(&mapping, at_most, file, done))
}

/// Copies an immutable file: it shares its blocks with the original if the file system can do that. Otherwise as
/// [`copy`]; `done` is not called for a file that shares its blocks.
pub fn clone_or_copy(
    from: &dyn Disk,
    name: &str,
    to: &dyn Disk,
    new_name: &str,
    done: &mut dyn FnMut(u64) -> Result<(), Stopped>,
) -> io::Result<Copied> {
    create(to, new_name, |file| {
        if from.open(name).and_then(|original| file.share_blocks_of(&original)).is_ok() {
            return Ok(Copied::Cloned);
        }
        write_mapped(&from.map(name)?, u64::MAX, file, done)?;
        Ok(Copied::Written)
    })
}

/// Writes the first `at_most` bytes of a mapped file, unless it is truncated meanwhile.
fn write_mapped(
    mapping: &Mapping,
    at_most: u64,
    file: &mut dyn DiskFile,
    done: &mut dyn FnMut(u64) -> Result<(), Stopped>,
) -> io::Result<u64> {
    let bytes = mapping.as_ref();
    let mut bytes = &bytes[..bytes.len().min(usize::try_from(at_most).unwrap_or(usize::MAX))];
    let length = write_all(&mut bytes, file, done)?;
    if mapping.is_lost() {
        // Zeros were read in its place.
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file was cut off while it was copied"));
    }
    Ok(length)
}

/// Creates a file, durably, and removes it if `write` fails.
pub(crate) fn create<T>(
    disk: &dyn Disk,
    name: &str,
    write: impl FnOnce(&mut dyn DiskFile) -> io::Result<T>,
) -> io::Result<T> {
    let mut file = disk.create_new(name)?;
    let written = write(&mut *file).and_then(|written| file.sync().map(|()| written));
    written.inspect_err(|_| {
        // If a partial copy stays, the next writer removes it as a leftover.
        let _ = disk.remove(name);
    })
}

/// Writes all that can be read to a file. Returns its length. `done` is as for [`copy`].
pub(crate) fn write_all(
    from: &mut dyn Read,
    file: &mut dyn DiskFile,
    done: &mut dyn FnMut(u64) -> Result<(), Stopped>,
) -> io::Result<u64> {
    let (mut chunk, mut length) = (Vec::new(), 0);
    loop {
        chunk.clear();
        let bytes = (&mut *from).take(WRITE_BYTES as u64).read_to_end(&mut chunk)? as u64;
        if bytes == 0 {
            return Ok(length);
        }
        file.write_all(&chunk)?;
        length += bytes;
        done(bytes).map_err(|Stopped| io::Error::from(io::ErrorKind::Interrupted))?;
    }
}

/// Links an immutable file to a second name if the file system can; otherwise copies it. The name is durable after a
/// sync of its directory. `done` is as for [`copy`]; it is not called for a link.
pub fn link_or_copy(
    from: &dyn Disk,
    name: &str,
    to: &dyn Disk,
    new_name: &str,
    done: &mut dyn FnMut(u64) -> Result<(), Stopped>,
) -> io::Result<()> {
    match from.link(name, to, new_name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => copy(from, name, to, new_name, u64::MAX, done).map(drop),
        Ok(()) => Ok(()),
    }
}

/// Links or copies files into the directory of damaged files, durably. Returns their names there.
pub(crate) fn keep_aside(disk: &dyn Disk, names: impl Iterator<Item = String>) -> Result<Vec<String>, Error> {
    let mut kept = Vec::new();
    for name in names {
        let directory = disk.path(layout::DAMAGED);
        disk.create_directory(layout::DAMAGED).map_err(Error::io("create it", directory))?;
        let new_name = keep(disk, &name).map_err(Error::io("keep it aside", disk.path(&name)))?;
        kept.push(new_name);
    }
    if !kept.is_empty() {
        disk.sync_directory(layout::DAMAGED).map_err(Error::io("sync it", disk.path(layout::DAMAGED)))?;
    }
    Ok(kept)
}

/// Links or copies a file to the first free name.
fn keep(disk: &dyn Disk, name: &str) -> io::Result<String> {
    let plain = format!("{}/{}", layout::DAMAGED, name.replace('/', "-"));
    for attempt in 1.. {
        let new_name = if attempt == 1 { plain.clone() } else { format!("{plain}.{attempt}") };
        if disk.exists(&new_name)? {
            continue;
        }
        link_or_copy(disk, name, disk, &new_name, &mut |_| Ok(()))?;
        return Ok(new_name);
    }
    unreachable!("there is a free number")
}
