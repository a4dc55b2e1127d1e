//! Salvage of damaged files: the parts and pairs that the rest of a file proves.
//!
//! - [`mend`]: parts that follow from others are restored in memory: header, footer, trailer, keys, id directory;
//!   damaged filters are replaced by ones that every prefix passes
//! - `one_byte`: the single changed byte that a checksum reveals
//! - `readable`: all pairs that can be read; a damaged block of table 0 is reconstructed from other tables
//!
//! Used by repairs. Nothing here writes to a file.

mod mend;
mod one_byte;
mod readable;

use hamdex_fingerprint::Fingerprint;

use crate::format::FileId;
use crate::index::Index;
use crate::widths::per_width;

type Mend<F> = fn(&mut [u8], FileId, std::marker::PhantomData<F>);
type ForEachReadable<F> = fn(&Index<F>, &mut dyn FnMut(Option<u64>, F, u64));

per_width! {
    compiled_mend: Mend = mend::mend;
    compiled_for_each: ForEachReadable = readable::for_each;
}

/// Restores, in memory, the parts of a damaged file that follow from others, so that it can be opened: header, footer,
/// trailer, keys, id directory and filters. `file` is as long as it was when it was written, with this file id.
pub fn mend<F: Fingerprint>(file: &mut [u8], file_id: impl Into<FileId>) {
    compiled_mend::<F>()(file, file_id.into(), std::marker::PhantomData);
}

/// Calls `visit` with every pair of a damaged file that can be read, in the order of places: its place if that is
/// known, its fingerprint and its id, 0 if there are no ids.
///
/// Blocks of table 0 that cannot be read are put together from other tables, which have the same fingerprints. With ids
/// they count only if they are complete, so that each fingerprint has its own ids.
pub fn for_each_readable<F: Fingerprint>(index: &Index<F>, visit: &mut dyn FnMut(Option<u64>, F, u64)) {
    compiled_for_each()(index, visit);
}

#[cfg(test)]
mod tests;
