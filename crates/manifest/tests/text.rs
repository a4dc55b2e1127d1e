//! Texts: round trips, the order of the checks, and rejected texts.

use hamdex_manifest::{Form, Lines, TextError, check_same, checksum_of, line, pieces, seal};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

const FORM: Form = Form::new("of_tests", 3, 4000);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    of_tests: u64,
    word: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    count: Option<u64>,
}

fn text_of(word: &str, entries: &[Entry]) -> String {
    let mut text = line(&Head { of_tests: 3, word: word.to_owned() });
    entries.iter().for_each(|entry| text += &line(entry));
    seal(text)
}

fn read(text: &[u8]) -> Result<(String, Vec<Entry>), TextError> {
    let mut lines = FORM.check(text)?;
    let head: Head = lines.require()?;
    let mut entries = Vec::new();
    while let Some(entry) = lines.read()? {
        entries.push(entry);
    }
    check_same(&text_of(&head.word, &entries), text)?;
    Ok((head.word, entries))
}

fn entry(name: &str, count: Option<u64>) -> Entry {
    Entry { name: name.to_owned(), count }
}

fn example() -> String {
    text_of("a \"word\"\n\u{1}\u{7f}\\ü", &[entry("one", Some(1)), entry("two", None)])
}

/// A text with something else in it, and checksums that fit.
fn with(old: &str, new: &str) -> Vec<u8> {
    let text = example();
    let lines = &text[..text.trim_end().rfind('\n').unwrap() + 1];
    assert!(lines.contains(old), "{old} in {lines}");
    seal(lines.replacen(old, new, 1)).into_bytes()
}

fn is_damaged<T>(outcome: Result<T, TextError>) -> bool {
    matches!(outcome, Err(TextError::Damaged { .. }))
}

#[test]
fn the_text_is_this() {
    let expected = concat!(
        "{\"of_tests\":3,\"word\":\"a \\\"word\\\"\\n\\u0001\u{7f}\\\\ü\"}\n",
        "{\"name\":\"one\",\"count\":1}\n",
        "{\"name\":\"two\",\"count\":null}\n",
        // By another program.
        "{\"crc32\":[\"529c28d6\",\"504734e2\",\"b3e0441f\"]}\n",
    );
    assert_eq!(example(), expected);
    assert!(read(expected.as_bytes()).is_ok());
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let text = example().into_bytes();
    for bit in 0..text.len() * 8 {
        let mut flipped = text.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_err(), "bit {bit}");
    }
    for length in 0..text.len() {
        assert!(read(&text[..length]).is_err(), "{length} bytes");
    }
    assert!(is_damaged(read(&[&text[..], b"\n"].concat())));
    assert!(is_damaged(read(&[&text[..], b"{}\n"].concat())));
}

#[test]
fn other_texts_of_the_same_contents_are_refused() {
    for (old, new) in [
        ("\"count\":1", "\"count\": 1"),
        ("\"count\":1", "\"count\":01"),
        ("\"count\":1", "\"count\":1.0"),
        ("\"count\":1", "\"count\":1,\"count\":1"),
        ("\"count\":1", "\"count\":1,\"more\":1"),
        (",\"count\":null", ""),
        ("one", "\\u006fne"),
        ("\u{7f}", "\\u007f"),
        ("\\u0001", "\\ud800"),
        ("\"name\":\"one\",\"count\":1", "\"count\":1,\"name\":\"one\""),
        ("\n{\"name\"", "\n\n{\"name\""),
        ("\n{\"name\"", "\r\n{\"name\""),
        ("{\"name\":\"one\"", "[\"name\",\"one\""),
        ("\"of_tests\":3", "\"of_tests\":2"),
        ("\"of_tests\":3", "\"of_tests\":03"),
        ("\"of_tests\":3", "\"of_tests\":9.5"),
        ("\"of_tests\":3", "\"of_tests\":"),
    ] {
        assert!(is_damaged(read(&with(old, new))), "{new}: {:?}", read(&with(old, new)));
    }
    let commas = example().replace("\",\"5047", "\";\"5047");
    assert!(is_damaged(read(commas.as_bytes())));
    assert!(is_damaged(read(seal(String::from("{\"of_tests\":3}\n")).as_bytes())), "a field is missing");
    assert!(read(&with("", "")).is_ok());
}

