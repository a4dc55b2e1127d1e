//! `hamdex build`: all formats, and all that can be wrong with an input.

use crate::common::{LINES, Scratch};
use predicates::prelude::*;

/// The fingerprints in an index, as `dump` prints them.
fn stored(scratch: &Scratch, index: &str) -> Vec<String> {
    scratch.output(&["dump", index, "--fingerprints"]).lines().map(str::to_owned).collect()
}

const EXPECTED: [&str; 4] = ["00000000000000ff", "00000000000001ff", "abcdef0123456789", "ffffffffffffffff"];

fn numbers() -> Vec<u64> {
    LINES.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect()
}

/// A version 1.0 .npy file.
pub(crate) fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}").into_bytes();
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(b' ');
    }
    header.push(b'\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header);
    file.extend(data);
    file
}

#[test]
fn every_format_gives_the_same_file() {
    let scratch = Scratch::new();
    scratch.write("hex.txt", LINES);
    scratch.write("dos.txt", LINES.replace('\n', "\r\n"));
    scratch.write("0x.txt", LINES.lines().map(|line| format!("0x{line}\n")).collect::<String>());
    scratch.write("decimal.txt", numbers().iter().map(|n| format!("{n}\n")).collect::<String>());
    let little: Vec<u8> = numbers().iter().flat_map(|n| n.to_le_bytes()).collect();
    let big: Vec<u8> = numbers().iter().flat_map(|n| n.to_be_bytes()).collect();
    scratch.write("raw.bin", &little);
    scratch.write("array.npy", npy("<u8", false, "(5,)", &little));
    scratch.write("big.npy", npy(">u8", false, "(5,)", &big));
    let inputs = ["hex.txt", "dos.txt", "0x.txt", "decimal.txt", "raw.bin", "array.npy", "big.npy"];
    for input in inputs {
        scratch.output(&["build", "-o", &format!("{input}.hamdex"), input]);
        assert_eq!(stored(&scratch, &format!("{input}.hamdex")), EXPECTED, "{input}");
        let bytes = |name: &str| std::fs::read(scratch.path(name)).unwrap();
        assert!(bytes(&format!("{input}.hamdex")) == bytes("hex.txt.hamdex"), "{input}");
    }
}

#[test]
fn standard_input_is_read_without_inputs_and_for_a_dash() {
    let scratch = Scratch::new();
    for args in [&["build", "-o", "a.hamdex"][..], &["build", "-o", "b.hamdex", "-"]] {
        scratch.hamdex(args).write_stdin(LINES).assert().success();
        assert_eq!(stored(&scratch, args[2]), EXPECTED);
    }
}

