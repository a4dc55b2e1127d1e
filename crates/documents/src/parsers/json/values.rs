//! The values of a JSON file, delimited one by one in bounded memory: the items of an array, or consecutive values.
//!
//! Only brackets and strings are scanned; everything else is left to the parser.

use std::io::{self, BufRead};

/// The next item of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'b> {
    /// A value, usually an object.
    Value(&'b [u8]),
    /// A value longer than the limit. It was read to its end.
    TooLong,
    End,
    /// The rest of the file cannot be read.
    Broken(&'static str),
}

/// Splits a file into values.
pub(crate) struct Values {
    max_bytes: u64,
    buffer: Vec<u8>,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    /// Between values that follow each other.
    Between,
    /// In an array, before its first value.
    First,
    /// In an array, after a value.
    After,
    /// Behind an array.
    Behind,
}

impl Values {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self { max_bytes, buffer: Vec::new(), place: Place::Start }
    }

    /// Returns the next value.
    pub(crate) fn next(&mut self, reader: &mut impl BufRead) -> io::Result<Next<'_>> {
        let Some(mut byte) = first(reader)? else {
            return Ok(match self.place {
                Place::First | Place::After => Next::Broken("the file ends within an array"),
                _ => Next::End,
            });
        };
        if self.place == Place::Start {
            if byte == b'[' {
                reader.consume(1);
                self.place = Place::First;
                return self.next(reader);
            }
            self.place = Place::Between;
        }
        match (self.place, byte) {
            (Place::Behind, _) => return Ok(Next::Broken("something follows the array")),
            (Place::First | Place::After, b']') => {
                reader.consume(1);
                self.place = Place::Behind;
                return self.next(reader);
            }
            (Place::After, b',') => {
                reader.consume(1);
                match first(reader)? {
                    Some(next) => byte = next,
                    None => return Ok(Next::Broken("the file ends within an array")),
                }
            }
            (Place::After, _) => return Ok(Next::Broken("a comma or ] is missing before it")),
            _ => {}
        }
        if matches!(byte, b',' | b']' | b'}' | b':') {
            return Ok(Next::Broken("a value is missing before a comma or bracket"));
        }
        let is_in_array = self.place != Place::Between;
        self.place = if is_in_array { Place::After } else { Place::Between };
        self.cut(reader, is_in_array)
    }

    /// Reads the value that begins here.
    fn cut(&mut self, reader: &mut impl BufRead, is_in_array: bool) -> io::Result<Next<'_>> {
        Ok(match cut(reader, &mut self.buffer, self.max_bytes)? {
            Cut { has_end: false, .. } if is_in_array => Next::Broken("the file ends within an array"),
            Cut { is_too_long: true, .. } => Next::TooLong,
            _ => Next::Value(&self.buffer),
        })
    }
}

/// A value that was read.
pub(super) struct Cut {
    /// Whether it is longer than the limit, so that only its start was kept.
    pub(super) is_too_long: bool,
    /// Whether its end was found, and not that of the file.
    pub(super) has_end: bool,
}

/// Reads the value that begins here to its end, and keeps up to `max_bytes` of it.
pub(super) fn cut(reader: &mut impl BufRead, buffer: &mut Vec<u8>, max_bytes: u64) -> io::Result<Cut> {
    // Release the memory of a long value.
    if buffer.capacity() > MAX_IDLE_BYTES {
        *buffer = Vec::new();
    }
    buffer.clear();
    let mut scan = Scan::default();
    let mut length = 0u64;
    let has_end = loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            break false;
        }
        let (count, is_end) = scan.run(bytes);
        let room = max_bytes.saturating_sub(length);
        length += count as u64;
        buffer.extend_from_slice(&bytes[..count.min(usize::try_from(room).unwrap_or(usize::MAX))]);
        reader.consume(count);
        if is_end {
            break true;
        }
    };
    Ok(Cut { is_too_long: length > max_bytes, has_end })
}

/// Memory kept from one value to the next.
const MAX_IDLE_BYTES: usize = 1 << 20;

/// Returns the next byte that is not white space, without consuming it.
pub(super) fn first(reader: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let blanks = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let found = bytes.get(blanks).copied();
        reader.consume(blanks);
        if found.is_some() {
            return Ok(found);
        }
    }
}

/// The state of the search for the end of a value.
#[derive(Default)]
pub(super) struct Scan {
    has_begun: bool,
    /// Open brackets.
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
}

