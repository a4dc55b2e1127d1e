//! Values of all types, and their text.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type,
    Float64Type,
};
use arrow_array::{Array, ArrayRef, LargeStringArray, downcast_integer, downcast_temporal};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};
use serde_json::value::RawValue;

use crate::copy::union::cells::{json_fields, json_string, json_text, on_one_line};

/// Lists and objects of JSON within each other are values up to this depth, and text below: types and values are walked
/// by recursion, and other programs refuse Parquet and Arrow files with more than about 50 levels.
const MAX_DEPTH: u8 = 32;

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// A value of any type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Integer(i128),
    Fraction(f64),
    /// Digits, and the number of those behind the point.
    Decimal(i256, i8),
    Text(String),
    /// JSON as it is written: a number that no type takes exactly, or lists and objects that are nested too deeply.
    Written(String),
    Bytes(Vec<u8>),
    /// Nanoseconds.
    Moment(Moment, i128),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// The sense of a number of nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Moment {
    /// Since 1970 began, in no zone, or in that of UTC.
    Instant {
        is_utc: bool,
    },
    Date,
    /// Since midnight.
    Time,
    Duration,
}

/// Returns whether values of this type can be read one by one.
pub(crate) fn is_readable(kind: &DataType) -> bool {
    use DataType::{
        Dictionary, FixedSizeList, Interval, LargeList, LargeListView, List, ListView, Map, RunEndEncoded,
        Struct, Union,
    };
    match kind {
        Interval(_) | ListView(_) | LargeListView(_) | RunEndEncoded(..) | Union(..) => false,
        Dictionary(_, values) => is_readable(values),
        List(inner) | LargeList(inner) | FixedSizeList(inner, _) | Map(inner, _) => {
            is_readable(inner.data_type())
        }
        Struct(fields) => fields.iter().all(|field| is_readable(field.data_type())),
        _ => true,
    }
}

impl Value {
    /// Returns a value of JSON.
    pub(crate) fn of_json(raw: &RawValue) -> Self {
        Self::of_json_within(raw, MAX_DEPTH)
    }

