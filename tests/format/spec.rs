//! The worked examples of format-spec.md: built by the library and compared with the text, together with
//! every number that the text quotes from them.
//!
//! With HAMDEX_BLESS set, the parts between the markers are written anew.

use std::fmt::Write;
use std::ops::Range;
use std::path::PathBuf;

use crate::common::forge::{FILTER, Forged, ID_LOOKUP, NAME_DIRECTORY, NAMES, SHINGLE_KEYS, SHINGLE_PAIRS};
use crate::common::{built, built_with_ids, built_with_names, index};
use hamdex::inspect::Permutation;
use hamdex::inspect::reference::{Coding, Field, FieldKind, fingerprints, read_block};
use hamdex::{BuildOptions, Builder, Codec, Design, FilterChoice, Fingerprint};

/// Fingerprints and ids of the example, in no order.
const PAIRS: [(u64, u64); 7] = [
    (0x8000_0000_0000_0000, 12),
    (0x00ff_00ff_00ff_00ff, 15),
    (0x0000_0000_0000_0000, 17),
    (0x00ff_00ff_00ff_01ff, 14),
    (0x0000_0000_0000_0001, 13),
    (0x00ff_00ff_00ff_00ff, 19),
    (0xdead_beef_cafe_f00d, 16),
];

fn example() -> Forged {
    let design = Design::named("halves", 1).unwrap();
    let options = BuildOptions::new().design(design).block_bytes(512);
    let options = options.metadata("source", "example");
    Forged::new(built_with_ids(&PAIRS, options))
}

/// The name directory and the names of the example.
fn names_example() -> Forged {
    let names = [(7, "first"), (8, ""), (12, "zwölf")].map(|(id, name)| (id, name.as_bytes().to_vec()));
    let pairs = [(1u64, 7), (2, 8), (3, 12)];
    Forged::new(built_with_names(&pairs, &names.into(), BuildOptions::new()))
}

/// Entries of the example of codec 2.
const CLOSE: [u64; 6] = [0x3ed, 0x3ee, 0x3f1, 0x3f2, 0x400, 0x41d];

fn elias_fano_example() -> Forged {
    let design = Design::named("single", 0).unwrap();
    let options = BuildOptions::new().design(design).block_bytes(512).codec(Codec::EliasFano);
    Forged::new(built(&CLOSE, options))
}

fn spec_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("format-spec.md")
}

/// The text between `<!-- name -->` and `<!-- end of name -->` is a fenced block of this text.
fn compare(name: &str, fresh: &str) {
    let spec = std::fs::read_to_string(spec_path()).unwrap();
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let (before, rest) = spec.split_once(&start).expect(name);
    let (stored, after) = rest.split_once(&end).expect(name);
    let fresh = format!("```text\n{fresh}```\n");
    if std::env::var_os("HAMDEX_BLESS").is_some() {
        std::fs::write(spec_path(), [before, &start, &fresh, &end, after].concat()).unwrap();
    } else {
        assert!(stored == fresh, "{name} in format-spec.md is not what the library gives:\n{fresh}");
    }
}

/// Sixteen bytes per line, repeated lines as a `*`: as `hexdump -C` prints them.
fn hex_dump(bytes: &[u8]) -> String {
    hex_dump_from(0, bytes)
}

/// The same with offsets that count from `start`.
fn hex_dump_from(start: usize, bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut previous, mut starred): (Option<&[u8]>, bool) = (None, false);
    for (number, line) in bytes.chunks(16).enumerate() {
        if previous == Some(line) {
            if !starred {
                text.push_str("*\n");
            }
            starred = true;
            continue;
        }
        (previous, starred) = (Some(line), false);
        let halves = line.chunks(8).map(|half| half.iter().map(|b| format!(" {b:02x}")).collect::<String>());
        let halves: String = halves.map(|half| format!(" {half}")).collect();
        let characters: String =
            line.iter().map(|&b| if (0x20..0x7f).contains(&b) { char::from(b) } else { '.' }).collect();
        writeln!(text, "{:08x}{halves:50}  |{characters}|", start + number * 16).unwrap();
    }
    writeln!(text, "{:08x}", start + bytes.len()).unwrap();
    text
}

