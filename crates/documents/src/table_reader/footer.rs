//! The schema in the footer of a Parquet file, looked through before the decoder follows it by recursion.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use parquet::file::FOOTER_SIZE;
use parquet::file::metadata::FooterTail;

/// The most levels of a schema. A list has two; other programs refuse more than about 100.
const MAX_DEPTH: usize = 128;

/// Types of the compact protocol of Thrift.
const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Returns the defect of the schema of a file if its columns are nested too deeply, or do not have the fields that they
/// say. A file without a readable footer is left to the decoder.
pub(super) fn check_schema(file: &File) -> Result<(), &'static str> {
    let Some(footer) = footer(file) else { return Ok(()) };
    match depth(&mut Compact(&footer)) {
        Some(depth) if depth > MAX_DEPTH => Err("its columns are nested too deeply"),
        Some(_) => Ok(()),
        None => Err("its schema is damaged"),
    }
}

fn footer(mut file: &File) -> Option<Vec<u8>> {
    let mut tail = [0; FOOTER_SIZE];
    file.seek(SeekFrom::End(-(FOOTER_SIZE as i64))).ok()?;
    file.read_exact(&mut tail).ok()?;
    let tail = FooterTail::try_new(&tail).ok().filter(|tail| !tail.is_encrypted_footer())?;
    let length = tail.metadata_length();
    // This fails if the file is shorter.
    file.seek(SeekFrom::End(-i64::try_from(FOOTER_SIZE + length).ok()?)).ok()?;
    let mut footer = vec![0; length];
    file.read_exact(&mut footer).ok()?;
    Some(footer)
}

/// Returns the number of levels of a schema, but no more than one above the limit; `None` if it is damaged. The version
/// comes first, then the list of columns, each with its number of fields, which follow it.
fn depth(footer: &mut Compact<'_>) -> Option<usize> {
    if footer.field(0)? != (I32, 1) || footer.number().is_none() || footer.field(1)? != (LIST, 2) {
        return None;
    }
    let head = footer.byte()?;
    let count = match head >> 4 {
        15 => footer.number()?,
        count => count.into(),
    };
    if head & 0xf != STRUCT {
        return None;
    }
    // How many fields are still to come of each column on the way to the current one.
    let mut open: Vec<u64> = Vec::new();
    let mut depth = 0;
    for rest in (0..count).rev() {
        let mut fields = 0;
        footer.column(&mut Vec::new(), &mut fields)?;
        while open.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        open.push(fields);
        depth = depth.max(open.len());
        if fields > rest {
            return None;
        }
        if depth > MAX_DEPTH {
            break;
        }
    }
    Some(depth)
}

/// Bytes in the compact protocol of Thrift.
struct Compact<'b>(&'b [u8]);

impl Compact<'_> {
    fn skip(&mut self, count: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    /// Reads a number without a sign.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads the type and the number of the field behind the one of number `last`.
    fn field(&mut self, last: i16) -> Option<(u8, i16)> {
        let byte = self.byte()?;
        let number = match (byte & 0xf, byte >> 4) {
            (STOP, _) => 0,
            (_, 0) => i16::try_from(self.number().filter(|number| number % 2 == 0)? / 2).ok()?,
            (_, step) => last.checked_add(step.into())?,
        };
        Some((byte & 0xf, number))
    }

    /// Reads a column, or a part of one at `path`, to its end, and the number of its fields.
    fn column(&mut self, path: &mut Vec<i16>, fields: &mut u64) -> Option<()> {
        let mut last = 0;
        loop {
            let (kind, number) = self.field(last)?;
            if kind == STOP {
                return Some(());
            }
            last = number;
            path.push(number);
            if expected(path).is_some_and(|expected| expected != if kind == FALSE { TRUE } else { kind }) {
                return None;
            }
            match kind {
                TRUE | FALSE => {}
                BYTE => self.skip(1)?,
                I32 if *path == [5] => {
                    let count = self.number()?;
                    // An odd number stands for one below zero.
                    *fields = if count % 2 == 0 { count / 2 } else { return None };
                }
                I16 | I32 | I64 => drop(self.number()?),
                DOUBLE => self.skip(8)?,
                BINARY => {
                    let length = self.number()?;
                    self.skip(length)?;
                }
                STRUCT if path.len() < 8 => self.column(path, fields)?,
                _ => return None,
            }
            path.pop();
        }
    }
}

/// Returns the type of a part of a column that the decoder reads by its number, whatever type is written: with another
/// one, it would go on at another byte.
fn expected(path: &[i16]) -> Option<u8> {
    Some(match path {
        [1..=3 | 5..=9] => I32,
        [4] => BINARY,
        [10] | [10, 1..=19] => STRUCT,
        // Decimals, and geography.
        [10, 5, 1 | 2] | [10, 18, 2] => I32,
        // Times and timestamps.
        [10, 7 | 8, 1] => TRUE,
        [10, 7 | 8, 2] | [10, 7 | 8, 2, 1..=3] => STRUCT,
        // Integers, and variants.
        [10, 10, 2] => TRUE,
        [10, 10 | 16, 1] => BYTE,
        // Geometry and geography.
        [10, 17 | 18, 1] => BINARY,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, Schema, TimeUnit};
    use parquet::arrow::ArrowWriter;

    use super::*;

    /// A footer with columns of these numbers of fields.
    fn footer_of(columns: &[u64]) -> Vec<u8> {
        let number = |mut number: u64, out: &mut Vec<u8>| {
            while number >= 0x80 {
                out.push(number as u8 | 0x80);
                number >>= 7;
            }
            out.push(number as u8);
        };
        let mut out = vec![0x15, 2, 0x19, 0xf0 | STRUCT];
        number(columns.len() as u64, &mut out);
        for &fields in columns {
            // A name, and the number of fields.
            out.extend([0x48, 1, b'x', 0x15]);
            number(2 * fields, &mut out);
            out.push(STOP);
        }
        out
    }

    #[test]
    fn levels_are_counted_whatever_the_columns() {
        let columns = |fields: &[u64]| depth(&mut Compact(&footer_of(fields)));
        assert_eq!(columns(&[2, 1, 0, 2, 0, 1, 0]), Some(4));
        assert_eq!(columns(&[3, 0, 0]), None, "there are fewer columns than fields");
        let nested = |depth: usize| [vec![1; depth - 1], vec![0]].concat();
        for depth in [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1] {
            assert_eq!(columns(&nested(depth)), Some(depth));
        }
        assert_eq!(columns(&nested(100_000)), Some(MAX_DEPTH + 1));
        for end in 0..40 {
            assert_eq!(depth(&mut Compact(&footer_of(&nested(20))[..end])), None);
        }
    }

    #[test]
    fn schemas_of_all_types_are_passed() {
        let zone = Some("UTC".into());
        let kinds = [
            DataType::Boolean,
            DataType::UInt8,
            DataType::Float16,
            DataType::Decimal128(20, 3),
            DataType::Date32,
            DataType::Time64(TimeUnit::Microsecond),
            DataType::Timestamp(TimeUnit::Nanosecond, zone),
            DataType::new_list(DataType::Utf8, true),
            DataType::FixedSizeBinary(16),
        ];
        let fields: Vec<Field> =
            kinds.iter().map(|kind| Field::new(kind.to_string(), kind.clone(), true)).collect();
        let file = tempfile::tempfile().unwrap();
        let schema = Arc::new(Schema::new(fields));
        ArrowWriter::try_new(file.try_clone().unwrap(), schema, None).unwrap().close().unwrap();
        let footer = footer(&file).unwrap();
        assert_eq!(depth(&mut Compact(&footer)), Some(4));
    }
}
