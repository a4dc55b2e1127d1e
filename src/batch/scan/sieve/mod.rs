//! A sieve for stored fingerprints, most of which are near no query.
//!
//! Table 0 is in natural order, so fingerprints decoded together share leading bits. Few queries have at most
//! the allowed errors in these bits: some ten thousand of a million, for a stretch that shares sixteen bits.
//! And a query with errors there has fewer left for the rest. Two small filters hold the keys of these queries
//! in the two halves of the remaining bits: [`halves`]. A value in neither filter is near no query; the values
//! that pass, a few percent, are looked up in the tables of all queries.
//!
//! A stretch is the values of a task, or a part of them that shares one bit more, and so on, until the filters
//! fit near the processor. For clustered queries, or many queries and few values, filters would cost more than
//! they save, and all values pass. The work until that is known is bounded by the number of values.
//!
//! [`halves`] makes the keys of a query. The loops are compiled for the best instructions there are.
//!
//! The cost model of a sieve is for evenly spread queries and values, the case in which it pays. Its constants lie
//! between the fit for a processor with AVX2 (2^20 to 2^33 values, 1,000 to a million queries) and the fit for one with
//! AVX-512, which takes half of the time.

pub(super) mod halves;

use std::any::Any;

use halves::{Filter, Halves};

use crate::arch::{Instructions, Kernel, LANES};
use crate::batch::scan::query_table::flips;
use crate::bits::leading;
use crate::progress::{Counter, Stopped};
use crate::{arch, filter_bits, sorting};
use hamdex_fingerprint::Fingerprint;

/// The greatest number of leading bits by which queries are found.
const MAX_START_BITS: u32 = 12;

/// Keys of filters that are still near the processor: at most a megabyte of filters.
const NEAR_KEYS: f64 = 524_288.0;

/// Values that share a filter of any size, if fewer.
const FEW: usize = 1024;

/// Maximum of queries tested per value, to find the relevant ones.
const MAX_QUERIES_PER_VALUE: usize = 16;

/// Keys for each value, at most: beyond, looking the value up costs as much.
const MAX_KEYS_PER_VALUE: f64 = 16.0;

/// Queries of a list that are counted, at most: how large filters become need not be known exactly.
const COUNTED: usize = 512;

/// Maximum of queries and keys per value in all: stretches with clustered queries are divided again and again.
const MAX_WORK_PER_VALUE: f64 = 40.0;

/// The queries of a batch, in the order of table 0.
pub(super) struct Sieve<F> {
    /// Ascending.
    queries: Vec<F>,
    distance: u32,
    /// Start of the queries with each prefix of that many bits, and the end.
    starts: Vec<u32>,
    start_bits: u32,
    /// For each number of leading bits, up to that of a start, the ways in which they may differ.
    ways: Vec<Vec<usize>>,
}

/// Memory that sifting uses again and again.
#[derive(Default)]
pub(super) struct Workspace<F> {
    /// The queries relevant to a stretch, to the current part of it, and so on.
    lists: Vec<Vec<F>>,
    filters: Filters,
    /// Remaining work.
    work: f64,
}

impl<F: Fingerprint> Sieve<F> {
    /// Bytes in use for each query, about.
    pub(super) const fn bytes_per_query() -> usize {
        size_of::<F>()
    }

    pub(super) fn new(queries: &[F], distance: u32, done: &Counter) -> Result<Self, Stopped> {
        let distance = distance.min(F::BITS);
        let mut queries = queries.to_vec();
        sorting::sort(&mut queries, &|| done.check())?;
        let start_bits = queries.len().max(1).ilog2().min(MAX_START_BITS);
        let mut starts = vec![0; (1 << start_bits) + 1];
        for &query in &queries {
            starts[leading(query, start_bits) + 1] += 1;
        }
        for start in 1..starts.len() {
            starts[start] += starts[start - 1];
        }
        let of_bits =
            |bits| flips::<u64>(bits, distance).into_iter().map(move |flip| leading(flip, bits)).collect();
        let ways = (0..=start_bits).map(of_bits).collect();
        Ok(Self { queries, distance, starts, start_bits, ways })
    }

