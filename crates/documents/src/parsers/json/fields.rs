//! The required fields of a JSON object, as they are written, and JSON as other readers take it, beyond the standard
//! (RFC 8259). Other fields are skipped.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The mark of a list in the name of a field: `pages[].body` is the field `body` of each item of the list `pages`.
pub(crate) const LIST_MARK: &str = "[]";

/// The value of a field, and the rest of its name: from the first [`LIST_MARK`] on, if the value is that list.
pub(crate) type Named<'t, 'n> = (&'t RawValue, &'n str);

/// Returns the values of the named fields, in the order of the names. `body.text` is the field `text` of the object
/// `body`, unless there is a field with that whole name. Of fields with the same name the last one counts.
pub(crate) fn of<'t, 'n>(
    object: &'t str,
    names: &[&'n str],
) -> Result<impl Iterator<Item = Result<Option<Named<'t, 'n>>, serde_json::Error>>, serde_json::Error> {
    // A key that begins a name is a part of it.
    let part = |key: &str, name: &'n str| {
        let rest = name.strip_prefix(key)?;
        (rest.is_empty() || leads_into(rest)).then(|| &name[..key.len()])
    };
    let fields = each(object, |key| names.iter().find_map(|name| part(key, name)))?;
    let value = move |&name: &&'n str| {
        if let Some((_, value)) = fields.iter().rev().find(|(key, _)| *key == name) {
            return Ok(Some((*value, "")));
        }
        let rest = |key| name.strip_prefix(key).filter(|rest| leads_into(rest));
        let outer = fields.iter().rev().find_map(|(key, value)| Some((*value, rest(*key)?)));
        match outer.map(|(value, rest)| (value, rest, rest.strip_prefix('.'))) {
            None => Ok(None),
            Some((value, _, Some(name))) => inner(value, name),
            Some((value, list, None)) => Ok(Some((value, list))),
        }
    };
    Ok(names.iter().map(value))
}

/// Returns the fields of an object for whose keys `kept` returns something, in their order.
pub(crate) fn each<K>(
    object: &str,
    kept: impl Fn(&str) -> Option<K>,
) -> Result<Vec<(K, &RawValue)>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(object);
    let fields = deserializer.deserialize_map(Each(kept))?;
    deserializer.end()?;
    Ok(fields)
}

/// Returns all fields of an object; `None` if it is none, or has numbers or depths that are not read.
pub(crate) fn all(object: &str) -> Option<Map<String, Value>> {
    let parsed = |text: &str| serde_json::from_str(text).ok();
    parsed(object).or_else(|| parsed(&to_standard_json(object)?))
}

/// Whether an object has a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Presence {
    Absent,
    /// There is null or an empty list on the way to it.
    Hidden,
    /// Also with null.
    There,
}

/// Returns whether an object has a field of this name.
pub(crate) fn presence(fields: &Map<String, Value>, name: &str) -> Presence {
    let matching = fields.iter().filter_map(|(key, value)| Some((value, name.strip_prefix(key.as_str())?)));
    matching.map(|(value, rest)| presence_in(value, rest)).max().unwrap_or(Presence::Absent)
}

fn presence_in(value: &Value, rest: &str) -> Presence {
    let found = match value {
        _ if rest.is_empty() => Some(Presence::There),
        Value::Null => leads_into(rest).then_some(Presence::Hidden),
        Value::Object(fields) => rest.strip_prefix('.').map(|name| presence(fields, name)),
        Value::Array(items) => rest.strip_prefix(LIST_MARK).map(|rest| match rest {
            "" => Presence::There,
            _ => items.iter().map(|item| presence_in(item, rest)).max().unwrap_or(Presence::Hidden),
        }),
        _ => None,
    };
    found.unwrap_or(Presence::Absent)
}

/// Returns the value of a field of a nested value, if that is an object.
pub(crate) fn inner<'t, 'n>(
    value: &'t RawValue,
    name: &'n str,
) -> Result<Option<Named<'t, 'n>>, serde_json::Error> {
    if !value.get().starts_with('{') {
        return Ok(None);
    }
    of(value.get(), &[name])?.next().transpose().map(Option::flatten)
}

/// Returns whether the rest of a name behind a key leads into the value of the key.
fn leads_into(rest: &str) -> bool {
    rest.starts_with('.') || rest.starts_with(LIST_MARK)
}

struct Each<F>(F);

