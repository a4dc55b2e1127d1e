//! The type that takes the values of two types, and the types of values of JSON, as far as they are seen.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::copy::union::value::{Value, nanoseconds};
use crate::table_reader::columnar::is_text;

/// Returns the type that takes the values of both. Where there is none but text, sets `is_mixed`.
pub(crate) fn common(one: &DataType, other: &DataType, is_mixed: &mut bool) -> DataType {
    use DataType::{
        Date32, Date64, Dictionary, Duration, FixedSizeList, LargeBinary, LargeList, LargeUtf8, List, Null,
        Struct, Time32, Time64, Timestamp,
    };
    let mut mixed = || {
        *is_mixed = true;
        DataType::Utf8
    };
    match (one, other) {
        _ if one == other => one.clone(),
        (Null, kind) | (kind, Null) => kind.clone(),
        (Dictionary(_, values), kind) | (kind, Dictionary(_, values)) => common(values, kind, is_mixed),
        _ if is_text(one) && is_text(other) => {
            if *one == LargeUtf8 || *other == LargeUtf8 {
                LargeUtf8
            } else {
                DataType::Utf8
            }
        }
        _ if is_binary(one) && is_binary(other) => {
            let is_large = [one, other].iter().any(|kind| matches!(kind, LargeBinary | LargeUtf8));
            if is_large { LargeBinary } else { DataType::Binary }
        }
        // Both count days, and Parquet has no type for milliseconds of days.
        (Date32 | Date64, Date32 | Date64) => Date32,
        (Time32(one) | Time64(one), Time32(other) | Time64(other)) => match finer(*one, *other) {
            unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond) => Time64(unit),
            unit => Time32(unit),
        },
        (Duration(one), Duration(other)) => Duration(finer(*one, *other)),
        (Timestamp(one, zone), Timestamp(other, second)) if zone.is_some() == second.is_some() => {
            // The moments of different zones are the same in one of them.
            let zone = if zone == second { zone.clone() } else { Some(Arc::from("UTC")) };
            Timestamp(finer(*one, *other), zone)
        }
        (
            List(one_item) | LargeList(one_item) | FixedSizeList(one_item, _),
            List(other_item) | LargeList(other_item) | FixedSizeList(other_item, _),
        ) => {
            let item = common_field(one_item, other_item, is_mixed);
            if matches!(one, LargeList(_)) || matches!(other, LargeList(_)) {
                LargeList(item)
            } else {
                List(item)
            }
        }
        (Struct(one), Struct(other)) if has_distinct_names(one) && has_distinct_names(other) => {
            Struct(common_fields(one, other, is_mixed))
        }
        _ => match (Number::of(one), Number::of(other)) {
            (Some(one), Some(other)) => one.common(other).unwrap_or_else(mixed),
            _ => mixed(),
        },
    }
}

fn common_field(one: &FieldRef, other: &FieldRef, is_mixed: &mut bool) -> FieldRef {
    let kind = common(one.data_type(), other.data_type(), is_mixed);
    let is_nullable = [one, other].iter().any(|field| is_nullable(field));
    Arc::new(Field::new(one.name(), kind, is_nullable))
}

/// Returns whether a column can have nulls.
pub(crate) fn is_nullable(field: &Field) -> bool {
    field.is_nullable() || *field.data_type() == DataType::Null
}

/// Returns the union of the fields, by name.
fn common_fields(one: &Fields, other: &Fields, is_mixed: &mut bool) -> Fields {
    let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
    let of_one = one.iter().map(|field| match other.find(field.name()) {
        Some((_, second)) => common_field(field, second, is_mixed),
        None => nullable(field),
    });
    let mut fields: Vec<FieldRef> = of_one.collect();
    fields.extend(other.iter().filter(|field| one.find(field.name()).is_none()).map(nullable));
    fields.into()
}

fn has_distinct_names(fields: &Fields) -> bool {
    let mut names = HashSet::new();
    fields.iter().all(|field| names.insert(field.name()))
}

