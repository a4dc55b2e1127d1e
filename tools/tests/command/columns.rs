//! Fingerprints from columns of Parquet and Arrow files, of every type that holds them.
#![cfg(feature = "parquet")]

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, Float64Array, Int64Array, RecordBatch,
    StringArray, StringViewArray, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;

use crate::common::Scratch;

const FINGERPRINTS: [u64; 3] = [0xff, 0xabcd_ef01_2345_6789, u64::MAX];

/// A table of these fingerprints with the ids 7, 8, 9, in each format: as a name and its bytes.
fn files(fingerprints: ArrayRef) -> [(&'static str, Vec<u8>); 3] {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((7..).take(fingerprints.len())));
    let batch = RecordBatch::try_from_iter([("id", ids), ("fingerprint", fingerprints)]).unwrap();
    let schema = batch.schema();
    let mut parquet = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), None).unwrap();
    parquet.write(&batch).unwrap();
    let mut file = FileWriter::try_new(Vec::new(), &schema).unwrap();
    file.write(&batch).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    stream.write(&batch).unwrap();
    [
        ("in.parquet", parquet.into_inner().unwrap()),
        ("in.arrow", file.into_inner().unwrap()),
        ("in.arrows", stream.into_inner().unwrap()),
    ]
}

fn bytes<const N: usize>(values: [[u8; N]; 3]) -> ArrayRef {
    Arc::new(FixedSizeBinaryArray::try_from_iter(values.into_iter()).unwrap())
}

fn numbers() -> ArrayRef {
    Arc::new(UInt64Array::from(FINGERPRINTS.to_vec()))
}

#[test]
fn every_type_that_holds_fingerprints_gives_the_same_ones() {
    let scratch = Scratch::new();
    let texts = FINGERPRINTS.map(|fingerprint| format!("{fingerprint:016x}"));
    let columns: [(&str, ArrayRef); 7] = [
        ("unsigned", numbers()),
        ("signed", Arc::new(Int64Array::from(FINGERPRINTS.map(u64::cast_signed).to_vec()))),
        ("texts", Arc::new(StringArray::from_iter_values(&texts))),
        ("views", Arc::new(StringViewArray::from_iter_values(&texts))),
        (
            "dictionary",
            Arc::new(
                texts
                    .iter()
                    .map(|text| Some(text.as_str()))
                    .collect::<DictionaryArray<arrow_array::types::Int32Type>>(),
            ),
        ),
        ("bytes", bytes(FINGERPRINTS.map(u64::to_le_bytes))),
        ("bytes of any size", Arc::new(BinaryArray::from_iter_values(FINGERPRINTS.map(u64::to_le_bytes)))),
    ];
    for (kind, column) in columns {
        for (name, contents) in files(column) {
            scratch.write(name, contents);
            scratch.output(&["build", "--force", "--ids", "pairs", "-o", "x.hamdex", name]);
            for (id, text) in (7..).zip(&texts) {
                let found = scratch.output(&["query", "x.hamdex", "-k", "0", text]);
                assert_eq!(found, format!("{text}\t{text}\t0\t{id}\n"), "{kind} in {name}");
            }
            let queried = scratch.output(&["query", "x.hamdex", "-k", "0", "--file", name]);
            let line = |(id, text): (u64, &String)| format!("{id}\t{text}\t0\t{id}\n");
            assert_eq!(queried, (7..).zip(&texts).map(line).collect::<String>(), "{kind} in {name}");
        }
    }
}

#[test]
fn sixteen_bytes_are_a_fingerprint_of_128_bits() {
    let scratch = Scratch::new();
    let wide = FINGERPRINTS.map(|fingerprint| u128::from(fingerprint) << 64 | 1);
    for (name, contents) in files(bytes(wide.map(u128::to_le_bytes))) {
        scratch.write(name, contents);
        scratch.output(&["build", "--force", "--width", "128", "-o", "x.hamdex", name]);
        let mut expected: Vec<String> =
            wide.iter().map(|fingerprint| format!("{fingerprint:032x}\n")).collect();
        expected.sort_unstable();
        assert_eq!(scratch.output(&["dump", "x.hamdex", "--fingerprints"]), expected.concat(), "{name}");
        let (code, text) = scratch.failure(&["build", "-o", "y.hamdex", name]);
        let expected = "(row 0): a fingerprint of 64 bits has 8 bytes; found 16; give --width 128";
        assert!(text.contains(expected), "{text}");
        assert_eq!(code, 1);
    }
}

#[test]
fn columns_of_other_types_are_refused_with_what_is_read() {
    let scratch = Scratch::new();
    let columns: [(ArrayRef, &str); 3] = [
        (Arc::new(Float64Array::from(vec![1.0])), "the column \"fingerprint\" holds Float64; whole numbers,"),
        (
            Arc::new(BinaryArray::from(vec![&[1; 9][..]])),
            "(row 0): a fingerprint of 64 bits has 8 bytes; found 9",
        ),
        (bytes([[1; 7]; 3]), "(row 0): a fingerprint of 64 bits has 8 bytes; found 7"),
    ];
    for (column, expected) in columns {
        for (name, contents) in files(column) {
            scratch.write(name, contents);
            let (code, text) = scratch.failure(&["build", "-o", "x.hamdex", name]);
            assert!(text.contains(expected), "{name}: {text}");
            assert_eq!(code, 1);
        }
    }
    // Bytes are neither ids nor documents.
    for (name, contents) in files(bytes(FINGERPRINTS.map(u64::to_le_bytes))) {
        scratch.write(name, contents);
        let ids = ["build", "-o", "x.hamdex", "--ids", "pairs", "--id-field", "fingerprint", name];
        let (_, text) = scratch.failure(&ids);
        assert!(text.contains("(row 0): expected a decimal id; found bytes"), "{text}");
        let (_, text) = scratch.failure(&["fingerprint", "--text-field", "fingerprint", name]);
        assert!(text.contains("expected text, bytes or lists of texts (--text-field"), "{text}");
    }
    assert!(!scratch.path("x.hamdex").exists());
}

#[test]
fn numbers_of_64_bits_are_no_fingerprints_of_128() {
    let scratch = Scratch::new();
    for (name, contents) in files(numbers()) {
        scratch.write(name, contents);
        let (code, text) = scratch.failure(&["build", "--width", "128", "-o", "x.hamdex", name]);
        assert!(text.contains("(row 0): numbers of 64 bits are no fingerprints of 128 bits"), "{text}");
        assert_eq!(code, 1);
    }
}
