//! The names file beside an index of documents, read from the bytes as format-spec.md describes them.

use crate::common::{Scratch, json_line, story};

/// CRC-32/ISO-HDLC, bit by bit: shares nothing with the command.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn the_names_file_has_the_layout_of_the_specification() {
    assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    let scratch = Scratch::new();
    let stored = ["one", "tw\u{f3}\n", "\u{feff}three", "four"];
    scratch.write("in.jsonl", (1..).zip(stored).map(|(i, id)| json_line(id, &story(i))).collect::<String>());
    scratch.output(&["build", "-o", "a.hamdex", "--documents", "in.jsonl"]);
    let file_id = std::fs::read(scratch.path("a.hamdex")).unwrap()[32..48].to_vec();
    let names = std::fs::read(scratch.path("a.hamdex.ids")).unwrap();

    assert_eq!(names[..16], *b"\x89HDXID\r\n\x01\0\0\0\0\0\0\0");
    assert_eq!(names[16..32], file_id);
    let (count, bytes) = (u64_at(&names, 32) as usize, u64_at(&names, 40) as usize);
    assert_eq!(names[48..52], crc(&names[..48]).to_le_bytes());
    assert_eq!((count, bytes), (4, stored.concat().len()));
    assert_eq!(names.len(), 52 + 12 * count + bytes);

    let (ends, records) = names[52..].split_at(8 * count);
    let mut start = 0;
    for (number, name) in stored.iter().enumerate() {
        let end = u64_at(ends, 8 * number) as usize;
        let (text, checksum) = records[start..end].split_at(end - start - 4);
        assert_eq!(text, name.as_bytes());
        let unit = [&file_id[..], &(number as u64).to_le_bytes(), text].concat();
        assert_eq!(checksum, crc(&unit).to_le_bytes(), "{name}");
        start = end;
    }
    assert_eq!(start, records.len());
}
