//! A consistent copy.

use std::io::{self, Write};
use std::path::Path;

use hamdex::Fingerprint;

use crate::disk::{Disk, DiskFile, RealDisk};
use crate::error::Error;
use crate::layout::{self, DELETES, LOGS, SEGMENTS};
use crate::open::refuse_to_replace;
use crate::publisher::Publisher;
use crate::store::Store;

impl<F: Fingerprint> Store<F> {
    /// Copies the store, as it is at one moment, to a directory that does not exist yet, or is empty: see
    /// [`Store::backup_to`].
    ///
    /// # Errors
    /// As for [`Store::backup_to`].
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        self.backup_to(&RealDisk::new(directory))
    }
}

impl<F: Fingerprint, D: Disk> Store<F, D> {
    /// Copies the store, as it is at one moment, to an empty directory: files by links where that is possible, logs
    /// byte by byte. It may be written to meanwhile; flushes and merges end later. The copy is a store when this
    /// has returned, and none before.
    ///
    /// # Errors
    /// When there is something already, or the disk refuses it.
    pub fn backup_to(&self, target: &D) -> Result<(), Error> {
        let shared = self.shared();
        shared.check_process()?;
        let publisher = shared.publisher();
        let mut manifest = publisher.manifest().clone();
        // What is acknowledged by now is in the logs up to here.
        let (last_log, last_bytes) = {
            let mut writer = shared.writer();
            writer.sync()?;
            (writer.log.number(), writer.log.bytes())
        };
        target.create_directory("").map_err(Error::io("create it", target.path("")))?;
        refuse_to_replace(target)?;
        for directory in [SEGMENTS, DELETES, LOGS] {
            target.create_directory(directory).map_err(Error::io("create it", target.path(directory)))?;
        }
        for entry in &manifest.segments {
            link_or_copy(&shared.disk, target, &layout::segment(entry.number))?;
            if let Some(removals) = entry.removals {
                copy(&shared.disk, target, &layout::removals(entry.number, removals.version), u64::MAX)?;
            }
        }
        for number in manifest.first_log..=last_log {
            let bytes = if number == last_log { last_bytes } else { u64::MAX };
            copy(&shared.disk, target, &layout::log(number), bytes)?;
        }
        for directory in [SEGMENTS, DELETES, LOGS] {
            target.sync_directory(directory).map_err(Error::io("sync it", target.path(directory)))?;
        }
        manifest.sealed = None;
        Publisher::new(target.clone(), manifest.clone()).replace(manifest)
    }
}

/// A second name where the file system allows it; files never change.
fn link_or_copy<D: Disk>(from: &D, to: &D, name: &str) -> Result<(), Error> {
    match from.link(name, to, name) {
        Ok(()) => Ok(()),
        Err(_) => copy(from, to, name, u64::MAX),
    }
}

/// Copies a file, at most so much of it, durably.
fn copy<D: Disk>(from: &D, to: &D, name: &str, at_most: u64) -> Result<(), Error> {
    let bytes = from.read(name).map_err(Error::io("read it", from.path(name)))?;
    let bytes = &bytes[..bytes.len().min(usize::try_from(at_most).unwrap_or(usize::MAX))];
    let write = || -> io::Result<()> {
        let mut file = to.create_new(name)?;
        file.write_all(bytes)?;
        file.sync()
    };
    write().map_err(Error::io("write it", to.path(name)))
}
