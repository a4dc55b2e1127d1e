//! The keys of a table, portion by portion: each as large as memory permits, in ascending order.

use rayon::prelude::*;

use crate::error::BuildError;
use crate::progress::Counter;
use crate::writer::record::Record;
use crate::writer::sort::{Sorted, sort};
use crate::writer::tables::Visit;

/// Items that one thread handles at a time.
const CHUNK: usize = 1 << 14;

/// Items between two checks for room.
const PIECE: usize = 1 << 20;

/// Keys in a sample from which the ends of portions are estimated.
const SAMPLE: usize = 1 << 16;

/// The part of memory that a portion is planned to fill: estimates err.
const FILL: f64 = 0.9;

/// Calls what it is given with all items of a source, batch by batch.
pub(super) type Read<'r, T> =
    dyn FnMut(&mut dyn FnMut(&[T]) -> Result<(), BuildError>) -> Result<(), BuildError> + Send + 'r;

/// The ends of the portions of a table.
pub(super) struct Portions<K> {
    /// Number of keys that memory holds.
    capacity: usize,
    /// The greatest key of each portion whose end is known. Behind them is at least one more.
    ends: Vec<K>,
    /// Whether exactly one portion follows.
    is_complete: bool,
    /// All keys, if they are one portion.
    whole: Option<Vec<K>>,
    sample: Sample<K>,
}

impl<K: Record> Portions<K> {
    /// For portions that take at most `memory` bytes.
    pub(super) fn new(memory: usize) -> Self {
        let capacity = (memory / size_of::<K>()).max(4 * CHUNK);
        Self { capacity, ends: Vec::new(), is_complete: false, whole: None, sample: Sample::new() }
    }

