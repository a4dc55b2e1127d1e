//! Writing of segments: from sorted pairs to a durable file that no manifest names yet.

use std::sync::Arc;

use hamdex::{BuildError, BuildOptions, Fingerprint, default_memory};
use hamdex_atomic_file::Pieces;

use crate::disk::{DiskFile, layout};
use crate::error::Error;
use crate::inner::StoreInner;
use crate::manifest::SegmentEntry;
use crate::memtable::Memtable;
use crate::segment::{ColumnBuilder, Opening, Segment, write_index};
use crate::write::{Pair, ids_of};

/// The file of a new segment.
pub(crate) type Output = Pieces<Box<dyn DiskFile>>;

impl<F: Fingerprint> StoreInner<F> {
    /// Writes a new segment durably. `write` gets the build options; `level` counts the merges that its oldest pairs
    /// have been through.
    ///
    /// # Errors
    /// When the disk refuses an operation, or `write` fails. The file is removed then.
    pub(crate) fn new_segment(
        &self,
        level: u32,
        write: impl FnOnce(BuildOptions<F>, Output) -> Result<Output, BuildError>,
    ) -> Result<(Arc<Segment<F>>, SegmentEntry), Error> {
        // After a failure it may be that no manifest can name it.
        self.lock_manifest().check()?;
        let number = self.next_segment();
        let built = self.write_segment(number, write).and_then(|()| self.open_fresh(number, level));
        built.inspect_err(|_| drop(self.disk.remove(&layout::segment(number))))
    }

    fn write_segment(
        &self,
        number: u64,
        write: impl FnOnce(BuildOptions<F>, Output) -> Result<Output, BuildError>,
    ) -> Result<(), Error> {
        let name = layout::segment(number);
        let path = self.disk.path(&name);
        let file = self.disk.create_new(&name).map_err(Error::io("create it", &path))?;
        let mut options = self.schema.build_options()?.threads(self.options.threads);
        options = options.cancellation(self.background.cancellation());
        if let Some(directory) = self.disk.temporary_directory() {
            options = options.temp_dir(directory);
        }
        let file = write(options, Pieces::new(file))?;
        let mut file = file.into_inner().map_err(Error::io("write it", &path))?;
        file.sync().map_err(Error::io("sync it", &path))?;
        self.disk.sync_directory(layout::SEGMENTS).map_err(Error::io("sync its directory", &path))
    }

    /// Writes the pairs of a memtable, with the names of their ids, to a new segment: see [`StoreInner::new_segment`].
    pub(crate) fn build_segment(
        &self,
        memtable: &Memtable<F>,
        pairs: &[Pair<F>],
    ) -> Result<(Arc<Segment<F>>, SegmentEntry), Error> {
        let ids = if self.schema.identity.has_names { ids_of(pairs) } else { Vec::new() };
        let has_shingles = self.schema.identity.has_shingles;
        self.new_segment(0, |options, mut output| {
            let columns = |builder: &mut ColumnBuilder<'_, F>| {
                ids.into_iter().try_for_each(|id| {
                    let document =
                        memtable.documents.document(id).expect("every id of a memtable has its name");
                    builder.push_stored_name(id, document.name())?;
                    if has_shingles { builder.push_encoded_shingles(id, document.shingles()) } else { Ok(()) }
                })
            };
            write_index(options, pairs.iter().copied(), columns, &mut output)?;
            Ok(output)
        })
    }

    /// Opens a durable file that has just been written as a segment that a manifest is to name. It is read and checked as
    /// a whole first, since the files in whose place it comes are removed then.
    fn open_fresh(&self, number: u64, level: u32) -> Result<(Arc<Segment<F>>, SegmentEntry), Error> {
        let name = layout::segment(number);
        let bytes = self.disk.length(&name).map_err(Error::io("read it", self.disk.path(&name)))?;
        let opening = self.options.opening();
        // It stays in memory. Of a larger file, the system evicts what queries read again, and check again.
        let stays = opening.in_memory || bytes <= default_memory();
        if !stays {
            Segment::<F>::open_as(&*self.disk, number, Opening { is_checked: true, ..opening })?;
        }
        self.open_segment(number, level, Opening { is_checked: stays, ..opening })
    }

    /// Opens a durable file as a segment that a manifest is to name, and that the caller checks as a whole.
    pub(crate) fn open_segment(
        &self,
        number: u64,
        level: u32,
        opening: Opening,
    ) -> Result<(Arc<Segment<F>>, SegmentEntry), Error> {
        let segment = Segment::open_as(&*self.disk, number, opening)?;
        // Publishing sets the sequence number.
        let entry = segment.entry(level, 0);
        Ok((Arc::new(segment), entry))
    }
}
