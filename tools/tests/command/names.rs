//! The names in an index of documents, read from the bytes as format-spec.md describes them.

use serde_json::json;

use crate::common::{Scratch, crc32, json_line, json_lines, story};

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The contents of a section without a table, their checksums compared.
fn section(file: &[u8], wanted: u32) -> &[u8] {
    let trailer = &file[file.len() - 32..];
    let footer = &file[u64_at(trailer, 0) as usize..][..u64_at(trailer, 8) as usize];
    let record =
        footer.rchunks(24).find(|record| record[..8] == [&wanted.to_le_bytes()[..], &[0; 4]].concat());
    let (offset, length) = (u64_at(record.unwrap(), 8) as usize, u64_at(record.unwrap(), 16) as usize);
    let contents = &file[offset..offset + length];
    let checksums = &file[offset + length.next_multiple_of(4)..];
    for (number, page) in contents.chunks(4096).enumerate() {
        let context =
            [&file[32..48], &wanted.to_le_bytes(), &[0; 4], &(number as u64).to_le_bytes()].concat();
        assert_eq!(checksums[4 * number..][..4], crc32(&[&context, page].concat()).to_le_bytes());
    }
    contents
}

/// A number of a packed list, most significant bit first.
fn packed(list: &[u8], bits: usize, place: usize) -> u64 {
    let bit = |at: usize| u64::from(list[at / 8] >> (7 - at % 8) & 1);
    (place * bits..(place + 1) * bits).fold(0, |number, at| number << 1 | bit(at))
}

#[test]
fn names_have_the_layout_of_the_specification() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let scratch = Scratch::new();
    let stored = ["one", "tw\u{f3}\n", "short", "\u{feff}three", "a\\b", "four"];
    let text = |number: u64| if number == 2 { "too short".to_owned() } else { story(number) };
    let lines: String = (0..).zip(stored).map(|(i, id)| json_line(id, &text(i))).collect();
    scratch.write("in.jsonl", lines);
    scratch.output(&["build", "-o", "a.hamdex", "--documents", "in.jsonl"]);
    let file = std::fs::read(scratch.path("a.hamdex")).unwrap();
    let (directory, names) = (section(&file, 9), section(&file, 10));

    // Document 2 has no fingerprint, and so the index does not know its name.
    let expected: Vec<(u64, &str)> = (0..).zip(stored).filter(|(id, _)| *id != 2).collect();
    assert_eq!((u64_at(directory, 0), u64_at(directory, 8)), (5, 0));
    let (id_bits, end_bits) = (usize::from(directory[16]), usize::from(directory[17]));
    assert_eq!((id_bits, end_bits, &directory[18..24]), (3, 5, &[0; 6][..]));
    let (ids, ends) = directory[24..].split_at((5 * id_bits).div_ceil(8));
    assert_eq!(ends.len(), (5 * end_bits).div_ceil(8));
    let mut start = 0;
    for (place, (id, name)) in expected.into_iter().enumerate() {
        let end = packed(ends, end_bits, place) as usize;
        assert_eq!((packed(ids, id_bits, place), &names[start..end]), (id, name.as_bytes()));
        start = end;
    }
    assert_eq!(start, names.len());
}

/// Fingerprints of images, say, in the ways in which another program may write them.
#[test]
fn fingerprints_made_elsewhere_keep_their_names() {
    let scratch = Scratch::new();
    let lines =
        "00000000000000ff\timg 1.png\n00000000000001ff\ta,b.png\n00000000000000ff\t\nffffffffffffffff\tx\n";
    scratch.write("phash.txt", lines);
    scratch
        .write("phash.csv", "img,hash\nimg 1.png,255\n\"a,b.png\",511\n\"\",255\nx,18446744073709551615\n");
    scratch.output(&["build", "-o", "a.hamdex", "--ids", "names", "phash.txt"]);
    let csv = ["--ids", "names", "--id-field", "img", "--fingerprint-field", "hash", "phash.csv"];
    scratch.output(&[&["build", "-o", "b.hamdex"], &csv[..]].concat());
    let bytes = |name: &str| std::fs::read(scratch.path(name)).unwrap();
    assert!(bytes("a.hamdex") == bytes("b.hamdex"));

    let near = scratch.output(&["query", "a.hamdex", "00000000000000fe"]);
    assert_eq!(
        near,
        "00000000000000fe\t00000000000000ff\t1\timg 1.png,\"\"\n00000000000000fe\t00000000000001ff\t2\t\"a,b.png\"\n"
    );
    let near = json_lines(&scratch.output(&["query", "a.hamdex", "00000000000000fe", "--json"]));
    assert_eq!((&near[0]["ids"], &near[1]["ids"]), (&json!(["img 1.png", ""]), &json!(["a,b.png"])));

    // Printed names are read back.
    let listed = scratch.output(&["dump", "a.hamdex", "--fingerprints", "--names"]);
    let sorted = "00000000000000ff\timg 1.png\n00000000000000ff\t\"\"\n00000000000001ff\ta,b.png\nffffffffffffffff\tx\n";
    assert_eq!(listed, sorted);
    scratch.write("c.txt", &listed);
    scratch.output(&["build", "-o", "c.hamdex", "--ids", "names", "c.txt"]);
    assert_eq!(scratch.output(&["dump", "c.hamdex", "--fingerprints", "--names"]), sorted);
    let ids = json_lines(&scratch.output(&["dump", "a.hamdex", "--fingerprints", "--names", "--json"]));
    assert_eq!(ids[0], json!({ "fingerprint": "00000000000000ff", "ids": ["img 1.png", ""] }));
}

