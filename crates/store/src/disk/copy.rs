//! Copies of files, and links in place of copies.

use std::io::{self, Write};
use std::ops::ControlFlow;

use super::Disk;

/// Bytes per write, as of [`Pieces`](hamdex_atomic_file::Pieces).
const WRITE_BYTES: usize = 2 << 20;

/// Copies the first `at_most` bytes of a file, which must not be truncated meanwhile, to a new file. The copy is
/// durable when this returns; its name is durable after a sync of its directory. `done` is called with the bytes of
/// each write; if it breaks, the copy is removed, and the error is [`io::ErrorKind::Interrupted`]. Returns the length.
pub(crate) fn copy(
    from: &dyn Disk,
    name: &str,
    to: &dyn Disk,
    new_name: &str,
    at_most: u64,
    done: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> io::Result<u64> {
    let bytes = from.map(name)?;
    let bytes = bytes.as_ref();
    let bytes = &bytes[..bytes.len().min(usize::try_from(at_most).unwrap_or(usize::MAX))];
    let mut file = to.create_new(new_name)?;
    let mut write = || {
        for chunk in bytes.chunks(WRITE_BYTES) {
            file.write_all(chunk)?;
            if done(chunk.len() as u64).is_break() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        file.sync()?;
        Ok(bytes.len() as u64)
    };
    write().inspect_err(|_| {
        // If a partial copy stays, the next writer removes it as a leftover.
        let _ = to.remove(new_name);
    })
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
        link_or_copy(from, "long", to, "linked", go_on).unwrap();
        assert_eq!(to.read("linked").unwrap(), contents);
        for outcome in [
            copy(from, "long", to, "linked", 1, go_on).map(drop),
            link_or_copy(from, "long", to, "linked", go_on),
        ] {
            assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(to.read("linked").unwrap(), contents);
        assert_eq!(copy(from, "missing", to, "none", 1, go_on).unwrap_err().kind(), io::ErrorKind::NotFound);
        let stopped = copy(from, "long", to, "stopped", u64::MAX, &mut |_| ControlFlow::Break(()));
        assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert!(!to.exists("stopped").unwrap());
    }

    #[test]
    fn files_are_copied_on_the_file_system() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (RealDisk::new(directory.path()), RealDisk::new(directory.path().join("to")));
        to.create_directory("").unwrap();
        check(&from, &to);
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
