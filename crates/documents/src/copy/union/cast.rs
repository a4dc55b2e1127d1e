//! Columns of one type as columns of another that takes its values. No value changes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Decimal256Type, DecimalType, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float32Type, Float64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeListArray, GenericListArray,
    LargeBinaryArray, LargeStringArray, MapArray, OffsetSizeTrait, PrimitiveArray, StringArray,
    StringViewArray, StructArray, downcast_integer, downcast_temporal, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, TimeUnit};
use arrow_select::take::take;

use crate::copy::union::value::{Moment, Value, decimal};

/// Why a column is not made.
pub(crate) enum Unfit {
    /// A value that the type does not take.
    Value(String),
    Other(ArrowError),
}

impl From<ArrowError> for Unfit {
    fn from(error: ArrowError) -> Self {
        Self::Other(error)
    }
}

/// Returns a column with this type.
pub(crate) fn cast(array: &ArrayRef, kind: &DataType) -> Result<ArrayRef, Unfit> {
    match (array.data_type(), kind) {
        (own, kind) if own == kind => Ok(Arc::clone(array)),
        (DataType::Null, kind) => Ok(new_null_array(kind, array.len())),
        (DataType::Dictionary(..), kind) => {
            let dictionary = array.as_any_dictionary();
            cast(&take(dictionary.values(), dictionary.keys(), None)?, kind)
        }
        (DataType::Struct(own), DataType::Struct(fields)) => {
            let array = array.as_struct();
            // By number where the fields are the same, since several can have one name.
            let names = |fields: &Fields| fields.iter().map(|field| field.name().clone()).collect::<Vec<_>>();
            let is_same = names(own) == names(fields);
            let column = |(at, field): (usize, &FieldRef)| match if is_same {
                Some(array.column(at))
            } else {
                array.column_by_name(field.name())
            } {
                Some(column) => cast(column, field.data_type()),
                None => Ok(new_null_array(field.data_type(), array.len())),
            };
            let columns = fields.iter().enumerate().map(column).collect::<Result<_, _>>()?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, array.nulls().cloned())?))
        }
        (DataType::Map(..), DataType::Map(entry, is_sorted)) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = cast(&entries, entry.data_type())?.as_struct().clone();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(Arc::clone(entry), offsets, entries, nulls, *is_sorted)?))
        }
        (DataType::List(_), DataType::List(item)) => same_lists::<i32>(array, item),
        (DataType::LargeList(_), DataType::LargeList(item)) => same_lists::<i64>(array, item),
        (DataType::FixedSizeList(..), DataType::FixedSizeList(item, count)) => {
            let list = array.as_fixed_size_list();
            let values = cast(list.values(), item.data_type())?;
            let nulls = list.nulls().cloned();
            Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *count, values, nulls)?))
        }
        _ => build((0..array.len()).map(|row| Value::read(array, row)).collect(), kind),
    }
}

/// Returns lists with other items.
fn same_lists<O: OffsetSizeTrait>(array: &ArrayRef, item: &FieldRef) -> Result<ArrayRef, Unfit> {
    let list = array.as_list::<O>();
    let values = cast(list.values(), item.data_type())?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(item), offsets, values, nulls)?))
}

/// Makes a column of values.
pub(crate) fn build(values: Vec<Value>, kind: &DataType) -> Result<ArrayRef, Unfit> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    if values.iter().all(|value| *value == Value::Null) {
        return Ok(new_null_array(kind, values.len()));
    }
    macro_rules! integers {
        ($kind:ty) => {
            primitive::<$kind>(values, kind, |value| match value {
                Value::Integer(number) => (*number).try_into().ok(),
                _ => None,
            })
        };
    }
    macro_rules! moments {
        ($kind:ty) => {{
            let (_, unit) = Moment::of(kind).expect("it is a time");
            primitive::<$kind>(values, kind, |value| match value {
                Value::Moment(_, number) => in_units(*number, unit)?.try_into().ok(),
                _ => None,
            })
        }};
    }
    downcast_integer! {
        kind => (integers),
        DataType::Boolean => {
            let flag = |value: Value| match value {
                Value::Flag(flag) => Ok(Some(flag)),
                Value::Null => Ok(None),
                other => Err(unfit(other)),
            };
            Ok(Arc::new(values.into_iter().map(flag).collect::<Result<BooleanArray, _>>()?))
        }
        DataType::Float32 => primitive::<Float32Type>(values, kind, |value| {
            let number = fraction(value)?;
            let narrow = number as f32;
            (f64::from(narrow) == number || number.is_nan()).then_some(narrow)
        }),
        DataType::Float64 => primitive::<Float64Type>(values, kind, fraction),
        DataType::Decimal128(precision, scale) => primitive::<Decimal128Type>(values, kind, |value| {
            let number = rescaled(value, *scale)?.to_i128()?;
            Decimal128Type::is_valid_decimal_precision(number, *precision).then_some(number)
        }),
        DataType::Decimal256(precision, scale) => primitive::<Decimal256Type>(values, kind, |value| {
            let number = rescaled(value, *scale)?;
            Decimal256Type::is_valid_decimal_precision(number, *precision).then_some(number)
        }),
        DataType::Utf8 => Ok(Arc::new(texts(values).collect::<StringArray>())),
        DataType::LargeUtf8 => Ok(Arc::new(texts(values).collect::<LargeStringArray>())),
        DataType::Utf8View => Ok(Arc::new(texts(values).collect::<StringViewArray>())),
        DataType::Binary => Ok(Arc::new(bytes(values).collect::<BinaryArray>())),
        DataType::LargeBinary => Ok(Arc::new(bytes(values).collect::<LargeBinaryArray>())),
        DataType::BinaryView => Ok(Arc::new(bytes(values).collect::<BinaryViewArray>())),
        DataType::Duration(Second) => moments!(DurationSecondType),
        DataType::Duration(Millisecond) => moments!(DurationMillisecondType),
        DataType::Duration(Microsecond) => moments!(DurationMicrosecondType),
        DataType::Duration(Nanosecond) => moments!(DurationNanosecondType),
        DataType::List(item) => list::<i32>(values, item),
        DataType::LargeList(item) => list::<i64>(values, item),
        DataType::Struct(fields) => structure(values, fields),
        kind => downcast_temporal! {
            kind => (moments),
            _ => Err(unfit(values.into_iter().find(|value| *value != Value::Null).unwrap_or(Value::Null))),
        },
    }
}

