//! Survival of unsynced changes after a crash.

/// The unsynced changes that survive a crash. Synced changes always survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Survival {
    /// None of them.
    Nothing,
    /// All of them, as if only the process had ended.
    Everything,
    /// All names and no bytes, as a rename without a sync can leave.
    Names,
    /// All bytes and no names.
    Bytes,
    /// Some of them, chosen by this seed: any version of each sector, and any set of name changes in which each comes
    /// with the earlier ones of the same name.
    Any(u64),
}

/// The sequence of choices of one crash.
#[derive(Debug)]
pub(crate) struct Choices {
    survival: Survival,
    state: u64,
}

impl Choices {
    pub(crate) fn new(survival: Survival) -> Self {
        let state = if let Survival::Any(seed) = survival { seed } else { 0 };
        Self { survival, state }
    }

    /// Whether the next change of a name survives.
    pub(crate) fn keeps_name(&mut self) -> bool {
        match self.survival {
            Survival::Nothing | Survival::Bytes => false,
            Survival::Everything | Survival::Names => true,
            Survival::Any(_) => self.below(2) == 1,
        }
    }

    /// Returns which of `versions` of a sector survives: 0 is the synced one, the last the newest.
    pub(crate) fn version(&mut self, versions: usize) -> usize {
        match self.survival {
            Survival::Nothing | Survival::Names => 0,
            Survival::Everything | Survival::Bytes => versions - 1,
            Survival::Any(_) => self.below(versions),
        }
    }

    /// Returns a byte that was never written, of a sector that was only allocated.
    pub(crate) fn stray_byte(&mut self) -> u8 {
        // Mostly zero, sometimes old contents of the sector.
        if self.below(4) == 0 { self.next() as u8 } else { 0 }
    }

    pub(crate) fn is_any(&self) -> bool {
        matches!(self.survival, Survival::Any(_))
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
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
