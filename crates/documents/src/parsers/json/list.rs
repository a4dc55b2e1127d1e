//! The values of a file, delimited one by one in bounded memory: the items of an array, or values one after the other; or
//! the items of a list within each of these objects: `pages[]` of `{"pages": [{}, {}]}`.
//!
//! Only keys on the way to the list, brackets and strings are looked at.

use std::io::{self, BufRead};

use crate::parsers::json::values::{Cut, cut, first};

/// The next item.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'b> {
    /// A value, usually an object.
    Item(&'b [u8]),
    /// An item longer than the limit. It was read to its end.
    TooLong,
    /// An object of the file has no such list.
    Missing,
    End,
    /// The rest of the file cannot be read.
    Broken(&'static str),
}

/// The longest key that is compared.
const MAX_KEY_BYTES: u64 = 1 << 12;

/// Splits a file, or the lists within its objects, into items.
pub(crate) struct ListItems<'p> {
    /// The keys that lead to the list; none if the items are those of the file.
    path: &'p [&'p str],
    max_bytes: u64,
    buffer: Vec<u8>,
    /// The brackets open at this place.
    open: Vec<Level>,
    /// Whether nothing was read since the last bracket was opened, so that no comma is needed.
    is_first: bool,
    /// Whether the current object of the file has the list.
    has_list: bool,
    /// Whether any object so far has had the list, or null in its place.
    pub(crate) has_any: bool,
    /// Whether an array around everything was closed.
    is_behind: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// An array of the objects of the file.
    Objects,
    /// An object that holds the key of this number.
    Object(usize),
    /// The list, or the array that is the file.
    Items,
}