/// Returns whether a bit is set, in the bit order of the codecs.
type IsSet = fn(u8, usize) -> bool;

const HIGHEST_FIRST: IsSet = |byte, bit| byte & 0x80 >> bit != 0;
const LOWEST_FIRST: IsSet = |byte, bit| byte >> bit & 1 != 0;

/// The bits of a field, cut where bytes end.
fn bits(block: &[u8], field: &Field<u64>, is_set: IsSet) -> String {
    let mut text = String::new();
    for at in field.bits.clone() {
        if at % 8 == 0 && at > field.bits.start {
            text.push(' ');
        }
        text.push(if is_set(block[at / 8], at % 8) { '1' } else { '0' });
    }
    text
}

fn block_fields(file: &Forged, table: usize) -> Vec<Field<u64>> {
    read_block(&file.bytes[file.block(table as u32, 0)], file.coding(table)).unwrap()
}

/// A line per field of a block: its bits and their meaning.
fn bit_dump(block: &[u8], fields: Vec<Field<u64>>, is_set: IsSet) -> String {
    let mut text = String::from("bit   bits                              meaning\n");
    for field in fields {
        let meaning = match field.kind {
            FieldKind::Checksum(checksum) => format!("CRC-32 {checksum:#010x}"),
            FieldKind::Count(count) => format!("n = {count}"),
            FieldKind::Raw { entry, fingerprint } => format!("entry {entry} = {}", fingerprint.hex()),
            FieldKind::Code { entry, h } => format!("entry {entry}: h = {h}"),
            FieldKind::Suffix { entry, fingerprint } => format!("entry {entry} = {}", fingerprint.hex()),
            FieldKind::LowBits(bits) => format!("l = {bits}"),
            FieldKind::Zero => "reserved".to_owned(),
            FieldKind::Bucket { entry, bucket } => format!("entry {entry}: bucket {bucket}"),
            FieldKind::Low { entry, fingerprint } => format!("entry {entry} = {}", fingerprint.hex()),
            FieldKind::Padding => "zeros".to_owned(),
            other => panic!("{other:?} is not in format-spec.md"),
        };
        let all = bits(block, &field, is_set);
        let mut lines = all.as_bytes().chunks(36).map(|line| std::str::from_utf8(line).unwrap().trim_end());
        let first = if field.kind == FieldKind::Padding { "" } else { lines.next().unwrap_or("") };
        writeln!(text, "{:<5} {first:<35}  {meaning}", field.bits.start).unwrap();
        if field.kind != FieldKind::Padding {
            lines.for_each(|line| writeln!(text, "      {line}").unwrap());
        }
    }
    text
}

/// The bytes with which sections of the text begin.
#[test]
fn the_parts_of_the_example_are_those_in_the_text() {
    const PARTS: [(&str, Range<usize>); 9] = [
        ("header", 0..0x40),
        ("trailer", 0x2838..0x2858),
        ("section", 0x2200..0x2210),
        ("footer", 0x2240..0x2838),
        ("keys", 0x2210..0x2218),
        ("codes", 0x22d0..0x2310),
        ("block of codec 1", 0x1000..0x1200),
        ("ids", 0x1200..0x1220),
        ("metadata", 0x2220..0x2240),
    ];
    let file = example();
    for (name, part) in PARTS {
        let fresh = hex_dump_from(part.start, &file.bytes[part]);
        compare(&format!("example of the {name}"), &fresh);
    }
}

#[test]
fn the_checksum_in_the_text_is_that_of_the_keys_of_the_example() {
    let file = example();
    let unit = [&file.bytes[32..48], &2u32.to_le_bytes(), &[0; 12], &file.bytes[0x2200..0x2208]].concat();
    compare("example of the checksum", &hex_dump(&unit));
    assert_eq!(file.bytes[0x2208..0x220c], crc32fast::hash(&unit).to_le_bytes());
}

