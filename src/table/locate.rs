//! From a query to the blocks that may hold a match.

use std::ops::Range;

use crate::codec::Target;
use crate::design::TableDesign;
use crate::table::keys::KeysInFile;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

/// A range of this many blocks is looked into without narrowing it further.
const FEW_BLOCKS: usize = 2;

/// A prefix with more blocks than this is narrowed by the bits behind it, as far as the errors go: real
/// crawls have long runs of equal prefixes.
const SHORT_RANGE: usize = 4;

/// What a probe looks for: everything within `reach` and `distance` of a query, which is permuted as the table
/// is.
#[inline(always)]
pub(crate) fn target_of<F: Fingerprint>(reach: &TableDesign<F>, distance: u32, permuted: F) -> Target<F> {
    Target { query: permuted, prefix_bits: reach.prefix_bits(), radius: reach.radius, distance }
}

impl<F: Fingerprint> Table<F> {
    /// The only block that may hold what `target` meets, or the number of blocks if none may; `None` where keys have
    /// to be looked at to tell. Most prefixes without errors are told from the directory alone.
    #[inline(always)]
    pub(crate) fn only_block(&self, target: &Target<F>) -> Option<usize> {
        let (least, greatest) = target.run_of(target.query, 0);
        if target.prefix_errors() == 0 { self.keys.find_for_both(least, greatest) } else { None }
    }

    /// Appends the numbers of all blocks that may hold what `target` meets, each once, in no particular
    /// order.
    #[inline(always)]
    pub(crate) fn locate(&self, file: &[u8], target: &Target<F>, blocks: &mut Vec<u32>) {
        let keys = self.keys.in_file(file);
        if keys.len() == 0 {
            return;
        }
        let is_done = match target.prefix_errors() {
            0 => {
                let home = range(keys, target, target.query, 0);
                let is_short = home.len() <= SHORT_RANGE;
                if is_short {
                    blocks.extend(home);
                }
                is_short
            }
            1 => locate_flips(keys, target, blocks),
            _ => false,
        };
        if !is_done {
            locate_all(keys, target, blocks);
        }
    }

    /// Whether the keys prove that a block holds nothing that `target` meets.
    pub(crate) fn rules_out(&self, file: &[u8], target: &Target<F>, block: usize) -> bool {
        rules_out(self.keys.in_file(file), target, block)
    }
}

fn rules_out<F: Fingerprint>(keys: KeysInFile<'_, F>, target: &Target<F>, block: usize) -> bool {
    block > 0 && target.rules_out(keys.get(block - 1), keys.get(block))
}

/// The blocks that can hold values with the prefix that `value` has, which differs from the query's
/// in `errors` bits; empty, behind the last block, where all values are smaller.
#[inline(always)]
fn range<F: Fingerprint>(keys: KeysInFile<'_, F>, target: &Target<F>, value: F, errors: u32) -> Range<u32> {
    let (least, greatest) = target.run_of(value, errors);
    let [first, last] = match keys.find_for_both(least, greatest) {
        Some(block) => [block; 2],
        None => [keys.find(least), keys.find(greatest)],
    };
    first as u32..keys.len().min(last + 1) as u32
}

/// The blocks of the query's own prefix, and of those that differ from it in one bit; none, and
/// `false`, where one of these prefixes has too many.
#[inline(always)]
fn locate_flips<F: Fingerprint>(keys: KeysInFile<'_, F>, target: &Target<F>, blocks: &mut Vec<u32>) -> bool {
    let before = blocks.len();
    let flips = (0..target.prefix_bits).rev();
    let home = range(keys, target, target.query, 0);
    if home.len() > SHORT_RANGE {
        return false;
    }
    blocks.extend(home.clone());
    let (start, end) = (home.start as usize, home.end as usize);
    // Home holds what is above the first of these and up to the second; behind the last block is nothing.
    let above = if start > 0 { keys.get(start - 1) } else { F::ZERO };
    let up_to = if end < keys.len() { keys.get(end - 1) } else { F::ONES };
    let suffix = !F::prefix_mask(target.prefix_bits);
    // From the last bit of the prefix to the first, flips lead further and further from home, to
    // the left or to the right: what has been met there already is all between here and home.
    let (mut left, mut right) = (home.start, home.end);
    for position in flips {
        let flipped = target.query ^ F::bit(position);
        if (flipped & !suffix) > above && flipped | suffix <= up_to {
            continue;
        }
        let flipped = range(keys, target, flipped, 1);
        if flipped.len() > SHORT_RANGE {
            blocks.truncate(before);
            return false;
        }
        // Without a branch: which way a flip leads, nothing foretells.
        let is_above = target.query & F::bit(position) == F::ZERO;
        let start = if is_above { flipped.start.max(right) } else { flipped.start };
        let end = if is_above { flipped.end } else { flipped.end.min(left) };
        right = if is_above { right.max(end) } else { right };
        left = if is_above { left } else { left.min(start) };
        if end == start + 1 {
            blocks.push(start);
        } else {
            blocks.extend(start..end);
        }
    }
    true
}

/// Walks the bits of the query as a binary trie over the keys: a subtree whose values all lie in a
/// block or two is settled; another is narrowed by its next bit, as it is in the query and, while
/// errors are left, as it is not. So nothing is looked up twice that lies in one block, however
/// many ways there are to place the errors.
fn locate_all<F: Fingerprint>(keys: KeysInFile<'_, F>, target: &Target<F>, blocks: &mut Vec<u32>) {
    let start = blocks.len();
    descend(keys, target, target.query, 0, 0, blocks);
    // Without the blocks that several subtrees share, and those that cannot hold a match after all:
    // storage should not be waited for on their account.
    blocks[start..].sort_unstable();
    let (mut kept, mut before) = (start, None);
    for at in start..blocks.len() {
        let block = blocks[at];
        if before.replace(block) != Some(block) && !rules_out(keys, target, block as usize) {
            blocks[kept] = block;
            kept += 1;
        }
    }
    blocks.truncate(kept);
}

/// Settles the subtree of the values that begin as `value` does up to bit `depth`; `errors` of
/// these bits differ from the query.
fn descend<F: Fingerprint>(
    keys: KeysInFile<'_, F>,
    target: &Target<F>,
    value: F,
    mut depth: u32,
    errors: u32,
    blocks: &mut Vec<u32>,
) {
    let in_prefix = target.prefix_errors();
    loop {
        // Where no further error is admitted, the query's own bits are the only way on.
        if depth < target.prefix_bits && errors >= in_prefix {
            depth = target.prefix_bits;
        }
        if errors >= target.distance {
            depth = F::BITS;
        }
        let mask = F::prefix_mask(depth);
        let first = keys.find(value & mask);
        let last = keys.find(value | !mask).min(keys.len() - 1);
        if first >= keys.len() {
            return;
        }
        if last - first < FEW_BLOCKS || depth == F::BITS {
            blocks.extend(first as u32..=last as u32);
            return;
        }
        descend(keys, target, value ^ F::bit(depth), depth + 1, errors + 1, blocks);
        depth += 1;
    }
}
