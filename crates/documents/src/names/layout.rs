//! The layout of the file of names. Little-endian:
//!
//! ```text
//! 8   magic: 89 "HDXID" 0D 0A
//! 4   version: 1
//! 4   zero
//! 16  the file id of the index
//! 8   n, the number of names
//! 8   bytes of all names
//! 4   CRC-32 of the bytes above
//! 8   for each of the n names, the end of its record, counted from the start of the first record
//! …   a record for each name: its UTF-8 bytes, then the CRC-32 of file id, number (8 bytes), name
//! ```

use std::path::{Path, PathBuf};

use hamdex::FileId;

/// The metadata key that marks the ids of an index as numbers of names.
pub const NAMES_KEY: &str = "hamdex.names";

/// The value of [`NAMES_KEY`]: the version of the file of names.
pub const NAMES_VERSION: &str = "1";

pub(crate) const MAGIC: &[u8; 8] = b"\x89HDXID\r\n";
pub(crate) const VERSION: u32 = 1;
/// The header without its checksum.
pub(crate) const HEADER_BYTES: usize = 48;
pub(crate) const CRC_BYTES: u64 = 4;

/// The longest name, in bytes.
pub(crate) const MAX_NAME_BYTES: u64 = 1 << 30;
/// The length of the end of a record.
pub(crate) const END_BYTES: u64 = 8;

/// Returns the path of the file of names of an index.
#[must_use]
pub fn names_path(index: &Path) -> PathBuf {
    let mut path = index.as_os_str().to_owned();
    path.push(".ids");
    path.into()
}

/// The checksum of a name's record.
pub(crate) fn checksum(file_id: FileId, number: u64, name: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&file_id.to_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(name);
    hasher.finalize()
}
