//! What of the unsynced survives a crash.

/// What of the unsynced survives a crash. What was synced survives always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Survival {
    /// Nothing of it.
    Nothing,
    /// All of it, as after the end of the process alone.
    Everything,
    /// All names, and no bytes: what a rename without a sync can leave.
    Names,
    /// All bytes, and no names.
    Bytes,
    /// Any part of it, chosen by this number: of each sector any version that it had, of the names any set in which
    /// no change comes without the earlier ones of the same name.
    Any(u64),
}

/// The choices of one crash, one after the other.
#[derive(Debug)]
pub(super) struct Choices {
    survival: Survival,
    state: u64,
}

impl Choices {
    pub(super) fn new(survival: Survival) -> Self {
        let state = if let Survival::Any(seed) = survival { seed } else { 0 };
        Self { survival, state }
    }

    /// Whether one more change of a name survives.
    pub(super) fn keeps_name(&mut self) -> bool {
        match self.survival {
            Survival::Nothing | Survival::Bytes => false,
            Survival::Everything | Survival::Names => true,
            Survival::Any(_) => self.below(2) == 1,
        }
    }

    /// Which of `versions` of a piece of a file survives; the first is the synced one, the last the newest.
    pub(super) fn version(&mut self, versions: usize) -> usize {
        match self.survival {
            Survival::Nothing | Survival::Names => 0,
            Survival::Everything | Survival::Bytes => versions - 1,
            Survival::Any(_) => self.below(versions),
        }
    }

    /// A byte of what was never written: of a sector that the file system has given to the file, and no more.
    pub(super) fn stray_byte(&mut self) -> u8 {
        // Mostly zeros, sometimes what the sector held before.
        if self.below(4) == 0 { self.next() as u8 } else { 0 }
    }

    pub(super) fn is_any(&self) -> bool {
        matches!(self.survival, Survival::Any(_))
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}
