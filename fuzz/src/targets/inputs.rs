//! Files of fingerprints, as the command reads them: files of any bytes are refused or read, and the ones that the
//! target writes are read as what was written.

use std::path::Path;
use std::sync::Arc;

use arbitrary::Unstructured;
use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, UInt64Array};
use arrow_ipc::writer::FileWriter;
use hamdex::Fingerprint;
use hamdex_tools::internals::{Record, fingerprints, ids, names};

use crate::choose::{below, flag, one_of, pairs, set};

/// Names of files, and the formats that the command knows; the target writes the first ones.
const NAMES: [&str; 13] = [
    "a.npy",
    "a.u64",
    "a.u128",
    "a.hex",
    "a.txt",
    "a.csv",
    "a.tsv",
    "a.arrow",
    "a",
    "a.bin",
    "a.parquet",
    "a.csv.gz",
    "a.jsonl",
];
const FORMATS: [&str; 10] =
    ["auto", "npy", "u64le", "u128le", "hex", "decimal", "csv", "tsv", "arrow", "parquet"];

/// The first bytes of compressed files. These are decompressed whatever their format is said to be.
const MARKS: [&[u8]; 5] = [b"\x1f\x8b\x08", b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\0"];

/// Makes the file that the input describes, and reads it.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    match (flag(&mut bytes), flag(&mut bytes)) {
        (false, false) => any::<u64>(bytes),
        (false, true) => any::<u128>(bytes),
        (true, false) => written::<u64>(bytes),
        (true, true) => written::<u128>(bytes),
    }
}

/// Any bytes, by any name and in any format.
fn any<F: Fingerprint>(mut bytes: Unstructured<'_>) {
    let name = one_of(&mut bytes, &NAMES);
    let format = one_of(&mut bytes, &FORMATS);
    let beside = one_of(&mut bytes, &["nothing", "pairs", "names"]);
    let contents = bytes.take_rest();
    in_a_file(name, contents, |path| {
        let read = fingerprints::<F>(path, format, beside);
        assert_eq!(fingerprints::<F>(path, format, beside), read, "read again");
        let _ = ids(path);
        let names = names(path);
        if is_plain(contents) {
            // In double quotes, names have escapes.
            let is_quoted = lines(contents).iter().any(|line| line.starts_with(b"\""));
            assert!(is_quoted || names == Ok(lines(contents)));
            if format == raw::<F>() && beside != "names" {
                assert_eq!(read.ok(), numbers(contents, beside == "pairs"));
            }
        }
    });
}