impl<'p> ListItems<'p> {
    pub(crate) fn new(path: &'p [&'p str], max_bytes: u64) -> Self {
        let (buffer, open) = (Vec::new(), Vec::new());
        Self {
            path,
            max_bytes,
            buffer,
            open,
            is_first: true,
            has_list: false,
            has_any: false,
            is_behind: false,
        }
    }

    /// Returns the next item.
    pub(crate) fn next(&mut self, reader: &mut impl BufRead) -> io::Result<Next<'_>> {
        loop {
            let level = self.open.last().copied();
            let has_path = !self.path.is_empty();
            let ends =
                if has_path { "the file ends within a bracket" } else { "the file ends within an array" };
            let Some(mut byte) = first(reader)? else {
                return Ok(if level.is_none() { Next::End } else { Next::Broken(ends) });
            };
            let closes = match level {
                None if self.is_behind => return Ok(Next::Broken("something follows the array")),
                None => None,
                Some(Level::Object(_)) => Some(b'}'),
                Some(Level::Objects | Level::Items) => Some(b']'),
            };
            if closes == Some(byte) {
                reader.consume(1);
                self.open.pop();
                self.is_first = false;
                self.is_behind = byte == b']' && self.open.is_empty();
                if level == Some(Level::Object(0)) && !std::mem::take(&mut self.has_list) {
                    return Ok(Next::Missing);
                }
                continue;
            }
            if level.is_some() && !self.is_first {
                if byte != b',' {
                    return Ok(Next::Broken(match has_path {
                        true => "a comma or bracket is missing before it",
                        false => "a comma or ] is missing before it",
                    }));
                }
                reader.consume(1);
                byte = match first(reader)? {
                    Some(byte) => byte,
                    None => return Ok(Next::Broken(ends)),
                };
            }
            if matches!(byte, b',' | b']' | b'}' | b':') {
                return Ok(Next::Broken("a value is missing before a comma or bracket"));
            }
            match (level, byte) {
                (None, b'[') if has_path => self.enter(Level::Objects, reader),
                (None, b'[') if self.is_first => self.enter(Level::Items, reader),
                (None | Some(Level::Objects), b'{') if has_path => self.enter(Level::Object(0), reader),
                (None, _) if has_path => return Ok(Next::Broken("an object with a list is expected")),
                (Some(Level::Objects), _) => {
                    if !self.pass_over(reader)? {
                        return Ok(Next::Broken(ends));
                    }
                    return Ok(Next::Missing);
                }
                (None | Some(Level::Items), _) => {
                    self.is_first = false;
                    let item = cut(reader, &mut self.buffer, self.max_bytes)?;
                    return Ok(match item {
                        Cut { has_end: false, .. } if level.is_some() => {
                            Next::Broken("the file ends within an array")
                        }
                        Cut { is_too_long: true, .. } => Next::TooLong,
                        // The parser refuses the last one if it has no end.
                        _ => Next::Item(&self.buffer),
                    });
                }
                (Some(Level::Object(number)), b'"') => {
                    if let Some(defect) = self.key(number, reader)? {
                        return Ok(Next::Broken(defect));
                    }
                }
                (Some(Level::Object(_)), _) => return Ok(Next::Broken("a key is missing")),
            }
        }
    }

    /// Opens a bracket.
    fn enter(&mut self, level: Level, reader: &mut impl BufRead) {
        reader.consume(1);
        self.open.push(level);
        self.is_first = true;
        self.has_list |= level == Level::Items;
        self.has_any |= self.has_list;
    }

    /// Reads a key, and its value or the bracket that begins it. Returns the defect, if there is one.
    fn key(&mut self, number: usize, reader: &mut impl BufRead) -> io::Result<Option<&'static str>> {
        let ends = Some("the file ends within a bracket");
        let key = cut(reader, &mut self.buffer, MAX_KEY_BYTES)?;
        if !key.has_end {
            return Ok(ends);
        }
        let key = if key.is_too_long { None } else { serde_json::from_slice::<String>(&self.buffer).ok() };
        match first(reader)? {
            Some(b':') => reader.consume(1),
            Some(_) => return Ok(Some("a colon is missing after a key")),
            None => return Ok(ends),
        }
        let Some(byte) = first(reader)? else { return Ok(ends) };
        if matches!(byte, b',' | b']' | b'}' | b':') {
            return Ok(Some("a value is missing before a comma or bracket"));
        }
        let is_last = number + 1 == self.path.len();
        if key.as_deref() == Some(self.path[number]) {
            self.has_any |= byte == b'n';
            match byte {
                b'[' if is_last => {
                    self.enter(Level::Items, reader);
                    return Ok(None);
                }
                b'{' if !is_last => {
                    self.enter(Level::Object(number + 1), reader);
                    return Ok(None);
                }
                _ => {}
            }
        }
        Ok(if self.pass_over(reader)? { None } else { ends })
    }

    /// Reads a value to its end; returns whether it has one.
    fn pass_over(&mut self, reader: &mut impl BufRead) -> io::Result<bool> {
        self.is_first = false;
        Ok(cut(reader, &mut self.buffer, 0)?.has_end)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// All items, and the number of objects without a list; or the defect.
    fn items(
        text: &str,
        path: &[&str],
        buffer_bytes: usize,
        max_bytes: u64,
    ) -> Result<(Vec<Value>, u32), String> {
        let mut reader = BufReader::with_capacity(buffer_bytes, text.as_bytes());
        let mut items = ListItems::new(path, max_bytes);
        let (mut found, mut missing) = (Vec::new(), 0);
        loop {
            match items.next(&mut reader).unwrap() {
                Next::Item(bytes) => {
                    found.push(serde_json::from_slice(bytes).map_err(|error| error.to_string())?);
                }
                Next::TooLong => found.push(Value::Null),
                Next::Missing => missing += 1,
                Next::End => return Ok((found, missing)),
                Next::Broken(what) => return Err(what.to_owned()),
            }
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<i64>().prop_map(Value::from),
            "[a\"\\\\{}\\[\\],: \u{fc}\n]{0,9}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[ab\"]{0,2}", inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn items_equal_those_of_a_parser(
            objects in prop::collection::vec(prop::collection::btree_map("[ab]{0,1}", value(), 0..4), 0..4),
            in_array: bool,
            pretty: bool,
            buffer in 1usize..40,
        ) {
            let objects: Vec<Value> = objects.into_iter().map(|fields| Value::Object(fields.into_iter().collect())).collect();
            for path in [&["a"][..], &["a", "b"]] {
                let list = |object: &Value| path.iter().try_fold(object, |value, key| value.get(key)).and_then(Value::as_array).cloned();
                let expected: Vec<Value> = objects.iter().filter_map(list).flatten().collect();
                let missing = objects.iter().filter(|object| list(object).is_none()).count() as u32;
                let print = |value: &Value| if pretty { format!("{value:#} ") } else { value.to_string() };
                let text = if in_array { print(&Value::from(objects.clone())) } else { objects.iter().map(print).collect() };
                prop_assert_eq!(items(&text, path, buffer, 1 << 20), Ok((expected, missing)));
                // Every truncation within an object is found.
                if in_array {
                    for end in (1..text.trim_end().len()).filter(|&end| text.is_char_boundary(end)) {
                        prop_assert!(items(&text[..end], path, buffer, 1 << 20).is_err(), "{}", &text[..end]);
                    }
                }
            }
        }

        #[test]
        fn anything_ends(text in "[\\[\\]{}\"a,: 1\\\\]{0,60}", buffer in 1usize..8) {
            let _ = items(&text, &["a"], buffer, 10);
        }
    }

    #[test]
    fn what_is_no_list_is_missing_and_what_is_too_long_passed_over() {
        assert_eq!(items(r#"{"a": null} {"b": 1} {"a": [7]}"#, &["a"], 64, 100), Ok((vec![json!(7)], 2)));
        assert_eq!(items(r#"[{"a": [7]}, 5]"#, &["a"], 64, 100), Ok((vec![json!(7)], 1)));
        assert_eq!(
            items(r#"{"a": ["long long", "short"]}"#, &["a"], 64, 8),
            Ok((vec![Value::Null, json!("short")], 0))
        );
        for broken in [
            r#"{"a" [1]}"#,
            r#"{"a": [1 2]}"#,
            r#"{"a": }"#,
            r#"{a: [1]}"#,
            r#"[{"a": [1]}] x"#,
            "5",
            r#"{"a": [1]"#,
        ] {
            assert!(items(broken, &["a"], 64, 100).is_err(), "{broken}");
        }
    }

    /// All values of a file, read through a buffer of this many bytes; or the defect.
    fn values(text: &str, buffer_bytes: usize, max_bytes: u64) -> Result<Vec<Option<String>>, &'static str> {
        let mut reader = BufReader::with_capacity(buffer_bytes, text.as_bytes());
        let mut values = ListItems::new(&[], max_bytes);
        let mut found = Vec::new();
        loop {
            match values.next(&mut reader).unwrap() {
                Next::Item(bytes) => found.push(Some(String::from_utf8(bytes.to_vec()).unwrap())),
                Next::TooLong => found.push(None),
                Next::End => return Ok(found),
                Next::Broken(what) => return Err(what),
                Next::Missing => panic!("no list is looked for"),
            }
        }
    }

    proptest! {
        #[test]
        fn values_equal_those_of_a_parser(expected in prop::collection::vec(value(), 0..8), pretty: bool, bytes in 1usize..40) {
            let whole = Value::from(expected.clone());
            let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
            let found: Vec<Value> = values(&text, bytes, 1 << 20)
                .unwrap()
                .iter()
                .map(|value| serde_json::from_str(value.as_ref().unwrap()).unwrap())
                .collect();
            prop_assert_eq!(&found, &expected);
            // Every truncation is detected.
            for end in (1..text.len()).filter(|&end| text.is_char_boundary(end)) {
                prop_assert!(values(&text[..end], bytes, 1 << 20).is_err(), "{}", &text[..end]);
            }
            let lines: String = expected.iter().map(|value| format!("{value:#} ")).collect();
            let objects_only = expected.iter().all(Value::is_object);
            if objects_only {
                let found = values(&lines, bytes, 1 << 20).unwrap();
                let found: Vec<Value> = found.iter().map(|v| serde_json::from_str(v.as_ref().unwrap()).unwrap()).collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn any_values_end(text in "[\\[\\]{}\",: a1\\\\\n]{0,60}", bytes in 1usize..8) {
            let found = values(&text, bytes, 10);
            // Every array that a parser accepts is split into its items.
            if let Ok(Value::Array(expected)) = serde_json::from_str(&text) {
                prop_assert_eq!(found.unwrap().len(), expected.len());
            }
        }
    }

    #[test]
    fn long_values_are_skipped_whole() {
        let text = format!("[{{\"a\": 1}}, {{\"a\": \"{}\"}}, {{\"b\": 2}}]", "x".repeat(10_000));
        for bytes in [1, 7, 1 << 16] {
            let found = values(&text, bytes, 100).unwrap();
            assert_eq!(found, [Some("{\"a\": 1}".to_owned()), None, Some("{\"b\": 2}".to_owned())]);
        }
    }

    #[test]
    fn defects_are_named_by_what_is_open() {
        for (broken, defect) in
            [("[{}", "the file ends within an array"), ("[{} {}]", "a comma or ] is missing before it")]
        {
            assert_eq!(values(broken, 64, 100), Err(defect), "{broken}");
        }
        for (broken, defect) in [
            (r#"{"a": [1, "#, "the file ends within a bracket"),
            (r#"{"a": [{"b"#, "the file ends within an array"),
            (r#"{"a": [1 2]}"#, "a comma or bracket is missing before it"),
        ] {
            assert_eq!(items(broken, &["a"], 64, 100), Err(defect.to_owned()), "{broken}");
        }
    }

    #[test]
    fn broken_arrays_are_errors() {
        for broken in
            ["[{} {}]", "[{},]", "[,{}]", "[{}", "[", "[{}]]", "[{}] x", "[{\"a\": \"]", "{} ]", "[{}, }"]
        {
            assert!(values(broken, 64, 100).is_err(), "{broken}");
        }
        assert_eq!(values("", 64, 100), Ok(vec![]));
        assert_eq!(values(" [ ] \n", 64, 100), Ok(vec![]));
        assert_eq!(values("{}{}\n{", 64, 100).unwrap().len(), 3, "the parser refuses the last one");
    }
}
