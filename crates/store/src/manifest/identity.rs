//! Which store a file belongs to, and what its pairs look like.

use std::fmt;

/// A number that no two stores share, drawn when a store is created.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreId(pub [u8; 16]);

impl StoreId {
    /// A new one.
    ///
    /// # Errors
    /// When the operating system has no random numbers.
    pub fn random() -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self(bytes))
    }

    /// Reads 32 lower-case hexadecimal digits.
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

/// What every file of a store has to agree with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Which store.
    pub store: StoreId,
    /// Bits of a fingerprint: 64 or 128.
    pub width: u32,
    /// Whether fingerprints have ids.
    pub has_ids: bool,
    /// Whether ids have names: then the store gives the ids.
    pub has_names: bool,
}

/// Two lower-case digits per byte.
pub(crate) fn hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

/// The reverse of [`hex`], and nothing else.
pub(crate) fn parse_hex(text: &str) -> Option<[u8; 16]> {
    let bytes = u128::from_str_radix(text, 16).ok()?.to_be_bytes();
    (hex(&bytes) == text).then_some(bytes)
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
}
