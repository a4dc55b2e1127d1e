//! Ingestion of a file that was built elsewhere.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use hamdex::{
    BuildError, Fingerprint, Index, OpenOptions, Phase, Progress, ReadError, ReadErrorKind, Report,
    VerifyOptions, default_memory, shingles,
};

use crate::compaction::publish::{Added, Change};
use crate::disk::copy::{create, write_all};
use crate::disk::layout::{self, SEGMENTS};
use crate::error::Error;
use crate::inner::StoreInner;
use crate::manifest::SegmentEntry;
use crate::segment::{ColumnBuilder, Segment, write_index};
use crate::store::Store;

impl<F: Fingerprint> Store<F> {
    /// Adds all pairs of a file that was built elsewhere, in one atomic step: by a copy, which shares its blocks with
    /// the file if the file system can do that (`FICLONE`). The whole copy is read and checked before it is part of the
    /// store. The file must have ids exactly if the store has them; its design and codec may differ until a merge
    /// rewrites it. Only later removals concern its pairs.
    ///
    /// The file must not be changed meanwhile. Afterwards the store is independent of it.
    ///
    /// A file with names needs a store with names. It is rewritten with ids above all that the store has assigned. A
    /// file that is ingested twice is stored twice, with different ids.
    ///
    /// # Errors
    /// When the file is damaged or does not fit the store, or the disk refuses an operation. The store is unchanged
    /// then.
    pub fn ingest(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.ingest_with(path, &Report::new())
    }