#[test]
fn the_block_of_the_example_is_the_one_in_the_text() {
    let file = example();
    let block = &file.bytes[file.block(0, 0)];
    compare("example block", &bit_dump(block, block_fields(&file, 0), HIGHEST_FIRST));
}

#[test]
fn the_elias_fano_example_is_the_one_in_the_text() {
    let file = elias_fano_example();
    let block = &file.bytes[file.block(0, 0)];
    compare("example elias-fano", &hex_dump(block));
    compare("example elias-fano block", &bit_dump(block, block_fields(&file, 0), LOWEST_FIRST));
}

#[test]
fn the_names_of_the_example_are_those_in_the_text() {
    let file = names_example();
    let dump = |name, kind| format!("{name}\n{}", hex_dump(file.contents(kind, 0)));
    let fresh = [dump("name directory", NAME_DIRECTORY), dump("names", NAMES)].concat();
    compare("example names", &fresh);
    let directory = file.contents(NAME_DIRECTORY, 0);
    assert_eq!(directory[24..], [0b0000_0110, 0b1000_0000, 0b0101_0101, 0b1011_0000]);
    let index = index::<u64>(file.bytes);
    assert_eq!(index.names().unwrap().unwrap().get(12).unwrap(), Some("zwölf".as_bytes()));
}

/// A row for each entry, from the definition of bucket and low field.
#[test]
fn the_table_of_buckets_and_low_fields_is_that_of_the_elias_fano_example() {
    const LOW_BITS: u32 = 3;
    let expected: Vec<Vec<String>> = CLOSE
        .iter()
        .enumerate()
        .map(|(i, &entry)| {
            let (upper, low) = (entry >> LOW_BITS, entry & ((1 << LOW_BITS) - 1));
            let is_coded = |cell: String| if i == 0 { "raw".to_owned() } else { cell };
            vec![
                i.to_string(),
                format!("`{}`", entry.hex()),
                upper.to_string(),
                is_coded((upper - (CLOSE[0] >> LOW_BITS)).to_string()),
                is_coded(low.to_string()),
                is_coded(format!("{low:03b}").chars().rev().collect()),
            ]
        })
        .collect();
    assert_eq!(rows("example elias-fano entries"), expected);
}

#[test]
fn the_numbers_in_the_text_about_the_elias_fano_example_are_true() {
    let file = elias_fano_example();
    let size = |l: u64| 5 * (l + 1) + (CLOSE[5] >> l) - (CLOSE[0] >> l);
    assert_eq!([2, 3, 4].map(size), [27, 26, 28]);
    assert_eq!((0..=56).min_by_key(|&l| size(l)), Some(3));
    assert_eq!(file.footer()[4], 2);
    assert_eq!(file.code_lengths(0), [0; 64]);
    let id = "6795265eb12f52ee0a00afa2bd4e6f5f";
    assert_eq!(file.bytes[32..48], u128::from_str_radix(id, 16).unwrap().to_be_bytes());
    let fields = block_fields(&file, 0);
    let lows = fields.iter().find(|field| matches!(field.kind, FieldKind::Low { .. })).unwrap();
    assert_eq!(lows.bits.start, 4081);
    let block = &file.bytes[file.block(0, 0)];
    let word = u64::from_le_bytes(*block.last_chunk().unwrap());
    assert_eq!(word, 0xa11c_0000_0000_0000);
    assert_eq!(word >> 52 & 7, CLOSE[2] & 7);
}

