//! The bytes of a file, durable and not yet durable.

use crate::choice::Choices;

/// The unit of atomic writes.
const SECTOR_BYTES: usize = 512;

/// The bytes of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contents {
    /// The bytes that processes read.
    current: Vec<u8>,
    /// The bytes that survive a crash for certain.
    durable: Vec<u8>,
    /// The changes since the last sync, in order.
    unsynced: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

impl Change {
    fn apply(&self, contents: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => {
                let end = at + bytes.len();
                if contents.len() < end {
                    contents.resize(end, 0);
                }
                contents[*at..end].copy_from_slice(bytes);
            }
            Self::Truncate { length } => contents.resize(*length, 0),
        }
    }
}

impl Contents {
    /// Returns a file whose bytes are all durable.
    pub(crate) fn durable(bytes: Vec<u8>) -> Self {
        Self { current: bytes.clone(), durable: bytes, unsynced: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.current
    }

    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        self.change(Change::Write { at, bytes: bytes.to_vec() });
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.change(Change::Truncate { length });
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.unsynced.push(change);
    }

    pub(crate) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Fails a sync as some systems do: unsynced bytes can still be read, but no later sync writes them.
    pub(crate) fn fail_to_sync(&mut self) {
        self.unsynced.clear();
    }

    /// Returns the bytes that a crash leaves.
    pub(crate) fn survivor(&self, choices: &mut Choices) -> Vec<u8> {
        if self.unsynced.is_empty() {
            return self.durable.clone();
        }
        let mut versions = vec![self.durable.clone()];
        for change in &self.unsynced {
            let mut next = versions.last().expect("at least one").clone();
            change.apply(&mut next);
            versions.push(next);
        }
        let mut left = vec![0; surviving_length(&versions, choices)];
        for (number, sector) in left.chunks_mut(SECTOR_BYTES).enumerate() {
            let version = &versions[choices.version(versions.len())];
            let written = version.get(number * SECTOR_BYTES..).unwrap_or_default();
            let written = &written[..written.len().min(sector.len())];
            sector[..written.len()].copy_from_slice(written);
            if choices.is_any() && written.len() < sector.len() {
                let stray = choices.stray_byte();
                sector[written.len()..].fill(stray);
            }
        }
        left
    }
}

/// Returns the length of some version, or a length of whole sectors between those of two versions.
fn surviving_length(versions: &[Vec<u8>], choices: &mut Choices) -> usize {
    let (one, other) = (choices.version(versions.len()), choices.version(versions.len()));
    let (one, other) = (versions[one].len(), versions[other].len());
    let (least, most) = (one.min(other), one.max(other));
    if most / SECTOR_BYTES > least / SECTOR_BYTES && choices.below(2) == 1 {
        let sectors = most / SECTOR_BYTES - least / SECTOR_BYTES;
        return (least / SECTOR_BYTES + 1 + choices.below(sectors)) * SECTOR_BYTES;
    }
    one
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::choice::Survival;

    fn survivors(contents: &Contents) -> BTreeSet<Vec<u8>> {
        (0..2_000).map(|seed| contents.survivor(&mut Choices::new(Survival::Any(seed)))).collect()
    }

    #[test]
    fn what_is_synced_survives_and_nothing_else_is_certain() {
        let mut contents = Contents::default();
        contents.write(0, b"first");
        contents.sync();
        assert_eq!(survivors(&contents), [b"first".to_vec()].into());
        contents.write(5, b"second");
        let left = survivors(&contents);
        assert!(left.contains(b"first".as_slice()) && left.contains(b"firstsecond".as_slice()));
        assert!(left.contains(b"first\0\0\0\0\0\0".as_slice()), "the length alone");
        assert!(left.iter().all(|bytes| bytes.starts_with(b"first")));
        assert_eq!(contents.bytes(), b"firstsecond");
    }

    #[test]
    fn a_long_write_is_torn_between_sectors() {
        let mut contents = Contents::default();
        contents.write(0, &[7; 3 * SECTOR_BYTES]);
        let left = survivors(&contents);
        assert!(left.contains([7; 2 * SECTOR_BYTES].as_slice()), "in front");
        let tail = [vec![0; SECTOR_BYTES], vec![7; 2 * SECTOR_BYTES]].concat();
        assert!(left.contains(&tail), "the later sectors alone");
    }

    #[test]
    fn what_a_sync_failed_to_write_no_later_one_writes() {
        let mut contents = Contents::default();
        contents.write(0, b"lost");
        contents.fail_to_sync();
        contents.write(4, b"kept");
        contents.sync();
        assert_eq!(contents.bytes(), b"lostkept");
        assert_eq!(survivors(&contents), [b"\0\0\0\0kept".to_vec()].into());
    }

    #[test]
    fn a_cut_that_is_not_synced_may_not_have_been() {
        let mut contents = Contents::durable(b"0123456789".to_vec());
        contents.truncate(4);
        contents.write(4, b"x");
        let left = survivors(&contents);
        assert!(left.contains(b"0123456789".as_slice()) && left.contains(b"0123x".as_slice()));
        contents.sync();
        assert_eq!(survivors(&contents), [b"0123x".to_vec()].into());
    }
}