/// Lines without their ends, except empty ones.
fn lines(contents: &[u8]) -> Vec<Vec<u8>> {
    let contents = contents.strip_prefix(b"\xef\xbb\xbf").unwrap_or(contents);
    let lines = contents.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Raw numbers, as a second reader reads them.
fn numbers<F: Fingerprint>(contents: &[u8], has_ids: bool) -> Option<Vec<Record<F>>> {
    let records = contents.chunks_exact(F::BYTES + if has_ids { 8 } else { 0 });
    let is_whole = records.remainder().is_empty();
    let record = |record: &[u8]| {
        let (fingerprint, id) = record.split_at(F::BYTES);
        let number = fingerprint.iter().rev().fold(0u128, |number, &byte| number << 8 | u128::from(byte));
        (F::truncate(number), id.try_into().ok().map(u64::from_le_bytes), None)
    };
    is_whole.then(|| records.map(record).collect())
}

/// Fingerprints in a format that the input chooses, with ids or without.
fn written<F: Fingerprint>(mut bytes: Unstructured<'_>) {
    let format = one_of(&mut bytes, &["npy", raw::<F>(), "hex", "decimal", "csv", "tsv", "arrow"]);
    let has_ids = flag(&mut bytes);
    let set: Vec<F> = set(&mut bytes);
    let pairs = pairs(&mut bytes, &set);
    // Texts of which each could be either are read as hexadecimal digits.
    let digits = F::BYTES * 2;
    let is_decimal =
        flag(&mut bytes) && pairs.iter().any(|(fingerprint, _)| fingerprint.to_string().len() != digits);
    let (name, format, contents) = match format {
        "npy" => ("a.npy", format, npy(&pairs, has_ids, &mut bytes)),
        "arrow" if !pairs.is_empty() => ("a.arrow", format, arrow(&pairs, has_ids)),
        "csv" => ("a.csv", format, table(",", &pairs, (is_decimal, has_ids), &mut bytes)),
        "tsv" => ("a.tsv", format, table("\t", &pairs, (is_decimal, has_ids), &mut bytes)),
        "u64le" => ("a.u64", format, little_endian(&pairs, has_ids)),
        "u128le" => ("a.u128", format, little_endian(&pairs, has_ids)),
        _ => {
            let format = if is_decimal { "decimal" } else { "hex" };
            ("a.txt", format, text(&pairs, (is_decimal, has_ids), &mut bytes))
        }
    };
    if !is_plain(&contents) {
        return;
    }
    let beside = if has_ids { "pairs" } else { "nothing" };
    let record = |&(fingerprint, id): &(F, u64)| (fingerprint, has_ids.then_some(id), None);
    let expected: Result<Vec<Record<F>>, String> = Ok(pairs.iter().map(record).collect());
    in_a_file(name, &contents, |path| {
        assert_eq!(fingerprints(path, format, beside), expected, "{format}");
        // Raw numbers may look like something else, and are refused then.
        let found = fingerprints(path, "auto", beside);
        assert!(
            found == expected || found.is_err() && format == raw::<F>(),
            "{found:?} instead of {expected:?}"
        );
    });
}

/// The format of raw numbers of this width.
fn raw<F: Fingerprint>() -> &'static str {
    if F::BITS == 64 { "u64le" } else { "u128le" }
}

fn is_plain(contents: &[u8]) -> bool {
    !MARKS.iter().any(|mark| contents.starts_with(mark))
}

fn in_a_file(name: &str, contents: &[u8], read: impl FnOnce(&Path)) {
    let directory = super::directory();
    let path = directory.path().join(name);
    std::fs::write(&path, contents).expect("a temporary directory");
    read(&path);
}

/// A NumPy array of a version, type and shape that the input chooses.
fn npy<F: Fingerprint>(pairs: &[(F, u64)], has_ids: bool, bytes: &mut Unstructured<'_>) -> Vec<u8> {
    let (descr, to_bytes) = one_of(
        bytes,
        &[
            ("<u8", u64::to_le_bytes as fn(u64) -> [u8; 8]),
            (">u8", u64::to_be_bytes),
            ("<i8", u64::to_le_bytes),
            (">i8", u64::to_be_bytes),
        ],
    );
    let (rows, columns) = (pairs.len(), F::BYTES / 8 + usize::from(has_ids));
    let is_flat = columns == 1 && flag(bytes);
    let shape = if is_flat { format!("({rows},)") } else { format!("({rows}, {columns})") };
    let order = if is_flat && flag(bytes) { "True" } else { "False" };
    let blanks = " ".repeat(below(bytes, 64));
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}{blanks}\n");
    let version = one_of(bytes, &[1, 2, 3]);
    let mut contents = [&b"\x93NUMPY"[..], &[version, 0]].concat();
    match version {
        1 => contents.extend((header.len() as u16).to_le_bytes()),
        _ => contents.extend((header.len() as u32).to_le_bytes()),
    }
    contents.extend(header.bytes());
    for (fingerprint, id) in pairs {
        let number = fingerprint.to_u128();
        let row = [(number >> 64) as u64, number as u64, *id];
        let words = &row[if F::BITS == 64 { 1 } else { 0 }..][..columns];
        contents.extend(words.iter().flat_map(|&word| to_bytes(word)));
    }
    contents
}

