//! The identity of a store: its id and the form of its pairs; and the checksums of its files, which fail for bytes of
//! another store, file or offset.

use std::fmt;

use crc32fast::Hasher;

/// The random, unique id of a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreId(pub [u8; 16]);

impl StoreId {
    /// Draws a new id.
    ///
    /// # Errors
    /// When the operating system has no random numbers.
    pub fn random() -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self(bytes))
    }

    /// Parses 32 lower-case hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        parse_hex(text).map(Self)
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreId({self})")
    }
}

/// The id of a store and the form of its pairs, with which all its files agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The id of the store.
    pub store: StoreId,
    /// Bits of a fingerprint: 64 or 128.
    pub width: u32,
    /// Whether fingerprints have ids.
    pub has_ids: bool,
    /// Whether ids have names. The store assigns the ids then.
    pub has_names: bool,
    /// Whether ids have the shingles of their documents, and names.
    pub has_shingles: bool,
}

/// Formats bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

/// Parses exactly the output of [`hex`].
pub(crate) fn parse_hex(text: &str) -> Option<[u8; 16]> {
    let bytes = u128::from_str_radix(text, 16).ok()?.to_be_bytes();
    (hex(&bytes) == text).then_some(bytes)
}

/// The form of a file id in JSON.
pub(crate) mod as_hex {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8; 16], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::hex(bytes))
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<[u8; 16], D::Error> {
        let text = String::deserialize(deserializer)?;
        super::parse_hex(&text).ok_or_else(|| D::Error::custom("the file id is invalid"))
    }
}

/// The kind of bytes that a checksum covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    RecordHeader = 1,
    Operations = 2,
    Removals = 3,
}

/// Returns the CRC-32 of a context and bytes:
///
/// ```text
/// 0    16  the store's id
/// 16    4  the kind of bytes
/// 20    4  zero
/// 24    8  the number of the log or segment
/// 32    8  the offset of the record in its log; the version of removals
/// 40    …  the bytes
/// ```
pub(crate) fn checksum(store: StoreId, kind: Kind, number: u64, place: u64, bytes: &[u8]) -> u32 {
    let mut hasher = context(store, kind, number, place);
    hasher.update(bytes);
    hasher.finalize()
}

/// Returns a [`checksum`] of the context alone, to which the bytes are to be added.
pub(crate) fn context(store: StoreId, kind: Kind, number: u64, place: u64) -> Hasher {
    let mut context = [0; 40];
    context[..16].copy_from_slice(&store.0);
    context[16] = kind as u8;
    context[24..32].copy_from_slice(&number.to_le_bytes());
    context[32..].copy_from_slice(&place.to_le_bytes());
    let mut hasher = Hasher::new();
    hasher.update(&context);
    hasher
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_it_reads_and_nothing_else() {
        let id = StoreId::random().unwrap();
        assert_eq!(StoreId::parse(&id.to_string()), Some(id));
        assert_ne!(StoreId::random().unwrap(), id);
        let digits = "000102030405060708090a0b0c0d0e0f";
        assert_eq!(StoreId::parse(digits).unwrap().0[15], 15);
        for text in ["", "0", &digits[1..], &digits.to_uppercase(), "+00102030405060708090a0b0c0d0e0f"] {
            assert_eq!(StoreId::parse(text), None, "{text}");
        }
    }

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
