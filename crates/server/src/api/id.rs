//! Ids in JSON: numbers, strings for numbers beyond 2^53, and names.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

/// The greatest number below which every program that reads JSON knows every number.
pub(crate) const MAX_NUMBER: u64 = 1 << 53;

/// An id: a number up to 2^53, a greater number as a string of digits, or a name.
// The attribute is for the description of the API alone.
#[derive(Debug, Clone, PartialEq, Eq, ToSchema)]
#[serde(untagged)]
pub(crate) enum Id {
    Number(u64),
    Text(String),
}

impl Id {
    /// The number of an id of a set whose ids are numbers.
    pub(crate) fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            Self::Text(_) => None,
        }
    }

    /// The name of an id of a set whose ids are names.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Text(text) => Some(text),
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) if *number <= MAX_NUMBER => serializer.serialize_u64(*number),
            Self::Number(number) => serializer.collect_str(number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id: a whole number of at most 64 bits, or a string")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Id, E> {
        Ok(Id::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Id, E> {
        Ok(Id::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Id, E> {
        Ok(Id::Text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbers_as_far_as_all_programs_know_them() {
        let json = |id: Id| serde_json::to_string(&id).unwrap();
        assert_eq!(json(Id::Number(0)), "0");
        assert_eq!(json(Id::Number(MAX_NUMBER)), "9007199254740992");
        assert_eq!(json(Id::Number(MAX_NUMBER + 1)), "\"9007199254740993\"");
        assert_eq!(json(Id::Text("a\"b".to_owned())), "\"a\\\"b\"");
        let number = |text: &str| serde_json::from_str::<Id>(text).ok().and_then(|id| id.number());
        assert_eq!(number("17"), Some(17));
        assert_eq!(number("\"18446744073709551615\""), Some(u64::MAX));
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
        for wrong in
            ["-1", "1.5", "1e3", "\"18446744073709551616\"", "\"\"", "\"+1\"", "\" 1\"", "null", "[]", "true"]
        {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }
}
