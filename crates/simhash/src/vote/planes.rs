//! Counters of votes as bit planes.

use hamdex_fingerprint::Fingerprint;

use crate::recipe::Tie;

/// Features taken together before they enter the planes.
const BATCH: usize = 8;

/// Counts votes of whole weight.
///
/// The counts are *vertical*: plane `i` holds bit `i` of all the counters. Eight features at a time
/// pass through a tree of carry-save adders (about five operations per feature); only the
/// carry of the tree is added to the further planes.
///
/// ```
/// use hamdex_simhash::recipe::Tie;
/// use hamdex_simhash::Tally;
///
/// let mut tally = Tally::<u64>::new();
/// for hash in [0xABCD, 0xBCDE, 0xCDEF] {
///     tally.add(hash);
/// }
/// assert_eq!(tally.fingerprint(Tie::Zero), 0xADCF);
/// ```
#[derive(Debug, Clone)]
pub struct Tally<F> {
    planes: Vec<F>,
    batch: [F; BATCH],
    batched: usize,
    votes: u64,
}

impl<F: Fingerprint> Default for Tally<F> {
    fn default() -> Self {
        // The adders work on the first three planes in place.
        Self { planes: vec![F::ZERO; 3], batch: [F::ZERO; BATCH], batched: 0, votes: 0 }
    }
}

impl<F: Fingerprint> Tally<F> {
    /// Creates an empty vote.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all votes and keeps the memory.
    pub fn clear(&mut self) {
        self.planes.fill(F::ZERO);
        self.batched = 0;
        self.votes = 0;
    }

    /// Returns the sum of all weights.
    #[must_use]
    pub fn votes(&self) -> u64 {
        self.votes
    }

    /// Adds a feature with weight 1.
    #[inline]
    pub fn add(&mut self, hash: F) {
        self.batch[self.batched] = hash;
        self.batched += 1;
        self.votes += 1;
        if self.batched == BATCH {
            self.add_batch();
        }
    }

    /// Adds a feature with a whole weight; a weight of 0 changes nothing.
    ///
    /// # Panics
    /// When the sum of all weights exceeds 2^64 − 1.
    pub fn add_weighted(&mut self, hash: F, weight: u64) {
        if weight == 1 {
            return self.add(hash);
        }
        self.votes = self.votes.checked_add(weight).expect("the sum of weights fits into 64 bits");
        let mut rest = weight;
        while rest != 0 {
            self.ripple(hash, rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }

    /// Returns the fingerprint: bit `j` is set if more weight voted for it than against it; if both are equal, `tie`
    /// decides. Without votes every bit is a tie.
    #[must_use]
    pub fn fingerprint(&mut self, tie: Tie) -> F {
        for index in 0..self.batched {
            self.ripple(self.batch[index], 0);
        }
        self.batched = 0;

        // A counter is a majority when it exceeds half the votes; compare all with that at once.
        let half = self.votes / 2;
        let depth = self.planes.len().max(u64::BITS as usize - half.leading_zeros() as usize);
        let (mut above, mut equal) = (F::ZERO, F::ONES);
        for level in (0..depth).rev() {
            let plane = self.planes.get(level).copied().unwrap_or(F::ZERO);
            if level < u64::BITS as usize && half >> level & 1 == 1 {
                equal = equal & plane;
            } else {
                above = above | (equal & plane);
                equal = equal & !plane;
            }
        }
        if tie == Tie::One && self.votes.is_multiple_of(2) { above | equal } else { above }
    }

    fn add_batch(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.batch;
        let (ones, t0) = full_adder(self.planes[0], a, b);
        let (ones, t1) = full_adder(ones, c, d);
        let (twos, f0) = full_adder(self.planes[1], t0, t1);
        let (ones, t0) = full_adder(ones, e, f);
        let (ones, t1) = full_adder(ones, g, h);
        let (twos, f1) = full_adder(twos, t0, t1);
        let (fours, eights) = full_adder(self.planes[2], f0, f1);
        self.planes[..3].copy_from_slice(&[ones, twos, fours]);
        self.batched = 0;
        self.ripple(eights, 3);
    }

    fn ripple(&mut self, mut carry: F, from: usize) {
        let mut level = from;
        while carry != F::ZERO {
            if level >= self.planes.len() {
                self.planes.resize(level + 1, F::ZERO);
            }
            let plane = self.planes[level];
            self.planes[level] = plane ^ carry;
            carry = plane & carry;
            level += 1;
        }
    }
}

/// Sum and carry of three bits, in every bit position.
#[inline]
fn full_adder<F: Fingerprint>(a: F, b: F, c: F) -> (F, F) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}
