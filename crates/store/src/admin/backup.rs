//! A consistent copy.

use std::path::Path;

use hamdex::Engine;

use crate::disk::copy::copy;
use crate::disk::{Disk, RealDisk, link_or_copy};
use crate::error::Error;
use crate::layout::{self, DELETES, LOGS, SEGMENTS};
use crate::log::Sealed;
use crate::open::refuse_to_replace;
use crate::publisher::Publisher;
use crate::store::Store;

impl<F: Engine> Store<F> {
    /// Copies the store, as it is at one moment, to a directory that does not exist yet, or is empty: see
    /// [`Store::backup_to`].
    ///
    /// # Errors
    /// As for [`Store::backup_to`].
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        self.backup_to(&RealDisk::new(directory))
    }
}

impl<F: Engine, D: Disk> Store<F, D> {
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
        let copy_to = |target: &D, name: &str, at_most: u64| {
            let copied = copy(&shared.disk, name, target, name, at_most);
            copied.map_err(Error::io("copy it", target.path(name)))
        };
        for entry in &manifest.segments {
            let name = layout::segment(entry.number);
            let linked = link_or_copy(&shared.disk, &name, target, &name);
            linked.map_err(Error::io("copy it", target.path(&name)))?;
            if let Some(removals) = entry.removals {
                copy_to(target, &layout::removals(entry.number, removals.version), u64::MAX)?;
            }
        }
        for number in manifest.first_log..=last_log {
            let bytes = if number == last_log { last_bytes } else { u64::MAX };
            copy_to(target, &layout::log(number), bytes)?;
        }
        for directory in [SEGMENTS, DELETES, LOGS] {
            target.sync_directory(directory).map_err(Error::io("sync it", target.path(directory)))?;
        }
        // All of it is durable: damage to the end of its last log is noticed.
        manifest.sealed = Some(Sealed { log: last_log, bytes: last_bytes });
        Publisher::new(target.clone(), manifest.clone()).replace(manifest)
    }
}
