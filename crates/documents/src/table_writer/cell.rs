//! Cells and columns.

use std::io::{self, Write};

use serde::ser::{SerializeMap, Serializer};

/// A cell of a table. All cells of a column have its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Cell<'a> {
    /// A text.
    Text(&'a str),
    /// An unsigned integer.
    Number(u64),
    /// A floating-point number.
    Real(f64),
    /// True or false.
    Flag(bool),
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Texts.
    Text,
    /// Unsigned integers.
    Number,
    /// Floating-point numbers.
    Real,
    /// True or false.
    Flag,
}

/// Writes a row as a line with a JSON object, its keys in the order of the columns.
///
/// # Errors
/// When it cannot be written.
pub fn write_json<N: AsRef<str>>(output: &mut impl Write, names: &[N], cells: &[Cell<'_>]) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::new(&mut *output);
    let mut map = serializer.serialize_map(Some(cells.len()))?;
    for (name, cell) in names.iter().zip(cells) {
        match cell {
            Cell::Text(text) => map.serialize_entry(name.as_ref(), text)?,
            Cell::Number(number) => map.serialize_entry(name.as_ref(), number)?,
            Cell::Real(number) => map.serialize_entry(name.as_ref(), number)?,
            Cell::Flag(flag) => map.serialize_entry(name.as_ref(), flag)?,
        }
    }
    map.end()?;
    writeln!(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_the_order_of_the_columns() {
        let mut output = Vec::new();
        let cells = [Cell::Number(3), Cell::Text("a\"b"), Cell::Flag(true), Cell::Real(1.0)];
        write_json(&mut output, &["z", "a", "m", "r"], &cells).unwrap();
        assert_eq!(output, b"{\"z\":3,\"a\":\"a\\\"b\",\"m\":true,\"r\":1.0}\n");
    }
}