    /// Ingests a file with a progress callback and a cancellation, as [`Store::compact_with`]: while the file is copied
    /// and checked, or checked and rewritten.
    ///
    /// # Errors
    /// As for [`Store::ingest`]; when it is cancelled. The store is unchanged then.
    pub fn ingest_with(&self, path: impl AsRef<Path>, report: &Report) -> Result<(), Error> {
        let (path, inner) = (path.as_ref(), self.inner());
        let _activity = inner.begin()?;
        let report = &inner.until_closed(report);
        let index = OpenOptions::new().open::<F>(path)?;
        inner.check_fits(&index, path)?;
        let brought = if inner.schema.identity.has_names {
            inner.check_whole(&index, report)?;
            let Some(last) = index.names()?.map(|names| names.last_id()).transpose()?.flatten() else {
                return Ok(());
            };
            let first = last.checked_add(1).and_then(|count| inner.reserve_ids(count));
            let first = first.ok_or_else(|| self.no_ids_left())?;
            inner.write_with_shifted_ids(&index, first, report)
        } else if inner.lacks_lookups(&index) {
            inner.check_whole(&index, report)?;
            inner.write_with_shifted_ids(&index, 0, report)
        } else {
            drop(index);
            let number = inner.next_segment();
            let brought = inner.bring_in(path, number, report);
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

/// Divisor of the memory: the share of the sets of shingles that are read at once, beside a build.
const SHINGLE_SHARE: u64 = 4;

/// Pushes the shingles of a file, with `by` added to every id.
fn push_shingles<F: Fingerprint>(
    builder: &mut ColumnBuilder<'_, F>,
    index: &Index<F>,
    by: u64,
    report: &Report,
) -> Result<(), BuildError> {
    let (Some(shingles), Some(names)) = (index.shingles()?, index.names()?) else { return Ok(()) };
    let check_cancelled = || Ok(report.progressed(Progress::new(Phase::Copy, 0, None))?);
    for part in shingles.parts(default_memory() / SHINGLE_SHARE)? {
        // Room has been made for the ids of names.
        shingles.for_each_while(part, &check_cancelled, |id, set| match names.get(id)? {
            Some(_) => builder.push_shingles(by + id, set),
            None => Ok(()),
        })?;
    }
    Ok(())
}

impl<F: Fingerprint> StoreInner<F> {
    /// Checks that a file can be part of this store.
    fn check_fits(&self, index: &Index<F>, path: &Path) -> Result<(), Error> {
        let own = self.schema.identity;
        let definition = index.metadata().get(shingles::KEY).map(Vec::as_slice);
        let own_definition = self.schema.shingles.as_deref().map(str::as_bytes);
        let what = match () {
            () if index.has_ids() && !own.has_ids => "has ids, and the store has none",
            () if index.has_ids() != own.has_ids => "has no ids, and the store has them",
            () if index.has_names() && !own.has_names => {
                "has names, and the store has none; create a store with names for it"
            }
            () if index.has_names() != own.has_names => {
                "has no names, and the store has them; insert its pairs with names instead"
            }
            () if index.has_shingles() && !own.has_shingles => {
                "keeps shingles, and the store does not; create a store with shingles for it"
            }
            () if index.has_shingles() != own.has_shingles => {
                "keeps no shingles, and the store does; insert its documents instead"
            }
            () if own_definition.is_some() && definition != own_definition => {
                "its shingles are made in another way than the store's; insert its documents instead"
            }
            () => return Ok(()),
        };
        Err(Error::Ingest { path: path.to_owned(), what })
    }

    /// Whether a file has to be rewritten, since the store has look-ups.
    fn lacks_lookups(&self, index: &Index<F>) -> bool {
        self.schema.lookups && !index.has_lookups()
    }

    /// Reads and checks a whole file.
    fn check_whole(&self, index: &Index<F>, report: &Report) -> Result<(), Error> {
        let options = VerifyOptions::new().threads(self.options.threads).report_to(report.clone());
        index.verify_with(&options)?;
        Ok(())
    }

    /// Writes the pairs and names of a file to a new segment, with `by` added to every id, and all that the store's
    /// segments have.
    fn write_with_shifted_ids(
        &self,
        index: &Index<F>,
        by: u64,
        report: &Report,
    ) -> Result<(Arc<Segment<F>>, SegmentEntry), Error> {
        self.new_segment(0, |options, mut output| {
            let options = options.report_to(report.clone());
            let mut failure: Option<ReadError> = None;
            let entries = index.entries().from(F::ZERO).map_while(|entry| match entry {
                Ok(entry) => Some(entry),
                Err(error) => {
                    failure = Some(error);
                    None
                }
            });
            let mut pairs = entries.flat_map(|entry| entry.ids.map(move |id| (entry.fingerprint, by + id)));
            let columns = |builder: &mut ColumnBuilder<'_, F>| {
                for named in index.names()?.iter().flatten() {
                    let (id, name) = named?;
                    builder.push_stored_name(by + id, name)?;
                }
                push_shingles(builder, index, by, report)
            };
            write_index(options, &mut pairs, columns, &mut output)?;
            drop(pairs);
            failure.map_or(Ok(output), |error| Err(error.into()))
        })
    }

    /// Copies a file into the directory of the segments, durably, and opens the copy when all of it is checked.
    fn bring_in(
        &self,
        path: &Path,
        number: u64,
        report: &Report,
    ) -> Result<(Arc<Segment<F>>, SegmentEntry), Error> {
        let name = layout::segment(number);
        let target = self.disk.path(&name);
        let mut original = File::open(path).map_err(Error::io("read it", path))?;
        let total = original.metadata().ok().map(|metadata| metadata.len());
        let (mut copied, mut is_stopped) = (0, false);
        let outcome = create(&*self.disk, &name, |file| {
            if file.share_blocks_of(&original).is_ok() {
                return Ok(());
            }
            let mut done = |bytes| {
                copied += bytes;
                let outcome = report.progressed(Progress::new(Phase::Copy, copied, total));
                is_stopped |= outcome.is_err();
                outcome
            };
            write_all(&mut original, file, &mut done).map(drop)
        });
        if is_stopped {
            return Err(ReadError::from(ReadErrorKind::Stopped).into());
        }
        outcome.map_err(Error::io("copy it into the store", &target))?;
        self.disk.sync_directory(SEGMENTS).map_err(Error::io("sync its directory", &target))?;
        // What was copied counts, not what had the name before.
        let data = self.disk.map(&name).map_err(Error::io("map it", &target))?;
        let index = OpenOptions::new().from_mapping::<F>(data, path)?;
        self.check_fits(&index, path)?;
        if self.lacks_lookups(&index) {
            return Err(Error::damaged(path, None, "another file has taken its place meanwhile"));
        }
        self.check_whole(&index, report)?;
        self.open_segment(number, 0, self.options.opening())
    }
}
