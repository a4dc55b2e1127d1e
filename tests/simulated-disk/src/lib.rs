//! A disk in memory that tracks durability and can crash and fail.
//!
//! Synced changes survive a crash. Any part of the others may: each sector of a file in any version since the last
//! sync, any length, and any set of name changes in which each comes with the earlier ones of the same name. A failed
//! sync forgets the bytes that it should have written, as on some systems.
//!
//! ```
//! use std::io::Write;
//!
//! use hamdex_simulated_disk::{SimulatedDisk, Survival};
//! use hamdex_store::disk::{Disk, DiskFile};
//!
//! let disk = SimulatedDisk::new();
//! let mut file = disk.create_new("log")?;
//! file.write_all(b"synced")?;
//! file.sync()?;
//! disk.sync_directory("")?;
//! file.write_all(b", not synced")?;
//! assert_eq!(disk.read("log")?, b"synced, not synced");
//! assert_eq!(disk.crashed(Survival::Nothing).read("log")?, b"synced");
//! # Ok::<(), std::io::Error>(())
//! ```

mod choice;
mod contents;
mod file;
mod machine;
mod names;

use std::any::Any;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use hamdex::Mapping;
use hamdex_store::disk::{Disk, DiskFile, DiskLock};

pub use choice::Survival;
use contents::Contents;
use file::{SimulatedFile, SimulatedLock};
pub use machine::{BeforeOperation, Failure};
use machine::{Hook, Kind, Machine};
use names::directory_of;

/// A directory of a simulated machine. Clones are the same directory.
#[derive(Debug, Clone)]
pub struct SimulatedDisk {
    machine: Arc<Mutex<Machine>>,
    root: Arc<str>,
}

impl SimulatedDisk {
    /// Returns an empty directory of a new machine.
    #[must_use]
    pub fn new() -> Self {
        let mut machine = Machine::default();
        machine.directories.insert("store".to_owned());
        Self { machine: Arc::new(Mutex::new(machine)), root: "store".into() }
    }

    /// Returns another directory of the same machine, which need not exist yet.
    #[must_use]
    pub fn sibling(&self, root: &str) -> Self {
        Self { machine: self.machine.clone(), root: root.into() }
    }

    /// Returns the same directory after a crash at this moment, on a machine of its own. This one is unaffected.
    #[must_use]
    pub fn crashed(&self, survival: Survival) -> Self {
        Self { machine: Arc::new(Mutex::new(self.machine().crashed(survival))), root: self.root.clone() }
    }

    /// Returns the number of operations so far, including reads.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.machine().operations
    }

    /// Returns the number of changes so far: operations other than reads.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.machine().changes
    }

    /// Returns a line per operation so far.
    #[must_use]
    pub fn trace(&self) -> Vec<String> {
        self.machine().trace.clone()
    }

    /// Makes every operation fail after this many changes, counted from the first of the machine.
    pub fn lose_power_after(&self, changes: u64) {
        self.machine().last_change = Some(changes);
    }

    /// Whether power has been lost.
    #[must_use]
    pub fn has_lost_power(&self) -> bool {
        self.machine().has_lost_power()
    }

    /// Makes the operation of this number, counted from 1, fail.
    pub fn fail_operation(&self, number: u64, failure: Failure) {
        self.fail_operations(number..number + 1, failure);
    }

    /// Makes the operations of these numbers, counted from 1, fail, and no others.
    pub fn fail_operations(&self, numbers: Range<u64>, failure: Failure) {
        self.machine().failure = Some((numbers, failure));
    }

    /// Sets whether operations that need space fail.
    pub fn set_full(&self, is_full: bool) {
        self.machine().is_full = is_full;
    }

    /// Sets how many bytes are left for all files. From then on they are counted, and can be reserved.
    pub fn set_space(&self, bytes: u64) {
        self.machine().space = Some(bytes);
    }

    /// Makes changes of files with this name prefix fail; `None` ends that.
    pub fn fail_names(&self, names: Option<&str>) {
        self.machine().failing_names = names.map(|names| self.full(names));
    }

    /// Sets whether the checks of open files, that their names still lead to them, fail.
    pub fn fail_checks(&self, are_failing: bool) {
        self.machine().are_checks_failing = are_failing;
    }

    /// Calls `hook` before each operation on a name, other than writes to open files and their syncs, with what it does,
    /// as [`SimulatedDisk::trace`] says it, and the name. `None` ends that.
    pub fn before_operations(&self, hook: Option<Arc<BeforeOperation>>) {
        self.machine().hook = hook.map(Hook);
    }

    /// Damages a file: changes its bytes durably, without an operation.
    ///
    /// # Panics
    /// When the file does not exist.
    pub fn alter(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.full(name);
        let mut machine = self.machine();
        let file = machine.names.get(&path).expect("a file of this name");
        let mut bytes = machine.files[file].bytes().to_vec();
        change(&mut bytes);
        machine.files[file] = Contents::durable(bytes);
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().expect("no panic while it is held")
    }

    fn full(&self, name: &str) -> String {
        if name.is_empty() { self.root.to_string() } else { format!("{}/{name}", self.root) }
    }

    /// Counts an operation on a file.
    fn begin(&self, kind: Kind, what: &str, name: &str) -> io::Result<(MutexGuard<'_, Machine>, String)> {
        let path = self.full(name);
        // Called without the lock: it may use the disk.
        let hook = self.machine().hook.clone();
        if let Some(Hook(hook)) = hook {
            hook(what, name);
        }
        let mut machine = self.machine();
        machine.begin(kind, what, &path)?;
        Ok((machine, path))
    }
}

