//! The ids of a fingerprint on their way out.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};
use std::iter::Take;

use hamdex_shards::StoredId;
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::documents::report;
use crate::failure::Failure;
use crate::names::Names;

/// The ids of a fingerprint as they are found.
pub(crate) enum FoundIds<'a> {
    /// In a file, from which they are read one after the other.
    Stored(hamdex::Ids<'a>),
    /// In a store, brought together from all its files.
    Listed(Vec<u64>),
    /// In a set of shards, with the shard of each.
    Placed(Vec<StoredId>),
}

/// The first ids of a fingerprint: numbers, those of a file never all in memory, or names.
pub(crate) enum Ids<'a> {
    Numbers(Take<hamdex::Ids<'a>>),
    Listed(Vec<u64>),
    Names(Vec<Cow<'a, str>>),
}

impl<'a> Ids<'a> {
    /// At most `max` ids as they are to be shown: by their names, where they have some.
    pub(crate) fn new(found: FoundIds<'a>, names: Option<Names<'a>>, max: usize) -> Result<Self, Failure> {
        Ok(match (found, names) {
            (FoundIds::Stored(ids), Some(names)) => {
                Self::Names(ids.take(max).map(|id| names.text(id)).collect::<Result<_, _>>()?)
            }
            (FoundIds::Stored(ids), None) => Self::Numbers(ids.take(max)),
            (FoundIds::Listed(ids), Some(names)) => {
                Self::Names(ids.into_iter().take(max).map(|id| names.text(id)).collect::<Result<_, _>>()?)
            }
            (FoundIds::Placed(ids), Some(names)) => {
                let names = ids.into_iter().take(max).map(|id| names.text_in_shard(id));
                Self::Names(names.collect::<Result<_, _>>()?)
            }
            (FoundIds::Placed(ids), None) => {
                Self::Listed(ids.into_iter().take(max).map(|stored| stored.id).collect())
            }
            (FoundIds::Listed(mut ids), None) => {
                ids.truncate(max);
                Self::Listed(ids)
            }
        })
    }

    /// Writes a tab and the ids, separated by commas; nothing where there are none.
    pub(crate) fn print(self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Numbers(ids) => print(output, ids),
            Self::Listed(ids) => print(output, ids.into_iter()),
            Self::Names(ids) => print(output, ids.iter().map(|id| report::plain_in_list(id))),
        }
    }

    /// Calls `visit` with each id as it ends a line of text. Returns whether all of them are there as they are.
    pub(crate) fn for_each(self, visit: &mut dyn FnMut(&dyn Display) -> io::Result<()>) -> io::Result<bool> {
        let mut as_they_are = true;
        match self {
            Self::Numbers(mut ids) => ids.try_for_each(|id| visit(&id)),
            Self::Listed(ids) => ids.iter().try_for_each(|id| visit(id)),
            Self::Names(names) => names.iter().try_for_each(|name| {
                let text = report::rest_of_line(name);
                as_they_are &= matches!(text, Cow::Borrowed(_));
                visit(&text)
            }),
        }?;
        Ok(as_they_are)
    }
}

fn print(output: &mut impl Write, ids: impl Iterator<Item = impl Display>) -> io::Result<()> {
    for (number, id) in ids.enumerate() {
        write!(output, "{}{id}", if number == 0 { "\t" } else { "," })?;
    }
    Ok(())
}

impl Serialize for Ids<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Names(names) => names.serialize(serializer),
            Self::Listed(ids) => ids.serialize(serializer),
            Self::Numbers(numbers) => {
                let mut sequence = serializer.serialize_seq(Some(numbers.len()))?;
                numbers.clone().try_for_each(|id| sequence.serialize_element(&id))?;
                sequence.end()
            }
        }
    }
}
