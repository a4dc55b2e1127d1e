//! Copies of files, and links in place of copies.

use std::io::{self, Write};

use super::Disk;

/// Bytes per write, as of [`Pieces`](hamdex_atomic_file::Pieces).
const WRITE_BYTES: usize = 2 << 20;

/// Copies the first `at_most` bytes of a file, which must not be truncated meanwhile, to a new file. The copy is
/// durable when this returns; its name is durable after a sync of its directory. Returns its length.
pub(crate) fn copy(
    from: &dyn Disk,
    name: &str,
    to: &dyn Disk,
    new_name: &str,
    at_most: u64,
) -> io::Result<u64> {
    let bytes = from.map(name)?;
    let bytes = bytes.as_ref();
    let bytes = &bytes[..bytes.len().min(usize::try_from(at_most).unwrap_or(usize::MAX))];
    let mut file = to.create_new(new_name)?;
    let mut write = || {
        bytes.chunks(WRITE_BYTES).try_for_each(|chunk| file.write_all(chunk))?;
        file.sync()?;
        Ok(bytes.len() as u64)
    };
    write().inspect_err(|_| {
        // If a partial copy stays, the next writer removes it as a leftover.
        let _ = to.remove(new_name);
    })
}

/// Links an immutable file to a second name if the file system can; otherwise copies it. The name is durable after a
/// sync of its directory.
pub(crate) fn link_or_copy(from: &dyn Disk, name: &str, to: &dyn Disk, new_name: &str) -> io::Result<()> {
    match from.link(name, to, new_name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => copy(from, name, to, new_name, u64::MAX).map(drop),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    fn check(from: &dyn Disk, to: &dyn Disk) {
        let contents: Vec<u8> = (0..3_000_000_u32).map(|number| (number >> 3) as u8).collect();
        from.create_new("long").unwrap().write_all(&contents).unwrap();
        drop(from.create_new("empty").unwrap());
        for at_most in [0, 7, WRITE_BYTES as u64, WRITE_BYTES as u64 + 1, u64::MAX] {
            let name = format!("copy-{at_most}");
            let expected = &contents[..contents.len().min(usize::try_from(at_most).unwrap())];
            assert_eq!(copy(from, "long", to, &name, at_most).unwrap(), expected.len() as u64);
            assert_eq!(to.read(&name).unwrap(), expected);
        }
        assert_eq!(copy(from, "empty", to, "copy-of-empty", 9).unwrap(), 0);
        link_or_copy(from, "long", to, "linked").unwrap();
        assert_eq!(to.read("linked").unwrap(), contents);
        for outcome in
            [copy(from, "long", to, "linked", 1).map(drop), link_or_copy(from, "long", to, "linked")]
        {
            assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(to.read("linked").unwrap(), contents);
        assert_eq!(copy(from, "missing", to, "none", 1).unwrap_err().kind(), io::ErrorKind::NotFound);
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
        assert_eq!(copy(&from, "long", &to, "half", 9).unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(!to.exists("half").unwrap(), "no half copy stays");
    }
}