/// Returns whether values are bytes or text.
fn is_binary(kind: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    is_text(kind) || matches!(kind, Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
}

fn finer(one: TimeUnit, other: TimeUnit) -> TimeUnit {
    if nanoseconds(one) <= nanoseconds(other) { one } else { other }
}

/// A type of numbers.
#[derive(Clone, Copy)]
enum Number {
    Integer { bits: u8, is_signed: bool },
    Fraction { bits: u8 },
    Decimal { digits: u8, scale: u8 },
}

impl Number {
    fn of(kind: &DataType) -> Option<Self> {
        let bits = || kind.primitive_width().map_or(0, |bytes| 8 * bytes as u8);
        Some(match kind {
            kind if kind.is_integer() => Self::Integer { bits: bits(), is_signed: kind.is_signed_integer() },
            kind if kind.is_floating() => Self::Fraction { bits: bits() },
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale) => {
                // With a negative scale, digits before the point are not stored.
                let scale = i16::from(*scale);
                let digits = u8::try_from(i16::from(*precision) - scale.min(0)).ok()?;
                Self::Decimal { digits, scale: u8::try_from(scale.max(0)).ok()? }
            }
            _ => return None,
        })
    }

    /// Returns the type that takes both; `None` if no number does.
    fn common(self, other: Self) -> Option<DataType> {
        match (self, other) {
            (Self::Fraction { bits: one }, Self::Fraction { bits: other }) => {
                Some(if one.max(other) == 64 { DataType::Float64 } else { DataType::Float32 })
            }
            (Self::Fraction { .. }, _) | (_, Self::Fraction { .. }) => Some(DataType::Float64),
            (
                Self::Integer { bits: one, is_signed },
                Self::Integer { bits: other, is_signed: other_is_signed },
            ) => {
                let (signed, unsigned) = match (is_signed, other_is_signed) {
                    (true, false) => (one, other),
                    (false, true) => (other, one),
                    _ => return Some(integer(one.max(other), is_signed)),
                };
                Some(integer(signed.max(2 * unsigned), true))
            }
            _ => {
                let ((one, scale), (other, other_scale)) = (self.digits(), other.digits());
                let scale = scale.max(other_scale);
                let digits = one.max(other).checked_add(scale)?;
                let signed = i8::try_from(scale).ok()?;
                match digits {
                    0..=38 => Some(DataType::Decimal128(digits, signed)),
                    39..=76 => Some(DataType::Decimal256(digits, signed)),
                    _ => None,
                }
            }
        }
    }

    /// Returns the most digits before and behind the point.
    fn digits(self) -> (u8, u8) {
        match self {
            Self::Integer { bits: 8, .. } => (3, 0),
            Self::Integer { bits: 16, .. } => (5, 0),
            Self::Integer { bits: 32, .. } => (10, 0),
            Self::Integer { .. } | Self::Fraction { .. } => (20, 0),
            Self::Decimal { digits, scale } => (digits.saturating_sub(scale), scale),
        }
    }
}

/// Returns a type of integers. The signed one of 128 bits is a decimal that takes those of 64 bits without a sign.
fn integer(bits: u8, is_signed: bool) -> DataType {
    match (bits, is_signed) {
        (8, true) => DataType::Int8,
        (16, true) => DataType::Int16,
        (32, true) => DataType::Int32,
        (64, true) => DataType::Int64,
        (8, false) => DataType::UInt8,
        (16, false) => DataType::UInt16,
        (32, false) => DataType::UInt32,
        (64, false) => DataType::UInt64,
        _ => DataType::Decimal128(20, 0),
    }
}

/// Returns a type without dictionaries, which an Arrow file holds once and not for each batch.
pub(crate) fn without_dictionaries(kind: &DataType) -> DataType {
    let plain = |field: &FieldRef| -> FieldRef {
        Arc::new(field.as_ref().clone().with_data_type(without_dictionaries(field.data_type())))
    };
    match kind {
        DataType::Dictionary(_, values) => without_dictionaries(values),
        DataType::List(item) => DataType::List(plain(item)),
        DataType::LargeList(item) => DataType::LargeList(plain(item)),
        DataType::FixedSizeList(item, count) => DataType::FixedSizeList(plain(item), *count),
        DataType::Map(entries, is_sorted) => DataType::Map(plain(entries), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain).collect()),
        kind => kind.clone(),
    }
}

/// Returns a short name of a type.
pub(crate) fn name(kind: &DataType) -> String {
    match kind {
        DataType::Struct(_) => "Struct".to_owned(),
        DataType::Map(..) => "Map".to_owned(),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "List".to_owned(),
        kind => kind.to_string(),
    }
}

/// Objects with more different keys than this are not structures.
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
    fields: Option<Box<SeenFields>>,
}

/// The values of objects.
#[derive(Default)]
struct SeenFields {
    places: HashMap<String, usize>,
    seen: Vec<(String, Seen)>,
    is_wide: bool,
}