/// The marks of each row, together, are the filter of a file with these prefixes.
#[test]
fn the_table_of_marks_is_that_of_a_filter() {
    let mut lines = [[0u64; 8]; 2];
    let mut stored = Vec::new();
    for row in rows("example filter") {
        let [prefix, line, u, in_u, v, in_v] = row.as_slice() else { panic!("{row:?}") };
        let prefix = u64::from_str_radix(prefix.trim_matches('`'), 16).unwrap();
        stored.extend((0..6).map(|suffix| prefix << 32 | suffix << 20));
        let number = |cell: &str| cell.parse::<usize>().unwrap();
        for (word, bits) in [(u, in_u), (v, in_v)] {
            let bits = bits.split(", ").map(number);
            bits.for_each(|bit| lines[number(line)][number(word)] |= 1 << bit);
        }
    }
    // Lines for 1,152 bits, of which two are whole.
    let options = BuildOptions::new().design(Design::named("halves", 3).unwrap());
    let file = Forged::new(built(&stored, options.block_bytes(512).filter(FilterChoice::Bits(64))));
    let head = [&[1, 0, 0, 0, 32, 0, 0, 0, 2][..], &[0; 55]].concat();
    let words = lines.as_flattened().iter().flat_map(|word| word.to_le_bytes());
    assert_eq!(file.contents(FILTER, 0), head.into_iter().chain(words).collect::<Vec<u8>>());
}

#[test]
fn the_example_of_shingles_is_a_set() {
    let spec = std::fs::read_to_string(spec_path().with_file_name("store-spec.md")).unwrap();
    let (_, rest) = spec.split_once("<!-- example shingles -->\n").unwrap();
    let line = rest.lines().nth(1).unwrap().strip_prefix("00000000  ").unwrap();
    let bytes: Vec<u8> = line.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(hamdex::shingles::encode(&[5, 1 << 40, (1 << 47) + 1]).unwrap(), bytes);
}

#[test]
fn the_pairs_of_the_example_are_those_in_the_text() {
    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().shingles(true)).unwrap();
    for (fingerprint, id, set) in [(1, 5, &[5, 1 << 40][..]), (2, 7, &[5]), (3, 9, &[5])] {
        builder.push_with_id(fingerprint, id).unwrap();
        builder.push_shingles(id, set).unwrap();
    }
    let file = Forged::new(builder.into_inner().unwrap().0);
    let mut block = file.contents(SHINGLE_PAIRS, 0).to_vec();
    let fields = read_block::<u128>(&block, Coding::EliasFano).unwrap();
    assert_eq!(fingerprints(&fields), [20, 21, 22, 1 << 42]);
    block[..4].fill(0);
    let keys = file.contents(SHINGLE_KEYS, 0);
    assert_eq!((keys[24], keys.len()), (2, 48));
    compare("example pairs", &format!("pairs\n{}keys\n{}", hex_dump(&block), hex_dump(keys)));
}

#[test]
fn the_example_of_look_ups_is_what_a_build_writes() {
    let spec = std::fs::read_to_string(spec_path()).unwrap();
    let (_, rest) = spec.split_once("<!-- example lookups -->\n").unwrap();
    let line = rest.lines().nth(1).unwrap().strip_prefix("00000000  ").unwrap();
    let bytes: Vec<u8> = line.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().lookups(true)).unwrap();
    for (fingerprint, id) in [(1, 5), (2, 7), (3, 7)] {
        builder.push_with_id(fingerprint, id).unwrap();
    }
    let file = Forged::new(builder.into_inner().unwrap().0);
    assert_eq!(file.contents(ID_LOOKUP, 0), bytes);
}

/// The rows of the table between `<!-- name -->` and `<!-- end of name -->`, cell by cell.
fn rows(name: &str) -> Vec<Vec<String>> {
    let spec = std::fs::read_to_string(spec_path()).unwrap();
    let (_, rest) = spec.split_once(&format!("<!-- {name} -->\n")).expect(name);
    let (table, _) = rest.split_once(&format!("<!-- end of {name} -->\n")).expect(name);
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    table.lines().skip(2).map(cells).collect()
}

/// The bytes that a cell lists: `` `00 01` × 2, `03` ``.
fn bytes_of(cell: &str) -> Vec<u8> {
    cell.split(", ").flat_map(repeated_bytes).collect()
}

