//! Ascending lists into one.

/// Unites lists that each ascend strictly; what several have comes once.
pub(super) fn unite<T: Copy + Ord>(lists: &[&[T]]) -> Vec<T> {
    match lists {
        [] => Vec::new(),
        [list] => list.to_vec(),
        [a, b] => unite_two(a, b),
        _ => {
            // As in a tournament, so that each value is moved few times.
            let (a, b) = lists.split_at(lists.len() / 2);
            unite_two(&unite(a), &unite(b))
        }
    }
}

fn unite_two<T: Copy + Ord>(a: &[T], b: &[T]) -> Vec<T> {
    let mut united = Vec::with_capacity(a.len() + b.len());
    let (mut next_a, mut next_b) = (0, 0);
    // The smaller of the two is unpredictable, so there is no branch on it.
    while next_a < a.len() && next_b < b.len() {
        let (x, y) = (a[next_a], b[next_b]);
        united.push(if x < y { x } else { y });
        next_a += usize::from(x <= y);
        next_b += usize::from(y <= x);
    }
    united.extend_from_slice(&a[next_a..]);
    united.extend_from_slice(&b[next_b..]);
    united
}

/// Returns the items of `all` that are not in `some`, both strictly ascending.
pub(super) fn without<T: Copy + Ord>(all: &[T], some: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut some = some.into_iter().peekable();
    let mut left = Vec::new();
    for &item in all {
        while some.next_if(|other| *other < item).is_some() {}
        if some.peek() != Some(&item) {
            left.push(item);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sets_are_united(sets: Vec<BTreeSet<u8>>) {
            let lists: Vec<Vec<u8>> = sets.iter().map(|set| set.iter().copied().collect()).collect();
            let lists: Vec<&[u8]> = lists.iter().map(Vec::as_slice).collect();
            let expected: BTreeSet<u8> = sets.into_iter().flatten().collect();
            prop_assert!(unite(&lists).into_iter().eq(expected));
        }

        #[test]
        fn a_set_without_another(all: BTreeSet<u8>, some: BTreeSet<u8>) {
            let list: Vec<u8> = all.iter().copied().collect();
            prop_assert!(without(&list, some.iter().copied()).iter().eq(all.difference(&some)));
        }
    }
}
