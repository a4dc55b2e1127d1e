//! Damaged files: the parts and pairs that the rest of a file proves.
//!
//! - [`mend`]: parts that follow from others are restored in memory: header, footer, trailer, keys, id directory
//! - [`one_byte`]: the one changed byte that a checksum gives away
//! - [`readable`]: all pairs that can be read; a block of table 0 that cannot is put together from other tables
//!
//! Repairs use this. Nothing here writes to a file.

mod mend;
mod one_byte;
mod readable;

pub(crate) use mend::mend;

#[cfg(test)]
mod tests;
