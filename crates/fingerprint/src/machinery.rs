//! Operations on fingerprints as numbers and bytes, for the crates of this project only.

use byteorder::{ByteOrder, LittleEndian};

use sealed::Sealed;

mod sealed {
    /// A supertrait that cannot be named outside this file.
    pub trait Sealed {}
}

/// The operations behind [`Fingerprint`](crate::Fingerprint). They may change in any release. No other crate
/// can implement this trait, which seals `Fingerprint` too.
pub trait Machinery: Sized + Sealed {
    /// The number of clear bits before the first set one; the width for zero.
    fn leading_zeros(self) -> u32;

    /// The number of clear bits after the last set one; the width for zero.
    fn trailing_zeros(self) -> u32;

    /// The bits moved `by` places towards the most significant end, wrapping around.
    fn rotate_left(self, by: u32) -> Self;

    /// The bits moved `by` places towards the least significant end, wrapping around.
    fn rotate_right(self, by: u32) -> Self;

    /// The difference of the two as numbers, modulo 2^width.
    fn minus(self, other: Self) -> Self;

    /// Reads a little-endian number of the width from the start of `bytes`.
    ///
    /// # Panics
    /// When `bytes` is shorter than the width.
    fn read_le(bytes: &[u8]) -> Self;

    /// Writes the number, little-endian, to the start of `bytes`.
    ///
    /// # Panics
    /// When `bytes` is shorter than the width.
    fn write_le(self, bytes: &mut [u8]);

    /// The same numbers as words of 64 bits; `None` if they are wider.
    fn as_words(values: &mut [Self]) -> Option<&mut [u64]>;
}

macro_rules! impl_machinery {
    ($type:ty, $read:path, $write:path, $as_words:expr) => {
        impl Sealed for $type {}

        impl Machinery for $type {
            #[inline]
            fn leading_zeros(self) -> u32 {
                <$type>::leading_zeros(self)
            }
            #[inline]
            fn trailing_zeros(self) -> u32 {
                <$type>::trailing_zeros(self)
            }
            #[inline]
            fn rotate_left(self, by: u32) -> Self {
                <$type>::rotate_left(self, by)
            }
            #[inline]
            fn rotate_right(self, by: u32) -> Self {
                <$type>::rotate_right(self, by)
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn read_le(bytes: &[u8]) -> Self {
                $read(bytes)
            }
            #[inline]
            fn write_le(self, bytes: &mut [u8]) {
                $write(bytes, self);
            }
            #[inline]
            fn as_words(values: &mut [Self]) -> Option<&mut [u64]> {
                $as_words(values)
            }
        }
    };
}

impl_machinery!(u64, LittleEndian::read_u64, LittleEndian::write_u64, Some);
impl_machinery!(u128, LittleEndian::read_u128, LittleEndian::write_u128, |_| None);
