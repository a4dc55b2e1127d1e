//! The bytes of an index from pairs in order.

use std::io::Write;

use hamdex::{BuildError, BuildOptions, Builder, Fingerprint, ReadError};

use crate::write::batch::Pair;

/// The id of a document, its name, and its encoded shingles if the index has shingles.
pub(crate) type IdColumns<'n> = (u64, &'n [u8], &'n [u8]);

/// Writes an index of pairs in order, and of the names of their ids, ascending. If the index has no ids, those of the
/// pairs do not count.
///
/// # Errors
/// As for [`Builder::into_inner`]; an error of `names`.
pub(crate) fn write_index<'n, F: Fingerprint>(
    options: BuildOptions<F>,
    pairs: impl Iterator<Item = Pair<F>>,
    names: impl Iterator<Item = Result<IdColumns<'n>, ReadError>>,
    writer: &mut (dyn Write + Send),
) -> Result<(), BuildError> {
    let (has_ids, has_shingles) = (options.has_ids(), options.has_shingles());
    let mut builder = Builder::to_writer(writer, options.sorted(true))?;
    for (fingerprint, id) in pairs {
        if has_ids {
            builder.push_with_id(fingerprint, id)?;
        } else {
            builder.push(fingerprint)?;
        }
    }
    for named in names {
        let (id, name, shingles) = named?;
        builder.push_stored_name(id, name)?;
        if has_shingles {
            builder.push_encoded_shingles(id, shingles)?;
        }
    }
    builder.into_inner().map(drop)
}
