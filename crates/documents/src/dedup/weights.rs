//! The preference among documents by the value of a field, as a number per document.

use std::cmp::Ordering;
use std::path::Path;

use crate::dedup::options::Preference;
use crate::dedup::spill::{SpillWriter, Spilled};
use crate::error::Error;

/// Collects the weights of documents; a cluster keeps the document with the greatest.
pub(crate) enum WeightsWriter {
    /// All are equal.
    None,
    Lengths(Vec<u64>),
    Values(ValuesWriter),
}

/// Collects the values of a field.
pub(crate) struct ValuesWriter {
    values: SpillWriter<u8>,
    count: u32,
    /// Whether a document has a value.
    has_some: bool,
    /// Whether all values are numbers.
    are_numbers: bool,
    is_least_best: bool,
}

impl WeightsWriter {
    /// Keeps up to `max_bytes` of values in memory; the rest goes to a temporary file.
    pub(crate) fn new(preference: Preference, directory: &Path, max_bytes: u64) -> Self {
        match preference {
            Preference::First => Self::None,
            Preference::Longest => Self::Lengths(Vec::new()),
            Preference::Greatest | Preference::Least => Self::Values(ValuesWriter {
                values: SpillWriter::new(directory, max_bytes),
                count: 0,
                has_some: false,
                are_numbers: true,
                is_least_best: preference == Preference::Least,
            }),
        }
    }

    /// Adds a document: the length of its text, and the value of its field.
    pub(crate) fn push(&mut self, length: usize, value: Option<&str>) -> Result<(), Error> {
        match self {
            Self::None => Ok(()),
            Self::Lengths(lengths) => {
                lengths.push(length as u64);
                Ok(())
            }
            Self::Values(writer) => {
                let value = value.unwrap_or_default().trim();
                writer.count += 1;
                writer.has_some |= !value.is_empty();
                // Not `&=`, which would read every value as a number.
                writer.are_numbers = writer.are_numbers && (value.is_empty() || Decimal::of(value).is_some());
                writer.values.push(value.as_bytes())
            }
        }
    }

    /// Returns the weights.
    pub(crate) fn finish(self) -> Result<Option<Vec<u64>>, Error> {
        match self {
            Self::None => Ok(None),
            Self::Lengths(lengths) => Ok(Some(lengths)),
            Self::Values(writer) => writer.finish().map(Some),
        }
    }
}

impl ValuesWriter {
    fn finish(self) -> Result<Vec<u64>, Error> {
        if !self.has_some && self.count > 0 {
            return Err(Error::NoValues);
        }
        let values = self.values.finish()?;
        let mut order = Vec::new();
        for document in 0..self.count {
            let value = values.text(document)?;
            if !value.is_empty() {
                order.push((key(&value, self.are_numbers), document));
            }
        }
        order.sort_unstable();
        // Equal values have equal ranks; a document without a value has none.
        let mut weights = vec![0; self.count as usize];
        let mut rank = 0;
        for like in order.chunk_by(|one, other| one.0 == other.0) {
            for equal in sorted(like, &values, self.are_numbers)? {
                rank += 1;
                equal.iter().for_each(|&document| weights[document as usize] = rank);
            }
        }
        if self.is_least_best {
            weights.iter_mut().filter(|weight| **weight > 0).for_each(|weight| *weight = rank + 1 - *weight);
        }
        Ok(weights)
    }
}

/// Returns a number by which most values are ordered; equal values have equal ones.
fn key(value: &str, is_number: bool) -> u128 {
    if is_number {
        let bits = value.parse::<f64>().unwrap_or_default();
        // Zero has two signs.
        let bits = if bits == 0.0 { 0 } else { bits.to_bits() };
        // The order of floating-point numbers, as that of integers.
        return u128::from(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 });
    }
    let mut bytes = [0; 16];
    let length = value.len().min(bytes.len());
    bytes[..length].copy_from_slice(&value.as_bytes()[..length]);
    u128::from_be_bytes(bytes)
}

/// Sorts documents with equal keys by their values; returns those with equal values together.
fn sorted(like: &[(u128, u32)], values: &Spilled<u8>, are_numbers: bool) -> Result<Vec<Vec<u32>>, Error> {
    let mut all = Vec::with_capacity(like.len());
    for &(_, document) in like {
        all.push((values.text(document)?, document));
    }
    let compare = |one: &str, other: &str| {
        let texts = one.cmp(other);
        // Most equal numbers are equal texts.
        if texts.is_eq() || !are_numbers { texts } else { Decimal::of(one).cmp(&Decimal::of(other)) }
    };
    all.sort_by(|(one, _), (other, _)| compare(one, other));
    let groups = all.chunk_by(|(one, _), (other, _)| compare(one, other) == Ordering::Equal);
    Ok(groups.map(|group| group.iter().map(|&(_, document)| document).collect()).collect())
}

