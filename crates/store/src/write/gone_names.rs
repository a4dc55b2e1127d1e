//! The first id per name that may be left, so that repeated replacements of a name do not visit its removed ids again.
//!
//! A look-up of a name finds all ids that it ever had in a memtable or segment. In a store with names each insertion gets
//! a new id, so a removed id never has pairs again, and replacements remove the ids of a name in ascending order. So it
//! suffices to know the first id that may be left.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::error::Unpoisoned;

/// Gone ids per name, on average, that a look-up visits before it is worth to record them.
pub(crate) const MAX_GONE: usize = 16;

/// Maximum number of recorded names. They are forgotten together, and recorded again when they are looked up.
const MAX_NAMES: usize = 1 << 16;

/// Maximum number of bytes of all recorded names.
const MAX_NAME_BYTES: usize = 1 << 22;

/// A moment of a store, to which later views are compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// The sequence number of the last batch.
    pub(crate) sequence: u64,
    /// The number of ingested files: their ids may be below those of records that were inserted before.
    pub(crate) ingests: u64,
}

/// The first id of a name that may be left, as of a moment.
#[derive(Debug, Clone, Copy)]
struct Left {
    first: u64,
    since: Moment,
}

/// Names whose earlier ids have gone. All views of a store share it.
#[derive(Debug, Default)]
pub(crate) struct GoneNames {
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    names: HashMap<Box<[u8]>, Left>,
    /// The bytes of all names.
    bytes: usize,
}

impl GoneNames {
    /// Returns the first id of a name that may have a pair at a moment.
    pub(crate) fn first_left(&self, name: &[u8], now: Moment) -> u64 {
        // An earlier view may still have the pairs that have gone since.
        let is_known =
            |left: &&Left| left.since.sequence <= now.sequence && left.since.ingests == now.ingests;
        self.recorded.lock().unpoisoned().names.get(name).filter(is_known).map_or(0, |left| left.first)
    }

    /// Records that no id of a name before one has a pair at a published moment.
    pub(crate) fn record(&self, name: &[u8], first: u64, since: Moment) {
        let mut recorded = self.recorded.lock().unpoisoned();
        if recorded.names.len() >= MAX_NAMES || recorded.bytes + name.len() > MAX_NAME_BYTES {
            *recorded = Recorded::default();
        }
        if recorded.names.insert(name.into(), Left { first, since }).is_none() {
            recorded.bytes += name.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_gone_is_known_from_its_moment_on() {
        let gone = GoneNames::default();
        let at = |sequence, ingests| Moment { sequence, ingests };
        assert_eq!(gone.first_left(b"a", at(7, 1)), 0);
        gone.record(b"a", 40, at(7, 1));
        assert_eq!((gone.first_left(b"a", at(7, 1)), gone.first_left(b"a", at(9, 1))), (40, 40));
        assert_eq!(gone.first_left(b"a", at(6, 1)), 0, "an earlier view has them");
        assert_eq!(gone.first_left(b"a", at(8, 2)), 0, "an ingested file may have earlier ids");
        assert_eq!(gone.first_left(b"b", at(8, 1)), 0);
        (0..=MAX_NAMES).for_each(|number| gone.record(&number.to_le_bytes(), 1, at(7, 1)));
        assert!(gone.recorded.lock().unpoisoned().names.len() <= MAX_NAMES);
        let long = |number: u64| [&number.to_le_bytes()[..], &[7; 1 << 16]].concat();
        for number in 0..200 {
            // Twice, and counted once.
            (0..2).for_each(|_| gone.record(&long(number), 1, at(7, 1)));
            let recorded = gone.recorded.lock().unpoisoned();
            let bytes: usize = recorded.names.keys().map(|name| name.len()).sum();
            assert_eq!(recorded.bytes, bytes);
            assert!(bytes <= MAX_NAME_BYTES);
        }
        assert_eq!(gone.first_left(&long(199), at(7, 1)), 1);
    }
}
