//! Fields of equal size in a row: what the Elias–Fano kernels read.

/// Values that instructions take at a time.
pub(crate) const LANES: usize = 8;

/// Bytes that instructions take at a time.
pub(crate) const BYTES: usize = 64;

/// Fields of equal size in a row of a bit string, least significant bit first: bit i of the string is
/// bit i mod 8 of byte i / 8, and the first bit of a field is its lowest.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    /// The bytes from the one on in which the first field starts.
    pub(super) bytes: &'a [u8],
    /// Its first bit in that byte.
    pub(super) phase: u32,
    /// Bits of a field.
    pub(super) bits: u32,
}

impl<'a> Fields<'a> {
    /// The most bits of a field: so few that the eight bytes from its first on have all of it.
    pub(crate) const MAX_BITS: u32 = 56;

    /// Fields of 1 to [`Self::MAX_BITS`] bits, the first of which starts at bit `start` of `bytes`.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], start: usize, bits: u32) -> Self {
        debug_assert!((1..=Self::MAX_BITS).contains(&bits));
        Self { bytes: &bytes[start / 8..], phase: start as u32 % 8, bits }
    }

    /// Returns the fields after the first [`LANES`].
    #[inline(always)]
    pub(crate) fn skip_lanes(self) -> Self {
        // Eight fields of n bits are n bytes.
        const _: () = assert!(LANES == 8);
        Self { bytes: self.bytes.get(self.bits as usize..).unwrap_or_default(), ..self }
    }
}