impl Seen {
    /// Adds a value of JSON.
    pub(crate) fn add(&mut self, value: Value) {
        match value {
            Value::Flag(_) => self.has_flags = true,
            Value::Text(_) => self.has_texts = true,
            Value::Fraction(_) => self.has_fractions = true,
            Value::Integer(number) => {
                let (least, greatest) = self.integers.unwrap_or((number, number));
                self.integers = Some((least.min(number), greatest.max(number)));
            }
            Value::Written(json) if json.starts_with(['[', '{']) => self.has_texts = true,
            Value::Written(_) => self.has_others = true,
            Value::List(items) => {
                let seen = self.items.get_or_insert_default();
                items.into_iter().for_each(|item| seen.add(item));
            }
            Value::Object(fields) => {
                let seen = self.fields.get_or_insert_default();
                fields.into_iter().for_each(|(key, value)| seen.add(key, value));
            }
            // JSON has null, and no other values.
            _ => {}
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

impl SeenFields {
    fn add(&mut self, key: String, value: Value) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of_both(one: &DataType, other: &DataType) -> Option<DataType> {
        let (mut is_mixed, mut is_mixed_again) = (false, false);
        let kind = common(one, other, &mut is_mixed);
        // The order of the fields of structures alone depends on which comes first.
        let again = common(other, one, &mut is_mixed_again);
        assert!(is_mixed == is_mixed_again && (kind == again || matches!(kind, DataType::Struct(_))));
        (!is_mixed).then_some(kind)
    }

    #[test]
    fn a_common_type_takes_all_values_of_both() {
        use DataType::{
            Binary, Boolean, Date32, Date64, Decimal128, Decimal256, FixedSizeBinary, Float16, Float32,
            Float64, Int8, Int16, Int32, Int64, LargeBinary, LargeUtf8, Null, Time32, Time64, Timestamp,
            UInt8, UInt32, UInt64, Utf8, Utf8View,
        };
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        let zone = |name: &str| Some(Arc::from(name));
        let words = DataType::Dictionary(Box::new(Int8), Box::new(Utf8));
        for (one, other, expected) in [
            (Null, Boolean, Some(Boolean)),
            (Int32, Int64, Some(Int64)),
            (UInt8, UInt32, Some(UInt32)),
            (Int8, UInt8, Some(Int16)),
            (Int64, UInt32, Some(Int64)),
            (Int8, UInt32, Some(Int64)),
            (Int8, UInt64, Some(Decimal128(20, 0))),
            (Float16, Float32, Some(Float32)),
            (Int8, Float32, Some(Float64)),
            (Decimal128(9, 2), Decimal128(9, 4), Some(Decimal128(11, 4))),
            (Decimal128(9, 2), Int64, Some(Decimal128(22, 2))),
            (Decimal128(38, 0), Decimal128(38, 38), Some(Decimal256(76, 38))),
            (Decimal256(76, 0), Decimal256(76, 76), None),
            (Decimal128(9, 2), Float32, Some(Float64)),
            (Utf8, LargeUtf8, Some(LargeUtf8)),
            (Utf8View, Utf8, Some(Utf8)),
            (words.clone(), LargeUtf8, Some(LargeUtf8)),
            (Utf8, Binary, Some(Binary)),
            (FixedSizeBinary(2), FixedSizeBinary(3), Some(Binary)),
            (FixedSizeBinary(2), LargeBinary, Some(LargeBinary)),
            (Date32, Date64, Some(Date32)),
            (Time32(Second), Time64(Nanosecond), Some(Time64(Nanosecond))),
            (Time32(Second), Time32(Millisecond), Some(Time32(Millisecond))),
            (Timestamp(Second, None), Timestamp(Microsecond, None), Some(Timestamp(Microsecond, None))),
            (
                Timestamp(Second, zone("Europe/Berlin")),
                Timestamp(Second, zone("Asia/Tokyo")),
                Some(Timestamp(Second, zone("UTC"))),
            ),
            (Timestamp(Second, zone("UTC")), Timestamp(Second, None), None),
            (Timestamp(Second, None), Date32, None),
            (Boolean, Utf8, None),
            (Boolean, Int8, None),
            (Int8, DataType::new_list(Int8, true), None),
            (
                DataType::new_list(Int8, true),
                DataType::new_large_list(Int32, true),
                Some(DataType::new_large_list(Int32, true)),
            ),
        ] {
            assert_eq!(of_both(&one, &other), expected, "{one} and {other}");
        }
    }

    #[test]
    fn structures_have_the_fields_of_both() {
        let field = |name: &str, kind, is_nullable| Field::new(name, kind, is_nullable);
        let one = DataType::Struct(
            vec![field("a", DataType::Int8, false), field("b", DataType::Utf8, false)].into(),
        );
        let other = DataType::Struct(
            vec![field("c", DataType::Utf8, false), field("a", DataType::Int32, false)].into(),
        );
        let fields = [
            field("a", DataType::Int32, false),
            field("b", DataType::Utf8, true),
            field("c", DataType::Utf8, true),
        ];
        assert_eq!(of_both(&one, &other), Some(DataType::Struct(Fields::from(fields.to_vec()))));
    }
}
