//! Values of JSON as they are written.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::format::lenient_json;

/// A value, with those within it as they are written.
#[cfg(feature = "parquet")]
pub(crate) enum Json<'a> {
    Null,
    Flag(bool),
    Number(&'a str),
    Text(String),
    List(Vec<&'a RawValue>),
    Object(Vec<(String, &'a RawValue)>),
}

#[cfg(feature = "parquet")]
impl<'a> Json<'a> {
    pub(crate) fn of(raw: &'a RawValue) -> Self {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't') => Self::Flag(true),
            Some(b'f') => Self::Flag(false),
            Some(b'"') => Self::Text(string(text)),
            Some(b'[') => serde_json::from_str(text).map_or_else(|_| Self::Text(text.to_owned()), Self::List),
            Some(b'{') => fields(text).map_or_else(|| Self::Text(text.to_owned()), Self::Object),
            _ => Self::Number(text),
        }
    }
}

/// Returns standard JSON, as which other readers take it.
pub(crate) fn standard(text: &str) -> Cow<'_, str> {
    if fields(text).is_some() {
        return Cow::Borrowed(text);
    }
    lenient_json::standard(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the fields of an object; `None` if it is none.
pub(crate) fn fields(text: &str) -> Option<Vec<(String, &RawValue)>> {
    serde_json::from_str::<Fields<'_>>(text).ok().map(|fields| fields.0)
}

/// Returns a value as text: a string as it is, any other value as JSON on one line; `None` for null.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'n') => None,
        Some(b'"') => Some(Cow::Owned(string(text))),
        _ => Some(on_one_line(text)),
    }
}

/// Returns the value of a string. Halves of surrogate pairs are replaced.
fn string(text: &str) -> String {
    let standard =
        |_| lenient_json::standard(text).and_then(|text| serde_json::from_str(&text).ok()).ok_or(());
    serde_json::from_str(text).or_else(standard).unwrap_or_else(|()| text.to_owned())
}

/// Returns JSON without line ends.
pub(crate) fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r']) {
        return Cow::Borrowed(text);
    }
    // Line ends occur between values only, where white space has no meaning.
    let (mut is_in_string, mut is_escaped) = (false, false);
    let mut is_kept = |next: char| {
        let is_kept = is_in_string || !next.is_ascii_whitespace();
        is_in_string ^= next == '"' && !is_escaped;
        is_escaped = is_in_string && next == '\\' && !is_escaped;
        is_kept
    };
    Cow::Owned(text.chars().filter(|&next| is_kept(next)).collect())
}

/// The fields of an object.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Visit)
    }
}
