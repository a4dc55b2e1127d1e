//! The types of values of JSON, as far as they are seen.

use std::collections::HashMap;

use arrow_schema::{DataType, Field};
use serde_json::value::RawValue;

use crate::copy::union::cells::Json;

/// Objects with more different keys than this are no structures.
const MAX_FIELDS: usize = 256;

/// The greatest integer up to which a fraction of 64 bits is exact.
const MAX_EXACT: i128 = 1 << 53;

/// The values of a column, by their types.
#[derive(Default)]
pub(crate) struct Seen {
    has_flags: bool,
    has_texts: bool,
    has_fractions: bool,
    /// Numbers that no type takes exactly.
    has_others: bool,
    /// The least and the greatest integer.
    integers: Option<(i128, i128)>,
    items: Option<Box<Seen>>,
    fields: Option<Box<Fields>>,
}

/// The values of objects.
#[derive(Default)]
struct Fields {
    places: HashMap<String, usize>,
    seen: Vec<(String, Seen)>,
    is_wide: bool,
}

impl Seen {
    pub(crate) fn add(&mut self, raw: &RawValue) {
        match Json::of(raw) {
            Json::Null => {}
            Json::Flag(_) => self.has_flags = true,
            Json::Text(_) => self.has_texts = true,
            Json::Number(text) if text.contains(['.', 'e', 'E']) => {
                match text.parse::<f64>().is_ok_and(f64::is_finite) {
                    true => self.has_fractions = true,
                    false => self.has_others = true,
                }
            }
            Json::Number(text) => match text.parse::<i128>() {
                Ok(number) => {
                    let (least, greatest) = self.integers.unwrap_or((number, number));
                    self.integers = Some((least.min(number), greatest.max(number)));
                }
                Err(_) => self.has_others = true,
            },
            Json::List(items) => {
                let seen = self.items.get_or_insert_default();
                items.into_iter().for_each(|item| seen.add(item));
            }
            Json::Object(fields) => {
                let seen = self.fields.get_or_insert_default();
                fields.into_iter().for_each(|(key, value)| seen.add(key, value));
            }
        }
    }

    /// Returns the type of the values. Where there is none but text, sets `is_mixed`.
    pub(crate) fn kind(&self, is_mixed: &mut bool) -> DataType {
        let has_numbers = self.has_fractions || self.has_others || self.integers.is_some();
        let kinds =
            [self.has_flags, self.has_texts, has_numbers, self.items.is_some(), self.fields.is_some()];
        let number = match (self.integers, self.has_fractions) {
            _ if self.has_others => None,
            (Some((least, greatest)), true) => {
                (-MAX_EXACT <= least && greatest <= MAX_EXACT).then_some(DataType::Float64)
            }
            (None, true) => Some(DataType::Float64),
            (Some((least, greatest)), false)
                if i64::try_from(least).is_ok() && i64::try_from(greatest).is_ok() =>
            {
                Some(DataType::Int64)
            }
            (Some((least, greatest)), false) => {
                (least >= 0 && u64::try_from(greatest).is_ok()).then_some(DataType::UInt64)
            }
            (None, false) => None,
        };
        let kind = match (kinds, &self.items, &self.fields) {
            ([false, false, false, false, false], ..) => Some(DataType::Null),
            ([true, false, false, false, false], ..) => Some(DataType::Boolean),
            ([false, true, false, false, false], ..) => Some(DataType::Utf8),
            ([false, false, true, false, false], ..) => number,
            ([false, false, false, true, false], Some(items), _) => {
                Some(DataType::new_list(items.kind(is_mixed), true))
            }
            ([false, false, false, false, true], _, Some(fields)) => fields.kind(is_mixed),
            _ => None,
        };
        kind.unwrap_or_else(|| {
            *is_mixed = true;
            DataType::Utf8
        })
    }
}

impl Fields {
    fn add(&mut self, key: String, value: &RawValue) {
        let at = match self.places.get(&key) {
            Some(&at) => at,
            None if self.seen.len() == MAX_FIELDS => {
                self.is_wide = true;
                return;
            }
            None => {
                self.places.insert(key.clone(), self.seen.len());
                self.seen.push((key, Seen::default()));
                self.seen.len() - 1
            }
        };
        self.seen[at].1.add(value);
    }

    /// Returns the type of a structure; `None` if there are too many keys for one, or none.
    fn kind(&self, is_mixed: &mut bool) -> Option<DataType> {
        if self.is_wide || self.seen.is_empty() {
            return None;
        }
        let field = |(key, seen): &(String, Seen)| Field::new(key, seen.kind(is_mixed), true);
        Some(DataType::Struct(self.seen.iter().map(field).collect()))
    }
}