#[test]
fn names_of_any_bytes_are_kept_and_printed() {
    let scratch = Scratch::new();
    scratch.write("in.txt", b"00000000000000ff\tcaf\xe9\x1b.png\n");
    scratch.output(&["build", "-o", "a.hamdex", "--ids", "names", "in.txt"]);
    let file = std::fs::read(scratch.path("a.hamdex")).unwrap();
    assert_eq!(section(&file, 10), b"caf\xe9\x1b.png");
    let found = scratch.hamdex(&["query", "a.hamdex", "00000000000000ff"]).assert().success();
    assert!(found.get_output().stdout.ends_with(b"\t\"caf\xe9\\x1b.png\"\n"));
}

#[test]
fn names_that_are_not_utf_8_stay_different_and_are_read_back() {
    let scratch = Scratch::new();
    let lines = b"0123456789abcdee\tcaf\xe8.jpg\n0123456789abcdef\tcaf\xe9.jpg\n";
    scratch.write("in.txt", lines);
    scratch.output(&["build", "-o", "a.hamdex", "--ids", "names", "in.txt"]);
    let listed = scratch
        .hamdex(&["dump", "a.hamdex", "--fingerprints", "--names"])
        .assert()
        .success()
        .get_output()
        .clone();
    assert_eq!(listed.stdout, lines);
    assert!(listed.stderr.is_empty());
    let dedup = |options: &[&str]| {
        let args = [&["dedup", "--fingerprints", "in.txt"], options].concat();
        scratch.hamdex(&args).assert().success().get_output().stdout.clone()
    };
    assert_eq!(dedup(&["--print", "duplicates", "-0"]), b"caf\xe9.jpg\0");
    assert_eq!(dedup(&["--print", "duplicates"]), b"caf\xe9.jpg\n");
    assert_eq!(dedup(&["--unique"]), b"0123456789abcdee\tcaf\xe8.jpg\n");
    let json = json_lines(&scratch.output(&["query", "a.hamdex", "0123456789abcdef", "--json"]));
    assert_eq!((&json[0]["ids"], &json[1]["ids"]), (&json!(["caf\\xe9.jpg"]), &json!(["caf\\xe8.jpg"])));
}

#[test]
fn fingerprints_of_documents_are_printed_as_they_are_read() {
    let scratch = Scratch::new();
    let lines: String = (0..5).map(|n| json_line(&format!("page {n}, of 5"), &story(n))).collect();
    scratch.write("in.jsonl", lines);
    scratch.output(&["build", "-o", "a.hamdex", "--documents", "in.jsonl"]);
    scratch.write("prints.txt", scratch.output(&["fingerprint", "in.jsonl"]));
    scratch.output(&["fingerprint", "in.jsonl", "--parquet", "prints.parquet"]);
    for prints in ["prints.txt", "prints.parquet"] {
        let index = format!("{prints}.hamdex");
        scratch.output(&["build", "-o", &index, "--ids", "names", prints]);
        let listed = |index: &str| scratch.output(&["dump", index, "--fingerprints", "--names"]);
        assert_eq!(listed(&index), listed("a.hamdex"));
    }
}

