//! The union of sorted sequences: the one merge of lists of ids, entries and columns.
//!
//! The external sort has its own (`writer/spill.rs`): its sequences are runs of one file, read by records without values.
//! A merge of tables has none: it divides them at common keys (`merge/gather.rs`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The items of several sequences, each sorted by key: all of them, by key, then by the number of their sequence. It ends
/// after the first error of a sequence.
///
/// ```
/// use hamdex::set::SortedUnion;
///
/// let lists = [vec![(1, "one"), (4, "four")], vec![(1, "uno")]];
/// let sequences = lists.into_iter().map(|list| list.into_iter().map(Ok::<_, std::io::Error>));
/// let items: Vec<_> = SortedUnion::of(sequences).collect::<Result<_, _>>()?;
/// assert_eq!(items, [(1, 0, "one"), (1, 1, "uno"), (4, 0, "four")]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct SortedUnion<S, K, V, E> {
    sequences: Vec<S>,
    /// The key of the next item of each sequence that has one.
    heads: BinaryHeap<Reverse<(K, usize)>>,
    /// The value of the next item of each sequence.
    values: Vec<Option<V>>,
    failure: Option<E>,
}

impl<K: Ord + Copy, V, E, S: Iterator<Item = Result<(K, V), E>>> SortedUnion<S, K, V, E> {
    /// Unites sequences, and reads the first item of each.
    pub fn of(sequences: impl IntoIterator<Item = S>) -> Self {
        let sequences: Vec<S> = sequences.into_iter().collect();
        let (mut heads, mut values) =
            (BinaryHeap::with_capacity(sequences.len()), Vec::with_capacity(sequences.len()));
        let mut union = Self { sequences, heads: BinaryHeap::new(), values: Vec::new(), failure: None };
        for number in 0..union.sequences.len() {
            let (key, value) = union.read(number).unzip();
            heads.extend(key.map(|key| Reverse((key, number))));
            values.push(value);
        }
        Self { heads, values, ..union }
    }

    /// Returns the key of the next item, if it is not an error; `None` at the end.
    #[must_use]
    pub fn next_key(&self) -> Option<K> {
        self.heads.peek().map(|Reverse((key, _))| *key)
    }

    fn read(&mut self, number: usize) -> Option<(K, V)> {
        match self.sequences[number].next()? {
            Ok(item) => Some(item),
            Err(error) => {
                self.failure.get_or_insert(error);
                None
            }
        }
    }
}

impl<K: Ord + Copy, V, E, S: Iterator<Item = Result<(K, V), E>>> Iterator for SortedUnion<S, K, V, E> {
    /// The key, the number of the sequence, and the value.
    type Item = Result<(K, usize, V), E>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failure.take() {
            self.heads.clear();
            return Some(Err(error));
        }
        let &Reverse((key, number)) = self.heads.peek()?;
        let next = self.read(number);
        let mut head = self.heads.peek_mut()?;
        let value = match next {
            // In place: `head` restores the heap when it is dropped.
            Some((next, value)) => {
                *head = Reverse((next, number));
                self.values[number].replace(value)
            }
            None => {
                PeekMut::pop(head);
                self.values[number].take()
            }
        };
        Some(Ok((key, number, value?)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn items_come_in_order_and_end_after_an_error(mut lists: Vec<Vec<u8>>, damaged: Option<(u8, u8)>) {
            lists.iter_mut().for_each(|list| list.sort_unstable());
            let mut expected: Vec<(u8, usize, usize)> = Vec::new();
            for (number, list) in lists.iter().enumerate() {
                expected.extend(list.iter().enumerate().map(|(place, &key)| (key, number, place)));
            }
            expected.sort_unstable();
            let is_damaged = |number, place| damaged == Some((number as u8, place as u8));
            let sequences = lists.iter().enumerate().map(|(number, list)| {
                let item = move |(place, &key)| if is_damaged(number, place) { Err("damaged") } else { Ok((key, place)) };
                list.iter().enumerate().map(item)
            });
            let (mut found, mut failures) = (Vec::new(), 0);
            let mut union = SortedUnion::of(sequences);
            loop {
                let key = union.next_key();
                match union.next() {
                    None => break,
                    Some(Ok(item)) => {
                        prop_assert_eq!(key, Some(item.0));
                        prop_assert_eq!(failures, 0, "it has ended");
                        found.push(item);
                    }
                    Some(Err(_)) => failures += 1,
                }
            }
            let at = expected.iter().position(|&(_, number, place)| is_damaged(number, place));
            prop_assert_eq!(failures, usize::from(at.is_some()));
            // A sequence is read one item ahead.
            prop_assert!(found.len() <= at.unwrap_or(expected.len()));
            prop_assert_eq!(&found[..], &expected[..found.len()]);
            prop_assert!(at.is_some() || found.len() == expected.len());
        }
    }
}
