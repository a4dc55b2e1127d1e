//! NumPy arrays of uint64: one column of fingerprints (two for 128 bits, the high word first), and
//! one more for ids.

use std::io::BufRead;

use hamdex::Fingerprint;
use npyz::{DType, NpyFile, Order};

use crate::failure::Failure;
use crate::input::{Sink, Source};

pub(super) fn read<F: Fingerprint>(
    source: &Source,
    reader: &mut impl BufRead,
    pairs: bool,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let malformed = |error: std::io::Error| source.complaint(format_args!("not a .npy file: {error}"));
    let array = NpyFile::new(reader).map_err(malformed)?;
    let words = F::BITS as usize / 64;
    let columns = words + usize::from(pairs);
    check_shape(source, &array, columns)?;
    let rows = array.shape()[0];
    let mut numbers = array.data::<u64>().map_err(|found| {
        source.complaint(format_args!("expected an array of uint64 (little or big endian): {found}"))
    })?;
    let mut row = vec![0; columns];
    for number in 0..rows {
        for cell in &mut row {
            let next = numbers.next().transpose().map_err(|error| {
                source.complaint_at(format!(" (row {number})"), format_args!("it ends too early: {error}"))
            })?;
            *cell =
                next.ok_or_else(|| source.complaint_at(format!(" (row {number})"), "it ends too early"))?;
        }
        let wide = row[..words].iter().fold(0u128, |wide, &word| wide << 64 | u128::from(word));
        sink(F::truncate(wide), pairs.then(|| row[words]))?;
    }
    Ok(())
}

fn check_shape<R: BufRead>(source: &Source, array: &NpyFile<R>, columns: usize) -> Result<(), Failure> {
    let (shape, dtype) = (array.shape(), array.dtype());
    if !matches!(&dtype, DType::Plain(plain) if plain.to_string().ends_with("u8")) {
        return Err(source.complaint(format_args!(
            "expected an array of uint64; found {}; convert it with .astype('uint64') or .view('uint64')",
            dtype.descr()
        )));
    }
    let fits = match shape {
        [_] => columns == 1,
        [_, second] => *second == columns as u64,
        _ => false,
    };
    if !fits {
        let expected = if columns == 1 { "(n,)".to_owned() } else { format!("(n, {columns})") };
        return Err(source.complaint(format_args!("expected an array of shape {expected}; found {shape:?}")));
    }
    if shape.len() > 1 && array.order() == Order::Fortran {
        return Err(source.complaint("expected an array in C order; convert it with numpy.ascontiguousarray"));
    }
    Ok(())
}
