//! Handles of files and locks of a simulated machine.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use hamdex_store::disk::{DiskFile, DiskLock};

use crate::machine::{Failure, Kind, Machine};
use crate::names::FileNumber;

/// A file of a simulated machine.
#[derive(Debug)]
pub(crate) struct SimulatedFile {
    pub(crate) machine: Arc<Mutex<Machine>>,
    pub(crate) path: String,
    pub(crate) number: FileNumber,
    pub(crate) end: usize,
}

impl SimulatedFile {
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().expect("no panic while it is held")
    }
}

impl Write for SimulatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut machine = self.machine.lock().expect("no panic while it is held");
        let outcome = machine.begin(Kind::Grow, "write", &self.path);
        let room = machine.allocate(self.number, self.end + bytes.len()) - self.end;
        let outcome = match outcome {
            Ok(()) if room == 0 && !bytes.is_empty() => Err(Failure::Full.error()),
            outcome => outcome,
        };
        // A failed write may be partial.
        let written = if outcome.is_ok() { room } else { room.min(bytes.len() / 2) };
        if outcome.is_ok() || !machine.has_lost_power() {
            machine.files[self.number].write(self.end, &bytes[..written]);
            self.end += written;
        }
        outcome.map(|()| written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn sync(&mut self) -> io::Result<()> {
        let mut machine = self.machine();
        let outcome = machine.begin(Kind::Change, "sync", &self.path);
        match outcome {
            Ok(()) => machine.files[self.number].sync(),
            Err(_) if !machine.has_lost_power() => machine.files[self.number].fail_to_sync(),
            Err(_) => {}
        }
        outcome
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut machine = self.machine.lock().expect("no panic while it is held");
        machine.begin(Kind::Change, "truncate", &self.path)?;
        machine.release(self.number, length as usize);
        machine.files[self.number].truncate(length as usize);
        self.end = length as usize;
        Ok(())
    }

    fn reserve(&mut self, length: u64) -> io::Result<()> {
        let mut machine = self.machine.lock().expect("no panic while it is held");
        if machine.space.is_none() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        machine.begin(Kind::Grow, "reserve", &self.path)?;
        let length = length as usize;
        if machine.allocate(self.number, length) < length {
            // As a failed `fallocate`, it may keep what it has got.
            return Err(Failure::Full.error());
        }
        machine.reserved.insert(self.number, length);
        Ok(())
    }

    fn check_held(&self) -> io::Result<()> {
        if self.machine().are_checks_failing { Err(Failure::Io.error()) } else { Ok(()) }
    }
}

/// A lock on a file of a simulated machine.
#[derive(Debug)]
pub(crate) struct SimulatedLock {
    pub(crate) machine: Arc<Mutex<Machine>>,
    pub(crate) path: String,
}

impl DiskLock for SimulatedLock {
    fn set_text(&self, text: &str) -> io::Result<()> {
        let mut machine = self.machine.lock().expect("no panic while it is held");
        machine.locks.insert(self.path.clone(), text.to_owned());
        Ok(())
    }
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        if let Ok(mut machine) = self.machine.lock() {
            machine.locks.remove(&self.path);
        }
    }
}
