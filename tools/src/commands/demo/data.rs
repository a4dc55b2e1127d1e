//! Fingerprints with planted near-duplicates, the same on every machine.

use hamdex::Fingerprint;

/// One fingerprint in this many gets near-duplicates.
const PLANT_EVERY: usize = 1000;

/// Near-duplicates are planted at each distance from 1 to this.
const MAX_PLANTED_DISTANCE: u32 = 6;

/// The number of timed queries.
const QUERIES: usize = 20_000;

pub(super) struct Data {
    pub(super) stored: Vec<u64>,
    /// Every other query is a stored fingerprint with near-duplicates, the rest are random.
    pub(super) queries: Vec<u64>,
}

/// Makes uniform fingerprints, some with near-duplicates at every distance up to the planted one, and
/// queries.
pub(super) fn make(count: usize) -> Data {
    let mut numbers = SplitMix64(0x6861_6d64_6578);
    let mut stored: Vec<u64> = (0..count).map(|_| numbers.next()).collect();
    let planted: Vec<u64> = stored.iter().copied().step_by(PLANT_EVERY).collect();
    for &original in &planted {
        for distance in 1..=MAX_PLANTED_DISTANCE {
            let mut neighbour = original;
            while neighbour.distance(original) < distance {
                neighbour ^= 1 << (numbers.next() % 64);
            }
            stored.push(neighbour);
        }
    }
    let queries = (0..QUERIES)
        .map(|number| if number % 2 == 0 { planted[number / 2 % planted.len()] } else { numbers.next() })
        .collect();
    Data { stored, queries }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