    /// Delivers the keys of all items, strictly ascending, in batches. `read` is called once per portion;
    /// `done` checks for cancellation.
    pub(super) fn for_each<T: Sync>(
        &mut self,
        read: &mut Read<'_, T>,
        key: impl Fn(&T) -> K + Sync,
        visit: &mut Visit<'_, K>,
        done: &Counter,
    ) -> Result<(), BuildError> {
        if let Some(whole) = &self.whole {
            return Sorted::batches(whole, visit);
        }
        let mut portion = Portion::new(self.capacity);
        for number in 0usize.. {
            let above = number.checked_sub(1).map(|before| self.ends[before]);
            let up_to = match self.ends.get(number) {
                Some(&end) => Some(end),
                None if self.is_complete => None,
                None => self.sample.end_of_portion(above, self.capacity),
            };
            portion.begin(above, up_to);
            let mut sample = self.sample.is_empty().then(Sample::new);
            read(&mut |items| {
                if let Some(sample) = &mut sample {
                    sample.take(items, &key);
                }
                items.chunks(PIECE).try_for_each(|piece| portion.take(piece, &key, done))
            })?;
            self.sample = sample.map_or_else(|| std::mem::take(&mut self.sample), Sample::sorted);
            sort(&mut portion.keys, done)?;
            Sorted::batches(&portion.keys, visit)?;
            match portion.up_to {
                Some(end) if number == self.ends.len() => self.ends.push(end),
                Some(_) => {}
                None => {
                    self.is_complete = true;
                    self.whole = (number == 0).then_some(portion.keys);
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The least keys above a bound, as many as memory holds.
struct Portion<K> {
    above: Option<K>,
    /// Keys above this are left to later portions.
    up_to: Option<K>,
    keys: Vec<K>,
    capacity: usize,
    /// The wanted keys of a piece, chunk by chunk.
    wanted: Vec<K>,
}

impl<K: Record> Portion<K> {
    fn new(capacity: usize) -> Self {
        Self { above: None, up_to: None, keys: Vec::new(), capacity, wanted: Vec::new() }
    }

    /// Forgets all keys, and keeps their memory: the system clears what it gives anew.
    fn begin(&mut self, above: Option<K>, up_to: Option<K>) {
        self.keys.clear();
        (self.above, self.up_to) = (above, up_to);
    }

    fn take<T: Sync>(
        &mut self,
        items: &[T],
        key: impl Fn(&T) -> K + Sync,
        done: &Counter,
    ) -> Result<(), BuildError> {
        let Some(first) = items.first() else { return Ok(()) };
        let (above, up_to) = (self.above, self.up_to);
        let is_here = |key: K| above.is_none_or(|bound| key > bound) & up_to.is_none_or(|end| key <= end);
        if self.wanted.len() < items.len() {
            self.wanted.resize(items.len(), key(first));
        }
        let chunks = items.par_chunks(CHUNK).zip(self.wanted.par_chunks_mut(CHUNK));
        let counts: Vec<usize> =
            chunks.map(|(items, wanted)| gather_wanted(items, &key, is_here, wanted)).collect();
        for (number, count) in counts.into_iter().enumerate() {
            if self.keys.len() + count > self.capacity {
                self.make_room(done)?;
            }
            self.reserve(count)?;
            let wanted = &self.wanted[number * CHUNK..][..count];
            if self.up_to == up_to {
                self.keys.extend_from_slice(wanted);
            } else {
                // The end has moved since they were gathered.
                self.keys.extend(wanted.iter().filter(|&&key| Some(key) <= self.up_to));
            }
        }
        Ok(())
    }

    /// Drops repeats, if there are many; if that is not enough, leaves the greater half to later portions.
    fn make_room(&mut self, done: &Counter) -> Result<(), BuildError> {
        let most = self.capacity / 4 * 3;
        if let Some(middle) = self.middle() {
            self.up_to = Some(middle);
            self.keys.retain(|&key| key <= middle);
        }
        if self.keys.len() > most {
            sort(&mut self.keys, done)?;
        }
        if self.keys.len() > most {
            let half = self.keys.len() / 2;
            self.up_to = Some(self.keys[half - 1]);
            self.keys.truncate(half);
        }
        Ok(())
    }

    /// About the middle one of all keys, unless a sample has repeats: to drop these may be enough.
    fn middle(&self) -> Option<K> {
        let mut sample: Vec<K> = self.keys.iter().step_by(self.keys.len() / SAMPLE + 1).copied().collect();
        sample.sort_unstable();
        let has_repeats = sample.windows(2).any(|pair| pair[0] == pair[1]);
        sample.get(sample.len() / 2).copied().filter(|_| !has_repeats)
    }

    /// Grows by doubling up to the limit.
    fn reserve(&mut self, more: usize) -> Result<(), BuildError> {
        let needed = self.keys.len() + more;
        if needed > self.keys.capacity() {
            let more = needed.max(2 * self.keys.len()).min(self.capacity.max(needed)) - self.keys.len();
            let bytes = (more * size_of::<K>()) as u64;
            self.keys.try_reserve_exact(more).map_err(|_| BuildError::OutOfMemory { bytes })?;
        }
        Ok(())
    }
}

/// Gathers the keys that are wanted at the start of `wanted`, which has room for all; returns how many there are. Each key
/// is written there, whether wanted or not: of most readings most keys belong to other portions, but not so many that a
/// branch would be foreseen.
#[inline]
fn gather_wanted<T, K: Record>(
    items: &[T],
    key: impl Fn(&T) -> K,
    is_wanted: impl Fn(K) -> bool,
    wanted: &mut [K],
) -> usize {
    let mut count = 0;
    for item in items {
        let key = key(item);
        wanted[count] = key;
        count += usize::from(is_wanted(key));
    }
    count
}

/// Keys at even distances in the order of the source.
#[derive(Clone)]
struct Sample<K> {
    keys: Vec<K>,
    /// Number of items per sampled one.
    step: usize,
    /// Number of items to skip before the next sampled one.
    until_next: usize,
}

impl<K> Default for Sample<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), step: 1, until_next: 0 }
    }
}

impl<K: Record> Sample<K> {
    fn new() -> Self {
        Self::default()
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn take<T>(&mut self, items: &[T], key: impl Fn(&T) -> K) {
        let mut at = self.until_next;
        while let Some(item) = items.get(at) {
            if self.keys.len() == SAMPLE {
                let mut number = 0;
                self.keys.retain(|_| (number % 2 == 0, number += 1).0);
                self.step *= 2;
            }
            self.keys.push(key(item));
            at += self.step;
        }
        self.until_next = at - items.len();
    }

    fn sorted(mut self) -> Self {
        self.keys.sort_unstable();
        self
    }

    /// Returns the end of a portion above a bound, such that it fits; `None` if all the rest should fit, or
    /// nothing is known.
    fn end_of_portion(&self, above: Option<K>, capacity: usize) -> Option<K> {
        let first = self.keys.partition_point(|&key| Some(key) <= above);
        let keys = (capacity as f64 * FILL / self.step as f64) as usize;
        self.keys.get(first + keys.max(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::digest;
    use crate::progress::{Phase, Report};

    /// Returns the keys that come out, and how often the source is read.
    fn gone_through(portions: &mut Portions<u64>, items: &[u64]) -> (Vec<u64>, usize) {
        let (mut all, mut readings) = (Vec::new(), 0);
        let mut read = |take: &mut dyn FnMut(&[u64]) -> Result<(), BuildError>| {
            readings += 1;
            items.chunks(50_000).try_for_each(take)
        };
        let keep = &mut |batch: &[u64]| {
            all.extend_from_slice(batch);
            Ok(())
        };
        let done = Counter::new(Report::default(), Phase::Read, None);
        portions.for_each(&mut read, |&item| item, keep, &done).unwrap();
        (all, readings)
    }

    #[test]
    fn all_keys_come_in_order_in_about_as_few_readings_as_memory_permits() {
        let uniform: Vec<u64> = (0..1_000_000u64).map(digest::scramble).collect();
        let spike: Vec<u64> = (0..1_000_000).map(|i| if i % 3 == 0 { i / 3 } else { 77 }).collect();
        let ascending: Vec<u64> = (0..1_000_000).collect();
        for items in [uniform, spike, ascending, Vec::new(), vec![5]] {
            let distinct: Vec<u64> = items.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
            let capacity = 100_000;
            let mut portions = Portions::<u64>::new(capacity * 8);
            let (first, first_readings) = gone_through(&mut portions, &items);
            assert!(first == distinct);
            // The first portion is halved again and again, since nothing is known yet.
            assert!(first_readings <= distinct.len() * 3 / (2 * capacity) + 3, "{first_readings}");
            let (second, readings) = gone_through(&mut portions, &items);
            assert!(second == distinct);
            assert_eq!(readings, if first_readings == 1 { 0 } else { first_readings });
        }
    }
}
