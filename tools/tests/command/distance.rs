//! `hamdex distance`, `fingerprint --features`, and distances that no fingerprints have.

use serde_json::{Value, json};

use crate::common::{Scratch, altered, json_lines, story, with_index};

fn report(scratch: &Scratch, args: &[&str]) -> Value {
    serde_json::from_str(&scratch.output(&[&["distance", "--json"], args].concat())).unwrap()
}

#[test]
fn two_fingerprints_are_compared_bit_by_bit() {
    let scratch = Scratch::new();
    let text = scratch.output(&["distance", "0123456789abcdef", "0123456789abcdec"]);
    assert!(text.ends_with("\ndistance\t2 of 64 bits: 0,1\n"), "{text}");
    let same = scratch.output(&["distance", "255", "0xff"]);
    assert!(same.ends_with("\ndistance\t0 of 64 bits\n"), "{same}");
    let wide = "0123456789abcdef0123456789abcdef";
    let found = report(&scratch, &[wide, "8123456789abcdef0123456789abcdef"]);
    assert_eq!((&found["width"], &found["differing_bits"]), (&128.into(), &json!([127])));
    assert_eq!(found.get("texts"), None);
    let signed = report(&scratch, &["--", "-1", "18446744073709551615"]);
    assert_eq!(signed["distance"], 0);
    assert_eq!(report(&scratch, &["--width", "128", "0", "-1"])["distance"], 128);
    // As many digits as 128 bits have are hexadecimal, though 64 bits can have the number.
    let digits = [&format!("{:032}", 10)[..], &format!("{:032}", 1)];
    let digits = report(&scratch, &digits);
    assert_eq!((&digits["width"], &digits["differing_bits"]), (&128.into(), &json!([0, 4])));
}

#[test]
fn two_documents_are_compared_by_fingerprint_shingles_and_words() {
    let scratch = Scratch::new();
    scratch.write("a.txt", story(1));
    scratch.write("b.html", format!("<p>{}</p>", altered(&story(1)).to_uppercase()));
    let found = report(&scratch, &["a.txt", "b.html"]);
    let texts = &found["texts"];
    assert_eq!((&texts["shared_shingles"], &texts["all_shingles"]), (&115.into(), &118.into()));
    assert_eq!(texts["similarity"], 115.0 / 118.0);
    assert_eq!(texts["changes"], json!([{ "word": 2, "removed": [], "added": ["altered"] }]));
    let fingerprints = scratch.output(&["fingerprint", "a.txt", "b.html"]);
    for (side, line) in ["a", "b"].iter().zip(fingerprints.lines()) {
        assert_eq!(found[side]["fingerprint"], line.split('\t').next().unwrap());
    }
    let text = scratch.output(&["distance", "a.txt", "b.html"]);
    assert!(
        text.contains("\nsimilarity\t0.975: 115 of 118 shingles in common\nword 2\t+altered\n"),
        "{text}"
    );
    let of_text = scratch.output(&["distance", "--text", "It’s one", "it's two"]);
    assert!(of_text.ends_with("word 2\t-one\t+two\n"), "{of_text}");
}

#[test]
fn what_is_neither_is_refused() {
    let scratch = Scratch::new();
    for (args, what) in [
        (&["distance", "missing.txt", "0"][..], "\"missing.txt\": neither a file nor a fingerprint"),
        (&["distance", "-", "-"], "only one of the two"),
        (&["distance", "0", "1", "--words", "65"], "at most 64 words"),
        (&["distance", "12345678901234567", "1", "--notation", "hex", "--width", "64"], "fingerprint"),
    ] {
        let (code, text) = scratch.failure(args);
        assert!(text.contains(what), "{text}");
        assert_eq!(code, 2, "{text}");
    }
}

#[test]
fn distances_beyond_the_width_are_refused() {
    let scratch = with_index(&[]);
    scratch.output(&["store", "create", "a.store"]);
    for args in [
        &["query", "index.hamdex", "0"][..],
        &["query", "index.hamdex", "0", "--first"],
        &["query", "index.hamdex", "0", "--nearest", "1"],
        &["pairs", "index.hamdex", "--count"],
        &["dump", "index.hamdex", "--locate", "0"],
    ] {
        let (code, text) = scratch.failure(&[args, &["-k", "65"]].concat());
        assert_eq!((code, text.contains("65 bits apart: at most 64")), (2, true), "{text}");
        scratch.output(&[args, &["-k", "64"]].concat());
    }
    let (code, text) = scratch.failure(&["store", "insert", "a.store", "--unless-near", "65", "in.txt"]);
    assert_eq!((code, text.contains("at most 64")), (2, true), "{text}");
}