#[test]
fn the_first_check_that_applies_is_reported() {
    let long = " ".repeat(5000);
    assert_eq!(read(b""), Err(TextError::NotAManifest));
    assert_eq!(read(b"{\"of_tests\""), Err(TextError::NotAManifest));
    assert_eq!(read(format!("{{\"of_test\":{long}").as_bytes()), Err(TextError::NotAManifest));
    let too_long = TextError::Damaged { offset: 4000, what: "it is too long".to_owned() };
    assert_eq!(read(&with("\"of_tests\":3", &format!("\"of_tests\":4{long}"))), Err(too_long));
    // A newer version, whatever the other lines are, even if they are damaged.
    assert_eq!(read(&with("\"of_tests\":3", "\"of_tests\":4")), Err(TextError::Newer(4)));
    assert_eq!(read(seal("{\"of_tests\":7}\nanything\n".to_owned()).as_bytes()), Err(TextError::Newer(7)));
    let beyond = with("\"of_tests\":3", "\"of_tests\":99999999999999999999");
    assert_eq!(read(&beyond), Err(TextError::Newer(u64::MAX)));
    let mut newer = with("\"of_tests\":3", "\"of_tests\":4");
    let at = newer.windows(3).position(|word| word == b"one").unwrap();
    newer[at] = 0xff;
    assert_eq!(read(&newer), Err(TextError::Newer(4)), "another line is damaged, and is not UTF-8");
    // A damaged version is not a newer one.
    let damaged = example().replacen("\"of_tests\":3", "\"of_tests\":4", 1);
    assert!(is_damaged(read(damaged.as_bytes())));
    let not_utf8 = b"{\"of_tests\":3,\"word\":\"\xff\"}\n";
    let checksum = format!("{{\"crc32\":[\"{:08x}\"]}}\n", 0x2297_2fd5_u32);
    let found = read(&[&not_utf8[..], checksum.as_bytes()].concat());
    assert_eq!(found, Err(TextError::Damaged { offset: 22, what: "it is not UTF-8".to_owned() }));
}

#[test]
fn many_lines_take_no_more_memory_than_the_text() {
    // Checked without a list of the lines: this would be one of many times the text.
    let form = Form::new("of_tests", 3, 1 << 24);
    let text = format!("{{\"of_tests\":3}}\n{}{{\"crc32\":[]}}\n", "\n".repeat(1 << 23));
    assert!(is_damaged(form.check(text.as_bytes())));
}

/// Whether each line of a text has the checksum that the text says; `None` without checksums.
fn rights(text: &[u8]) -> Option<Vec<bool>> {
    let found = pieces(text);
    let checksums = found.checksums?;
    assert_eq!(checksums.len(), found.lines.len());
    Some(found.lines.iter().zip(checksums).map(|(line, checksum)| checksum_of(line) == checksum).collect())
}

#[test]
fn lines_of_a_damaged_text_are_told_apart() {
    assert_eq!(rights(example().replacen("one", "0ne", 1).as_bytes()).unwrap(), [true, false, true]);
    // One changed byte of the form of the last line says nothing about the others.
    for (old, new) in [("\"504734e2\"", "\"504734e2)"), ("crc32", "crc33")] {
        assert_eq!(rights(example().replacen(old, new, 1).as_bytes()).unwrap(), [true, true, true]);
    }
    // A damaged checksum concerns only its own line.
    assert_eq!(
        rights(example().replacen("504734e2", "504734e3", 1).as_bytes()).unwrap(),
        [true, false, true]
    );
    assert_eq!(rights(example().replacen("\"crc32", "[crc33", 1).as_bytes()), None);
    assert_eq!(rights((example() + "more\n").as_bytes()).unwrap(), [true, true, true]);
    assert!(pieces(b"").lines.is_empty());
}

fn words() -> impl Strategy<Value = String> {
    any::<Vec<char>>().prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn what_is_written_is_read(word in words(), names in prop::collection::vec((words(), any::<Option<u64>>()), 0..4)) {
        let entries: Vec<Entry> = names.iter().map(|(name, count)| entry(name, *count)).collect();
        let text = text_of(&word, &entries);
        prop_assume!(text.len() < FORM.bytes_to_read());
        prop_assert_eq!(read(text.as_bytes()), Ok((word, entries)));
        prop_assert!(rights(text.as_bytes()).unwrap().into_iter().all(|right| right));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in any::<Vec<u8>>(), at in any::<prop::sample::Index>()) {
        prop_assert!(read(&bytes).is_err());
        let mut text = example().into_bytes();
        let at = at.index(text.len());
        text.splice(at..(at + bytes.len()).min(text.len()), bytes.iter().copied());
        let _ = (read(&text), pieces(&text));
        let _ = FORM.check(&text).map(|mut lines: Lines<'_>| lines.read::<Entry>());
    }
}
