//! One moment of a store of either width.

use hamdex_store::Snapshot as Taken;

/// One moment of a store of either width.
#[derive(Clone)]
pub(crate) enum Moment {
    Bits64(Taken<u64>),
    Bits128(Taken<u128>),
}

impl Moment {
    /// The width of the fingerprints, in bits.
    pub(crate) fn width(&self) -> u32 {
        match self {
            Self::Bits64(_) => 64,
            Self::Bits128(_) => 128,
        }
    }
}
