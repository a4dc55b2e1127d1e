//! The columns of several indexes, united by id.

use std::path::{Path, PathBuf};

use crate::error::BuildError;
use crate::names::Names;
use crate::sorted_union::SortedUnion;
use crate::writer::{ColumnSource, NameSpool, OneByOne, Sorted};

/// The ids of the output, for ids that ascend.
pub(super) struct Kept<'s> {
    /// `None` if the output has all ids.
    ids: Option<OneByOne<'s, u64>>,
    next: Option<u64>,
}

impl<'s> Kept<'s> {
    pub(super) fn new(ids: Option<&'s Sorted<u64>>) -> Result<Self, BuildError> {
        let mut ids = ids.map(Sorted::one_by_one).transpose()?;
        let next = ids.as_mut().map_or(Ok(None), OneByOne::next)?;
        Ok(Self { ids, next })
    }

    /// Returns whether the output has an id, not below that of the call before.
    pub(super) fn contains(&mut self, id: u64) -> Result<bool, BuildError> {
        let Some(ids) = &mut self.ids else { return Ok(true) };
        while self.next.is_some_and(|next| next < id) {
            self.next = ids.next()?;
        }
        Ok(self.next == Some(id))
    }
}

/// The names of several indexes.
pub(super) struct MergedNames<'i> {
    /// The names of each, and the number added to its ids.
    inputs: Vec<(Names<'i>, u64)>,
    /// Whether the names of ids that are left out are left out, too.
    is_filtered: bool,
    temp_dir: PathBuf,
}

impl<'i> MergedNames<'i> {
    pub(super) fn new(inputs: &[(Names<'i>, u64)], is_filtered: bool, temp_dir: &Path) -> Self {
        Self { inputs: inputs.to_vec(), is_filtered, temp_dir: temp_dir.to_owned() }
    }
}

impl ColumnSource for MergedNames<'_> {
    type Spool = NameSpool;

    fn wants_ids(&self) -> bool {
        self.is_filtered
    }

    fn spool(self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<NameSpool, BuildError> {
        let mut spool = NameSpool::new(&self.temp_dir)?;
        let mut kept = Kept::new(ids)?;
        let lists = self.inputs.into_iter().map(|(names, offset)| {
            names.iter().map(move |named| named.map(|(id, name)| (id.saturating_add(offset), name)))
        });
        let mut last: Option<(u64, &[u8])> = None;
        for item in SortedUnion::of(lists) {
            let (id, _, name) = item?;
            if let Some((last_id, last_name)) = last
                && last_id == id
            {
                if last_name != name {
                    return Err(BuildError::NamesDiffer { id, names: [last_name.to_vec(), name.to_vec()] });
                }
                continue;
            }
            last = Some((id, name));
            if kept.contains(id)? {
                spool.push(id, name)?;
            }
        }
        Ok(spool)
    }
}
