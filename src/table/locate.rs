//! From a query to the blocks that may hold a match.

use std::ops::Range;

use crate::arch::{self, Instructions, Kernel};
use crate::codec::Target;
use crate::design::TableDesign;
use crate::error::ReadError;
use crate::filter_bits::{Pattern, prefix_of};
use crate::table::Table;
use crate::table::keys::KeysInFile;
use hamdex_fingerprint::Fingerprint;

/// A range of this many blocks is taken without narrowing it further.
const FEW_BLOCKS: usize = 2;

/// A prefix with more blocks than this is narrowed by the bits after it, as far as the errors go: real
/// crawls have long runs of equal prefixes.
const SHORT_RANGE: usize = 4;

/// Returns the target of a probe: everything within `reach` and `distance` of a query, which is permuted as the
/// table is.
#[inline(always)]
pub(crate) fn target_of<F: Fingerprint>(reach: &TableDesign<F>, distance: u32, permuted: F) -> Target<F> {
    Target { query: permuted, prefix_bits: reach.prefix_bits(), radius: reach.radius, distance }
}

/// The block that holds all matches of a target, by the directory alone.
pub(crate) enum HomeBlock {
    /// The only block that can hold a match.
    Block(usize),
    /// No block can hold a match.
    Nowhere,
    /// The keys have to be read.
    Unknown,
}

impl<F: Fingerprint> Table<F> {
    /// Returns the block of `target`, if the directory alone gives it. It does for most prefixes without errors.
    #[inline(always)]
    pub(crate) fn home_block(&self, target: &Target<F>) -> HomeBlock {
        if target.prefix_errors() > 0 {
            return HomeBlock::Unknown;
        }
        let (least, greatest) = target.run_of(target.query, 0);
        match self.keys.find_for_both(least, greatest) {
            Some(block) if block < self.keys.len() => HomeBlock::Block(block),
            Some(_) => HomeBlock::Nowhere,
            None => HomeBlock::Unknown,
        }
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

    /// Prefetches what [`Self::split_by_filter`] reads for a target.
    #[inline(always)]
    pub(crate) fn prefetch_filter(&self, file: &[u8], target: &Target<F>) {
        if let Some(filter) = &self.filter {
            let prefix = prefix_of(target.query, target.prefix_bits);
            filter.in_file(file).prefetch_lines(prefix, target.prefix_errors());
        }
    }

    /// Calls `visit` with a target without errors in its prefix for each prefix that `target` admits and the
    /// table, by its filter, may have. Together these targets meet what `target` meets, each value once.
    ///
    /// # Errors
    /// When a page of the filter is damaged.
    #[inline(always)]
    pub(crate) fn split_by_filter(
        &self,
        instructions: impl Instructions,
        file: &[u8],
        target: &Target<F>,
        mut visit: impl FnMut(Target<F>),
    ) -> Result<(), ReadError> {
        let Some(filter) = &self.filter else {
            visit(*target);
            return Ok(());
        };
        let Target { query, prefix_bits, distance, .. } = *target;
        let suffix = query & !F::prefix_mask(prefix_bits);
        let (prefix, errors) = (prefix_of(query, prefix_bits), target.prefix_errors());
        filter.in_file(file).for_each(instructions, prefix, errors, |Pattern { prefix, errors }| {
            let query = F::truncate(u128::from(prefix)) << (F::BITS - prefix_bits) | suffix;
            visit(Target { query, prefix_bits, radius: 0, distance: distance - errors });
        })
    }

    /// Calls `visit` with `target`, or, if the filter is to be asked, as [`Self::split_by_filter`] with the best
    /// instructions of this processor.
    ///
    /// # Errors
    /// When a page of the filter is damaged.
    #[inline]
    pub(crate) fn for_each_target(
        &self,
        file: &[u8],
        target: &Target<F>,
        asks_filter: bool,
        mut visit: impl FnMut(Target<F>),
    ) -> Result<(), ReadError> {
        if asks_filter {
            return arch::run(Split { table: self, file, target, visit: &mut visit });
        }
        visit(*target);
        Ok(())
    }

    /// Returns whether the keys prove that a block holds no match of `target`.
    pub(crate) fn rules_out(&self, file: &[u8], target: &Target<F>, block: usize) -> bool {
        rules_out(self.keys.in_file(file), target, block)
    }
}

/// See [`Table::for_each_target`].
struct Split<'a, F> {
    table: &'a Table<F>,
    file: &'a [u8],
    target: &'a Target<F>,
    visit: &'a mut dyn FnMut(Target<F>),
}

impl<F: Fingerprint> Kernel for Split<'_, F> {
    type Output = Result<(), ReadError>;

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Self::Output {
        self.table.split_by_filter(instructions, self.file, self.target, self.visit)
    }
}

fn rules_out<F: Fingerprint>(keys: KeysInFile<'_, F>, target: &Target<F>, block: usize) -> bool {
    block > 0 && target.rules_out(keys.get(block - 1), keys.get(block))
}

/// Returns the blocks that may hold values with the prefix of `value`, which differs from the query's in
/// `errors` bits; an empty range after the last block if all values are smaller.
#[inline(always)]
fn range<F: Fingerprint>(keys: KeysInFile<'_, F>, target: &Target<F>, value: F, errors: u32) -> Range<u32> {
    let (least, greatest) = target.run_of(value, errors);
    let blocks = keys.range(least, greatest);
    blocks.start as u32..blocks.end as u32
}

/// Adds the blocks of the query's own prefix, and of the prefixes that differ from it in one bit; none, and
/// returns `false`, if one of these prefixes has too many.
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
        // Without a branch: the direction of a flip is unpredictable.
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

/// Walks the bits of the query as a binary trie over the keys: a subtree whose values all lie in a block or two
/// is settled; another is narrowed by its next bit, equal to the query's and, while errors are left, different
/// from it. So values of one block are not looked up twice, in however many ways the errors can be placed.
fn locate_all<F: Fingerprint>(keys: KeysInFile<'_, F>, target: &Target<F>, blocks: &mut Vec<u32>) {
    let start = blocks.len();
    descend(keys, target, target.query, 0, 0, blocks);
    // Removes duplicates of blocks that several subtrees share, and blocks that cannot hold a match: they would
    // cost reads from storage.
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
        // If no further error is allowed, only the query's own bits remain.
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
