//! The ids of a fingerprint on their way out.

use std::fmt::Display;
use std::io::{self, Write};
use std::iter::Take;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use hamdex_documents::Names;

use crate::documents::report;
use crate::failure::Failure;

/// The first ids of a fingerprint: numbers, never all in memory, or names.
pub(crate) enum Ids<'a> {
    Numbers(Take<hamdex::Ids<'a>>),
    Names(Vec<String>),
}

impl<'a> Ids<'a> {
    /// At most `max` ids as they are to be shown: by their names, where they have some.
    pub(crate) fn new(ids: hamdex::Ids<'a>, names: Option<&mut Names>, max: usize) -> Result<Self, Failure> {
        let ids = ids.take(max);
        Ok(match names {
            Some(names) => Self::Names(ids.map(|id| names.get(id)).collect::<Result<_, _>>()?),
            None => Self::Numbers(ids),
        })
    }

    /// Writes a tab and the ids, separated by commas; nothing where there are none.
    pub(crate) fn print(self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Numbers(ids) => print(output, ids),
            Self::Names(ids) => print(output, ids.iter().map(|id| report::plain(id))),
        }
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
            Self::Numbers(numbers) => {
                let mut sequence = serializer.serialize_seq(Some(numbers.len()))?;
                numbers.clone().try_for_each(|id| sequence.serialize_element(&id))?;
                sequence.end()
            }
        }
    }
}