    fn of_json_within(raw: &RawValue, depth: u8) -> Self {
        let text = raw.get();
        let inner = |raw| Self::of_json_within(raw, depth - 1);
        let value = match text.as_bytes().first() {
            Some(b'n') => Some(Self::Null),
            Some(b't') => Some(Self::Flag(true)),
            Some(b'f') => Some(Self::Flag(false)),
            Some(b'"') => Some(Self::Text(json_string(text))),
            Some(b'[' | b'{') if depth == 0 => None,
            Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(text)
                .ok()
                .map(|items| Self::List(items.into_iter().map(inner).collect())),
            Some(b'{') => json_fields(text).map(|fields| {
                Self::Object(fields.into_iter().map(|(key, value)| (key, inner(value))).collect())
            }),
            _ if text.contains(['.', 'e', 'E']) => {
                text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Fraction)
            }
            _ => text.parse().ok().map(Self::Integer),
        };
        value.unwrap_or_else(|| Self::Written(on_one_line(text).into_owned()))
    }

    /// Returns a value of JSON as text where it is not a text.
    pub(crate) fn text_of_json(raw: &RawValue) -> Self {
        json_text(raw).map_or(Self::Null, |text| Self::Text(text.into_owned()))
    }

    /// Reads a value of a readable type.
    pub(crate) fn read(array: &dyn Array, row: usize) -> Self {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        let kind = array.data_type();
        if array.is_null(row) || *kind == DataType::Null {
            return Self::Null;
        }
        macro_rules! number {
            ($kind:ty) => {
                array.as_primitive::<$kind>().value(row)
            };
        }
        macro_rules! integer {
            ($kind:ty) => {
                Self::Integer(number!($kind).into())
            };
        }
        macro_rules! moment {
            ($kind:ty) => {{
                let (moment, unit) = Moment::of(kind).expect("it is a time");
                Self::Moment(moment, i128::from(number!($kind)) * unit)
            }};
        }
        let items = |items: ArrayRef| Self::List((0..items.len()).map(|at| Self::read(&items, at)).collect());
        downcast_integer! {
            kind => (integer),
            DataType::Boolean => Self::Flag(array.as_boolean().value(row)),
            DataType::Float16 => Self::Fraction(number!(Float16Type).into()),
            DataType::Float32 => Self::Fraction(number!(Float32Type).into()),
            DataType::Float64 => Self::Fraction(number!(Float64Type)),
            DataType::Decimal32(_, scale) => Self::Decimal(i256::from(number!(Decimal32Type)), *scale),
            DataType::Decimal64(_, scale) => Self::Decimal(i256::from(number!(Decimal64Type)), *scale),
            DataType::Decimal128(_, scale) => Self::Decimal(i256::from(number!(Decimal128Type)), *scale),
            DataType::Decimal256(_, scale) => Self::Decimal(number!(Decimal256Type), *scale),
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(row).to_owned()),
            DataType::LargeUtf8 => Self::Text(array.as_string::<i64>().value(row).to_owned()),
            DataType::Utf8View => Self::Text(array.as_string_view().value(row).to_owned()),
            DataType::Binary => Self::Bytes(array.as_binary::<i32>().value(row).to_owned()),
            DataType::LargeBinary => Self::Bytes(array.as_binary::<i64>().value(row).to_owned()),
            DataType::BinaryView => Self::Bytes(array.as_binary_view().value(row).to_owned()),
            DataType::FixedSizeBinary(_) => Self::Bytes(array.as_fixed_size_binary().value(row).to_owned()),
            DataType::Duration(Second) => moment!(DurationSecondType),
            DataType::Duration(Millisecond) => moment!(DurationMillisecondType),
            DataType::Duration(Microsecond) => moment!(DurationMicrosecondType),
            DataType::Duration(Nanosecond) => moment!(DurationNanosecondType),
            DataType::List(_) => items(array.as_list::<i32>().value(row)),
            DataType::LargeList(_) => items(array.as_list::<i64>().value(row)),
            DataType::FixedSizeList(..) => items(array.as_fixed_size_list().value(row)),
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                Self::Object(
                    columns.map(|(field, column)| (field.name().clone(), Self::read(column, row))).collect(),
                )
            }
            DataType::Map(..) => {
                let entries = array.as_map().value(row);
                let (keys, values) = (entries.column(0), entries.column(1));
                let entry = |at| {
                    let key = Self::read(keys, at).into_text().unwrap_or_default();
                    (key, Self::read(values, at))
                };
                Self::Object((0..entries.len()).map(entry).collect())
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                // One key: those of all rows would be made anew at each call.
                match Self::read(dictionary.keys(), row) {
                    Self::Integer(key) => {
                        let key = usize::try_from(key).expect("a key is the number of a value");
                        Self::read(dictionary.values(), key)
                    }
                    _ => Self::Null,
                }
            }
            kind => downcast_temporal! {
                kind => (moment),
                kind => unreachable!("columns of {kind} are refused"),
            },
        }
    }

    /// Returns the text of a value: a text as it is, any other value as JSON, and the texts of moments, bytes and what is
    /// no number without quotes; `None` for null.
    pub(crate) fn into_text(self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Text(text) | Self::Written(text) => Some(text),
            Self::Bytes(bytes) => {
                Some(String::from_utf8(bytes).unwrap_or_else(|error| hexadecimal(error.as_bytes())))
            }
            Self::Moment(moment, nanoseconds) => Some(moment.text(nanoseconds)),
            Self::Fraction(number) if !number.is_finite() => Some(number.to_string()),
            other => {
                let mut text = String::new();
                other.write_json(&mut text);
                Some(text)
            }
        }
    }

    /// Writes a value as JSON.
    pub(crate) fn write_json(self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Flag(flag) => out.push_str(if flag { "true" } else { "false" }),
            Self::Integer(number) => write!(out, "{number}").expect("a string takes all"),
            // The shortest digits that are read as the same number.
            Self::Fraction(number) if number.is_finite() => {
                write!(out, "{number:?}").expect("a string takes all");
            }
            Self::Decimal(digits, scale) => out.push_str(&decimal(digits, scale)),
            Self::Written(json) => out.push_str(&json),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.into_iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    item.write_json(out);
                }
                out.push(']');
            }
            Self::Object(fields) => write_object(fields, out),
            other => out.push_str(&quoted(&other.into_text().unwrap_or_default())),
        }
    }
}

/// Writes an object.
pub(crate) fn write_object(fields: impl IntoIterator<Item = (String, Value)>, out: &mut String) {
    out.push('{');
    for (at, (key, value)) in fields.into_iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        out.push_str(&quoted(&key));
        out.push(':');
        value.write_json(out);
    }
    out.push('}');
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| write!(digits, "{byte:02x}").expect("a string takes all"));
    digits
}

/// Returns all digits of a decimal number.
pub(crate) fn decimal(digits: i256, scale: i8) -> String {
    let text = digits.to_string();
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |text| ("-", text));
    match usize::try_from(scale) {
        Ok(0) => format!("{sign}{text}"),
        Ok(scale) => {
            let text = format!("{text:0>width$}", width = scale + 1);
            let (whole, fraction) = text.split_at(text.len() - scale);
            format!("{sign}{whole}.{fraction}")
        }
        Err(_) if text == "0" => text.to_owned(),
        Err(_) => format!("{sign}{text}{}", "0".repeat(scale.unsigned_abs().into())),
    }
}