#[test]
fn names_with_line_ends_tabs_and_quotes_come_back_from_a_dump() {
    let scratch = Scratch::new();
    let ids = ["a\nb", "a\\nb", "a\tb", "\"quoted\"", "C:\\new", "\r", "caf\u{e9}"];
    let lines: String = ids.iter().enumerate().map(|(n, id)| json_line(id, &story(n as u64))).collect();
    scratch.write("in.jsonl", lines);
    scratch.output(&["build", "-o", "a.hamdex", "--documents", "in.jsonl"]);
    let dumped = scratch.output(&["dump", "a.hamdex", "--fingerprints", "--names"]);
    assert!(dumped.contains("\t\"a\\nb\"\n") && dumped.contains("\tC:\\new\n"), "{dumped}");
    assert_eq!(dumped.lines().count(), ids.len());
    assert_eq!(scratch.output(&["fingerprint", "in.jsonl"]).lines().count(), ids.len());
    scratch.write("dumped.txt", &dumped);
    scratch.output(&["build", "-o", "b.hamdex", "--ids", "names", "dumped.txt"]);
    scratch.output(&["store", "create", "c.store", "--ids", "names"]);
    scratch.output(&["store", "insert", "c.store", "dumped.txt"]);
    for again in ["b.hamdex", "c.store"] {
        assert_eq!(scratch.output(&["dump", again, "--fingerprints", "--names"]), dumped);
        let json = |set: &str| scratch.output(&["dump", set, "--fingerprints", "--names", "--json"]);
        assert_eq!(json(again), json("a.hamdex"));
    }
    let names: String =
        dumped.lines().map(|line| line.split_once('\t').unwrap().1.to_owned() + "\n").collect();
    scratch.write("names.txt", names);
    scratch.output(&["store", "remove", "c.store", "names.txt"]);
    assert_eq!(scratch.output(&["dump", "c.store", "--fingerprints", "--names"]), "");
    scratch.write("wrong.txt", "00000000000000ff\t\"a\\qb\"\n");
    let (_, text) = scratch.failure(&["build", "-o", "x.hamdex", "--ids", "names", "wrong.txt"]);
    assert!(text.contains("wrong.txt:1") && text.contains("backslash"), "{text}");
}

/// Returns the columns of lines, which have no tab and no line end within a name.
fn column(output: &[u8], number: usize) -> Vec<Vec<u8>> {
    let lines = output.strip_suffix(b"\n").unwrap().split(|&byte| byte == b'\n');
    lines.map(|line| line.split(|&byte| byte == b'\t').nth(number).unwrap().to_vec()).collect()
}

