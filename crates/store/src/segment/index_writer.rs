//! The bytes of an index from pairs in order.

use std::io::Write;

use hamdex::{BuildError, BuildOptions, Builder, Fingerprint, ReadError};

use crate::write::batch::Pair;

/// Writes an index of pairs in order, and of the names of their ids, ascending. If the index has no ids, those of the pairs
/// do not count.
///
/// # Errors
/// As for [`Builder::into_inner`]; an error of `names`.
pub(crate) fn write_index<'n, F: Fingerprint>(
    options: BuildOptions<F>,
    pairs: impl Iterator<Item = Pair<F>>,
    names: impl Iterator<Item = Result<(u64, &'n [u8]), ReadError>>,
    writer: &mut (dyn Write + Send),
) -> Result<(), BuildError> {
    let has_ids = options.has_ids();
    let mut builder = Builder::to_writer(writer, options.sorted(true))?;
    for (fingerprint, id) in pairs {
        if has_ids {
            builder.push_with_id(fingerprint, id)?;
        } else {
            builder.push(fingerprint)?;
        }
    }
    for named in names {
        let (id, name) = named?;
        builder.push_name(id, name)?;
    }
    builder.into_inner().map(drop)
}
