//! The output of an index: its sections, written one after the other. Their order is that of
//! an [`Arrangement`].

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::design::Design;
use crate::digest::{self, SetDigest};
use crate::error::BuildError;
use crate::filter_bits::{Geometry, LINE_BYTES};
use crate::format::checksum::{Context, UnitKind};
use crate::format::footer::{Arrangement, Footer};
use crate::format::section::SectionWriter;
use crate::format::{FileId, Header, MINOR, SectionRecord, Trailer};
use crate::metadata;
use crate::table::writer::Written;
use crate::writer::options::BuildOptions;
use hamdex_atomic_file::Error as OutputError;
use hamdex_fingerprint::Fingerprint;

/// Bytes copied at once.
const COPY_BYTES: usize = 1 << 16;

/// No disk holds a file whose offsets exceed 64 bits.
const FITS: &str = "offsets fit into 64 bits";

/// A file in the making, from its header to its trailer.
pub(super) struct Sections<'w> {
    output: Output<'w>,
    arrangement: Arrangement,
    file_id: FileId,
}

impl<'w> Sections<'w> {
    /// Writes the header.
    pub(super) fn start(mut output: Output<'w>, file_id: FileId) -> Result<Self, BuildError> {
        let page = Header { minor: MINOR, file_id }.page();
        output.write_all(&page).map_err(output.failed())?;
        Ok(Self { output, arrangement: Arrangement::new(), file_id })
    }

    /// Returns the sections so far, in order.
    pub(super) fn records(&self) -> &[SectionRecord] {
        self.arrangement.sections()
    }

    /// Writes the blocks of a table, which have that many bytes each.
    pub(super) fn blocks<F: Fingerprint>(
        &mut self,
        kind: UnitKind,
        table: usize,
        block_bytes: usize,
        write: impl FnOnce(&Context, &mut Output<'w>) -> Result<Written<F>, BuildError>,
    ) -> Result<Written<F>, BuildError> {
        self.pad_to(kind)?;
        let context = Context::new(self.file_id, kind, table);
        let written = write(&context, &mut self.output)?;
        // In 64 bits: a file can be larger than what a small machine addresses.
        self.record(kind, table, written.keys.len() as u64 * block_bytes as u64);
        Ok(written)
    }

    /// Writes a section with these contents.
    pub(super) fn copy(&mut self, kind: UnitKind, contents: &mut dyn Read) -> Result<(), BuildError> {
        self.copy_of(kind, 0, contents)
    }

    /// Writes a section of a table with these contents.
    pub(super) fn copy_of(
        &mut self,
        kind: UnitKind,
        table: usize,
        contents: &mut dyn Read,
    ) -> Result<(), BuildError> {
        let mut buffer = vec![0; COPY_BYTES];
        self.paged(kind, table, |section, output| {
            loop {
                match contents.read(&mut buffer)? {
                    0 => return Ok(()),
                    count => section.write(output, &buffer[..count])?,
                }
            }
        })
    }

    /// Writes a section with what `write` puts into it.
    pub(super) fn stream(
        &mut self,
        kind: UnitKind,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>,
    ) -> Result<(), BuildError> {
        self.paged(kind, 0, |section, output| write(&mut |bytes| section.write(output, bytes)))
    }

    /// Writes the keys of a table.
    pub(super) fn keys<F: Fingerprint>(&mut self, table: usize, keys: &[F]) -> Result<(), BuildError> {
        let mut bytes = Vec::new();
        self.paged(UnitKind::Keys, table, |section, output| {
            keys.chunks(COPY_BYTES / F::BYTES).try_for_each(|keys| {
                bytes.resize(keys.len() * F::BYTES, 0);
                for (key, bytes) in keys.iter().zip(bytes.chunks_exact_mut(F::BYTES)) {
                    key.write_le(bytes);
                }
                section.write(output, &bytes)
            })
        })
    }

    /// Writes footer and trailer; returns the bytes of the whole file.
    pub(super) fn end(mut self, footer: &Footer) -> Result<u64, BuildError> {
        let footer_offset = self.arrangement.end();
        let mut section = SectionWriter::new(Context::new(self.file_id, UnitKind::Footer, 0));
        let output = &mut self.output;
        let write = || {
            section.write(output, &footer.to_bytes())?;
            let footer_length = section.finish(output)?;
            output.write_all(&Trailer { footer_offset, footer_length }.bytes(self.file_id))?;
            output.flush()
        };
        write().map_err(self.output.failed())?;
        Ok(self.output.written_bytes())
    }

    /// Writes a section of pages.
    fn paged(
        &mut self,
        kind: UnitKind,
        table: usize,
        write: impl FnOnce(&mut SectionWriter, &mut Output<'w>) -> io::Result<()>,
    ) -> Result<(), BuildError> {
        self.pad_to(kind)?;
        let mut section = SectionWriter::new(Context::new(self.file_id, kind, table));
        let output = &mut self.output;
        let length = write(&mut section, output).and_then(|()| section.finish(output));
        self.record(kind, table, length.map_err(self.output.failed())?);
        Ok(())
    }

    /// Writes zeros up to the next possible start of a section of that kind.
    fn pad_to(&mut self, kind: UnitKind) -> Result<(), BuildError> {
        let start = self.arrangement.next_offset(kind).expect(FITS);
        let zeros = vec![0; (start - self.arrangement.end()) as usize];
        self.output.write_all(&zeros).map_err(self.output.failed())
    }

    fn record(&mut self, kind: UnitKind, table: usize, length: u64) {
        self.arrangement.push(kind, table, length).expect(FITS);
        debug_assert_eq!(self.arrangement.end(), self.output.written_bytes(), "{kind:?}");
    }
}

/// Any destination, with its bytes counted and errors that name it.
pub(crate) struct Output<'w> {
    to: &'w mut (dyn Write + Send),
    /// Of a file.
    path: Option<PathBuf>,
    written_bytes: u64,
}

impl<'w> Output<'w> {
    /// `path` is that of a file.
    pub(crate) fn new(to: &'w mut (dyn Write + Send), path: Option<&Path>) -> Self {
        Self { to, path: path.map(Path::to_owned), written_bytes: 0 }
    }

