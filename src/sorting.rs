//! Sorting in memory, and searching in sorted numbers.
//!
//! [`sort`] and [`sort_by_keys`] sort in place, by all threads, until the work is stopped.
//!
//! A radix sort from the leading bits on: values are divided into as many parts as a digit has values, again
//! and again, until a part is short enough for the standard library. A digit consists of bits that differ
//! between values, so clusters are divided as well as evenly spread values. A value swapped to its part is
//! replaced by one that is handled in the next pass, so no step waits for the one before (Skarupke, "I Wrote a
//! Faster Sorting Algorithm", 2016, after McIlroy, Bostic and McIlroy, "Engineering Radix Sort", 1993). Every
//! long step calls `check`, which checks for cancellation, as no sort of a library does; its error ends the
//! work.

use std::ops::Range;

use crate::threads::{map_numbers, try_for_each};
use hamdex_fingerprint::Fingerprint;

/// Values that are sorted by comparison, without a cancellation check: they fit the caches of a core.
const SHORT: usize = 1 << 15;

/// Values between cancellation checks.
const PIECE: usize = 1 << 20;

/// Bits of a digit: a cache line of each part is held at a time.
const DIGIT_BITS: u32 = 8;

const DIGITS: usize = 1 << DIGIT_BITS;

/// Sorts fingerprints. If cancelled, all of them are present, in some order.
pub(crate) fn sort<F: Fingerprint, E: Send>(
    values: &mut [F],
    check: &(dyn Fn() -> Result<(), E> + Sync),
) -> Result<(), E> {
    sort_by_keys(values, |&value| value, |_| F::ZERO, check)
}

/// Sorts values by one key, and then by another. If cancelled, all values are present, in some order.
///
/// # Errors
/// The error of `check`.
pub fn sort_by_keys<T, K, L, E>(
    values: &mut [T],
    key: impl Fn(&T) -> K + Sync,
    then: impl Fn(&T) -> L + Sync,
    check: &(dyn Fn() -> Result<(), E> + Sync),
) -> Result<(), E>
where
    T: Ord + Copy + Send + Sync,
    K: Fingerprint,
    L: Fingerprint,
    E: Send,
{
    if is_sorted(values, check)? {
        return Ok(());
    }
    let equal = |_: &mut [T]| Ok(());
    sort_by(values, &key, &|part: &mut [T]| sort_by(part, &then, &equal, check), check)
}

/// Sorts by a digit below `digits`; equal digits keep their order. `starts` receives the start of the values of
/// each digit; one more for the end.
pub(crate) fn counting_sort<T: Copy + Default>(
    values: &[T],
    digits: usize,
    digit: impl Fn(T) -> usize,
    sorted: &mut Vec<T>,
    starts: &mut Vec<u32>,
) {
    // While values are placed, starts[d + 1] is the position of the next one of digit d: finally, the end of
    // digit d.
    starts.clear();
    starts.resize(digits + 2, 0);
    for &value in values {
        starts[digit(value) + 2] += 1;
    }
    for at in 2..starts.len() {
        starts[at] += starts[at - 1];
    }
    // Each is written to.
    sorted.resize(values.len(), T::default());
    for &value in values {
        let next = &mut starts[digit(value) + 1];
        sorted[*next as usize] = value;
        *next += 1;
    }
    starts.pop();
}

