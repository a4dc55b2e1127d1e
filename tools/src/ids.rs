//! Prints the ids of a fingerprint.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};
use std::iter::Take;

use hamdex::set::MatchIds;
use hamdex::{Fingerprint, FingerprintSet, Names};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::documents::report;
use crate::failure::Failure;

/// The first ids of a fingerprint: numbers, read one after the other, or names.
pub(crate) enum Ids<'a> {
    Numbers(Take<MatchIds<'a>>),
    Names(Vec<Vec<u8>>),
}

impl<'a> Ids<'a> {
    /// Returns at most `max` ids as they are shown: by their names, if `names` has some.
    pub(crate) fn new<F: Fingerprint>(
        found: MatchIds<'a>,
        names: Option<&dyn FingerprintSet<F>>,
        max: usize,
    ) -> Result<Self, Failure> {
        let Some(names) = names else { return Ok(Self::Numbers(found.take(max))) };
        let name = |stored| Ok(names.name_of(stored)?.unwrap_or_default().into_owned());
        Ok(Self::Names(found.take(max).map(name).collect::<Result<_, Failure>>()?))
    }

    /// Returns all of these numbers.
    pub(crate) fn numbers(ids: Vec<u64>) -> Self {
        Self::Numbers(MatchIds::from(ids).take(usize::MAX))
    }

    /// Writes a tab and the ids, separated by commas; nothing if there are none.
    pub(crate) fn print(self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Numbers(ids) => print(output, ids.map(|stored| stored.id)),
            Self::Names(ids) => print(output, ids.iter().map(|id| report::plain_in_list(id))),
        }
    }

    /// Calls `visit` with each id as the rest of a line: a name byte by byte, unless it has control characters. Returns
    /// whether all of them are unescaped.
    pub(crate) fn for_each(self, visit: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<bool> {
        let mut as_they_are = true;
        match self {
            Self::Numbers(mut ids) => ids.try_for_each(|stored| visit(stored.id.to_string().as_bytes())),
            Self::Names(names) => names.iter().try_for_each(|name| {
                let shown = report::rest_of_line(name);
                as_they_are &= matches!(shown, Cow::Borrowed(_));
                visit(&shown)
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
            Self::Names(names) => serializer.collect_seq(names.iter().map(|name| Names::text_of(name))),
            Self::Numbers(numbers) => {
                let mut sequence = serializer.serialize_seq(Some(numbers.len()))?;
                numbers.clone().try_for_each(|stored| sequence.serialize_element(&stored.id))?;
                sequence.end()
            }
        }
    }
}