#[test]
fn given_features_have_the_fingerprints_of_their_libraries() {
    let scratch = Scratch::new();
    scratch.write("aaa.tsv", "aaa\t1\nbbb\n");
    let text = scratch.output(&["fingerprint", "--features", "--recipe", "simhash-py", "aaa.tsv"]);
    assert_eq!(text, format!("{:016x}\t1\n", 57_087_923_692_560_392u64));
    scratch.write("hashes.txt", "0xABCD\r\n0xBCDE\n0xCDEF\n\n0x1\t2.5\n");
    let text = scratch.output(&["fingerprint", "--features=hashes", "--recipe", "seomoz", "hashes.txt"]);
    assert_eq!(text, "000000000000adcf\t1\n0000000000000001\t2\n");
    // A feature with a tab in it: the last one ends it.
    scratch.write("terms.tsv", "Four score and seven years ago\t11.7\na\tb\t0.25\n\n\n");
    let text = scratch.output(&["fingerprint", "--features", "--recipe", "yanyiwu", "--json", "terms.tsv"]);
    let lines = json_lines(&text);
    assert_eq!(lines[0], json!({ "id": "1", "fingerprint": "17770551ce7226e6" }));
    assert_eq!(lines[1]["too_short_features"], 0);
    for (input, what) in [("a\tx\n", "weight"), ("a\tinf\n", "weight"), ("a\t1\nb\tNaN\n", "terms.tsv:2")] {
        scratch.write("terms.tsv", input);
        let (code, text) = scratch.failure(&["fingerprint", "--features", "terms.tsv"]);
        assert_eq!((code, text.contains(what)), (1, true), "{text}");
    }
    scratch.write("terms.tsv", "");
    assert_eq!(scratch.output(&["fingerprint", "--features", "terms.tsv"]), "");
}

#[test]
fn parts_of_recipes_are_chosen_on_the_command_line() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "This is a test string for testing");
    let of = |options: &[&str]| {
        let text = scratch.output(&[&["fingerprint", "a.txt", "--recipe"], options].concat());
        text.split('\t').next().unwrap().to_owned()
    };
    assert_eq!(of(&["python2-hash"]), "800d8e90e45cc488");
    assert_eq!(of(&["python2-hash", "--width", "128"]), "0000000020302202800d8e90e45cc488");
    let by_times33 = |start| of(&[&format!("python2-hash hash=times33{start}")]);
    assert_eq!(by_times33(""), by_times33(":5381"));
    assert_ne!(by_times33(""), by_times33(":0"));
    let stemmed = "python2-hash tokens=words case=lower stem=english";
    assert_ne!(of(&[stemmed]), of(&["python2-hash tokens=words case=lower"]));

    // The mean of 1 and 4 is 2.5, the median 4: unknown words outweigh "test", or do not.
    scratch.write("a.idf", "test 4\nstring 1\n");
    let by = |unknown: &[&str]| of(&[&["default min-features=1 top=1", "--idf", "a.idf"], unknown].concat());
    assert_eq!(by(&[]), by(&["--unknown-words", "median"]));
    assert_ne!(by(&[]), by(&["--unknown-words", "mean"]));
    let (code, text) = scratch.failure(&["fingerprint", "a.txt", "--unknown-words", "mean"]);
    assert_eq!(
        (code, text.contains("--idf") && text.ends_with("see 'hamdex fingerprint --help'\n")),
        (2, true)
    );
}

#[test]
fn files_of_the_first_recipe_say_so_and_answer() {
    let scratch = Scratch::new();
    scratch.write("a.txt", story(1).replace("we", "don’t ").replace("wa", "it's "));
    scratch.output(&["build", "-o", "a.hamdex", "--documents", "--recipe", "default-1", "a.txt"]);
    let asked = scratch.hamdex(&["query", "a.hamdex", "--document", "a.txt"]).assert().success();
    let (out, err) = (&asked.get_output().stdout, String::from_utf8_lossy(&asked.get_output().stderr));
    assert!(String::from_utf8_lossy(out).ends_with("\t0\ta.txt\n"));
    assert!(err.contains("a.hamdex: was built by the first version of the default recipe"), "{err}");
    let dump = scratch.output(&["dump", "a.hamdex"]);
    assert!(dump.contains("(default-1, which has a later version)"), "{dump}");
    let quiet = scratch.hamdex(&["query", "a.hamdex", "--document", "a.txt", "-q"]).assert().success();
    assert!(quiet.get_output().stderr.is_empty());
}
