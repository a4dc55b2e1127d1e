//! The id of a file.

use crate::design::Design;
use crate::digest::{self, SetDigest};
use crate::filter::{Geometry, LINE_BYTES};
use crate::format::FileId;
use crate::metadata;
use crate::writer::options::BuildOptions;
use hamdex_fingerprint::Fingerprint;

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