impl Scan {
    /// Returns the number of these bytes that belong to the value, and whether it ends with them.
    pub(super) fn run(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while at < bytes.len() {
            if self.is_in_string && !self.is_escaped {
                match memchr::memchr2(b'"', b'\\', &bytes[at..]) {
                    Some(next) => at += next,
                    None => return (bytes.len(), false),
                }
            }
            let byte = bytes[at];
            if self.is_in_string {
                at += 1;
                let is_closed = !self.is_escaped && byte == b'"';
                self.is_escaped = !self.is_escaped && byte == b'\\';
                self.is_in_string = !is_closed;
                if is_closed && self.depth == 0 {
                    return (at, true);
                }
                continue;
            }
            match byte {
                b'"' if self.has_begun && self.depth == 0 => return (at, true),
                b'"' => self.is_in_string = true,
                b'{' | b'[' if self.has_begun && self.depth == 0 => return (at, true),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                // The end of a number or word.
                b'}' | b']' | b',' if self.depth == 0 => return (at, true),
                _ if self.depth == 0 && byte.is_ascii_whitespace() => return (at, true),
                _ => {}
            }
            self.has_begun = true;
            at += 1;
        }
        (bytes.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// All values, read through a buffer of this many bytes; or the error.
    fn cut(text: &str, buffer_bytes: usize, max_bytes: u64) -> Result<Vec<Option<String>>, &'static str> {
        let mut reader = BufReader::with_capacity(buffer_bytes, text.as_bytes());
        let mut values = Values::new(max_bytes);
        let mut found = Vec::new();
        loop {
            match values.next(&mut reader).unwrap() {
                Next::Value(bytes) => found.push(Some(String::from_utf8(bytes.to_vec()).unwrap())),
                Next::TooLong => found.push(None),
                Next::End => return Ok(found),
                Next::Broken(what) => return Err(what),
            }
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\\\[\\]{},: \u{fc}\n]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z\"}]{0,4}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_equal_those_of_a_parser(values in prop::collection::vec(json(), 0..8), pretty: bool, bytes in 1usize..40) {
            let whole = Value::from(values.clone());
            let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
            let found: Vec<Value> = cut(&text, bytes, 1 << 20)
                .unwrap()
                .iter()
                .map(|value| serde_json::from_str(value.as_ref().unwrap()).unwrap())
                .collect();
            prop_assert_eq!(&found, &values);
            // Every truncation is detected.
            for end in (1..text.len()).filter(|&end| text.is_char_boundary(end)) {
                prop_assert!(cut(&text[..end], bytes, 1 << 20).is_err(), "{}", &text[..end]);
            }
            let lines: String = values.iter().map(|value| format!("{value:#} ")).collect();
            let objects_only = values.iter().all(Value::is_object);
            if objects_only {
                let found = cut(&lines, bytes, 1 << 20).unwrap();
                let found: Vec<Value> = found.iter().map(|v| serde_json::from_str(v.as_ref().unwrap()).unwrap()).collect();
                prop_assert_eq!(found, values);
            }
        }

        #[test]
        fn anything_ends(text in "[\\[\\]{}\",: a1\\\\\n]{0,60}", bytes in 1usize..8) {
            let found = cut(&text, bytes, 10);
            // Every array that a parser accepts is split into its items.
            if let Ok(Value::Array(values)) = serde_json::from_str(&text) {
                prop_assert_eq!(found.unwrap().len(), values.len());
            }
        }
    }

    #[test]
    fn long_values_are_skipped_whole() {
        let text = format!("[{{\"a\": 1}}, {{\"a\": \"{}\"}}, {{\"b\": 2}}]", "x".repeat(10_000));
        for bytes in [1, 7, 1 << 16] {
            let found = cut(&text, bytes, 100).unwrap();
            assert_eq!(found, [Some("{\"a\": 1}".to_owned()), None, Some("{\"b\": 2}".to_owned())]);
        }
    }

    #[test]
    fn broken_arrays_are_errors() {
        for broken in
            ["[{} {}]", "[{},]", "[,{}]", "[{}", "[", "[{}]]", "[{}] x", "[{\"a\": \"]", "{} ]", "[{}, }"]
        {
            assert!(cut(broken, 64, 100).is_err(), "{broken}");
        }
        assert_eq!(cut("", 64, 100), Ok(vec![]));
        assert_eq!(cut(" [ ] \n", 64, 100), Ok(vec![]));
        assert_eq!(cut("{}{}\n{", 64, 100).unwrap().len(), 3, "the parser refuses the last one");
    }
}