impl<'de, K, F: Fn(&str) -> Option<K>> Visitor<'de> for Each<F> {
    type Value = Vec<(K, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key_seed(Key(&self.0))? {
            match key {
                Some(key) => fields.push((key, map.next_value()?)),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}

/// A key, which is not stored.
struct Key<'f, F>(&'f F);

impl<'de, K, F: Fn(&str) -> Option<K>> DeserializeSeed<'de> for Key<'_, F> {
    type Value = Option<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<K>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<K, F: Fn(&str) -> Option<K>> Visitor<'_> for Key<'_, F> {
    type Value = Option<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<K>, E> {
        Ok((self.0)(key))
    }
}

/// The values of Python, JavaScript and pandas that JSON does not have.
const NO_NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Returns JSON in which `NaN` and infinities are null, and escapes of surrogates without a partner are U+FFFD; `None` if
/// it has neither.
pub(crate) fn to_standard_json(text: &str) -> Option<String> {
    let mut standard = String::with_capacity(text.len());
    let (mut is_changed, mut is_in_string) = (false, false);
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (length, written) = match next {
            '"' => {
                is_in_string = !is_in_string;
                (1, Cow::Borrowed("\""))
            }
            '\\' if is_in_string => escape(rest),
            _ if is_in_string => {
                let length = rest.find(['"', '\\']).unwrap_or(rest.len());
                (length, Cow::Borrowed(&rest[..length]))
            }
            _ => match NO_NUMBERS.iter().find(|word| rest.starts_with(*word)) {
                Some(word) => (word.len(), Cow::Owned("null".to_owned())),
                None => (next.len_utf8(), Cow::Borrowed(&rest[..next.len_utf8()])),
            },
        };
        is_changed |= matches!(written, Cow::Owned(_));
        standard.push_str(&written);
        rest = &rest[length..];
    }
    is_changed.then_some(standard)
}

/// Returns the length of the escape at the start of a text, and an escape in its place.
fn escape(rest: &str) -> (usize, Cow<'_, str>) {
    let same = |length: usize| {
        let length = rest.char_indices().map(|(at, _)| at).find(|&at| at >= length).unwrap_or(rest.len());
        (length, Cow::Borrowed(&rest[..length]))
    };
    match code(rest) {
        Some(0xd800..0xdc00) if matches!(rest.get(6..).and_then(code), Some(0xdc00..0xe000)) => same(12),
        Some(0xd800..0xe000) => (6, Cow::Owned("\\ufffd".to_owned())),
        Some(_) => same(6),
        None => same(2),
    }
}

/// Returns the code unit of an escape with four hexadecimal digits.
fn code(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(object: &str, names: &[&str]) -> Vec<Option<String>> {
        let values = of(object, names).unwrap();
        values.map(|value| value.unwrap().map(|(value, rest)| value.get().to_owned() + rest)).collect()
    }

    #[test]
    fn values_are_as_they_are_written() {
        let object = r#" {"id": 18446744073709551616 , "x": [{"id": 1}], "a\u0062": 1e3, "id": 1.50} "#;
        assert_eq!(found(object, &["id", "ab", "no"]), [Some("1.50".into()), Some("1e3".into()), None]);
    }

    #[test]
    fn a_dot_selects_a_nested_field_unless_it_is_part_of_a_name() {
        let object = r#"{"a.b": 1, "a": {"b": 2, "c.d": 3, "c": {"d": 4, "e": 5}}, "f": 6}"#;
        let names = ["a.b", "a.c.d", "a.c.e", "a", "f.g", "a.x"];
        let inner = r#"{"b": 2, "c.d": 3, "c": {"d": 4, "e": 5}}"#;
        let expected = [Some("1"), Some("3"), Some("5"), Some(inner), None, None];
        assert_eq!(found(object, &names), expected.map(|value| value.map(str::to_owned)));
        let late = r#"{"a": {"b": 2}, "a.b": 1}"#;
        assert_eq!(found(late, &["a.b"]), [Some("1".to_owned())]);
    }

    #[test]
    fn a_list_is_found_with_the_rest_of_the_name() {
        let object = r#"{"a": [1], "b": {"c": [2]}, "d[].e": 3, "d": [4]}"#;
        let names = ["a[]", "a[].x.y", "b.c[][]", "d[].e", "a[", "b[]"];
        let expected =
            [Some("[1][]"), Some("[1][].x.y"), Some("[2][][]"), Some("3"), None, Some("{\"c\": [2]}[]")];
        assert_eq!(found(object, &names), expected.map(|value| value.map(str::to_owned)));
    }

    #[test]
    fn a_field_is_there_unless_what_leads_to_it_shows_that_it_is_not() {
        let object = r#"{"a": null, "b": {"c": NaN}, "d": [{"e": [[]]}], "f": "x", "g": []}"#;
        let fields = all(object).unwrap();
        for (names, expected) in [
            (&["a", "b", "b.c", "d[]", "d[].e", "d[].e[][]", "f", "g[]"][..], Presence::There),
            (&["a.x", "a[].x", "b.c.d", "d[].e[][].y", "g[].z"], Presence::Hidden),
            (&["x", "ab", "b.d", "b[]", "d.e", "d[].x", "d[][]", "f.x", "f[]", "g.z"], Presence::Absent),
        ] {
            for name in names {
                assert_eq!(presence(&fields, name), expected, "{name}");
            }
        }
        assert!(all("[1]").is_none());
    }

    #[test]
    fn other_values_than_objects_are_errors() {
        for wrong in ["", "[1]", "1", "{", "{} {}", "{\"a\" 1}", "{\"a\": nan}"] {
            assert!(of(wrong, &["a"]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_that_are_none_and_halves_of_pairs_are_replaced() {
        for (text, expected) in [
            (
                r#"{"a": NaN, "b": [-Infinity,Infinity], "c": -1}"#,
                Some(r#"{"a": null, "b": [null,null], "c": -1}"#),
            ),
            (r#"{"a": "NaN \" NaN", "b": 1}"#, None),
            (r#"{"a": "x\ud83dy"}"#, Some(r#"{"a": "x\ufffdy"}"#)),
            (r#"{"a": "\ude00\ud83d\ude00"}"#, Some(r#"{"a": "\ufffd\ud83d\ude00"}"#)),
            (r#"{"a": "\ud83d\ud83d\ude00"}"#, Some(r#"{"a": "\ufffd\ud83d\ude00"}"#)),
            (r#"{"a": "\\ud83d é\n"}"#, None),
            (r#"{"a": "\ud83"#, None),
            (r#"{"a": "\é"#, None),
            ("", None),
        ] {
            assert_eq!(to_standard_json(text).as_deref(), expected, "{text}");
        }
    }
}
