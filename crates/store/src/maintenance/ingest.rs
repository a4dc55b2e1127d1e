//! Ingestion of a file that was built elsewhere.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hamdex::{
    Fingerprint, Index, Mapping, OpenOptions, Progress, ProgressCallback, ReadError, VerifyOptions, shingles,
};

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
    /// Adds all pairs of a file that was built elsewhere, in one atomic step: by a hard link if the file system allows
    /// it, otherwise by a copy. The whole file is read and checked first. It must have ids exactly if the store has
    /// them; its design and codec may differ until a merge rewrites it.
    ///
    /// The file must not be changed afterwards. Only later removals concern its pairs.
    ///
    /// A file with names needs a store with names. It is rewritten with ids above all that the store has assigned. A
    /// file that is ingested twice is stored twice, with different ids.
    ///
    /// # Errors
    /// When the file is damaged or does not fit the store, or the disk refuses an operation. The store is unchanged
    /// then.
    pub fn ingest(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.ingest_with(path, |_| ControlFlow::Continue(()))
    }

    /// Ingests a file with a progress callback, as [`Store::compact_with`]: while the file is checked, and while it is
    /// rewritten for a store with names.
    ///
    /// # Errors
    /// As for [`Store::ingest`]; when the callback cancels it. The store is unchanged then.
    pub fn ingest_with(
        &self,
        path: impl AsRef<Path>,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let (path, report) = (path.as_ref(), Arc::new(report) as ProgressCallback);
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
        if index.has_shingles() != identity.has_shingles {
            return Err(Error::IngestShingles { path: path.to_owned(), has_shingles: index.has_shingles() });
        }
        let definition = index.metadata().get(shingles::KEY).map(Vec::as_slice);
        let own = inner.schema.shingles.as_deref().map(str::as_bytes);
        if own.is_some() && definition != own {
            return Err(Error::IngestOtherShingles { path: path.to_owned() });
        }
        let verify = VerifyOptions::new().threads(inner.options.threads);
        index.verify_with(&verify.progress(inner.background.cancellation().or_report(report.clone())))?;
        let needs_lookups = inner.schema.lookups && !index.has_lookups();
        let brought = if identity.has_names {
            let Some(last) = index.names()?.map(|names| names.last_id()).transpose()?.flatten() else {
                return Ok(());
            };
            let first = last.checked_add(1).and_then(|count| inner.reserve_ids(count));
            let first = first.ok_or_else(|| self.no_ids_left())?;
            inner.write_with_shifted_ids(&index, first, report)
        } else if needs_lookups {
            inner.write_with_shifted_ids(&index, 0, report)
        } else {
            drop(index);
            let number = inner.next_segment();
            let brought =
                inner.link_or_copy_in(path, number).and_then(|()| inner.open_segment(number, 0, inner.options.opening()));
            brought.inspect_err(|_| drop(inner.disk.remove(&layout::segment(number))))
        };
        let (segment, entry) = brought?;
        // No flush can add a segment meanwhile, so there are never too many.
        let _flushing = inner.begin_flush();
        if let Err(error) = inner.wait_for_fewer_segments() {
            segment.retire();
            return Err(error);
        }
        let added = Added::new(segment, entry, None);
        inner.publish(Change { added: Some(added), dropped: Vec::new(), is_flush: false })?;
        Ok(())
    }
}

impl<F: Fingerprint> StoreInner<F> {
    /// Writes the pairs and names of a file to a new segment, with `by` added to every id, and all that the store's
    /// segments have.
    fn write_with_shifted_ids(
        &self,
        index: &Index<F>,
        by: u64,
        report: ProgressCallback,
    ) -> Result<(Arc<Segment<F>>, SegmentEntry), Error> {
        let report = self.background.cancellation().or_report(report);
        self.new_segment(0, |options, mut output| {
            let options = options.progress(report);
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
            let shingles = index.shingles()?;
            let names = names.iter().flatten().map(|named| {
                let (id, name) = named?;
                let shingles = shingles.map_or(Ok(None), |shingles| shingles.encoded_of(id))?;
                Ok((by + id, name, shingles.unwrap_or_default()))
            });
            write_index(options, &mut pairs, names, &mut output)?;
            drop(pairs);
            failure.map_or(Ok(output), |error| Err(error.into()))
        })
    }

    /// Links or copies a file into the directory of the segments, durably.
    fn link_or_copy_in(&self, path: &Path, number: u64) -> Result<(), Error> {
        let name = layout::segment(number);
        let target = self.disk.path(&name);
        let link = || -> io::Result<()> {
            let file = path.file_name().and_then(|name| name.to_str());
            let file = file.ok_or(io::ErrorKind::InvalidInput)?;
            // A link to a symbolic link would follow a name that another program may change.
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
