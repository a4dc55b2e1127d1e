//! The id of a file.

use crate::design::Design;
use crate::digest::{self, SetDigest};
use crate::filter::geometry::{Geometry, LINE_BYTES};
use crate::format::header::FileId;
use crate::metadata;
use crate::writer::options::BuildOptions;
use hamdex_fingerprint::Fingerprint;

/// Returns the id that the contents, as digest and number of fingerprints and digest of the names, and all options that
/// shape the file determine.
pub(super) fn file_id<F: Fingerprint>(
    options: &BuildOptions<F>,
    design: &Design<F>,
    (contents, fingerprints): (SetDigest, u64),
    names: Option<u128>,
    filters: &[Option<Geometry>],
) -> FileId {
    let layout = options.layout();
    let has_filters = filters.iter().any(Option::is_some);
    let has = u8::from(options.ids) | u8::from(names.is_some()) << 1 | u8::from(has_filters) << 2;
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
    shape.extend(names.map(u128::to_le_bytes).into_iter().flatten());
    shape.extend(metadata::to_bytes(&options.metadata));
    let seed = contents.value() ^ u128::from(fingerprints);
    FileId(digest::of_bytes(seed, &shape).to_le_bytes())
}
