//! What can be read of a damaged segment.

use hamdex::Engine;
use roaring::RoaringTreemap;

use crate::disk::Disk;
use crate::pair::{Pair, ids_of};
use crate::segment::Segment;

/// Every pair of a segment that can be read and has not been removed, in order.
pub(super) fn readable_pairs<F: Engine, D: Disk>(
    segment: &Segment<F, D>,
    removed: Option<&RoaringTreemap>,
) -> Vec<Pair<F>> {
    let is_left = |place: u64| removed.is_none_or(|removed| !removed.contains(place));
    let mut pairs = Vec::new();
    // A part for each block: the others can be read where one cannot.
    if !segment.index.has_ids() {
        F::for_each_readable(&segment.index, &mut |fingerprint| {
            // Where a block before it cannot be read, its place is not known.
            let place = F::places(&segment.index, fingerprint).ok().and_then(|mut places| places.next());
            pairs.extend(place.is_none_or(is_left).then_some((fingerprint, 0)));
        });
        return pairs;
    }
    for found in F::entries_of_blocks(&segment.index).into_iter().flatten().flatten() {
        let fingerprint = found.fingerprint;
        let left = found.ids.places().zip(found.ids).filter(|(place, _)| is_left(*place));
        pairs.extend(left.map(|(_, id)| (fingerprint, id)));
    }
    pairs
}

/// The ids of these pairs, ascending, with their names as far as they can be read.
pub(super) fn readable_names<'s, F: Engine, D: Disk>(
    segment: &'s Segment<F, D>,
    pairs: &[Pair<F>],
) -> Vec<(u64, Option<&'s [u8]>)> {
    let names = segment.index.names().ok().flatten();
    let name_of = |id| names.and_then(|names| names.get(id).ok().flatten());
    ids_of(pairs).into_iter().map(|id| (id, name_of(id))).collect()
}