/// Bytes in hexadecimal, once or several times.
fn repeated_bytes(cell: &str) -> Vec<u8> {
    let (digits, times) = match cell.split_once(" × ") {
        Some((digits, times)) => (digits, times.replace(',', "").parse().unwrap()),
        None => (cell, 1),
    };
    let bytes: Vec<u8> =
        digits.trim_matches('`').split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    bytes.repeat(times)
}

#[test]
fn the_table_of_bytes_explains_every_byte() {
    let file = example();
    let mut at = 0;
    for row in rows("example fields") {
        let [offset, bytes, meaning] = row.as_slice() else { panic!("{row:?}") };
        assert_eq!(*offset, format!("`{at:04x}`"), "{meaning}");
        // Section 8 has the bytes of the footer.
        if bytes == "1,528 bytes" {
            at += 1528;
            continue;
        }
        let bytes = bytes_of(bytes);
        assert_eq!(file.bytes[at..at + bytes.len()], bytes, "{meaning}");
        at += bytes.len();
    }
    assert_eq!(at, file.bytes.len());
}

#[test]
fn the_codes_in_the_text_are_those_of_the_example() {
    let index = index::<u64>(example().bytes);
    let stats = index.stats();
    let table = &stats.tables[0];
    let mut counted: Vec<usize> = (0..64).filter(|&h| table.counts[h] > 0).collect();
    counted.sort_by_key(|&h| (table.code_lengths[h], h));
    let expected: Vec<Vec<String>> = counted
        .into_iter()
        .map(|h| {
            let length = usize::from(table.code_lengths[h]);
            vec![h.to_string(), length.to_string(), format!("{:0length$b}", table.codes[h])]
        })
        .collect();
    assert_eq!(rows("example codes"), expected);
}

/// The numbers in the text around the tables.
#[test]
fn the_numbers_in_the_text_are_true() {
    let file = example();
    assert_eq!(file.bytes.len(), 10_328);
    assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
    let low_half = Permutation::<u64>::new(0xffff_ffff);
    assert_eq!(low_half.apply(0xdead_beef_cafe_f00d), 0xcafe_f00d_dead_beef);
    assert_eq!(Permutation::<u64>::new(0xff).apply(0x0123_4567_89ab_cdef), 0xef01_2345_6789_abcd);

    let fields = block_fields(&file, 0);
    let suffix_of_2 = fields.iter().find(|f| matches!(f.kind, FieldKind::Suffix { entry: 2, .. })).unwrap();
    assert_eq!(suffix_of_2.bits.len(), 55);
    let block = &file.bytes[file.block(0, 0)];
    let suffix =
        suffix_of_2.bits.clone().fold(0u64, |n, at| n << 1 | u64::from(block[at / 8] >> (7 - at % 8) & 1));
    assert_eq!(suffix, 0x007f_00ff_00ff_00ff);
    let zeros = |table| {
        let fields = block_fields(&file, table);
        fields.into_iter().find(|field| field.kind == FieldKind::Padding).unwrap().bits
    };
    assert_eq!((zeros(0).end - 1, zeros(1).end - 1), (3907, 3874));

    let index = index::<u64>(file.bytes);
    let mut searcher = index.searcher();
    let found = searcher.within(0xdead_beef_cafe_f00c, 1).unwrap();
    assert_eq!(found.iter().map(|m| m.fingerprint).collect::<Vec<_>>(), [0xdead_beef_cafe_f00d]);
    assert_eq!(index.ids(0xdead_beef_cafe_f00d).unwrap().collect::<Vec<_>>(), [16]);
    assert_eq!(index.ids(0x00ff_00ff_00ff_00ff).unwrap().collect::<Vec<_>>(), [15, 19]);

    let single = Design::<u64>::named("single", 0).unwrap();
    let least = Forged::new(built(&[], BuildOptions::new().design(single)));
    assert_eq!((least.footer.length, least.bytes.len()), (792, 4928));
}