/// Returns the number of nanoseconds of a unit.
pub(crate) fn nanoseconds(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Returns whether [`ordered_numbers`] takes values of this type.
pub(crate) fn is_ordered(kind: &DataType) -> bool {
    use DataType::{Boolean, Decimal128, Decimal256};
    let is_plain = matches!(kind, Boolean | Decimal128(..) | Decimal256(..));
    is_plain || kind.is_floating() || Moment::of(kind).is_some()
}

/// Returns fractions, truth values, dates and times as decimal numbers that have their order: times in nanoseconds,
/// whatever their unit.
pub(crate) fn ordered_numbers(array: &ArrayRef) -> ArrayRef {
    let number = |row| match Value::read(array, row) {
        Value::Flag(flag) => Some(u8::from(flag).to_string()),
        Value::Fraction(number) => exponential(number),
        Value::Decimal(digits, scale) => Some(decimal(digits, scale)),
        Value::Moment(_, nanoseconds) => Some(nanoseconds.to_string()),
        _ => None,
    };
    Arc::new(LargeStringArray::from_iter((0..array.len()).map(number)))
}

/// Returns a fraction as a decimal number. Infinity is greater than any other; what is not a number has no value.
fn exponential(value: f64) -> Option<String> {
    match value {
        value if value.is_nan() => None,
        f64::INFINITY => Some("1e999".to_owned()),
        f64::NEG_INFINITY => Some("-1e999".to_owned()),
        value => Some(format!("{value:e}")),
    }
}

impl Moment {
    /// Returns the sense of a type of times, and the nanoseconds of its unit.
    pub(crate) fn of(kind: &DataType) -> Option<(Self, i128)> {
        use DataType::{Date32, Date64, Duration, Time32, Time64, Timestamp};
        Some(match kind {
            Date32 => (Self::Date, DAY),
            Date64 => (Self::Date, nanoseconds(TimeUnit::Millisecond)),
            Time32(unit) | Time64(unit) => (Self::Time, nanoseconds(*unit)),
            Duration(unit) => (Self::Duration, nanoseconds(*unit)),
            Timestamp(unit, zone) => (Self::Instant { is_utc: zone.is_some() }, nanoseconds(*unit)),
            _ => return None,
        })
    }

    /// Returns the text of ISO 8601.
    fn text(self, nanoseconds: i128) -> String {
        match self {
            Self::Instant { is_utc } => {
                let (day, time) = (nanoseconds.div_euclid(DAY), nanoseconds.rem_euclid(DAY));
                format!("{}T{}{}", date(day), clock(time), if is_utc { "Z" } else { "" })
            }
            Self::Date if nanoseconds % DAY == 0 => date(nanoseconds / DAY),
            Self::Date => Self::Instant { is_utc: false }.text(nanoseconds),
            Self::Time => clock(nanoseconds),
            Self::Duration => {
                let sign = if nanoseconds < 0 { "-" } else { "" };
                format!("{sign}PT{}{}S", nanoseconds.abs() / SECOND, fraction(nanoseconds.abs()))
            }
        }
    }
}

/// Returns the date of a day, counted from 1970.
fn date(day: i128) -> String {
    // Years that begin in March end in the leap day; 400 of them have 146,097 days.
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + i128::from(month <= 2);
    match year {
        0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
        year => format!("{year:+05}-{month:02}-{day:02}"),
    }
}

/// Returns the time of a day.
fn clock(nanoseconds: i128) -> String {
    let (sign, seconds) = (if nanoseconds < 0 { "-" } else { "" }, nanoseconds.abs() / SECOND);
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    format!("{sign}{hours:02}:{minutes:02}:{:02}{}", seconds % 60, fraction(nanoseconds.abs()))
}

/// Returns the digits behind the point of seconds, without zeros at the end.
fn fraction(nanoseconds: i128) -> String {
    match nanoseconds % SECOND {
        0 => String::new(),
        rest => format!(".{rest:09}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_texts_of_iso_8601() {
        let text = |moment: Moment, nanoseconds| Value::Moment(moment, nanoseconds).into_text().unwrap();
        for (day, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (20_784, "2026-11-27"),
            (-719_529, "-0001-12-31"),
            (2_932_897, "+10000-01-01"),
        ] {
            assert_eq!(text(Moment::Date, day * DAY), expected);
        }
        assert_eq!(text(Moment::Instant { is_utc: true }, -SECOND / 2), "1969-12-31T23:59:59.5Z");
        assert_eq!(text(Moment::Time, 3_723 * SECOND + 1_000), "01:02:03.000001");
        assert_eq!(text(Moment::Duration, -3 * SECOND / 2), "-PT1.5S");
    }

    #[test]
    fn decimals_keep_all_digits() {
        let text = |digits: i128, scale| decimal(i256::from_i128(digits), scale);
        assert_eq!([text(1050, 2), text(-7, 2), text(5, 0)], ["10.50", "-0.07", "5"]);
        assert_eq!([text(-12, -3), text(0, -3), text(0, 3)], ["-12000", "0", "0.000"]);
    }
}
