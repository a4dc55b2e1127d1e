//! The columns of several indexes, united by id.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use crate::error::{BuildError, ReadError};
use crate::names::Names;
use crate::writer::{ColumnSource, NameSpool, OneByOne, Sorted};

/// Calls `visit` with the ids of several lists, ascending: the number of the list, the id, and its value. An id that
/// several lists have comes once for each, by the number of the list.
pub(super) fn for_each_id<T>(
    mut lists: Vec<impl Iterator<Item = Result<(u64, T), ReadError>>>,
    mut visit: impl FnMut(usize, u64, T) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let (mut ids, mut values) = (BinaryHeap::new(), Vec::with_capacity(lists.len()));
    for (number, list) in lists.iter_mut().enumerate() {
        let (id, value) = list.next().transpose()?.unzip();
        ids.extend(id.map(|id| Reverse((id, number))));
        values.push(value);
    }
    while let Some(Reverse((id, number))) = ids.pop() {
        let (next_id, next) = lists[number].next().transpose()?.unzip();
        ids.extend(next_id.map(|id| Reverse((id, number))));
        if let Some(value) = std::mem::replace(&mut values[number], next) {
            visit(number, id, value)?;
        }
    }
    Ok(())
}

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
        for_each_id(lists.collect(), |_, id, name| {
            if let Some((last_id, last_name)) = last
                && last_id == id
            {
                let names = || [last_name.to_vec(), name.to_vec()];
                return if last_name == name {
                    Ok(())
                } else {
                    Err(BuildError::NamesDiffer { id, names: names() })
                };
            }
            last = Some((id, name));
            if kept.contains(id)? { spool.push(id, name) } else { Ok(()) }
        })?;
        Ok(spool)
    }
}
