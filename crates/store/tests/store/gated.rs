//! A disk that can block the creation of files, and counts the bytes that are read.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use hamdex::Mapping;
use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::disk::{Disk, DiskFile, DiskLock};

/// A simulated disk with a gate before the files of one directory.
#[derive(Clone)]
pub(crate) struct GatedDisk {
    disk: SimulatedDisk,
    gate: Arc<Gate>,
    read: Arc<AtomicU64>,
}

#[derive(Default)]
struct Gate {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    /// Files with this path prefix are blocked.
    closed: Option<String>,
    waiting: usize,
}

impl GatedDisk {
    pub(crate) fn new() -> Self {
        Self { disk: SimulatedDisk::new(), gate: Arc::default(), read: Arc::default() }
    }

    pub(crate) fn sibling(&self, root: &str) -> Self {
        Self { disk: self.disk.sibling(root), gate: Arc::clone(&self.gate), read: Arc::clone(&self.read) }
    }

    /// Returns the number of bytes read or mapped since the last call.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read.swap(0, Ordering::Relaxed)
    }

    fn count(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Blocks the creation and linking of files with this name prefix.
    pub(crate) fn close_gate(&self, names: &str) {
        let path = self.path(names).to_str().unwrap().to_owned();
        self.gate.inner.lock().unwrap().closed = Some(path);
    }

    pub(crate) fn open_gate(&self) {
        self.gate.inner.lock().unwrap().closed = None;
        self.gate.changed.notify_all();
    }

    /// Waits until an operation is blocked.
    pub(crate) fn wait_until_held(&self) {
        let held = self.gate.inner.lock().unwrap();
        drop(self.gate.changed.wait_while(held, |inner| inner.waiting == 0).unwrap());
    }

    fn pass(&self, name: &str) {
        let path = self.path(name).to_str().unwrap().to_owned();
        let mut inner = self.gate.inner.lock().unwrap();
        while inner.closed.as_ref().is_some_and(|names| path.starts_with(names)) {
            inner.waiting += 1;
            self.gate.changed.notify_all();
            inner = self.gate.changed.wait(inner).unwrap();
            inner.waiting -= 1;
        }
    }
}

impl fmt::Debug for GatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.disk.fmt(f)
    }
}

impl Disk for GatedDisk {
    fn path(&self, name: &str) -> PathBuf {
        self.disk.path(name)
    }

    fn create_directory(&self, name: &str) -> io::Result<()> {
        self.disk.create_directory(name)
    }

    fn create_new(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.pass(name);
        self.disk.create_new(name)
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.append(name)
    }

    fn sync_directory(&self, name: &str) -> io::Result<()> {
        self.disk.sync_directory(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn link(&self, name: &str, to: &dyn Disk, to_name: &str) -> io::Result<()> {
        let to = (to as &dyn Any).downcast_ref::<Self>().expect("another gated disk");
        to.pass(to_name);
        self.disk.link(name, &to.disk, to_name)
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        self.disk.list(directory)
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        self.disk.length(name)
    }

    fn read_from(&self, name: &str, offset: u64) -> io::Result<Vec<u8>> {
        self.disk.read_from(name, offset).inspect(|bytes| self.count(bytes.len() as u64))
    }

    fn read_first(&self, name: &str, bytes: usize) -> io::Result<Vec<u8>> {
        self.disk.read_first(name, bytes).inspect(|bytes| self.count(bytes.len() as u64))
    }

    fn map(&self, name: &str) -> io::Result<Mapping> {
        self.disk.map(name).inspect(|map| self.count(map.as_ref().len() as u64))
    }

    fn map_changed(&self, name: &str, length: u64, change: &mut dyn FnMut(&mut [u8])) -> io::Result<Mapping> {
        self.disk.map_changed(name, length, change)
    }

    fn lock(&self, name: &str, text: &str) -> io::Result<Result<Box<dyn DiskLock>, String>> {
        self.disk.lock(name, text)
    }

    fn lock_text(&self, name: &str) -> io::Result<Option<String>> {
        self.disk.lock_text(name)
    }
}
