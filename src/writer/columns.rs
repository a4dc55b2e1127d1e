//! The columns of a file, one entry per id; and the names, which are one of them.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::digest;
use crate::error::{BuildError, IdColumn};
use crate::format::checksum::UnitKind;
use crate::progress::{Counter, Phase};
use crate::writer::directory::{ColumnSource, DirectorySpool};
use crate::writer::options::BuildOptions;
use crate::writer::pairs::ShingleSpool;
use crate::writer::sections::Sections;
use crate::writer::sort::Sorted;
use crate::writer::spill::{Watched, rewind, spool};
use hamdex_fingerprint::Fingerprint;

/// Takes the number and the bytes of a name; the counter is for cancellation.
pub(super) type Each<'e> = dyn FnMut(u64, &[u8], &Counter) -> Result<(), BuildError> + 'e;

/// The columns of a file.
#[derive(Default)]
pub(crate) struct Columns<'s> {
    pub(crate) names: Option<Box<dyn ColumnSource<Spool = NameSpool> + 's>>,
    pub(crate) shingles: Option<Box<dyn ColumnSource<Spool = ShingleSpool<'s>> + 's>>,
}

impl Columns<'_> {
    /// Returns whether a column needs all ids of the file.
    pub(super) fn want_ids(&self) -> bool {
        self.names.as_ref().is_some_and(|names| names.wants_ids())
            || self.shingles.as_ref().is_some_and(|shingles| shingles.wants_ids())
    }
}

/// The names of a file, spooled to temporary files.
pub(crate) struct NameSpool {
    directory: DirectorySpool,
    values: BufWriter<File>,
    digest: u128,
}

impl NameSpool {
    /// Nothing so far.
    pub(crate) fn new(temp_dir: &Path) -> Result<Self, BuildError> {
        let directory = DirectorySpool::new(IdColumn::Names, temp_dir)?;
        Ok(Self { directory, values: spool(temp_dir)?, digest: 0 })
    }

    /// Takes the name of the next id.
    pub(crate) fn push(&mut self, id: u64, name: &[u8]) -> Result<(), BuildError> {
        self.directory.push(id, name.len() as u64)?;
        self.digest = digest::of_bytes(self.digest.wrapping_add(u128::from(id)), name);
        self.values.write_all(name).map_err(|source| self.directory.failed(source))
    }

    /// Returns a digest of all ids and their names.
    pub(super) fn digest(&self) -> u128 {
        self.digest
    }

    /// Returns the directory.
    pub(super) fn directory(&self) -> &DirectorySpool {
        &self.directory
    }

    /// Writes the sections, then gives the number and the bytes of each name to `each`, if there is one.
    pub(super) fn write<F: Fingerprint>(
        self,
        file: &mut Sections<'_>,
        options: &BuildOptions<F>,
        each: Option<&mut Each<'_>>,
    ) -> Result<(), BuildError> {
        let done = options.counter(Phase::Ids, None)?;
        let spool = rewind(self.values).map_err(|source| self.directory.failed(source))?;
        let mut values = Watched { spool, done: &done };
        let mut places = self.directory.write(UnitKind::NameDirectory, file, &done)?;
        let copied = file.copy(UnitKind::Names, &mut values);
        done.check()?;
        copied?;
        let Some(each) = each else { return Ok(()) };
        values.spool.rewind().map_err(|source| places.failed(source))?;
        let (mut value, mut number, mut start) = (Vec::new(), 0, 0);
        while let Some(end) = places.next_end()? {
            value.resize((end - start) as usize, 0);
            values.read_exact(&mut value).map_err(|source| places.failed(source))?;
            each(number, &value, &done)?;
            (number, start) = (number + 1, end);
        }
        Ok(())
    }
}

/// Names that have been pushed.
impl ColumnSource for NameSpool {
    type Spool = Self;

    fn wants_ids(&self) -> bool {
        self.directory.wants_ids()
    }

    fn spool(mut self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<Self, BuildError> {
        ids.map_or(Ok(()), |ids| self.directory.check_all(ids))?;
        Ok(*self)
    }
}
