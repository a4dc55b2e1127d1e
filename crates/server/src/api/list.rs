//! Lists of JSON, of which no more is kept than a request may have: a body of `{},{},{}` would take thirty times its
//! length.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::problem::Problem;

thread_local! {
    /// The most items of a list that is read on this thread.
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Sets the most items of lists that `read` reads.
pub(crate) fn at_most<T>(most: usize, read: impl FnOnce() -> T) -> T {
    let before = MOST.replace(most);
    let read = read();
    MOST.set(before);
    read
}

/// The problem of too many records.
pub(crate) fn too_many_records(count: usize, most: usize) -> Problem {
    let detail =
        format!("{count} records are more than the {most} per request (--max-batch); send several requests");
    Problem::unprocessable("too_many_records", detail)
}

/// A list of which the first items are kept.
#[derive(Debug)]
pub(crate) struct List<T> {
    items: Vec<T>,
    count: usize,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), count: 0 }
    }
}

impl<T> List<T> {
    /// Returns the items.
    ///
    /// # Errors
    /// When there are more than a request may have.
    pub(crate) fn all(self) -> Result<Vec<T>, Problem> {
        if self.count > self.items.len() {
            return Err(too_many_records(self.count, self.items.len()));
        }
        Ok(self.items)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
        let most = MOST.get();
        let mut items = Vec::new();
        while items.len() < most {
            let Some(item) = list.next_element()? else {
                return Ok(List { count: items.len(), items });
            };
            items.push(item);
        }
        let mut count = items.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(List { items, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_kept_as_far_as_a_request_may_have_it() {
        let of = |text: &str| at_most(3, || serde_json::from_str::<List<u32>>(text)).unwrap();
        assert_eq!(of("[1,2,3]").all().unwrap(), [1, 2, 3]);
        assert_eq!(of("[]").all().unwrap(), [0; 0]);
        let long = of("[1,2,3,4,\"x\"]");
        assert_eq!((long.items.len(), long.count), (3, 5));
        assert_eq!(long.all().unwrap_err().code(), "too_many_records");
        assert!(at_most(3, || serde_json::from_str::<List<u32>>("[1,\"x\"]")).is_err());
    }
}
