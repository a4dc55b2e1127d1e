//! Tables of any texts, written in each format, and read as documents: what comes back is what was written.

use arbitrary::Unstructured;
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::tables::{Cell, Kind, Rows, TableFormat};
use hamdex_documents::{Documents, Error};

use crate::choose::one_of;

const FORMATS: [(&str, TableFormat); 4] = [
    ("a.jsonl", TableFormat::Jsonl),
    ("a.csv", TableFormat::Csv),
    ("a.tsv", TableFormat::Tsv),
    ("a.parquet", TableFormat::Parquet),
];

/// Writes and reads the texts of the input.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    let (name, format) = one_of(&mut bytes, &FORMATS);
    let mut written: Vec<(String, String)> = Vec::new();
    while written.len() < 20 && !bytes.is_empty() {
        // A zero byte makes a file binary; without an id a document gets a number.
        let mut text = || bytes.arbitrary::<&str>().unwrap_or("").replace('\0', "0");
        written.push((format!("i{}", text()), format!("t{}", text())));
    }
    let directory = super::directory();
    let path = directory.path().join(name);
    let file = AtomicFile::options().create(&path).expect("a temporary directory");
    let columns = [("id", Kind::Text), ("number", Kind::Number), ("text", Kind::Text), ("flag", Kind::Flag)];
    let mut rows = Rows::new(file, format, &columns).expect("a temporary directory");
    for (number, (id, text)) in (0..).zip(&written) {
        let cells = [Cell::Text(id), Cell::Number(number), Cell::Text(text), Cell::Flag(number % 2 == 0)];
        rows.push(&cells).expect("a temporary directory");
    }
    rows.finish().expect("a temporary directory");
    let mut found = Vec::new();
    let outcome = Documents::from_paths([&path]).strict(false).read(|document| {
        found.push((document.id, document.text));
        Ok::<(), Error>(())
    });
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(found, written, "{name}");
}

/// Texts by chance, and texts that have to be quoted.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = super::choices(8, 80);
    for format in 0..4u8 {
        seeds.push(
            [&[format][..], "a,\"b\"\r\nc\td\u{2028}\u{feff}é\n\n\\ \u{7f}".as_bytes(), &[9, 20, 9]].concat(),
        );
    }
    seeds
}