/// A number as it is written, compared exactly.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    /// 0 for zero.
    sign: i8,
    /// The place of the first digit that is not 0: its power of ten.
    exponent: i64,
    /// The digits without zeros at the start and the end.
    digits: String,
}

impl Decimal {
    /// Reads a number such as `-12.5e3`.
    fn of(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, power) = match rest.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
            None => (rest, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + part.len() == 0 || !are_digits(whole) || !are_digits(part) {
            return None;
        }
        let mut digits = [whole, part].concat();
        let zeros = digits.len() - digits.trim_start_matches('0').len();
        digits.truncate(digits.trim_end_matches('0').len());
        if digits.is_empty() {
            return Some(Self { sign: 0, exponent: 0, digits });
        }
        digits.drain(..zeros);
        Some(Self {
            sign: if text.starts_with('-') { -1 } else { 1 },
            exponent: whole.len() as i64 - zeros as i64 - 1 + i64::from(power),
            digits,
        })
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sizes = || self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
        let signs = self.sign.cmp(&other.sign);
        signs.then_with(|| if self.sign < 0 { sizes().reverse() } else { sizes() })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn weights(preference: Preference, values: &[Option<&str>]) -> Result<Option<Vec<u64>>, Error> {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = WeightsWriter::new(preference, directory.path(), 6);
        values.iter().try_for_each(|value| writer.push(0, *value))?;
        writer.finish()
    }

    #[test]
    fn numbers_have_the_order_of_numbers_and_other_values_that_of_texts() {
        let numbers = [
            "9007199254740993",
            "-1e3",
            "0.0",
            "9007199254740992",
            "-0",
            "12.50",
            "1.25e1",
            "5e-400",
            "1e400",
        ];
        let values: Vec<Option<&str>> = [None].into_iter().chain(numbers.map(Some)).collect();
        let expected = vec![0, 6, 1, 2, 5, 2, 4, 4, 3, 7];
        assert_eq!(weights(Preference::Greatest, &values).unwrap(), Some(expected));
        let expected = vec![0, 2, 7, 6, 3, 6, 4, 4, 5, 1];
        assert_eq!(weights(Preference::Least, &values).unwrap(), Some(expected));
        let dates =
            ["2026-11-24T03:49:30Z", "2026-11-24T03:49:31Z", "9", "2025-01-01", "2026-11-24T03:49:30Z", " "];
        let expected = vec![2, 3, 4, 1, 2, 0];
        assert_eq!(weights(Preference::Greatest, &dates.map(Some)).unwrap(), Some(expected));
        assert!(matches!(weights(Preference::Greatest, &[None, Some("")]), Err(Error::NoValues)));
        assert_eq!(weights(Preference::Least, &[]).unwrap(), Some(vec![]));
    }

    #[test]
    fn only_numbers_are_numbers() {
        assert!(["0", "+1", "-.5", "5.", "1E-7", "007"].iter().all(|text| Decimal::of(text).is_some()));
        assert!(
            ["", ".", "-", "e5", "1e", "1e5.0", "0x1", "nan", "inf", "1_000", "--1", "1 2"]
                .iter()
                .all(|text| Decimal::of(text).is_none())
        );
    }

    proptest! {
        #[test]
        fn integers_are_compared_exactly(one: i128, other: i128, shift in 0u32..120) {
            let (one, other) = (one >> shift, other >> shift);
            let (left, right) = (one.to_string(), format!("{other}.000"));
            prop_assert_eq!(Decimal::of(&left).unwrap().cmp(&Decimal::of(&right).unwrap()), one.cmp(&other));
            prop_assert!(one >= other || key(&left, true) <= key(&right, true));
        }

        #[test]
        fn fractions_are_compared_exactly(one in -99_999i64..99_999, other in -99_999i64..99_999, power in 0u32..5) {
            let text = |number: i64| {
                let (whole, part) = (number.abs() / 10i64.pow(power), number.abs() % 10i64.pow(power));
                format!("{}{whole}.{part:0width$}", if number < 0 { "-" } else { "" }, width = power as usize)
            };
            let scaled = format!("{other}e-{power}");
            prop_assert_eq!(Decimal::of(&text(one)).cmp(&Decimal::of(&scaled)), one.cmp(&other), "{} {}", text(one), scaled);
        }
    }
}