impl Default for SimulatedDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl Disk for SimulatedDisk {
    fn path(&self, name: &str) -> PathBuf {
        self.full(name).into()
    }

    fn create_directory(&self, name: &str) -> io::Result<()> {
        let (mut machine, path) = self.begin(Kind::Grow, "create directory", name)?;
        machine.directories.insert(path);
        Ok(())
    }

    fn create_new(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let (mut machine, path) = self.begin(Kind::Grow, "create", name)?;
        machine.free_name(&path)?;
        let number = machine.files.len();
        machine.files.push(Contents::default());
        machine.names.add(&path, number);
        Ok(Box::new(SimulatedFile { machine: self.machine.clone(), path, number, end: 0 }))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let (machine, path) = self.begin(Kind::Read, "open", name)?;
        let number = machine.file(&path)?;
        let end = machine.files[number].bytes().len();
        Ok(Box::new(SimulatedFile { machine: self.machine.clone(), path, number, end }))
    }

    fn sync_directory(&self, name: &str) -> io::Result<()> {
        let (mut machine, path) = self.begin(Kind::Change, "sync directory", name)?;
        machine.names.sync(&path);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (mut machine, path) = self.begin(Kind::Change, "rename", from)?;
        let (file, new) = (machine.file(&path)?, self.full(to));
        // POSIX: nothing happens to two names of one file.
        if machine.names.get(&new) != Some(file) {
            machine.names.rename(&path, &new);
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let (mut machine, path) = self.begin(Kind::Change, "remove", name)?;
        machine.file(&path)?;
        machine.names.remove(&path);
        Ok(())
    }

    fn link(&self, name: &str, to: &dyn Disk, to_name: &str) -> io::Result<()> {
        let (mut machine, path) = self.begin(Kind::Grow, "link", name)?;
        let to = (to as &dyn Any).downcast_ref::<Self>();
        let Some(to) = to.filter(|to| Arc::ptr_eq(&self.machine, &to.machine)) else {
            return Err(io::ErrorKind::CrossesDevices.into());
        };
        let file = machine.file(&path)?;
        let new = to.full(to_name);
        machine.free_name(&new)?;
        machine.names.add(&new, file);
        Ok(())
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        let (machine, path) = self.begin(Kind::Read, "list", directory)?;
        if !machine.directories.contains(&path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inside = machine.names.all().keys().filter(|name| directory_of(name) == path);
        Ok(inside.map(|name| name[path.len() + 1..].to_owned()).collect())
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        let (machine, path) = self.begin(Kind::Read, "length", name)?;
        Ok(machine.files[machine.file(&path)?].bytes().len() as u64)
    }

    fn read_from(&self, name: &str, offset: u64) -> io::Result<Vec<u8>> {
        let (machine, path) = self.begin(Kind::Read, "read", name)?;
        let bytes = machine.files[machine.file(&path)?].bytes();
        Ok(bytes.get(offset as usize..).unwrap_or_default().to_vec())
    }

    fn read_first(&self, name: &str, bytes: usize) -> io::Result<Vec<u8>> {
        let (machine, path) = self.begin(Kind::Read, "read the start of", name)?;
        let contents = machine.files[machine.file(&path)?].bytes();
        Ok(contents[..bytes.min(contents.len())].to_vec())
    }

    fn map(&self, name: &str) -> io::Result<Mapping> {
        let (machine, path) = self.begin(Kind::Read, "map", name)?;
        Ok(machine.files[machine.file(&path)?].bytes().into())
    }

    fn map_changed(&self, name: &str, length: u64, change: &mut dyn FnMut(&mut [u8])) -> io::Result<Mapping> {
        let mut bytes = self.read(name)?;
        bytes.resize(usize::try_from(length).map_err(io::Error::other)?, 0);
        change(&mut bytes);
        Ok(bytes.into())
    }

    fn lock(&self, name: &str, text: &str) -> io::Result<Result<Box<dyn DiskLock>, String>> {
        let (mut machine, path) = self.begin(Kind::Read, "lock", name)?;
        if let Some(holder) = machine.locks.get(&path) {
            return Ok(Err(holder.clone()));
        }
        machine.locks.insert(path.clone(), text.to_owned());
        Ok(Ok(Box::new(SimulatedLock { machine: self.machine.clone(), path })))
    }

    fn lock_text(&self, name: &str) -> io::Result<Option<String>> {
        Ok(self.machine().locks.get(&self.full(name)).cloned())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn names_are_as_durable_as_their_directory() {
        let disk = SimulatedDisk::new();
        let mut file = disk.create_new("manifest").unwrap();
        file.write_all(b"text").unwrap();
        file.sync().unwrap();
        assert!(!disk.crashed(Survival::Nothing).exists("manifest").unwrap());
        disk.sync_directory("").unwrap();
        assert_eq!(disk.crashed(Survival::Nothing).read("manifest").unwrap(), b"text");
    }

    #[test]
    fn after_power_is_lost_nothing_happens() {
        let disk = SimulatedDisk::new();
        disk.lose_power_after(2);
        let mut file = disk.create_new("log").unwrap();
        file.write_all(b"first").unwrap();
        file.write_all(b"second").unwrap_err();
        file.sync().unwrap_err();
        disk.sync_directory("").unwrap_err();
        disk.read("log").unwrap_err();
        assert_eq!(disk.crashed(Survival::Everything).read("log").unwrap(), b"first");
        assert!(!disk.crashed(Survival::Nothing).exists("log").unwrap());
        assert_eq!(disk.changes(), 2);
    }

    #[test]
    fn the_operation_that_is_to_fail_fails_once() {
        let disk = SimulatedDisk::new();
        disk.fail_operation(2, Failure::Full);
        let mut file = disk.create_new("log").unwrap();
        assert_eq!(file.write_all(b"1234").unwrap_err().kind(), io::ErrorKind::StorageFull);
        file.truncate(1).unwrap();
        file.write_all(b"5678").unwrap();
        assert_eq!(disk.read("log").unwrap(), b"15678");
        assert_eq!(
            disk.trace(),
            [
                "create store/log",
                "write store/log",
                "truncate store/log",
                "write store/log",
                "read store/log"
            ]
        );
    }

    #[test]
    fn a_full_disk_is_read_and_cleared() {
        let disk = SimulatedDisk::new();
        let mut file = disk.create_new("log").unwrap();
        disk.set_full(true);
        file.write_all(b"1").unwrap_err();
        assert!(disk.create_new("other").is_err());
        disk.remove("log").unwrap();
        disk.set_full(false);
        disk.create_new("other").unwrap();
    }

    #[test]
    fn one_at_a_time_holds_a_lock() {
        let disk = SimulatedDisk::new();
        let first = disk.lock("lock", "the first").unwrap().unwrap();
        assert_eq!(disk.lock("lock", "the second").unwrap().unwrap_err(), "the first");
        assert!(disk.crashed(Survival::Nothing).lock("lock", "after a crash").unwrap().is_ok());
        drop(first);
        disk.lock("lock", "the third").unwrap().unwrap();
    }

    #[test]
    fn a_link_is_the_same_file_in_another_directory() {
        let disk = SimulatedDisk::new();
        let backup = disk.sibling("backup");
        backup.create_directory("").unwrap();
        disk.create_new("segment").unwrap().write_all(b"bytes").unwrap();
        disk.link("segment", &backup, "copy").unwrap();
        disk.remove("segment").unwrap();
        assert_eq!(backup.read("copy").unwrap(), b"bytes");
        assert_eq!(backup.list("").unwrap(), ["copy"]);
        assert!(disk.list("").unwrap().is_empty());
        let elsewhere = SimulatedDisk::new();
        assert_eq!(backup.link("copy", &elsewhere, "x").unwrap_err().kind(), io::ErrorKind::CrossesDevices);
    }
}