#[test]
fn printed_names_of_any_bytes_are_read_by_other_commands() {
    let names: [&[u8]; 22] = [
        b"tab\there",
        b"line\nfeed",
        b"end\r",
        b"C:\\new\\x41",
        b"\"quoted\"",
        b"a \"quote\"",
        b"\"",
        b"a,b",
        b"\",\"",
        b"+3",
        b" blank ",
        b"\x1b[31m",
        b"\x7f",
        "\u{85}\u{2028}".as_bytes(),
        "caf\u{e9}".as_bytes(),
        b"caf\xe9",
        b"caf\\xe9",
        b"caf\xe9,\n\\\"",
        b"\x9b\xfe\xff",
        b"-",
        b"\\",
        b"",
    ];
    let scratch = Scratch::new();
    let hamdex = |args: &[&str]| scratch.hamdex(args).assert().success().get_output().stdout.clone();
    let fingerprint = |number: usize| format!("{:016x}", (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // Each byte as an escape: none of the code that is tried has written it.
    let escaped = |name: &[u8]| name.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let line = |(number, name): (usize, &&[u8])| format!("{}\t\"{}\"\n", fingerprint(number), escaped(name));
    let lines: String = names.iter().enumerate().map(line).collect();
    let mut kept: String =
        (0..names.len()).map(|number| format!("{}\tkept {number}\n", fingerprint(number))).collect();
    scratch.write("names.txt", &lines);
    kept += &lines;
    scratch.write("pairs.txt", kept);
    hamdex(&["build", "-o", "a.hamdex", "--ids", "names", "names.txt"]);
    let dumped = hamdex(&["dump", "a.hamdex", "--fingerprints", "--names"]);

    scratch.write("dumped.txt", &dumped);
    hamdex(&["build", "-o", "b.hamdex", "--ids", "names", "dumped.txt"]);
    assert!(hamdex(&["dump", "b.hamdex", "--fingerprints", "--names"]) == dumped);
    let duplicates = ["dedup", "--fingerprints", "-k", "0", "pairs.txt"];
    let with = |options: &[&str]| hamdex(&[&duplicates[..], options].concat());
    let found = hamdex(&["query", "a.hamdex", "--file", "dumped.txt", "-k", "0"]);
    // An empty name next to a query is none: its line begins with the fingerprint.
    let unnamed = fingerprint(names.len() - 1).into_bytes();
    let new = column(&found, 0).into_iter().map(|name| if name == unnamed { b"\"\"".to_vec() } else { name });
    let all = hamdex(&["query", "a.hamdex", &fingerprint(0), "-k", "64", "--ids-limit", "100", "--each"]);
    let sources = [
        ("the ends of dumped lines", column(&dumped, 1)),
        ("names of queries", new.collect()),
        ("stored names", column(&found, 3)),
        ("printed duplicates", column(&with(&["--print", "duplicates"]), 0)),
        (
            "members of clusters",
            column(&with(&[]), 3).into_iter().filter(|id| !id.starts_with(b"kept ")).collect(),
        ),
        (
            "one line with all",
            (0..names.len()).map(|number| column(&all, 4 + 3 * number).remove(0)).collect(),
        ),
    ];
    let removes = |what: &str, input: &[u8], options: &[&str]| {
        let _ = std::fs::remove_dir_all(scratch.path("a.store"));
        hamdex(&["store", "create", "a.store", "--ids", "names"]);
        hamdex(&["store", "insert", "a.store", "pairs.txt"]);
        let mut command = scratch.hamdex(&[&["store", "remove", "a.store", "--json"], options].concat());
        let removed = command.write_stdin(input).assert().success().get_output().stdout.clone();
        let removed: serde_json::Value = serde_json::from_slice(&removed).unwrap();
        assert_eq!(removed, json!({ "read": names.len(), "removed": names.len() }), "{what}");
        let left = hamdex(&["dump", "a.store", "--fingerprints", "--names"]);
        assert!(column(&left, 1).iter().all(|name| name.starts_with(b"kept ")), "{what}");
    };
    for (what, names) in sources {
        removes(what, &[names.join(&b"\n"[..]), b"\n".to_vec()].concat(), &[]);
    }
    removes("names before zero bytes", &with(&["--print", "duplicates", "-0"]), &["-0"]);

    let (code, text) = scratch.failure(&["store", "remove", "a.store", "--ids", "pairs", "-0", "names.txt"]);
    assert!(code == 2 && text.contains("-0 is for names"), "{text}");
}

#[test]
fn names_in_a_list_are_told_apart() {
    let scratch = Scratch::new();
    let names = ["a,b", "a", "b", "+1", "\"", "c d"];
    let lines: String = names.iter().map(|id| json_line(id, &story(1))).collect();
    scratch.write("in.jsonl", lines);
    scratch.output(&["build", "-o", "a.hamdex", "--documents", "in.jsonl"]);
    let written = "\"a,b\",a,b,\"+1\",\"\\\"\",c d";
    let all = scratch.output(&["query", "a.hamdex", "--text", &story(1), "-k", "0"]);
    assert!(all.ends_with(&format!("\t{written}\n")), "{all}");
    let some = scratch.output(&["query", "a.hamdex", "--text", &story(1), "-k", "0", "--ids-limit", "1"]);
    assert!(some.ends_with("\t\"a,b\",+5\n"), "{some}");
}

#[test]
fn names_that_are_missing_are_refused() {
    let scratch = Scratch::new();
    let build = |input: &str| scratch.failure(&["build", "-o", "x.hamdex", "--ids", "names", input]);
    scratch.write("bare.txt", "00000000000000ff\ta\n00000000000001ff\n");
    scratch.write("null.csv", "fingerprint,id\n00000000000000ff,a\n00000000000001ff\n");
    scratch.write("raw.u64", [1; 16]);
    for (input, said, code) in [
        ("bare.txt", "bare.txt:2: expected a fingerprint, a tab and a name", 1),
        ("null.csv", "null.csv", 1),
        ("raw.u64", "raw.u64: raw numbers and NumPy arrays have no names", 2),
    ] {
        let (found, text) = build(input);
        assert!(text.contains(said) && found == code, "{text}");
    }
    assert!(!scratch.names().contains(&"x.hamdex".to_owned()));
    scratch.write("in.txt", "00000000000000ff\n");
    scratch.output(&["build", "-o", "plain.hamdex", "in.txt"]);
    let (code, text) = scratch.failure(&["dump", "plain.hamdex", "--fingerprints", "--names"]);
    assert!(text.contains("holds no names") && code == 2, "{text}");
}
