//! Columns of fractions, truth values, dates and times, as decimal numbers that have their order.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, LargeStringArray};
use arrow_schema::{DataType, TimeUnit};

const DAY: i128 = 86_400 * SECOND;
const SECOND: i128 = 1_000_000_000;
const MILLISECOND: i128 = 1_000_000;
const MICROSECOND: i128 = 1_000;

/// Returns whether [`numbers`] takes values of this type.
pub(crate) fn is_ordered(kind: &DataType) -> bool {
    use DataType::{
        Boolean, Date32, Date64, Decimal128, Decimal256, Duration, Float16, Float32, Float64, Time32, Time64,
        Timestamp,
    };
    let is_plain = matches!(kind, Boolean | Float16 | Float32 | Float64 | Date32 | Date64);
    is_plain
        || matches!(
            kind,
            Time32(_) | Time64(_) | Timestamp(..) | Duration(_) | Decimal128(..) | Decimal256(..)
        )
}

/// Returns the numbers of a column, as texts: times in nanoseconds, whatever their unit.
pub(crate) fn numbers(array: &ArrayRef) -> ArrayRef {
    use DataType::{Date32, Date64, Duration, Time32, Time64, Timestamp};
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    macro_rules! times {
        ($kind:ty, $nanoseconds:expr) => {
            texts(array, |row| Some((i128::from(value::<$kind>(array, row)) * $nanoseconds).to_string()))
        };
    }
    match array.data_type() {
        DataType::Boolean => texts(array, |row| Some(u8::from(array.as_boolean().value(row)).to_string())),
        DataType::Float16 => texts(array, |row| fraction(value::<Float16Type>(array, row).into())),
        DataType::Float32 => texts(array, |row| fraction(value::<Float32Type>(array, row).into())),
        DataType::Float64 => texts(array, |row| fraction(value::<Float64Type>(array, row))),
        DataType::Decimal128(..) => {
            texts(array, |row| Some(array.as_primitive::<Decimal128Type>().value_as_string(row)))
        }
        DataType::Decimal256(..) => {
            texts(array, |row| Some(array.as_primitive::<Decimal256Type>().value_as_string(row)))
        }
        Date32 => times!(Date32Type, DAY),
        Date64 => times!(Date64Type, MILLISECOND),
        Time32(Second) => times!(Time32SecondType, SECOND),
        Time32(_) => times!(Time32MillisecondType, MILLISECOND),
        Time64(Microsecond) => times!(Time64MicrosecondType, MICROSECOND),
        Time64(_) => times!(Time64NanosecondType, 1),
        Timestamp(Second, _) => times!(TimestampSecondType, SECOND),
        Timestamp(Millisecond, _) => times!(TimestampMillisecondType, MILLISECOND),
        Timestamp(Microsecond, _) => times!(TimestampMicrosecondType, MICROSECOND),
        Timestamp(Nanosecond, _) => times!(TimestampNanosecondType, 1),
        Duration(Second) => times!(DurationSecondType, SECOND),
        Duration(Millisecond) => times!(DurationMillisecondType, MILLISECOND),
        Duration(Microsecond) => times!(DurationMicrosecondType, MICROSECOND),
        Duration(Nanosecond) => times!(DurationNanosecondType, 1),
        _ => texts(array, |_| None),
    }
}

fn value<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn texts(array: &ArrayRef, text: impl Fn(usize) -> Option<String>) -> ArrayRef {
    let row = |row| if array.is_null(row) { None } else { text(row) };
    Arc::new(LargeStringArray::from_iter((0..array.len()).map(row)))
}

/// Returns a fraction as a decimal number. Infinity is greater than any other; what is no number has no value.
fn fraction(value: f64) -> Option<String> {
    match value {
        value if value.is_nan() => None,
        f64::INFINITY => Some("1e999".to_owned()),
        f64::NEG_INFINITY => Some("-1e999".to_owned()),
        value => Some(format!("{value:e}")),
    }
}