/// Returns the first number of a range for which `is_before` is `false`, as it must be for all later ones; the end if
/// there is none.
pub(crate) fn partition_point<E>(
    range: Range<u64>,
    mut is_before: impl FnMut(u64) -> Result<bool, E>,
) -> Result<u64, E> {
    let Range { mut start, mut end } = range;
    while start < end {
        let middle = start.midpoint(end);
        if is_before(middle)? {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    Ok(start)
}

/// Drops all but the first of equal values that follow each other.
pub(crate) fn dedup<T: PartialEq + Copy, E>(
    values: &mut Vec<T>,
    check: &dyn Fn() -> Result<(), E>,
) -> Result<(), E> {
    let mut kept = 0;
    for start in (0..values.len()).step_by(PIECE) {
        check()?;
        for at in start..values.len().min(start + PIECE) {
            let value = values[at];
            if kept == 0 || values[kept - 1] != value {
                values[kept] = value;
                kept += 1;
            }
        }
    }
    values.truncate(kept);
    Ok(())
}

/// Returns whether values ascend; usually at once if they do not.
fn is_sorted<T: Ord, E>(values: &[T], check: &dyn Fn() -> Result<(), E>) -> Result<bool, E> {
    for start in (0..values.len()).step_by(PIECE) {
        check()?;
        // With the first value of the next piece.
        if !values[start..values.len().min(start + PIECE + 1)].is_sorted() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sorts by a key, and each part with one key as `equal` does.
fn sort_by<T: Ord + Copy + Send + Sync, K: Fingerprint, E: Send>(
    values: &mut [T],
    key: &(impl Fn(&T) -> K + Sync),
    equal: &(impl Fn(&mut [T]) -> Result<(), E> + Sync),
    check: &(dyn Fn() -> Result<(), E> + Sync),
) -> Result<(), E> {
    check()?;
    if values.len() <= SHORT {
        values.sort_unstable();
        return Ok(());
    }
    let differing = differing(values, key, check)?;
    if differing == K::ZERO {
        return equal(values);
    }
    let shift = (K::BITS - differing.leading_zeros()).saturating_sub(DIGIT_BITS);
    let digit = |value: &T| (key(value) >> shift).to_u128() as usize % DIGITS;
    let parts = distribute(values, digit, check)?;
    try_for_each(parts, |part| sort_by(part, key, equal, check))
}

/// Returns the bits in which any two keys differ.
fn differing<T: Sync, K: Fingerprint, E: Send>(
    values: &[T],
    key: &(impl Fn(&T) -> K + Sync),
    check: &(dyn Fn() -> Result<(), E> + Sync),
) -> Result<K, E> {
    let Some(first) = values.first().map(key) else { return Ok(K::ZERO) };
    let of_piece = |piece: &[T]| piece.iter().fold(K::ZERO, |bits, value| bits | (key(value) ^ first));
    Ok(map_pieces(values, check, of_piece)?.into_iter().fold(K::ZERO, |a, b| a | b))
}

/// Brings values of one digit together, the parts in the order of the digits.
fn distribute<'v, T: Copy + Sync, E: Send>(
    values: &'v mut [T],
    digit: impl Fn(&T) -> usize + Sync,
    check: &(dyn Fn() -> Result<(), E> + Sync),
) -> Result<Vec<&'v mut [T]>, E> {
    let lengths = lengths(values, &digit, check)?;
    // End of the placed values of each part, and end of the part.
    let (mut heads, mut ends) = ([0; DIGITS], [0; DIGITS]);
    let mut start = 0;
    for ((head, end), length) in heads.iter_mut().zip(&mut ends).zip(lengths) {
        *head = start;
        start += length;
        *end = start;
    }
    let mut unchecked = 0;
    while heads != ends {
        for part in 0..DIGITS {
            let (start, end) = (heads[part], ends[part]);
            for piece in (start..end).step_by(PIECE) {
                if unchecked >= PIECE {
                    check()?;
                    unchecked = 0;
                }
                let end = end.min(piece + PIECE);
                unchecked += end - piece;
                for at in piece..end {
                    let head = &mut heads[digit(&values[at])];
                    values.swap(at, *head);
                    *head += 1;
                }
            }
        }
    }
    let mut rest = values;
    let parts = lengths.map(|length| rest.split_off_mut(..length).expect("the lengths add up"));
    Ok(parts.into_iter().filter(|part| part.len() > 1).collect())
}

/// Returns the number of values with each digit.
fn lengths<T: Sync, E: Send>(
    values: &[T],
    digit: impl Fn(&T) -> usize + Sync,
    check: &(dyn Fn() -> Result<(), E> + Sync),
) -> Result<[usize; DIGITS], E> {
    let of_piece = |piece: &[T]| {
        let mut lengths = [0; DIGITS];
        piece.iter().for_each(|value| lengths[digit(value)] += 1);
        lengths
    };
    let mut sums = [0; DIGITS];
    for lengths in map_pieces(values, check, of_piece)? {
        sums.iter_mut().zip(lengths).for_each(|(sum, length)| *sum += length);
    }
    Ok(sums)
}

/// Returns the results of `work` for each piece of values, by all threads.
fn map_pieces<T: Sync, R: Send, E: Send>(
    values: &[T],
    check: &(dyn Fn() -> Result<(), E> + Sync),
    work: impl Fn(&[T]) -> R + Sync,
) -> Result<Vec<R>, E> {
    map_numbers(
        values.len().div_ceil(PIECE),
        || (),
        |(), number| {
            check()?;
            Ok(work(&values[number * PIECE..values.len().min((number + 1) * PIECE)]))
        },
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::digest::scramble;

    fn check_cancelled() -> Result<(), Infallible> {
        Ok(())
    }

    #[derive(Debug, PartialEq)]
    struct Enough;

    /// Counts its calls, and ends the work from the call of that number on.
    fn stopping(at: usize, asked: &AtomicUsize) -> impl Fn() -> Result<(), Enough> + Sync {
        move || if asked.fetch_add(1, Relaxed) >= at { Err(Enough) } else { Ok(()) }
    }

    /// Values of every kind, several times as many as are sorted at once.
    fn lists() -> Vec<Vec<u64>> {
        let count = 5 * SHORT as u64 + 3;
        let list = |value: fn(u64) -> u64| (0..count).map(value).collect::<Vec<u64>>();
        vec![
            list(scramble),
            list(|i| i),
            list(|i| u64::MAX - i),
            list(|_| 7),
            list(|i| i % 2 * u64::MAX),
            list(|i| if scramble(i).is_multiple_of(3) { i } else { 1 << 40 }),
            list(|i| scramble(i % 50)),
            list(|i| scramble(i / 100) >> 20),
            list(|i| if i % (SHORT as u64 / 64) < 20 { u64::MAX - i } else { scramble(i) >> 8 }),
            (0..SHORT as u64).map(scramble).collect(),
            vec![],
            vec![5],
            vec![2, 1],
        ]
    }

    #[test]
    fn values_are_sorted_as_the_standard_library_does() {
        for list in lists() {
            let (mut found, mut expected) = (list.clone(), list);
            sort(&mut found, &check_cancelled).unwrap();
            expected.sort_unstable();
            assert!(found == expected);
            dedup(&mut found, &check_cancelled).unwrap();
            expected.dedup();
            assert!(found == expected);
            let wide: Vec<u128> = expected.iter().map(|&value| u128::from(value) << 60).collect();
            let mut backwards: Vec<u128> = wide.iter().rev().copied().collect();
            sort(&mut backwards, &check_cancelled).unwrap();
            assert!(backwards == wide);
        }
    }

    #[test]
    fn what_has_one_key_is_sorted_by_the_other() {
        for keys in [1, 5, 1000] {
            let pairs = (0..6 * SHORT as u64).map(|i| (scramble(i % keys), scramble(i)));
            let mut pairs: Vec<(u64, u64)> = pairs.collect();
            let mut expected = pairs.clone();
            sort_by_keys(&mut pairs, |pair| pair.0, |pair| pair.1, &check_cancelled).unwrap();
            expected.sort_unstable();
            assert!(pairs == expected, "{keys}");
        }
    }

    #[test]
    fn a_sort_is_stopped_at_every_check_and_loses_nothing() {
        let list: Vec<u64> = (0..4 * SHORT as u64).map(scramble).collect();
        let mut expected = list.clone();
        expected.sort_unstable();
        let asked = AtomicUsize::new(0);
        sort(&mut list.clone(), &stopping(usize::MAX, &asked)).unwrap();
        let checks = asked.into_inner();
        // In each pass over all values, and before each part.
        assert!(checks >= 2 * 4, "{checks}");
        for at in 0..checks {
            let mut values = list.clone();
            assert_eq!(sort(&mut values, &stopping(at, &AtomicUsize::new(0))), Err(Enough));
            values.sort_unstable();
            assert!(values == expected);
        }
    }

    #[test]
    fn sorting_keeps_what_is_equal_in_order() {
        let (mut sorted, mut starts) = (Vec::new(), Vec::new());
        counting_sort(
            &[0x31u64, 0x10, 0x32, 0x00, 0x11],
            5,
            |value| (value >> 4) as usize,
            &mut sorted,
            &mut starts,
        );
        assert_eq!(sorted, [0x00, 0x10, 0x11, 0x31, 0x32]);
        assert_eq!(starts, [0, 1, 3, 3, 5, 5]);
    }
}
