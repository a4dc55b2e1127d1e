//! Reading a part of one input: fingerprints alone, or with their ids.

use std::ops::Range;

use crate::codec::Scratch;
use crate::error::ReadError;
use crate::ids::Ids;
use crate::index::TableView;
use crate::writer::{Record, WithId};
use hamdex_fingerprint::Fingerprint;

/// Returns whether a record of the input of that number is kept.
pub(super) type Filter<'f, F> = dyn Fn(usize, F, Option<u64>) -> bool + Sync + 'f;

/// Values of one input and the block in which the first of them lies.
pub(super) struct Stretch<F> {
    /// All values of some blocks.
    pub(super) values: Vec<F>,
    /// The range of the values in the part.
    pub(super) part: Range<usize>,
    pub(super) first_block: usize,
}

impl<F: Fingerprint> Stretch<F> {
    /// Reads the values above one bound and up to the other.
    pub(super) fn read(
        table: &TableView<'_, F>,
        blocks: Range<usize>,
        (above, up_to): (Option<F>, F),
        scratch: &mut Scratch<F>,
    ) -> Result<Self, ReadError> {
        let mut values = Vec::new();
        table.decode(blocks.clone(), scratch, &mut values)?;
        let start = above.map_or(0, |above| values.partition_point(|&value| value <= above));
        let end = values.partition_point(|&value| value <= up_to);
        Ok(Self { values, part: start..end.max(start), first_block: blocks.start })
    }

    /// Returns the values in the part.
    pub(super) fn values(&self) -> &[F] {
        &self.values[self.part.clone()]
    }

    /// Each value in the part with its ids.
    pub(super) fn with_ids<'i>(
        &self,
        table: &TableView<'i, F>,
    ) -> Result<impl Iterator<Item = Result<(F, Ids<'i>), ReadError>> + use<'_, 'i, F>, ReadError> {
        let mut next_ids = (!self.values.is_empty()).then(|| table.ids_from(self.first_block)).transpose()?;
        let mut number = 0;
        let part = self.part.clone();
        Ok(self.values[..part.end].iter().filter_map(move |&value| {
            let ids = next_ids.as_mut().map_or(Ok(Ids::NONE), |next| next());
            number += 1;
            match ids {
                Ok(_) if number <= part.start => None,
                ids => Some(ids.map(|ids| (value, ids))),
            }
        }))
    }
}

/// A record that an index has.
pub(super) trait Stored<F: Fingerprint>: Record<Fingerprint = F> {
    /// Whether records have ids.
    const HAS_ID: bool;

    /// Returns the records of a stretch of table 0 that are kept, ascending.
    fn list(
        table: &TableView<'_, F>,
        stretch: &Stretch<F>,
        keep: Option<&(dyn Fn(F, Option<u64>) -> bool + '_)>,
    ) -> Result<Vec<Self>, ReadError>;

    fn new(fingerprint: F, id: Option<u64>) -> Self;
}

impl<F: Fingerprint> Stored<F> for F {
    const HAS_ID: bool = false;

    fn list(
        _: &TableView<'_, F>,
        stretch: &Stretch<F>,
        keep: Option<&(dyn Fn(F, Option<u64>) -> bool + '_)>,
    ) -> Result<Vec<F>, ReadError> {
        let mut list = stretch.values().to_vec();
        if let Some(keep) = keep {
            list.retain(|&fingerprint| keep(fingerprint, None));
        }
        Ok(list)
    }

    fn new(fingerprint: F, _: Option<u64>) -> F {
        fingerprint
    }
}

impl<F: Fingerprint> Stored<F> for WithId<F> {
    const HAS_ID: bool = true;

    fn list(
        table: &TableView<'_, F>,
        stretch: &Stretch<F>,
        keep: Option<&(dyn Fn(F, Option<u64>) -> bool + '_)>,
    ) -> Result<Vec<Self>, ReadError> {
        let values = stretch.values();
        let mut list = Vec::with_capacity(values.len());
        table.for_each_id(stretch.first_block, stretch.part.clone(), |entry, id| {
            // More entries than there are would be damage, which verification finds.
            let Some(&fingerprint) = values.get(entry) else { return };
            if keep.is_none_or(|keep| keep(fingerprint, Some(id))) {
                list.push(Self { fingerprint, id });
            }
        })?;
        Ok(list)
    }

    fn new(fingerprint: F, id: Option<u64>) -> Self {
        Self { fingerprint, id: id.unwrap_or_default() }
    }
}
