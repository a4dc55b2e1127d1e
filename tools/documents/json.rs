//! JSON Lines: an object a line, of which only the fields that are asked for are kept.

use std::fmt;
use std::io::BufRead;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::documents::intake::{Intake, Problem};
use crate::documents::{Document, Reading, lines};
use crate::failure::Failure;
use crate::input::Source;

pub(super) fn read(
    source: &Source,
    reader: &mut impl BufRead,
    intake: &mut Intake<'_>,
) -> Result<(), Failure> {
    lines::each(source, reader, intake, &mut |line, number, intake| {
        let place = format!(":{number}");
        match parse(line, intake.reading) {
            Ok(Ok(document)) => intake.take(document),
            Ok(Err(missing)) => intake.skip(source, place, Problem::MissingField, missing),
            Err(error) => intake.skip(source, place, Problem::Malformed, describe(&error)),
        }
    })
}

/// The line's document, or which field is missing.
fn parse(line: &str, reading: &Reading<'_>) -> serde_json::Result<Result<Document, String>> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let [id, text, extra] = Wanted(reading).deserialize(&mut deserializer)?;
    deserializer.end()?;
    let id_field = &reading.fields.id_field;
    let text_field = &reading.fields.text_field;
    let id = match id {
        Value::String(id) => id,
        Value::Number(number) => number.to_string(),
        _ => return Ok(Err(format!("no string or number in the field {id_field:?} (--id-field)"))),
    };
    let Value::String(text) = text else {
        return Ok(Err(format!("no string in the field {text_field:?} (--text-field)")));
    };
    let extra = match extra {
        Value::Null => None,
        Value::String(extra) => Some(extra),
        other => Some(other.to_string()),
    };
    Ok(Ok(Document { id, text, extra, line: reading.keep_lines.then(|| line.to_owned()) }))
}

/// The parser counts lines within what it is given, which is always one.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("not a JSON object: {what} (column {})", error.column())
}

/// Id, text and the extra field; null where there is none.
struct Wanted<'a>(&'a Reading<'a>);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = [Value; 3];

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = [Value; 3];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let fields = self.0.fields;
        let wanted = [Some(fields.id_field.as_str()), Some(fields.text_field.as_str()), self.0.extra];
        let mut found = [Value::Null, Value::Null, Value::Null];
        while let Some(key) = map.next_key::<String>()? {
            if !wanted.contains(&Some(&key)) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: Value = map.next_value()?;
            for (place, name) in found.iter_mut().zip(wanted) {
                if name == Some(&key) {
                    *place = value.clone();
                }
            }
        }
        Ok(found)
    }
}