#[test]
fn ids_are_rows_over_all_inputs_or_stand_beside_the_fingerprints() {
    let scratch = Scratch::new();
    scratch.write("a.txt", LINES);
    scratch.write("b.txt", "00000000000000ff\n");
    scratch.output(&["build", "-o", "rows.hamdex", "--ids", "row", "a.txt", "b.txt"]);
    let found = scratch.output(&["query", "rows.hamdex", "00000000000000ff", "--distance", "0"]);
    assert_eq!(found, "00000000000000ff\t00000000000000ff\t0\t0,4,5\n");

    scratch.write("pairs.txt", "00000000000000ff 18446744073709551615\n00000000000000ff,7\n");
    scratch.output(&["build", "-o", "pairs.hamdex", "--ids", "pairs", "pairs.txt"]);
    let found = scratch.output(&["query", "pairs.hamdex", "0xff"]);
    assert_eq!(found, "00000000000000ff\t00000000000000ff\t0\t7,18446744073709551615\n");

    let raw: Vec<u8> = [255u64, 9, 255, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
    scratch.write("pairs.bin", &raw);
    scratch.write("pairs.npy", npy("<u8", false, "(2, 2)", &raw));
    for input in ["pairs.bin", "pairs.npy"] {
        let index = format!("{input}.hamdex");
        scratch.output(&["build", "-o", &index, "--ids", "pairs", input]);
        assert!(scratch.output(&["query", &index, "0xff"]).ends_with("\t3,9\n"), "{input}");
    }
}

#[test]
fn an_index_is_built_again_from_what_dump_prints() {
    let scratch = Scratch::new();
    let wide = |x: u128| format!("{x:032x} {}\n{x:032x},9\n", x % 7);
    scratch
        .write("64.txt", "00000000000000ff 18446744073709551615\n00000000000000ff,7\n1234567812345678 0\n");
    scratch.write("128.txt", (0..500u128).map(|x| wide((x * x) << 70 | x)).collect::<String>());
    for width in ["64", "128"] {
        let input = format!("{width}.txt");
        scratch.output(&["build", "--width", width, "-o", "a.hamdex", "--ids", "pairs", &input, "--force"]);
        let pairs = scratch.output(&["dump", "a.hamdex", "--fingerprints", "--ids"]);
        scratch.write("again.txt", &pairs);
        let again = ["build", "--width", width, "-o", "b.hamdex", "--ids", "pairs", "again.txt", "--force"];
        scratch.output(&again);
        let bytes = |name| std::fs::read(scratch.path(name)).unwrap();
        assert!(bytes("a.hamdex") == bytes("b.hamdex"), "{width}");
        assert_eq!(pairs.lines().count(), if width == "64" { 3 } else { 1000 });
    }
    scratch.output(&["build", "-o", "c.hamdex", "--ids", "pairs", "64.txt"]);
    let pairs = scratch.output(&["dump", "c.hamdex", "--fingerprints", "--ids"]);
    assert!(pairs.starts_with("00000000000000ff\t7\n00000000000000ff\t18446744073709551615\n1234"));
    let json = scratch.output(&["dump", "c.hamdex", "--fingerprints", "--ids", "--json"]);
    assert!(json.starts_with("{\"fingerprint\":\"00000000000000ff\",\"ids\":[7,18446744073709551615]}\n"));

    scratch.write("plain.txt", LINES);
    scratch.output(&["build", "-o", "plain.hamdex", "plain.txt"]);
    let (code, text) = scratch.failure(&["dump", "plain.hamdex", "--fingerprints", "--ids"]);
    assert!(code == 2 && text.contains("holds no ids"), "{text}");
    assert_eq!(scratch.failure(&["dump", "plain.hamdex", "--ids"]).0, 2);
}

#[test]
fn fingerprints_of_128_bits_are_served_alike() {
    let scratch = Scratch::new();
    scratch.write("wide.txt", "000000000000000000000000000000ff\nffffffffffffffffffffffffffffffff\n");
    scratch.output(&["build", "-o", "wide.hamdex", "--width", "128", "wide.txt"]);
    let found = scratch.output(&["query", "wide.hamdex", "0xfe"]);
    assert_eq!(found, "000000000000000000000000000000fe\t000000000000000000000000000000ff\t1\n");
    let high_and_low: Vec<u8> = [1u64, 2].iter().flat_map(|n| n.to_le_bytes()).collect();
    scratch.write("wide.npy", npy("<u8", false, "(1, 2)", &high_and_low));
    scratch.output(&["build", "-o", "npy.hamdex", "--width", "128", "wide.npy"]);
    assert_eq!(stored(&scratch, "npy.hamdex"), ["00000000000000010000000000000002"]);
    scratch.write("wide.bin", 7u128.to_le_bytes());
    scratch.output(&["build", "-o", "bin.hamdex", "--width", "128", "--format", "u128le", "wide.bin"]);
    assert_eq!(stored(&scratch, "bin.hamdex"), ["00000000000000000000000000000007"]);
    let args = ["build", "-o", "x.hamdex", "--width", "128", "--format", "u64le", "wide.bin"];
    assert!(scratch.failure(&args).1.contains("u128le"));
}

#[test]
fn an_empty_input_makes_a_valid_empty_index() {
    let scratch = Scratch::new();
    scratch.write("nothing.txt", "");
    scratch.output(&["build", "-o", "empty.hamdex", "nothing.txt"]);
    scratch.output(&["verify", "empty.hamdex"]);
    assert_eq!(scratch.output(&["query", "empty.hamdex", "0x0"]), "");
    assert!(scratch.output(&["dump", "empty.hamdex"]).contains("0 distinct"));
}

#[test]
fn malformed_inputs_are_refused_with_file_and_place() {
    let scratch = Scratch::new();
    scratch.write("line.txt", "00000000000000ff\n00000000000000fg\n");
    scratch.write("nan.txt", "NaN\n");
    scratch.write("two.txt", "00000000000000ff 1\n");
    scratch.write("large.txt", "17\n99999999999999999999999\n");
    scratch.write("odd.bin", [1, 2, 3, 4, 5, 6, 7, 0x80, 9]);
    scratch.write("float.npy", npy("<f8", false, "(1,)", &1f64.to_le_bytes()));
    scratch.write("nan.npy", npy("<f8", false, "(1,)", &f64::NAN.to_le_bytes()));
    scratch.write("narrow.npy", npy("<i4", false, "(1,)", &1u32.to_le_bytes()));
    scratch.write("square.npy", npy("<u8", false, "(1, 2)", &[0; 16]));
    scratch.write("short.npy", npy("<u8", false, "(3,)", &[0; 16]));
    scratch.write("not.npy", b"\x93NUMPY\x09\x09garbage");
    let cases = [
        ("line.txt", "line.txt:2: expected 16 hexadecimal digits"),
        ("nan.txt", "nan.txt:1: expected"),
        ("two.txt", "two.txt:1: expected one fingerprint"),
        ("large.txt", "large.txt:2: the number does not fit into 64 bits"),
        ("odd.bin", "odd.bin: its length of 9 bytes is no multiple of the 8 bytes that a fingerprint has"),
        ("float.npy", "float.npy: expected an array of uint64"),
        ("nan.npy", "nan.npy: expected an array of uint64"),
        ("narrow.npy", "narrow.npy: expected an array of uint64"),
        ("square.npy", "square.npy: expected an array of shape (n,)"),
        ("short.npy", "short.npy (row 2): the array ends too early"),
        ("not.npy", "not.npy: not a .npy file"),
        ("missing.txt", "missing.txt: cannot read it"),
        (".", "is a directory"),
    ];
    let before = scratch.names();
    for (input, expected) in cases {
        let (code, text) = scratch.failure(&["build", "-o", "out.hamdex", input]);
        assert!(text.contains(expected), "{input}: {text}");
        assert_eq!(code, 1, "{input}");
        assert_eq!(scratch.names(), before, "{input} leaves nothing");
    }
}

#[test]
fn an_existing_output_is_replaced_only_by_force() {
    let scratch = Scratch::new();
    scratch.write("in.txt", LINES);
    scratch.write("out.hamdex", "precious");
    let (code, text) = scratch.failure(&["build", "-o", "out.hamdex", "in.txt"]);
    assert!(text.contains("exists already") && text.contains("--force"), "{text}");
    assert_eq!(code, 1);
    assert_eq!(std::fs::read(scratch.path("out.hamdex")).unwrap(), b"precious");

    scratch.write("bad.txt", "xyz\n");
    scratch.failure(&["build", "-o", "out.hamdex", "--force", "bad.txt"]);
    assert_eq!(std::fs::read(scratch.path("out.hamdex")).unwrap(), b"precious");

    scratch.output(&["build", "-o", "out.hamdex", "--force", "in.txt"]);
    assert_eq!(stored(&scratch, "out.hamdex"), EXPECTED);
    assert_eq!(scratch.names(), ["bad.txt", "in.txt", "out.hamdex"]);
}

#[test]
fn impossible_options_are_refused_before_anything_is_read() {
    let scratch = Scratch::new();
    scratch.write("in.txt", LINES);
    let cases: [(&[&str], &str); 5] = [
        (&["--design", "cover-7"], "use one of: single, halves"),
        (&["--distance", "99"], "too large"),
        (&["--block-size", "1000"], "power of two from 512 to 8192"),
        (&["--memory", "1KiB"], "at least 16 MiB"),
        (&["--design", "halves", "--distance", "0"], "unknown design"),
    ];
    for (options, expected) in cases {
        let args = [&["build", "-o", "out.hamdex", "in.txt"], options].concat();
        let (code, text) = scratch.failure(&args);
        assert!(text.contains(expected), "{options:?}: {text}");
        assert_eq!(code, 2, "{options:?}");
    }
    let (code, text) = scratch.failure(&["build", "-o", "no/such/place.hamdex", "in.txt"]);
    assert!(text.contains("no/such/place.hamdex: cannot create it"), "{text}");
    assert_eq!(code, 1);
}

#[test]
fn the_same_input_gives_the_same_bytes_whatever_the_threads_and_memory() {
    let scratch = Scratch::new();
    let lines: String =
        (0..20_000u64).map(|i| format!("{:016x}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    scratch.write("in.txt", &lines);
    let mut reversed: Vec<&str> = lines.lines().collect();
    reversed.reverse();
    scratch.write("reversed.txt", reversed.join("\n"));
    scratch.output(&["build", "-o", "a.hamdex", "--threads", "1", "in.txt"]);
    scratch.output(&["build", "-o", "b.hamdex", "--threads", "3", "--memory", "16MiB", "reversed.txt"]);
    let bytes = |name| std::fs::read(scratch.path(name)).unwrap();
    assert!(bytes("a.hamdex") == bytes("b.hamdex"));
}

#[test]
fn either_codec_holds_the_same() {
    let scratch = Scratch::new();
    scratch.write("in.txt", LINES);
    for (codec, output) in [("elias-fano", "ef.hamdex"), ("huffman", "h.hamdex")] {
        let built = scratch.hamdex(&["build", "-o", output, "--codec", codec, "in.txt"]).assert().success();
        built.stderr(predicate::str::contains(format!(", {codec};")));
    }
    assert_eq!(stored(&scratch, "ef.hamdex"), EXPECTED);
    assert_eq!(stored(&scratch, "h.hamdex"), EXPECTED);
    scratch.output(&["verify", "ef.hamdex"]);
    scratch
        .hamdex(&["build", "-o", "no.hamdex", "--codec", "golomb", "in.txt"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("use huffman or elias-fano"));
    assert_eq!(scratch.names(), ["ef.hamdex", "h.hamdex", "in.txt"]);
}

#[test]
fn nothing_is_drawn_without_a_terminal() {
    let scratch = Scratch::new();
    scratch.write("in.txt", LINES);
    let built = scratch.hamdex(&["build", "-o", "out.hamdex", "in.txt"]).assert().success();
    let text = String::from_utf8(built.get_output().stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "the summary alone: {text}");
}

#[test]
fn text_is_told_from_raw_numbers_and_hexadecimal_from_decimal() {
    let scratch = Scratch::new();
    scratch.write("bom.txt", format!("\u{feff}{LINES}"));
    scratch.output(&["build", "-o", "bom.hamdex", "bom.txt"]);
    assert_eq!(stored(&scratch, "bom.hamdex"), EXPECTED);

    // 24 bytes: as many as three raw numbers have.
    scratch.write("odd.txt", "00000000000000ff caf\u{e9}.\n");
    assert!(scratch.failure(&["build", "-o", "x.hamdex", "odd.txt"]).1.contains("odd.txt:1"));

    scratch.write("either.txt", "1234567890123456\n");
    scratch.write("decimal.txt", "17\n");
    scratch.write("empty.txt", "");
    let (_, text) = scratch.failure(&["build", "-o", "x.hamdex", "either.txt", "decimal.txt"]);
    assert!(text.contains("decimal.txt: it looks decimal, and either.txt hexadecimal"), "{text}");
    scratch.output(&["build", "-o", "y.hamdex", "empty.txt", "decimal.txt"]);
    assert_eq!(stored(&scratch, "y.hamdex"), ["0000000000000011"]);
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_opened() {
    let scratch = Scratch::new();
    scratch.write("in.txt", LINES);
    assert!(scratch.failure(&["verify", "."]).1.contains(".: not a store"));
    assert!(
        scratch
            .failure(&["build", "-o", "x", "--threads", "100000", "in.txt"])
            .1
            .contains("from 0 (all) to 1024")
    );
}