fn unfit(value: Value) -> Unfit {
    Unfit::Value(value.into_text().unwrap_or_else(|| "null".to_owned()))
}

/// Makes a column of numbers; `number` returns `None` for a value that the type does not take.
fn primitive<T: ArrowPrimitiveType>(
    values: Vec<Value>,
    kind: &DataType,
    number: impl Fn(&Value) -> Option<T::Native>,
) -> Result<ArrayRef, Unfit> {
    let number = |value: Value| match (&value, number(&value)) {
        (Value::Null, _) => Ok(None),
        (_, Some(number)) => Ok(Some(number)),
        (_, None) => Err(unfit(value)),
    };
    let numbers = values.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(numbers).with_data_type(kind.clone())))
}

/// Returns a number of units; `None` if there is a rest.
fn in_units(nanoseconds: i128, unit: i128) -> Option<i128> {
    (nanoseconds % unit == 0).then_some(nanoseconds / unit)
}

/// Returns a number as a fraction that has the same value, or of a decimal the same digits.
fn fraction(value: &Value) -> Option<f64> {
    /// So many digits are the same again after they are read as a fraction.
    const MAX_DIGITS: usize = 15;
    match value {
        Value::Fraction(number) => Some(*number),
        Value::Integer(number) => {
            let fraction = *number as f64;
            (fraction as i128 == *number).then_some(fraction)
        }
        Value::Decimal(digits, scale) => {
            let text = decimal(*digits, *scale);
            let significant = text.trim_start_matches(['-', '0', '.']);
            let count = significant.bytes().filter(u8::is_ascii_digit).count();
            (count <= MAX_DIGITS).then(|| text.parse().ok()).flatten()
        }
        _ => None,
    }
}

/// Returns the digits of a number with so many of them behind the point.
fn rescaled(value: &Value, scale: i8) -> Option<i256> {
    let (digits, own) = match value {
        Value::Integer(number) => (i256::from_i128(*number), 0),
        Value::Decimal(digits, own) => (*digits, *own),
        _ => return None,
    };
    let more = u32::try_from(i16::from(scale) - i16::from(own)).ok()?;
    digits.checked_mul(i256::from_i128(10).checked_pow(more)?)
}

fn texts(values: Vec<Value>) -> impl Iterator<Item = Option<String>> {
    values.into_iter().map(Value::into_text)
}

fn bytes(values: Vec<Value>) -> impl Iterator<Item = Option<Vec<u8>>> {
    values.into_iter().map(|value| match value {
        Value::Bytes(bytes) => Some(bytes),
        other => other.into_text().map(String::into_bytes),
    })
}

fn list<O: OffsetSizeTrait>(values: Vec<Value>, item: &FieldRef) -> Result<ArrayRef, Unfit> {
    let (mut lengths, mut valid, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        let items = match value {
            Value::Null => None,
            Value::List(items) => Some(items),
            other => return Err(unfit(other)),
        };
        valid.push(items.is_some());
        let items = items.unwrap_or_default();
        lengths.push(items.len());
        all.extend(items);
    }
    let values = build(all, item.data_type())?;
    let (offsets, nulls) = (OffsetBuffer::<O>::from_lengths(lengths), NullBuffer::from(valid));
    Ok(Arc::new(GenericListArray::try_new(Arc::clone(item), offsets, values, Some(nulls))?))
}

fn structure(values: Vec<Value>, fields: &Fields) -> Result<ArrayRef, Unfit> {
    let mut columns = vec![Vec::with_capacity(values.len()); fields.len()];
    let mut valid = Vec::with_capacity(values.len());
    for value in values {
        valid.push(value != Value::Null);
        let inner = match value {
            Value::Null => Vec::new(),
            Value::Object(inner) => inner,
            other => return Err(unfit(other)),
        };
        let mut row = vec![Value::Null; fields.len()];
        for (key, value) in inner {
            if let Some((at, _)) = fields.find(&key) {
                row[at] = value;
            }
        }
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let column = |(values, field): (Vec<Value>, &FieldRef)| build(values, field.data_type());
    let columns = columns.into_iter().zip(fields).map(column).collect::<Result<_, _>>()?;
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, Some(NullBuffer::from(valid)))?))
}