    /// Adds to `kept` the ascending values that may be within the distance of a query, and few others.
    pub(super) fn sift(&self, values: &[F], workspace: &mut Workspace<F>, kept: &mut Vec<F>) {
        workspace.work = MAX_WORK_PER_VALUE * values.len() as f64;
        self.by_starts(values, workspace, kept);
    }

    /// Finds the queries that matter by their leading bits.
    fn by_starts(&self, values: &[F], workspace: &mut Workspace<F>, kept: &mut Vec<F>) {
        if values.is_empty() {
            return;
        }
        let prefix = Prefix::of(values);
        let count = self.count_by_starts(values);
        if prefix.bits < self.start_bits && values.len() > FEW {
            // A stretch may end with the last values of one prefix and the first of a very different one.
            let (without, with) = parted(values, prefix.bits);
            if self.count_by_starts(without) + self.count_by_starts(with) < count {
                self.by_starts(without, workspace, kept);
                self.by_starts(with, workspace, kept);
                return;
            }
        }
        if !workspace.may_look_at(count, values) {
            kept.extend_from_slice(values);
            return;
        }
        let mut list = workspace.take_list(0);
        for queries in self.near_starts(prefix) {
            arch::run(Narrow { queries, prefix, distance: self.distance, into: &mut list });
        }
        self.by_list(values, 0, &list, workspace, kept);
        workspace.lists[0] = list;
    }

    /// Returns the queries with so few errors in the leading bits of a prefix that they may matter.
    fn near_starts(&self, prefix: Prefix<F>) -> impl Iterator<Item = &[F]> {
        let bits = prefix.bits.min(self.start_bits);
        let (own, more) = (leading(prefix.value, bits), self.start_bits - bits);
        self.ways[bits as usize].iter().map(move |way| {
            let start = own ^ way;
            &self.queries[self.starts[start << more] as usize..self.starts[(start + 1) << more] as usize]
        })
    }

    /// Returns their number for ascending values, at least one.
    fn count_by_starts(&self, values: &[F]) -> usize {
        self.near_starts(Prefix::of(values)).map(<[_]>::len).sum()
    }

    /// The list has all queries that matter to these values, and no query with too many errors in their prefix.
    fn by_list(
        &self,
        values: &[F],
        depth: usize,
        list: &[F],
        workspace: &mut Workspace<F>,
        kept: &mut Vec<F>,
    ) {
        if list.is_empty() {
            return;
        }
        let prefix = Prefix::of(values);
        let halves = Halves::behind::<F>(prefix.bits);
        let (upper, lower) = self.keys(list, prefix, halves);
        let keys = upper + lower;
        if keys > NEAR_KEYS && values.len() > FEW {
            let (without, with) = parted(values, prefix.bits);
            for part in [without, with] {
                if !workspace.may_look_at(list.len(), part) {
                    kept.extend_from_slice(part);
                    continue;
                }
                let prefix = Prefix::of(part);
                let mut narrowed = workspace.take_list(depth + 1);
                arch::run(Narrow { queries: list, prefix, distance: self.distance, into: &mut narrowed });
                self.by_list(part, depth + 1, &narrowed, workspace, kept);
                workspace.lists[depth + 1] = narrowed;
            }
        } else if keys > MAX_KEYS_PER_VALUE * values.len() as f64 || !workspace.may_do(keys) {
            kept.extend_from_slice(values);
        } else {
            let Workspace { filters, .. } = workspace;
            filters.upper.clear(upper as usize);
            filters.lower.clear(lower as usize);
            arch::run(Fill { queries: list, prefix, distance: self.distance, filters });
            arch::run(Sift { values, halves, filters, kept });
        }
    }

