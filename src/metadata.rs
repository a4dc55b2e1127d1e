//! User metadata: named byte strings that travel with an index.
//!
//! ```text
//! for each entry, in the order of the names:
//! 4   length of the name, in bytes
//! 4   length of the value, in bytes
//! …   the name, UTF-8
//! …   the value
//! ```

use std::collections::BTreeMap;

use byteorder::{ByteOrder, LittleEndian};

/// The name under which an index has the recipe of its fingerprints, if it has one: see the format specification.
pub const RECIPE_KEY: &str = "hamdex.recipe";

/// Names and values.
pub(crate) type Metadata = BTreeMap<String, Vec<u8>>;

pub(crate) fn to_bytes(metadata: &Metadata) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in metadata {
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend(value);
    }
    bytes
}

/// `None` when the bytes are not what [`to_bytes`] writes.
pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<Metadata> {
    let mut metadata = Metadata::new();
    while !bytes.is_empty() {
        let (lengths, rest) = bytes.split_at_checked(8)?;
        let (name, rest) = rest.split_at_checked(LittleEndian::read_u32(lengths) as usize)?;
        let (value, rest) = rest.split_at_checked(LittleEndian::read_u32(&lengths[4..]) as usize)?;
        let name = std::str::from_utf8(name).ok()?.to_owned();
        if metadata.last_key_value().is_some_and(|(last, _)| *last >= name) {
            return None;
        }
        metadata.insert(name, value.to_vec());
        bytes = rest;
    }
    Some(metadata)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_read_back(metadata: Metadata) {
            prop_assert_eq!(from_bytes(&to_bytes(&metadata)), Some(metadata));
        }

        #[test]
        fn any_other_bytes_are_refused(bytes: Vec<u8>) {
            if let Some(metadata) = from_bytes(&bytes) {
                prop_assert_eq!(to_bytes(&metadata), bytes);
            }
        }
    }
}
