//! What a store holds, and what that costs.

use hamdex::Engine;

use crate::disk::Disk;
use crate::manifest::Manifest;
use crate::state::State;
use crate::store::Store;

/// What a store holds, and what that costs.
#[derive(Debug, Clone, PartialEq)]
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
    /// Bytes written to files, removals and logs over the life of the store, by bytes of the files that there are.
    /// 0 where there are none. Logs count when their pairs have been written to a file.
    pub write_amplification: f64,
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
    pub(crate) fn of<F: Engine, D: Disk>(manifest: &Manifest, state: &State<F, D>) -> Self {
        let removed_of = |number: u64| {
            let live = state.segments.iter().find(|live| live.segment.number == number);
            live.map_or(0, |live| live.removed.len())
        };
        let segments: Vec<SegmentStats> = manifest
            .segments
            .iter()
            .map(|entry| SegmentStats {
                number: entry.number,
                bytes: entry.bytes,
                fingerprints: entry.fingerprints,
                pairs: entry.pairs,
                removed: removed_of(entry.number),
                level: entry.level,
            })
            .collect();
        let recent: u64 = state.in_memory().map(crate::recent::Recent::len).sum();
        let sum = |of: fn(&SegmentStats) -> u64| segments.iter().map(of).sum::<u64>();
        let (pairs, removed, bytes) = (sum(|s| s.pairs), sum(|s| s.removed), sum(|s| s.bytes));
        let left = pairs - removed + recent;
        let has_ids = manifest.identity.has_ids;
        let written = manifest.written;
        let all_written = written.segments + written.removals + written.logs;
        let is_one_whole_file = segments.len() <= 1 && recent == 0 && (removed == 0 || !has_ids);
        Self {
            fingerprints: (sum(|s| s.fingerprints) + recent).min(left),
            ids: if has_ids { left } else { 0 },
            is_exact: is_one_whole_file || left == 0,
            bytes,
            recent,
            recent_bytes: state.in_memory().map(|recent| recent.bytes() as u64).sum(),
            removed,
            sequence: state.sequence,
            write_amplification: if bytes == 0 { 0.0 } else { all_written as f64 / bytes as f64 },
            segments,
        }
    }
}

impl<F: Engine, D: Disk> Store<F, D> {
    /// What the store holds, and what that costs: from counts that are kept, so that nothing is read.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let shared = self.shared();
        let publisher = shared.publisher();
        StoreStats::of(publisher.manifest(), &shared.state.load())
    }
}
