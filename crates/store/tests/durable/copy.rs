//! Copies of files: on the file system, and from one machine to another.

use std::io::{self, Write};

use hamdex::Stopped;
use hamdex_simulated_disk::{Failure, SimulatedDisk, Survival};
use hamdex_store::disk::{Disk, RealDisk};
use hamdex_store::internals::{clone_or_copy, copy, link_or_copy};

/// Bytes per write of a copy.
const WRITE_BYTES: usize = 2 << 20;

fn check(from: &dyn Disk, to: &dyn Disk) {
    let go_on = &mut |_| Ok(());
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
    let stopped = copy(from, "long", to, "stopped", u64::MAX, &mut |_| Err(Stopped));
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
    hamdex::Mapping::survive_lost_pages().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(directory.path());
    disk.create_new("long").unwrap().write_all(&vec![7; 2 * WRITE_BYTES]).unwrap();
    let cut_off = || std::fs::File::options().write(true).open(directory.path().join("long"));
    let copied = copy(&disk, "long", &disk, "copy", u64::MAX, &mut |_| {
        cut_off().unwrap().set_len(4096).unwrap();
        Ok(())
    });
    assert_eq!(copied.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert!(!disk.exists("copy").unwrap());
}

#[test]
fn files_are_copied_from_one_machine_to_another() {
    let (from, to) = (SimulatedDisk::new(), SimulatedDisk::new());
    check(&from, &to);
    to.sync_directory("").unwrap();
    assert_eq!(to.crashed(Survival::Nothing).length("copy-7").unwrap(), 7);
    to.fail_operation(to.operations() + 2, Failure::Full);
    assert_eq!(
        copy(&from, "long", &to, "half", 9, &mut |_| Ok(())).unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
    assert!(!to.exists("half").unwrap(), "no half copy stays");
}
