//! A fingerprint of any width.

use hamdex::Fingerprint;

/// A fingerprint of up to 256 bits: four words, the most significant first.
///
/// ```
/// use hamdex_any::AnyFingerprint;
///
/// let fingerprint = AnyFingerprint::from(0x00ff_u64);
/// assert_eq!(fingerprint.words(), [0, 0, 0, 0xff]);
/// assert_eq!(fingerprint.narrow::<u64>(), Some(0x00ff));
/// assert_eq!(AnyFingerprint::from(u128::MAX).narrow::<u64>(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnyFingerprint([u64; 4]);

impl AnyFingerprint {
    /// The fingerprint as four words, the most significant first.
    #[must_use]
    pub fn words(self) -> [u64; 4] {
        self.0
    }

    /// The fingerprint as a number of this width; `None` if it has more bits.
    #[must_use]
    pub fn narrow<F: Fingerprint>(self) -> Option<F> {
        let [first, second, high, low] = self.0;
        let number = u128::from(high) << 64 | u128::from(low);
        let narrow = F::truncate(number);
        (first == 0 && second == 0 && narrow.to_u128() == number).then_some(narrow)
    }

    /// A fingerprint of one of the widths of index files.
    #[must_use]
    pub fn of<F: Fingerprint>(fingerprint: F) -> Self {
        let number = fingerprint.to_u128();
        Self([0, 0, (number >> 64) as u64, number as u64])
    }
}

impl From<u64> for AnyFingerprint {
    fn from(fingerprint: u64) -> Self {
        Self::of(fingerprint)
    }
}

impl From<u128> for AnyFingerprint {
    fn from(fingerprint: u128) -> Self {
        Self::of(fingerprint)
    }
}
