//! Checksums with context, which fail for bytes of another file or offset.
//!
//! ```text
//! 0    16  the store's id
//! 16    4  the kind of bytes
//! 20    4  zero
//! 24    8  the number of the log or segment
//! 32    8  the offset of the record in its log; the version of removals
//! 40    …  the bytes
//! ```

use crate::manifest::identity::StoreId;

/// The kind of bytes that a checksum covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    RecordHeader = 1,
    Operations = 2,
    Removals = 3,
}

/// Returns the CRC-32 of a context and bytes.
pub(crate) fn checksum(store: StoreId, kind: Kind, number: u64, place: u64, bytes: &[u8]) -> u32 {
    let mut context = [0; 40];
    context[..16].copy_from_slice(&store.0);
    context[16] = kind as u8;
    context[24..32].copy_from_slice(&number.to_le_bytes());
    context[32..].copy_from_slice(&place.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&context);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_context_counts() {
        let store = StoreId([7; 16]);
        let one = checksum(store, Kind::Operations, 1, 64, b"bytes");
        assert_eq!(one, checksum(store, Kind::Operations, 1, 64, b"bytes"));
        assert_ne!(one, checksum(StoreId([8; 16]), Kind::Operations, 1, 64, b"bytes"));
        assert_ne!(one, checksum(store, Kind::RecordHeader, 1, 64, b"bytes"));
        assert_ne!(one, checksum(store, Kind::Operations, 2, 64, b"bytes"));
        assert_ne!(one, checksum(store, Kind::Operations, 1, 65, b"bytes"));
        assert_ne!(one, checksum(store, Kind::Operations, 1, 64, b"bytez"));
    }
}
