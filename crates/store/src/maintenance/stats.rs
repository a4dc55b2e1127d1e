//! What a store holds, and what that costs.

use hamdex::Fingerprint;

use crate::health::{Health, Merges};
use crate::inner::StoreInner;
use crate::manifest::Manifest;
use crate::store::Store;
use crate::view::View;

/// What a store holds, and what that costs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreStats {
    /// Fingerprints, at most; exactly where `is_exact`.
    pub fingerprints: u64,
    /// Pairs of fingerprint and id, at most; exactly where `is_exact`. 0 in a store without ids.
    pub ids: u64,
    /// Whether the counts are exact: nothing can be held twice, and no fingerprint has lost only some of its ids.
    pub is_exact: bool,
    /// Files.
    pub segments: Vec<SegmentStats>,
    /// Bytes of these files.
    pub bytes: u64,
    /// Pairs in memory, those that are being written to a file included.
    pub recent: u64,
    /// Bytes of memory that these take.
    pub recent_bytes: u64,
    /// Pairs in files that have been removed.
    pub removed: u64,
    /// The number of the last batch.
    pub sequence: u64,
    /// Bytes written to segments, removals and logs since the store was created, by bytes of the segments that flushes and
    /// ingested files have added since then. 0 before the first one. Logs count when their pairs have been flushed.
    pub write_amplification: f64,
    /// The health of the process that has the store open for writing; `None` if none has.
    pub health: Option<Health>,
}

/// A file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentStats {
    /// The number in its name.
    pub number: u64,
    /// Bytes.
    pub bytes: u64,
    /// Distinct fingerprints, removed ones included.
    pub fingerprints: u64,
    /// Pairs, removed ones included.
    pub pairs: u64,
    /// Pairs that have been removed.
    pub removed: u64,
    /// How often its oldest part has been merged.
    pub level: u32,
}

impl StoreStats {
    pub(crate) fn of<F: Fingerprint>(manifest: &Manifest, view: &View<F>) -> Self {
        // The manifest may be of a moment before or after: it has only the level.
        let level_of = |number: u64| {
            let entry = manifest.segments.iter().find(|entry| entry.number == number);
            entry.map_or(0, |entry| entry.level)
        };
        let segments: Vec<SegmentStats> = view
            .segments
            .iter()
            .map(|live| SegmentStats {
                number: live.segment.number,
                bytes: live.segment.bytes,
                fingerprints: live.index().len(),
                pairs: live.segment.pairs(),
                removed: live.removed.len(),
                level: level_of(live.segment.number),
            })
            .collect();
        let recent: u64 = view.in_memory().map(crate::memtable::Memtable::len).sum();
        let sum = |of: fn(&SegmentStats) -> u64| segments.iter().map(of).sum::<u64>();
        let (pairs, removed, bytes) = (sum(|s| s.pairs), sum(|s| s.removed), sum(|s| s.bytes));
        let left = pairs - removed + recent;
        let has_ids = manifest.identity.has_ids;
        let written = manifest.written;
        let all_written = written.segments + written.removals + written.logs;
        let (fingerprints, is_exact) = view.fingerprints(has_ids);
        Self {
            fingerprints,
            ids: if has_ids { left } else { 0 },
            is_exact,
            bytes,
            recent,
            recent_bytes: view.in_memory().map(|recent| recent.bytes() as u64).sum(),
            removed,
            sequence: view.sequence,
            write_amplification: if written.added == 0 {
                0.0
            } else {
                all_written as f64 / written.added as f64
            },
            segments,
            health: None,
        }
    }
}

impl<F: Fingerprint> Store<F> {
    /// Returns counts, costs and health of the store: from counts that are kept, so that nothing is read and
    /// nothing is waited for.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let inner = self.inner();
        StoreStats {
            health: Some(inner.health()),
            ..StoreStats::of(&inner.manifest.load(), &inner.view.load())
        }
    }

    /// The health of the store: whether work in the background fails, and how much writers are held back.
    #[must_use]
    pub fn health(&self) -> Health {
        self.inner().health()
    }
}

impl<F: Fingerprint> StoreInner<F> {
    fn health(&self) -> Health {
        Health {
            holder: String::new(),
            merges: match (self.options.merges, self.background.is_paused()) {
                (false, _) => Merges::Off,
                (true, true) => Merges::Paused,
                (true, false) => Merges::On,
            },
            pressure: self.background.pressure(),
            queue: self.queue.len(),
            unsynced: self.unsynced(),
            failures: self.background.failures(),
        }
    }

    /// Lets other processes know of the health, where it has changed.
    pub(crate) fn show_health(&self, shown: &mut String) {
        let line = self.health().to_line();
        if line != *shown {
            self.set_status(&line);
            *shown = line;
        }
    }
}