    /// About how many keys queries have in the upper and the lower half, by some of them.
    fn keys(&self, queries: &[F], prefix: Prefix<F>, halves: Halves) -> (f64, f64) {
        let (mut upper, mut lower) = (0.0, 0.0);
        let step = queries.len().div_ceil(COUNTED);
        for &query in queries.iter().step_by(step) {
            let (more_upper, more_lower) = halves.keys(self.distance - prefix.errors(query));
            upper += more_upper * step as f64;
            lower += more_lower * step as f64;
        }
        (upper, lower)
    }
}

impl<F: Fingerprint> Workspace<F> {
    /// Takes this much work from the budget; returns `false` if it exceeds it.
    fn may_do(&mut self, work: f64) -> bool {
        let is_left = work <= self.work;
        if is_left {
            self.work -= work;
        }
        is_left
    }

    /// Returns whether `queries` queries may be tested for these values.
    fn may_look_at(&mut self, queries: usize, values: &[F]) -> bool {
        queries <= MAX_QUERIES_PER_VALUE * values.len() && self.may_do(queries as f64)
    }

    /// Returns an empty list for that depth.
    fn take_list(&mut self, depth: usize) -> Vec<F> {
        if self.lists.len() <= depth {
            self.lists.resize_with(depth + 1, Vec::new);
        }
        let mut list = std::mem::take(&mut self.lists[depth]);
        list.clear();
        list
    }
}

/// Splits ascending values that agree in the bits above into those without a bit and those with it.
fn parted<F: Fingerprint>(values: &[F], position: u32) -> (&[F], &[F]) {
    let bit = F::bit(position);
    values.split_at(values.partition_point(|&value| value & bit == F::ZERO))
}

/// To test a value.
const TEST_NS: f64 = 6.0;

/// To test whether a query is relevant.
const QUERY_NS: f64 = 1.5;

/// To add a key to a filter.
const KEY_NS: f64 = 3.5;

/// Values that are sifted at once.
const TOGETHER: f64 = 65_536.0;

/// The share of the values that are let through.
pub(super) const KEPT: f64 = 0.03;

/// Returns the nanoseconds to sift a value, for evenly spread queries and values; `None` if a sieve is of no
/// use.
pub(in crate::batch) fn sift_ns<F: Fingerprint>(queries: usize, values: u64, distance: u32) -> Option<f64> {
    let mut bits = (values as f64 / TOGETHER).max(1.0).log2() as u32;
    let mut looked_at = 0.0;
    loop {
        let values = values as f64 / f64::from(bits).exp2();
        let halves = Halves::behind::<F>(bits);
        let (mut matter, mut keys, mut before) = (0.0, 0.0, 0.0);
        for errors in 0..=distance.min(bits) {
            // The queries with `errors` errors in the prefix are as many as the ways to place them there.
            let up_to = filter_bits::ways(bits, errors);
            let count = (up_to - before) * queries as f64 / f64::from(bits).exp2();
            before = up_to;
            matter += count;
            let (upper, lower) = halves.keys(distance - errors);
            keys += count * (upper + lower);
        }
        // About twice as many queries are tested as remain.
        looked_at += 2.0 * matter / values;
        if keys <= NEAR_KEYS || values <= FEW as f64 || bits == F::BITS {
            let per_value = keys / values;
            let ns = TEST_NS + looked_at * QUERY_NS + per_value * KEY_NS;
            return (per_value <= MAX_KEYS_PER_VALUE).then_some(ns);
        }
        bits += 1;
    }
}

/// Values, or queries, tested before the kept ones are moved.
const TESTED_TOGETHER: usize = 512;

/// Leading bits that many values have in common.
#[derive(Clone, Copy)]
struct Prefix<F> {
    /// One of the values.
    value: F,
    bits: u32,
}

impl<F: Fingerprint> Prefix<F> {
    /// Of ascending values, at least one.
    fn of(values: &[F]) -> Self {
        let (value, last) = (values[0], values[values.len() - 1]);
        Self { value, bits: value.first_difference(last) }
    }

    #[inline(always)]
    fn mask(&self) -> F {
        F::prefix_mask(self.bits)
    }

