//! JSON Lines: one object per line, of which only the required fields are kept.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::document::Document;
use crate::documents::Documents;
use crate::error::Error;
use crate::input::Input;
use crate::intake::Intake;
use crate::problem::{Field, Problem};
use crate::readers::lines;

pub(crate) fn read(input: Input, intake: &mut Intake<'_>) -> Result<(), Error> {
    lines::each(input, intake, &mut |line, place, intake| match parse(line, intake.documents) {
        Ok(document) => intake.take(document),
        Err(problem) => intake.skip(place, problem),
    })
}

fn parse(line: &str, documents: &Documents) -> Result<Document, Problem> {
    let malformed = |error: serde_json::Error| Problem::Malformed { what: describe(&error) };
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let [id, text, extra] = Selected(documents).deserialize(&mut deserializer).map_err(malformed)?;
    deserializer.end().map_err(malformed)?;
    let missing = |field, name: &str| Err(Problem::MissingField { field, name: name.to_owned() });
    let id = match id {
        Value::String(id) => id,
        Value::Number(number) => number.to_string(),
        _ => return missing(Field::Id, &documents.id_field),
    };
    let Value::String(text) = text else { return missing(Field::Text, &documents.text_field) };
    let extra = match extra {
        Value::Null => None,
        Value::String(extra) => Some(extra),
        other => Some(other.to_string()),
    };
    Ok(Document { id, text, extra, line: documents.keep_lines.then(|| line.to_owned()) })
}

/// The parser adds a line number, which is always 1 here.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("{what} (column {})", error.column())
}

/// Id, text and the extra field; null where there is none.
struct Selected<'a>(&'a Documents);

impl<'de> DeserializeSeed<'de> for Selected<'_> {
    type Value = [Value; 3];

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Selected<'_> {
    type Value = [Value; 3];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Documents { id_field, text_field, extra_field, .. } = self.0;
        let names = [Some(id_field), Some(text_field), extra_field.as_ref()];
        let mut found = [Value::Null, Value::Null, Value::Null];
        while let Some(key) = map.next_key::<String>()? {
            if !names.contains(&Some(&key)) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: Value = map.next_value()?;
            for (place, name) in found.iter_mut().zip(names) {
                if name == Some(&key) {
                    *place = value.clone();
                }
            }
        }
        Ok(found)
    }
}
