//! Sorting in place, by all threads, until the work is stopped.
//!
//! A quicksort whose long steps ask whether to go on, as no sort of a library does. Values are divided by the middle
//! one of a sample, again and again, until a part is short; that is left to the standard library.

use crate::progress::{Counter, Stopped};

/// Values that are sorted without a look at whether to go on: that takes a few milliseconds.
const SHORT: usize = 1 << 16;

/// Values that are gone through between two looks.
const PIECE: usize = 1 << 20;

/// Values that are looked at together while others are divided.
const GROUP: usize = 128;

/// Values of which the middle one divides the others.
const SAMPLE: usize = 255;

/// Divisions that each leave nearly all values on one side, before the rest is left to the standard library. A sample
/// of values that somebody has arranged for that purpose leads there, and only that.
const MAX_LOPSIDED: u32 = 32;

/// Sorts values. Where it is stopped, they are all there, in some order.
pub(crate) fn sort<T: Ord + Copy + Send>(values: &mut [T], done: &Counter) -> Result<(), Stopped> {
    if is_sorted(values, done)? {
        return Ok(());
    }
    sort_part(values, MAX_LOPSIDED, done)
}

/// Drops all but the first of equal values that follow each other.
pub(crate) fn dedup<T: PartialEq + Copy>(values: &mut Vec<T>, done: &Counter) -> Result<(), Stopped> {
    let mut kept = 0;
    for start in (0..values.len()).step_by(PIECE) {
        done.check()?;
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

/// Whether values ascend. Of most that do not, that is known at once.
fn is_sorted<T: Ord>(values: &[T], done: &Counter) -> Result<bool, Stopped> {
    for start in (0..values.len()).step_by(PIECE) {
        done.check()?;
        // With the first value of the next piece.
        if !values[start..values.len().min(start + PIECE + 1)].is_sorted() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn sort_part<T: Ord + Copy + Send>(
    values: &mut [T],
    lopsided_left: u32,
    done: &Counter,
) -> Result<(), Stopped> {
    done.check()?;
    if values.len() <= SHORT || lopsided_left == 0 {
        values.sort_unstable();
        return Ok(());
    }
    let pivot = middle(values);
    let below = divide(values, |value| value < pivot, done)?;
    let (below, mut above) = values.split_at_mut(below);
    if below.is_empty() {
        // The pivot is the least. Where it is repeated, nothing is left to do with its like.
        let equal = divide(above, |value| value <= pivot, done)?;
        above = &mut above[equal..];
    }
    let is_lopsided = below.len().max(above.len()) / 16 > below.len().min(above.len());
    let left = if is_lopsided { lopsided_left - 1 } else { lopsided_left };
    let (one, other) = rayon::join(|| sort_part(below, left, done), || sort_part(above, left, done));
    one.and(other)
}

/// The middle one of a sample of values, at least `SAMPLE` of them.
fn middle<T: Ord + Copy>(values: &[T]) -> T {
    let step = values.len() / SAMPLE;
    let mut sample: Vec<T> = values.iter().skip(step / 2).step_by(step).copied().collect();
    let middle = sample.len() / 2;
    *sample.select_nth_unstable(middle).1
}

/// Brings the values for which `is_first` holds before the others; returns how many there are. They are found a group at a
/// time, by steps that are the same whether it holds or not, so that there is no branch to be foreseen.
fn divide<T: Copy>(values: &mut [T], is_first: impl Fn(T) -> bool, done: &Counter) -> Result<usize, Stopped> {
    let mut first = 0;
    let mut found = [0; GROUP];
    for start in (0..values.len()).step_by(GROUP) {
        if start.is_multiple_of(PIECE) {
            done.check()?;
        }
        let mut count = 0;
        for (place, &value) in (0u8..).zip(values[start..].iter().take(GROUP)) {
            found[count] = place;
            count += usize::from(is_first(value));
        }
        for &place in &found[..count] {
            values.swap(start + usize::from(place), first);
            first += 1;
        }
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::digest::scramble;
    use crate::progress::{Phase, Report};

    fn nobody() -> Counter {
        Counter::new(Report::default(), Phase::Read, None)
    }

    /// A counter that stops the work when it has been asked so many times; and how often it has been asked.
    fn stopping(at: usize) -> (Counter, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let report = Report::to(move |_| match count.fetch_add(1, Relaxed) {
            before if before >= at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        (Counter::new(report, Phase::Read, None), asked)
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
            // Every value of the sample is among the greatest.
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
            sort(&mut found, &nobody()).unwrap();
            expected.sort_unstable();
            assert!(found == expected);
            dedup(&mut found, &nobody()).unwrap();
            expected.dedup();
            assert!(found == expected);
            let wide: Vec<u128> = expected.iter().map(|&value| u128::from(value) << 60).collect();
            let mut backwards: Vec<u128> = wide.iter().rev().copied().collect();
            sort(&mut backwards, &nobody()).unwrap();
            assert!(backwards == wide);
        }
    }

    #[test]
    fn what_is_left_to_the_standard_library_is_sorted() {
        let mut values: Vec<u64> = (0..3 * SHORT as u64).map(scramble).collect();
        let mut expected = values.clone();
        sort_part(&mut values, 0, &nobody()).unwrap();
        expected.sort_unstable();
        assert!(values == expected);
    }

    #[test]
    fn a_sort_is_stopped_wherever_it_looks_and_loses_nothing() {
        let list: Vec<u64> = (0..4 * SHORT as u64).map(scramble).collect();
        let mut expected = list.clone();
        expected.sort_unstable();
        let (counter, asked) = stopping(usize::MAX);
        sort(&mut list.clone(), &counter).unwrap();
        let looks = asked.load(Relaxed);
        // Before each part, and while each is divided.
        assert!(looks >= 2 * 4, "{looks}");
        for at in 0..looks {
            let (counter, _) = stopping(at);
            let mut values = list.clone();
            assert_eq!(sort(&mut values, &counter), Err(Stopped));
            values.sort_unstable();
            assert!(values == expected);
        }
    }
}
