//! Taking in a file that was built elsewhere.

use std::io::{self, Write};
use std::path::Path;

use hamdex::{Engine, Mapping, OpenOptions, VerifyOptions};

use crate::disk::{Disk, DiskFile, RealDisk};
use crate::error::Error;
use crate::layout::{self, SEGMENTS};
use crate::publish::{Added, Change};
use crate::shared::Shared;
use crate::store::Store;

impl<F: Engine> Store<F> {
    /// Takes in all pairs of a file that was built elsewhere, in one step, by a link where the file system allows
    /// it, otherwise by a copy. All of the file is read and checked before. It has ids if the store has; its design
    /// and codec may differ, and last until it is merged.
    ///
    /// The file must not be changed afterwards. Removals before this have no effect on it, those after it have.
    ///
    /// # Errors
    /// When the file is damaged, or does not fit the store, or file or store have names, so that ids would be
    /// confused, or the disk refuses it: nothing has changed then.
    pub fn ingest(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let shared = self.shared();
        shared.check_process()?;
        let index = F::open(path, &OpenOptions::new())?;
        if shared.shape.identity.has_names || index.has_names() {
            return Err(Error::IngestNames { path: path.to_owned() });
        }
        if index.has_ids() != shared.shape.identity.has_ids {
            return Err(Error::IngestIds { path: path.to_owned(), has_ids: index.has_ids() });
        }
        F::verify(&index, &VerifyOptions::new().threads(shared.options.threads))?;
        drop(index);
        let number = shared.next_segment();
        let brought = shared.bring(path, number).and_then(|()| shared.open_segment(number, 0));
        let (segment, entry) = brought.inspect_err(|_| drop(shared.disk.remove(&layout::segment(number))))?;
        let added = Added { segment, entry, journal_start: None };
        shared.publish(Change { added: Some(added), dropped: Vec::new(), is_flush: false })?;
        Ok(())
    }
}

impl<F: Engine> Shared<F, RealDisk> {
    /// Brings a file into the directory of the segments, durably.
    fn bring(&self, path: &Path, number: u64) -> Result<(), Error> {
        let name = layout::segment(number);
        let target = self.disk.path(&name);
        let link = || -> io::Result<()> {
            let file = path.file_name().and_then(|name| name.to_str());
            let file = file.ok_or(io::ErrorKind::InvalidInput)?;
            // A link to a link would follow a name that somebody else may change.
            let path = path.canonicalize()?;
            let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
            let file = path.file_name().and_then(|name| name.to_str()).unwrap_or(file);
            RealDisk::new(parent).link(file, &self.disk, &name)?;
            self.disk.append(&name)?.sync()
        };
        if link().is_err() {
            let _ = self.disk.remove(&name);
            let copy = || -> io::Result<()> {
                let bytes = Mapping::open(path)?;
                let mut file = self.disk.create_new(&name)?;
                file.write_all(bytes.as_ref())?;
                file.sync()
            };
            copy().map_err(Error::io("copy it into the store", &target))?;
        }
        self.disk.sync_directory(SEGMENTS).map_err(Error::io("sync its directory", target))
    }
}