    /// Bytes written so far.
    fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Returns what turns an error of [`Write`] into one about this output.
    pub(super) fn failed(&self) -> impl FnOnce(io::Error) -> BuildError + use<> {
        let path = self.path.clone();
        move |source| match path {
            Some(path) => OutputError::Io { doing: "write to it", path, source }.into(),
            None => BuildError::Write { source },
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Returns the id of a file: a digest of its contents, and of every option that shapes it. The contents are given by
/// digest and number of the fingerprints, and by digests of names and shingles.
pub(super) fn file_id<F: Fingerprint>(
    options: &BuildOptions<F>,
    design: &Design<F>,
    (contents, fingerprints): (SetDigest, u64),
    [names, shingles]: [Option<u128>; 2],
    filters: &[Option<Geometry>],
) -> FileId {
    let layout = options.layout();
    let has_filters = filters.iter().any(Option::is_some);
    let flags = [options.ids, names.is_some(), has_filters, shingles.is_some(), options.lookups];
    let has = flags.into_iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(flag));
    let mut shape = vec![F::BITS as u8, has, layout.codec.tag()];
    // Every part has a fixed length or a length field, so that no two shapes have the same bytes.
    let (name, tables) = (design.name(), design.tables());
    for number in [layout.block_bytes, design.distance() as usize, name.len(), tables.len()] {
        shape.extend((number as u64).to_le_bytes());
    }
    shape.extend(name.as_bytes());
    for table in tables {
        shape.extend(table.mask.to_u128().to_le_bytes());
        shape.extend(table.radius.to_le_bytes());
    }
    if has_filters {
        // A head is never all zeros.
        shape
            .extend(filters.iter().flat_map(|filter| filter.map_or([0; LINE_BYTES], |filter| filter.head())));
    }
    shape.extend([names, shingles].into_iter().flatten().flat_map(u128::to_le_bytes));
    shape.extend(metadata::to_bytes(&options.metadata));
    let seed = contents.value() ^ u128::from(fingerprints);
    FileId(digest::of_bytes(seed, &shape).to_le_bytes())
}
