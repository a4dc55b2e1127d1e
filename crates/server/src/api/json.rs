//! Values of JSON in requests and answers: ids, which are numbers, strings for numbers beyond 2^53, or names; and
//! lists, of which no more is kept than a request may have: a body of `{},{},{}` would take thirty times its length; and
//! objects, which never come as arrays.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use crate::problem::Problem;

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

impl<T> List<Object<T>> {
    /// Returns the values of the objects.
    ///
    /// # Errors
    /// As for [`List::all`].
    pub(crate) fn all_objects(self) -> Result<Vec<T>, Problem> {
        Ok(self.all()?.into_iter().map(|Object(value)| value).collect())
    }
}

/// A value that is a JSON object: by itself, serde takes the fields of a structure as an array, too, by their order.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
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

    #[test]
    fn an_object_has_the_names_of_its_fields() {
        #[derive(Debug, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Fields {
            one: Option<u32>,
            two: Option<u32>,
        }
        let of = |text: &str| {
            serde_json::from_str::<List<Object<Fields>>>(text).map(|list| list.all_objects().unwrap())
        };
        assert_eq!(of("[{\"two\":2},{}]").unwrap(), [Fields { one: None, two: Some(2) }, Fields::default()]);
        for wrong in ["[[1,2]]", "[[]]", "[null]", "[1]", "[\"one\"]", "[{\"three\":3}]"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