    /// Errors of a query in these bits.
    #[inline(always)]
    fn errors(&self, query: F) -> u32 {
        ((query ^ self.value) & self.mask()).count_ones()
    }
}

/// Adds to a list the queries with few enough errors in a prefix.
struct Narrow<'a, F> {
    queries: &'a [F],
    prefix: Prefix<F>,
    distance: u32,
    into: &'a mut Vec<F>,
}

impl<F: Fingerprint> Kernel for Narrow<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, instructions: impl Instructions) {
        let Self { queries, prefix, distance, into } = self;
        let mask = prefix.mask();
        let mut room = [F::ZERO; TESTED_TOGETHER];
        for queries in queries.chunks(TESTED_TOGETHER) {
            let mut kept = 0;
            let (groups, rest) = queries.as_chunks::<LANES>();
            for group in groups {
                let near = near(instructions, group, mask, prefix.value, distance);
                // Without a branch: it would be unpredictable.
                for (lane, &query) in group.iter().enumerate() {
                    room[kept % TESTED_TOGETHER] = query;
                    kept += (near >> lane & 1) as usize;
                }
            }
            for &query in rest {
                room[kept % TESTED_TOGETHER] = query;
                kept += usize::from(prefix.errors(query) <= distance);
            }
            into.extend_from_slice(&room[..kept]);
        }
    }
}

/// Returns a bit mask of the values, of eight, with at most `errors` errors under a mask.
#[inline(always)]
fn near<F: Fingerprint>(
    instructions: impl Instructions,
    group: &[F; LANES],
    mask: F,
    value: F,
    distance: u32,
) -> u32 {
    // The compiler knows which of the two it is.
    if let Some(words) = (group as &dyn Any).downcast_ref::<[u64; LANES]>() {
        let (mask, value) = (mask.to_u128() as u64, value.to_u128() as u64);
        let mut masked = *words;
        for word in &mut masked {
            *word &= mask;
        }
        return instructions.near_values(&masked, value & mask, distance);
    }
    let mut near = 0;
    for (lane, &other) in group.iter().enumerate() {
        near |= u32::from(((other ^ value) & mask).count_ones() <= distance) << lane;
    }
    near
}

/// Adds to two filters the keys after a prefix of the queries with few enough errors in it.
struct Fill<'a, F> {
    queries: &'a [F],
    prefix: Prefix<F>,
    distance: u32,
    filters: &'a mut Filters,
}

/// Keys of the queries in the upper and the lower half after a prefix.
#[derive(Default)]
struct Filters {
    upper: Filter,
    lower: Filter,
}

impl<F: Fingerprint> Kernel for Fill<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Instructions) {
        let Self { queries, prefix, distance, filters: Filters { upper, lower } } = self;
        let halves = Halves::behind::<F>(prefix.bits);
        for &query in queries {
            let errors = distance - prefix.errors(query);
            halves.upper_keys(query, errors, &mut |key| upper.add(key));
            halves.lower_keys(query, errors, &mut |key| lower.add(key));
        }
    }
}

/// Adds to a list the values that may be near a query.
struct Sift<'a, F> {
    values: &'a [F],
    halves: Halves,
    filters: &'a Filters,
    kept: &'a mut Vec<F>,
}

impl<F: Fingerprint> Kernel for Sift<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Instructions) {
        let Self { values, halves, filters: Filters { upper, lower }, kept } = self;
        let mut places = [0u16; TESTED_TOGETHER];
        for values in values.chunks(TESTED_TOGETHER) {
            // Without a branch, so that memory works on many of them at a time.
            let mut count = 0;
            for (place, &value) in values.iter().enumerate() {
                places[count] = place as u16;
                let is_met = upper.may_have(halves.upper(value)) | lower.may_have(halves.lower(value));
                count += usize::from(is_met);
            }
            kept.extend(places[..count].iter().map(|&place| values[usize::from(place)]));
        }
    }
}

#[cfg(test)]
mod tests;
