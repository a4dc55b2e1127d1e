//! Bob Jenkins' lookup3 (2006, public domain), its two-word form `hashlittle2`.
//!
//! Written from the description of the function: three 32-bit words of state, twelve bytes mixed in
//! at a time, the last one to twelve bytes followed by a final mix. No available crate has the
//! two-word form.

/// `hashlittle2` with both seeds 0, its second result in the low half: `c << 32 | b`.
pub(super) fn hashlittle2(bytes: &[u8]) -> u64 {
    let (c, b) = seeded(bytes, 0, 0);
    u64::from(c) << 32 | u64::from(b)
}

/// The two results (primary `c`, secondary `b`) for two seeds: the primary one enters all three words,
/// the secondary one `c` alone.
fn seeded(bytes: &[u8], primary: u32, secondary: u32) -> (u32, u32) {
    // The length enters modulo 2^32, as in the 32-bit arithmetic of the original.
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(primary);
    let mut state = [start, start, start.wrapping_add(secondary)];
    let mut rest = bytes;
    while rest.len() > 12 {
        let (head, tail) = rest.split_at(12);
        absorb(&mut state, head);
        mix(&mut state);
        rest = tail;
    }
    if !rest.is_empty() {
        let mut last = [0; 12];
        last[..rest.len()].copy_from_slice(rest);
        absorb(&mut state, &last);
        finish(&mut state);
    }
    (state[2], state[1])
}

fn absorb(state: &mut [u32; 3], twelve: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(twelve.chunks_exact(4)) {
        *word = word.wrapping_add(u32::from_le_bytes(bytes.try_into().expect("chunks of four bytes")));
    }
}

fn mix(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    // Each step: subtract, xor a rotation, add; the roles of the words rotate twice.
    for (first, second, third) in [(4, 6, 8), (16, 19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    *state = [a, b, c];
}

fn finish(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    *state = [a, b, c];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors_hold() {
        // The self-test printed in lookup3.c itself.
        let gettysburg = b"Four score and seven years ago";
        assert_eq!(seeded(b"", 0, 0), (0xdeadbeef, 0xdeadbeef));
        assert_eq!(seeded(b"", 0, 0xdeadbeef), (0xbd5b7dde, 0xdeadbeef));
        assert_eq!(seeded(b"", 0xdeadbeef, 0xdeadbeef), (0x9c093ccd, 0xbd5b7dde));
        assert_eq!(seeded(gettysburg, 0, 0), (0x17770551, 0xce7226e6));
        assert_eq!(seeded(gettysburg, 0, 1), (0xe3607cae, 0xbd371de4));
        assert_eq!(seeded(gettysburg, 1, 0), (0xcd628161, 0x6cbea4b3));
    }

    #[test]
    fn the_primary_result_is_the_high_half() {
        assert_eq!(hashlittle2(b"Four score and seven years ago"), 0x17770551_ce7226e6);
    }
}
