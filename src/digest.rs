//! Digests: of a set, independent of the order of its members, and of a byte string. They
//! distinguish contents; they do not protect against an attacker who constructs two with equal digests.

use hamdex_fingerprint::Fingerprint;

/// The sum of 128 mixed bits for every member: two sets that differ by damage or mistake have
/// different sums except in one case in 2^128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SetDigest {
    sum: u128,
}

impl SetDigest {
    pub(crate) fn add<F: Fingerprint>(&mut self, member: F) {
        let wide = member.to_u128();
        self.sum = self.sum.wrapping_add(mix(wide as u64, (wide >> 64) as u64));
    }

    /// Adds a member of 64 bits so many times.
    pub(crate) fn add_times(&mut self, member: u64, times: u64) {
        self.sum = self.sum.wrapping_add(mix(member, 0).wrapping_mul(u128::from(times)));
    }

    /// Returns the digest in which each member comes so many times as often.
    pub(crate) fn times(self, times: u64) -> Self {
        Self { sum: self.sum.wrapping_mul(u128::from(times)) }
    }

    /// Adds a member that is a pair.
    pub(crate) fn add_pair<F: Fingerprint>(&mut self, member: F, second: u64) {
        let wide = member.to_u128();
        let high = (wide >> 64) as u64;
        self.sum = self.sum.wrapping_add(mix(wide as u64 ^ scramble(second), high ^ scramble(!second)));
    }

    /// The digest of the union, for sets without a member in common.
    pub(crate) fn join(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
    }

    pub(crate) fn value(self) -> u128 {
        self.sum
    }
}

/// 128 bits that depend on every byte, on their order and number, and on `seed`.
pub(crate) fn of_bytes(seed: u128, bytes: &[u8]) -> u128 {
    let mut state = seed ^ bytes.len() as u128;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(state as u64 ^ u64::from_le_bytes(word), (state >> 64) as u64);
    }
    state
}

fn mix(low: u64, high: u64) -> u128 {
    let first = scramble(low ^ scramble(high ^ 0x243f_6a88_85a3_08d3));
    let second = scramble(high ^ scramble(low ^ 0x1319_8a2e_0370_7344));
    u128::from(first) << 64 | u128::from(second)
}

/// Mixes bits by the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit depends on every bit.
pub(crate) fn scramble(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(members: &[u64]) -> SetDigest {
        members.iter().fold(SetDigest::default(), |mut digest, &member| {
            digest.add(member);
            digest
        })
    }

    #[test]
    fn order_does_not_matter_and_members_do() {
        assert_eq!(digest(&[1, 2, 3]), digest(&[3, 1, 2]));
        assert_ne!(digest(&[1, 2, 3]), digest(&[1, 2, 4]));
        assert_ne!(digest(&[0]), digest(&[]));
        let mut joined = digest(&[1]);
        joined.join(digest(&[2]));
        assert_eq!(joined, digest(&[1, 2]));
    }

    #[test]
    fn a_member_is_added_several_times_at_once() {
        let mut thrice = digest(&[5]);
        thrice.add_times(7, 3);
        thrice.add_times(9, 0);
        assert_eq!(thrice, digest(&[7, 5, 7, 7]));
    }

    #[test]
    fn bytes_order_length_and_seed_count() {
        let base = of_bytes(1, b"some bytes to digest");
        assert_eq!(base, of_bytes(1, b"some bytes to digest"));
        for other in
            [of_bytes(2, b"some bytes to digest"), of_bytes(1, b"some bytes to digesu"), of_bytes(1, b"")]
        {
            assert_ne!(base, other);
        }
        assert_ne!(of_bytes(0, b"\0"), of_bytes(0, b"\0\0"));
    }

    #[test]
    fn both_members_of_a_pair_count() {
        let pair = |a: u64, b| {
            let mut digest = SetDigest::default();
            digest.add_pair(a, b);
            digest
        };
        assert_ne!(pair(1, 2), pair(2, 1));
        assert_ne!(pair(1, 2), pair(1, 3));
        assert_ne!(pair(0, 0), digest(&[0]));
    }
}
