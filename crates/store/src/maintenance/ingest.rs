//! Taking in a file that was built elsewhere.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use hamdex::{Fingerprint, Index, Mapping, OpenOptions, ReadError, VerifyOptions};

use crate::compaction::publish::{Added, Change};
use crate::disk::layout::{self, SEGMENTS};
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::inner::StoreInner;
use crate::manifest::SegmentEntry;
use crate::segment::Segment;
use crate::segment::write_index;
use crate::store::Store;

impl<F: Fingerprint> Store<F> {
    /// Takes in all pairs of a file that was built elsewhere, in one step, by a link where the file system allows
    /// it, otherwise by a copy. All of the file is read and checked before. It has ids if the store has; its design
    /// and codec may differ, and last until it is merged.
    ///
    /// The file must not be changed afterwards. Removals before this have no effect on it, those after it have.
    ///
    /// A file with names joins a store with names: its ids are moved up behind all that the store has given, as a merge
    /// of files moves them, so it is written anew. What is taken in twice is there twice, by different ids.
    ///
    /// # Errors
    /// When the file is damaged, or does not fit the store, or one of the two has names and the other has none, or the
    /// disk refuses it: nothing has changed then.
    pub fn ingest(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let inner = self.inner();
        let _activity = inner.begin()?;
        let index = OpenOptions::new().open::<F>(path)?;
        let identity = inner.schema.identity;
        if index.has_ids() != identity.has_ids {
            return Err(Error::IngestIds { path: path.to_owned(), has_ids: index.has_ids() });
        }
        if index.has_names() != identity.has_names {
            return Err(Error::IngestNames { path: path.to_owned(), has_names: index.has_names() });
        }
        index.verify_with(&VerifyOptions::new().threads(inner.options.threads))?;
        let brought = if identity.has_names {
            let Some(last) = index.names()?.map(|names| names.last_id()).transpose()?.flatten() else {
                return Ok(());
            };
            let first = last.checked_add(1).and_then(|count| inner.reserve_ids(count));
            let first = first.ok_or_else(|| self.no_ids_left())?;
            inner.write_moved_up(&index, first)
        } else {
            drop(index);
            let number = inner.next_segment();
            let brought = inner.bring(path, number).and_then(|()| inner.open_segment(number, 0, false));
            brought.inspect_err(|_| drop(inner.disk.remove(&layout::segment(number))))
        };
        let (segment, entry) = brought?;
        let added = Added { segment, entry, journal: None };
        // No flush comes in between, so there are never too many files.
        let _flushing = inner.begin_flush();
        if let Err(error) = inner.wait_for_fewer_segments() {
            added.segment.retire();
            return Err(error);
        }
        inner.publish(Change { added: Some(added), dropped: Vec::new(), is_flush: false })?;
        Ok(())
    }
}

impl<F: Fingerprint> StoreInner<F> {
    /// Writes the pairs and the names of a file to a new one, with all ids greater by the same number.
    fn write_moved_up(&self, index: &Index<F>, by: u64) -> Result<(Arc<Segment<F>>, SegmentEntry), Error> {
        self.new_segment(0, |options, mut output| {
            let mut failure: Option<ReadError> = None;
            let entries = index.entries().from(F::ZERO).map_while(|entry| match entry {
                Ok(entry) => Some(entry),
                Err(error) => {
                    failure = Some(error);
                    None
                }
            });
            let mut pairs = entries.flat_map(|entry| entry.ids.map(move |id| (entry.fingerprint, by + id)));
            let names = index.names()?;
            let names = names.iter().flatten().map(|named| named.map(|(id, name)| (by + id, name)));
            write_index(options, &mut pairs, names, &mut output)?;
            drop(pairs);
            failure.map_or(Ok(output), |error| Err(error.into()))
        })
    }

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
            RealDisk::new(parent).link(file, &*self.disk, &name)?;
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
