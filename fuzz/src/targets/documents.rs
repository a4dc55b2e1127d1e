//! A file of documents of any format and any bytes: read twice alike, and alike when it is compressed.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use hamdex_documents::{Documents, Error, Input};

/// Names of all formats; the last ones say nothing.
const NAMES: [&str; 16] = [
    "a.jsonl",
    "a.json",
    "a.csv",
    "a.tsv",
    "a.html",
    "a.txt",
    "a.train",
    "a.jsonl.gz",
    "a.txt.zst",
    "a.zip",
    "a.csv.bz2",
    "a",
    "a.mbox",
    "a.eml",
    "a.warc",
    "a.tar",
];

const ENCODINGS: [&str; 4] = ["utf-16le", "windows-1252", "gb18030", "shift_jis"];

/// The result of reading: documents without their ids, and counts or an error.
type Read = (Vec<String>, Result<String, ()>);

/// Two bytes choose name and options; the others are the file.
pub fn run(input: &[u8]) {
    let Some((&[name, options], contents)) = input.split_first_chunk() else { return };
    let name = NAMES[usize::from(name) % NAMES.len()];
    let documents = |path: &Path| -> Documents {
        let mut documents = Documents::from_paths([path]).strict(options & 1 != 0);
        if options & 2 != 0 {
            documents = documents.max_document_bytes(64);
        }
        if options >> 4 == 0 {
            let encoding = ENCODINGS[usize::from(options >> 2) % ENCODINGS.len()];
            documents = documents.encoding(encoding).expect("it has a name");
        }
        documents
    };
    let directory = super::directory();
    let path = directory.path().join(name);
    std::fs::write(&path, contents).expect("a temporary directory");
    let first = read(&documents(&path));
    assert_eq!(first, read(&documents(&path)), "it is read differently the second time");
    // A compressed document is decompressed once.
    let is_plain = Input::open(&path).is_ok_and(|input| !input.is_compressed());
    let has_ending = [".gz", ".zst", ".bz2", ".zip", ".tar"].iter().any(|ending| name.ends_with(ending));
    if is_plain && !has_ending && !contents.is_empty() && !contents.starts_with(b"PK") {
        let compressed = directory.path().join(format!("{name}.gz"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(contents).expect("memory");
        std::fs::write(&compressed, encoder.finish().expect("memory")).expect("a temporary directory");
        assert_eq!(read(&documents(&compressed)), first, "it is read differently when it is compressed");
    }
}

fn read(documents: &Documents) -> Read {
    let mut texts = Vec::new();
    let outcome = documents.read(|document| {
        texts.push(document.text);
        Ok::<(), Error>(())
    });
    (texts, outcome.map(|counts| format!("{counts:?}")).map_err(drop))
}

/// A file of each format.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 9] = [
        b"{\"id\": 1, \"text\": \"one \\u00e9\"}\n\n{\"text\": \"two\", \"id\": [7]}\n{\"id\":\"a\",\"body\":{\"text\":null}}\n",
        b"[{\"id\": 1e3, \"text\": \"one\"},\n {\"text\": \"\\ud83d\\ude00\"}, {\"text\": 5}]",
        b"id,text\n1,\"one, \"\"two\"\"\r\nthree\"\n2,four\n,\n",
        b"id\ttext\tmore\n1\tone\tx\n2\t\"two\n",
        b"<!DOCTYPE html><html><meta charset=utf-8><title>T</title><script>x<y</script><p>one &amp; two<!-- c --></html>",
        b"\xef\xbb\xbfone two\n\nthree",
        b"t1 some text\nt2\tother text\r\n\nt3",
        b"\xff\xfeo\0n\0e\0",
        b"{}\n{\"text\": ",
    ];
    let mut seeds: Vec<Vec<u8>> = texts
        .iter()
        .enumerate()
        .flat_map(|(number, text)| {
            [0x10, 0x11, 0x12, 0, 4].map(|options| [&[number.min(6) as u8, options][..], text].concat())
        })
        .collect();
    let message = b"From a Mon Sep 17 00:00:00 2001\nSubject: =?utf-8?q?=C3=BC?=\nFrom: b\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n\n<p>one\n--x\nContent-Transfer-Encoding: base64\n\ndHdv\n--x--\n\nFrom b\n\n>From c\n";
    let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=koi8-r\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n<p>\xcd\r\n0\r\n\r\n";
    let head = format!("WARC/1.0\r\nWARC-Type: response\r\nContent-Length: {}\r\n\r\n", page.len());
    let record = [head.as_bytes(), page, b"\r\n\r\n"].concat();
    for (name, bytes) in [(12, &message[..]), (13, &message[32..]), (14, &record[..])] {
        seeds.extend([0x10, 0x11, 0x12].map(|options| [&[name, options][..], bytes].concat()));
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(texts[0]).expect("memory");
    seeds.push([&[7, 0x10][..], &encoder.finish().expect("memory")].concat());
    // An archive of one stored file.
    let name = b"a.txt";
    let crc = crc32fast::hash(texts[5]).to_le_bytes();
    let length = (texts[5].len() as u32).to_le_bytes();
    let fields = [&[10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &crc, &length, &length, &[5, 0, 0, 0]].concat();
    let local = [b"PK\x03\x04", &fields[..], name, texts[5]].concat();
    let central = [b"PK\x01\x02\x0a\0", &fields[..], &[0; 14][..], name].concat();
    let sizes = [(central.len() as u32).to_le_bytes(), (local.len() as u32).to_le_bytes()].concat();
    let end = [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &sizes, &[0, 0]].concat();
    seeds.push([&[9, 0x10][..], &local, &central, &end].concat());
    seeds
}
