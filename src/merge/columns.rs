//! The columns of the output: names, and shingles, of all inputs, by id.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use crate::error::{BuildError, IdColumn, ReadError};
use crate::names::{Names, NamesIter};
use crate::writer::{ColumnSource, ColumnSpool, OneByOne, Sorted};

/// The names of several indexes, or the shingles of their documents.
pub(super) struct MergedColumn<'i> {
    column: IdColumn,
    inputs: Vec<Input<'i>>,
    /// Whether the names of ids that are left out are left out, too.
    is_filtered: bool,
    temp_dir: PathBuf,
}

/// The names of one index that have not been taken yet.
struct Input<'i> {
    names: NamesIter<'i>,
    /// The number that is added to its ids.
    offset: u64,
}

impl<'i> Input<'i> {
    fn next(&mut self) -> Result<Option<(u64, &'i [u8])>, ReadError> {
        Ok(self.names.next().transpose()?.map(|(id, name)| (id.saturating_add(self.offset), name)))
    }
}

impl<'i> MergedColumn<'i> {
    /// Merges these names, a number added to the ids of each.
    pub(super) fn new(
        column: IdColumn,
        inputs: &[(Names<'i>, u64)],
        is_filtered: bool,
        temp_dir: &Path,
    ) -> Self {
        let inputs = inputs.iter().map(|&(names, offset)| Input { names: names.iter(), offset }).collect();
        Self { column, inputs, is_filtered, temp_dir: temp_dir.to_owned() }
    }
}

impl ColumnSource for MergedColumn<'_> {
    fn wants_ids(&self) -> bool {
        self.is_filtered
    }

    fn spool(mut self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<ColumnSpool, BuildError> {
        let mut spool = ColumnSpool::new(self.column, &self.temp_dir)?;
        let mut kept = ids.map(Sorted::one_by_one).transpose()?;
        let mut next_kept = kept.as_mut().map_or(Ok(None), OneByOne::next)?;
        let mut heads = BinaryHeap::new();
        for (number, input) in self.inputs.iter_mut().enumerate() {
            heads.extend(input.next()?.map(|(id, name)| Reverse((id, number, name))));
        }
        let mut last: Option<(u64, &[u8])> = None;
        while let Some(Reverse((id, number, name))) = heads.pop() {
            heads.extend(self.inputs[number].next()?.map(|(id, name)| Reverse((id, number, name))));
            if let Some((last_id, last_name)) = last
                && last_id == id
            {
                if last_name != name {
                    return Err(match self.column {
                        IdColumn::Names => {
                            BuildError::NamesDiffer { id, names: [last_name.to_vec(), name.to_vec()] }
                        }
                        IdColumn::Shingles => BuildError::ShinglesDiffer { id },
                    });
                }
                continue;
            }
            last = Some((id, name));
            if let Some(kept) = &mut kept {
                while next_kept < Some(id) && next_kept.is_some() {
                    next_kept = kept.next()?;
                }
                if next_kept != Some(id) {
                    continue;
                }
            }
            spool.push(id, name)?;
        }
        Ok(spool)
    }
}