fn little_endian<F: Fingerprint>(pairs: &[(F, u64)], has_ids: bool) -> Vec<u8> {
    let mut contents = Vec::new();
    for (fingerprint, id) in pairs {
        contents.extend(&fingerprint.to_u128().to_le_bytes()[..F::BYTES]);
        contents.extend(id.to_le_bytes().iter().filter(|_| has_ids));
    }
    contents
}

fn arrow<F: Fingerprint>(pairs: &[(F, u64)], has_ids: bool) -> Vec<u8> {
    let numbers =
        pairs.iter().map(|(fingerprint, _)| fingerprint.to_u128().to_le_bytes()[..F::BYTES].to_vec());
    let numbers = FixedSizeBinaryArray::try_from_iter(numbers).expect("of equal lengths");
    let ids = UInt64Array::from_iter_values(pairs.iter().map(|pair| pair.1));
    let columns: [(&str, ArrayRef); 2] = [("id", Arc::new(ids)), ("fingerprint", Arc::new(numbers))];
    let columns = columns.into_iter().filter(|(name, _)| has_ids || *name != "id");
    let batch = RecordBatch::try_from_iter(columns).expect("as long");
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).expect("memory");
    file.write(&batch).expect("memory");
    file.into_inner().expect("memory")
}

fn table<F: Fingerprint>(
    delimiter: &str,
    pairs: &[(F, u64)],
    (is_decimal, has_ids): (bool, bool),
    bytes: &mut Unstructured<'_>,
) -> Vec<u8> {
    let is_id_first = flag(bytes);
    let quote = if flag(bytes) { "\"" } else { "" };
    let rows = pairs.iter().map(|&(x, id)| (number(x, is_decimal), id.to_string()));
    let head = ("fingerprint".to_owned(), "id".to_owned());
    let line = |(fingerprint, id): (String, String)| {
        let mut cells = vec![format!("{quote}{fingerprint}{quote}")];
        if has_ids {
            cells.insert(usize::from(!is_id_first), id);
        }
        cells.join(delimiter)
    };
    joined(std::iter::once(head).chain(rows).map(line), bytes)
}

fn text<F: Fingerprint>(
    pairs: &[(F, u64)],
    (is_decimal, has_ids): (bool, bool),
    bytes: &mut Unstructured<'_>,
) -> Vec<u8> {
    let blank = one_of(bytes, &[" ", "\t", ",", ", ", "  "]);
    let line = |&(fingerprint, id): &(F, u64)| {
        let number = number(fingerprint, is_decimal);
        if has_ids { format!("{number}{blank}{id}") } else { number }
    };
    joined(pairs.iter().map(line), bytes)
}

fn number<F: Fingerprint>(fingerprint: F, is_decimal: bool) -> String {
    if is_decimal { fingerprint.to_string() } else { fingerprint.hex().to_string() }
}

/// Lines with ends that the input chooses, and an end of the last line or none.
fn joined(lines: impl Iterator<Item = String>, bytes: &mut Unstructured<'_>) -> Vec<u8> {
    let end = one_of(bytes, &["\n", "\r\n"]);
    let mut text = lines.collect::<Vec<_>>().join(end);
    if flag(bytes) {
        text.push_str(end);
    }
    text.into_bytes()
}

/// Choices by chance, and files in each format, as they are.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = super::choices(24, 100);
    let pairs = [(0x0123_4567_89ab_cdef, 7), (u64::MAX, 1 << 40), (0, 0)];
    let mut none = Unstructured::new(&[]);
    let files = [
        npy(&pairs, false, &mut none),
        little_endian(&pairs, true),
        text(&pairs, (false, true), &mut none),
        text(&pairs, (true, false), &mut none),
        table(",", &pairs, (false, true), &mut none),
        table("\t", &pairs, (true, true), &mut none),
        arrow(&pairs, true),
    ];
    for (contents, name) in files.iter().zip([0u8, 1, 3, 4, 5, 6, 7]) {
        for beside in [0, 1] {
            seeds.push([&[0, 0, name, 0, beside], contents.as_slice()].concat());
        }
    }
    seeds
}
