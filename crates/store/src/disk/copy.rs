//! Copies of files, and links in place of copies.

use std::io::{self, Read};
use std::ops::ControlFlow;

use hamdex::Mapping;

use super::{Disk, DiskFile};

/// Bytes per write, as of [`Pieces`](hamdex_atomic_file::Pieces).
const WRITE_BYTES: usize = 2 << 20;

/// How a copy of a file was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    /// Its blocks are those of the original until either file is written to, which changes that one alone.
    Cloned,
    /// Byte by byte.
    Written,
}

/// Copies the first `at_most` bytes of a file to a new file. The copy is durable when this returns; its name is durable
/// after a sync of its directory. `done` is called with the bytes of each write; if it breaks, the copy is removed, and
/// the error is [`io::ErrorKind::Interrupted`]. If the file is cut off meanwhile, in a process that survives that, the
/// error is [`io::ErrorKind::UnexpectedEof`]. Returns the length.
pub(crate) fn copy(
    from: &dyn Disk,
    name: &str,
    to: &dyn Disk,
    new_name: &str,
    at_most: u64,
    done: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> io::Result<u64> {
    let mapping = from.map(name)?;
    create(to, new_name, |file| write_mapped(&mapping, at_most, file, done))
}

/// Copies an immutable file: it shares its blocks with the original if the file system can do that. Otherwise as
/// [`copy`]; `done` is not called for a file that shares its blocks.
pub(crate) fn clone_or_copy(
    from: &dyn Disk,
    name: &str,
    to: &dyn Disk,
    new_name: &str,
    done: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> io::Result<Copied> {
    create(to, new_name, |file| {
        if from.open(name).and_then(|original| file.share_blocks_of(&original)).is_ok() {
            return Ok(Copied::Cloned);
        }
        write_mapped(&from.map(name)?, u64::MAX, file, done)?;
        Ok(Copied::Written)
    })
}

/// Writes the first `at_most` bytes of a mapped file, unless it is cut off meanwhile.
fn write_mapped(
    mapping: &Mapping,
    at_most: u64,
    file: &mut dyn DiskFile,
    done: &mut dyn FnMut(u64) -> ControlFlow<()>,
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
    done: &mut dyn FnMut(u64) -> ControlFlow<()>,
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
        if done(bytes).is_break() {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
}

/// Links an immutable file to a second name if the file system can; otherwise copies it. The name is durable after a
/// sync of its directory. `done` is as for [`copy`]; it is not called for a link.
pub(crate) fn link_or_copy(
    from: &dyn Disk,
    name: &str,
    to: &dyn Disk,
    new_name: &str,
    done: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> io::Result<()> {
    match from.link(name, to, new_name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => copy(from, name, to, new_name, u64::MAX, done).map(drop),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::disk::RealDisk;

    fn check(from: &dyn Disk, to: &dyn Disk) {
        let go_on = &mut |_| ControlFlow::Continue(());
        let contents: Vec<u8> = (0..3_000_000_u32).map(|number| (number >> 3) as u8).collect();
        from.create_new("long").unwrap().write_all(&contents).unwrap();
        drop(from.create_new("empty").unwrap());
        for at_most in [0, 7, WRITE_BYTES as u64, WRITE_BYTES as u64 + 1, u64::MAX] {
            let name = format!("copy-{at_most}");
            let expected = &contents[..contents.len().min(usize::try_from(at_most).unwrap())];
            assert_eq!(copy(from, "long", to, &name, at_most, go_on).unwrap(), expected.len() as u64);
            assert_eq!(to.read(&name).unwrap(), expected);
        }
        assert_eq!(copy(from, "empty", to, "copy-of-empty", 9, go_on).unwrap(), 0);
        clone_or_copy(from, "long", to, "clone", go_on).unwrap();
        assert_eq!(to.read("clone").unwrap(), contents);
        link_or_copy(from, "long", to, "linked", go_on).unwrap();
        assert_eq!(to.read("linked").unwrap(), contents);
        for outcome in [
            copy(from, "long", to, "linked", 1, go_on).map(drop),
            link_or_copy(from, "long", to, "linked", go_on),
            clone_or_copy(from, "long", to, "linked", go_on).map(drop),
        ] {
            assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(to.read("linked").unwrap(), contents);
        assert_eq!(copy(from, "missing", to, "none", 1, go_on).unwrap_err().kind(), io::ErrorKind::NotFound);
        let stopped = copy(from, "long", to, "stopped", u64::MAX, &mut |_| ControlFlow::Break(()));
        assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert!(!to.exists("stopped").unwrap());
        assert!(clone_or_copy(from, "missing", to, "none", go_on).is_err() && !to.exists("none").unwrap());
    }

    #[test]
    fn files_are_copied_on_the_file_system() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (RealDisk::new(directory.path()), RealDisk::new(directory.path().join("to")));
        to.create_directory("").unwrap();
        check(&from, &to);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_cut_off_meanwhile_is_not_copied() {
        Mapping::survive_lost_pages().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path());
        disk.create_new("long").unwrap().write_all(&vec![7; 2 * WRITE_BYTES]).unwrap();
        let cut_off = || std::fs::File::options().write(true).open(directory.path().join("long"));
        let copied = copy(&disk, "long", &disk, "copy", u64::MAX, &mut |_| {
            cut_off().unwrap().set_len(4096).unwrap();
            ControlFlow::Continue(())
        });
        assert_eq!(copied.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(!disk.exists("copy").unwrap());
    }

    #[cfg(feature = "unstable")]
    #[test]
    fn files_are_copied_from_one_machine_to_another() {
        use crate::disk::{Failure, SimulatedDisk, Survival};
        let (from, to) = (SimulatedDisk::new(), SimulatedDisk::new());
        check(&from, &to);
        to.sync_directory("").unwrap();
        assert_eq!(to.crashed(Survival::Nothing).length("copy-7").unwrap(), 7);
        to.fail_operation(to.operations() + 2, Failure::Full);
        assert_eq!(
            copy(&from, "long", &to, "half", 9, &mut |_| ControlFlow::Continue(())).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        assert!(!to.exists("half").unwrap(), "no half copy stays");
    }
}
