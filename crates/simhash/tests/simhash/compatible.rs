//! Fingerprints of other libraries, bit for bit: vectors of their own test suites, or of running them.

use hamdex_simhash::recipe::Hash;
use hamdex_simhash::{FeatureFingerprinter, Fingerprinter, Outcome, Recipe, Scratch};

const FOX: &str = "The quick brown fox jumps over the lazy dog";

fn of_text(recipe: &str, text: &str) -> Outcome<u64> {
    let fingerprinter = Fingerprinter::new(&recipe.parse().unwrap()).unwrap();
    fingerprinter.fingerprint(text, &mut Scratch::default())
}

fn of_features(recipe: &str) -> FeatureFingerprinter<u64> {
    FeatureFingerprinter::new(&recipe.parse().unwrap()).unwrap()
}

#[test]
fn simhash_py_on_features() {
    let library = of_features("simhash-py");
    assert_eq!(library.counted([("aaa", 1), ("bbb", 1)]).value(), Some(57087923692560392));
    let many = (0..500).map(|i| (i.to_string(), 1));
    assert_eq!(library.counted(many.clone()).value(), Some(7984652473404407437));
    assert!(!library.counted(many).is_too_short());
    let heavy = (0..500u64).map(|i| (i.to_string(), 50 * i));
    assert_eq!(library.counted(heavy).value(), Some(3372825719632739723));
    let heavy = (0..500u32).map(|i| (i.to_string(), f64::from(50 * i)));
    assert_eq!(library.weighted(heavy).value(), Some(3372825719632739723));
}

#[test]
fn simhash_py_on_text() {
    assert_eq!(of_text("simhash-py", FOX).value(), Some(0x2c2a1290908a898a));
    // A text without a word has one feature there, the empty string.
    for empty in ["", " ", "!?"] {
        let outcome = of_text("simhash-py", empty);
        assert_eq!(outcome, Outcome::TooShort { features: 0, fingerprint: Some(0xe9800998ecf8427e) });
    }
    // Shorter than a shingle: the text itself is the feature.
    assert_eq!(of_text("simhash-py", "a b!").value(), Some(Hash::Md5Tail.of(b"ab")));
}

#[test]
fn simhash_py_without_features() {
    // An empty list of features is not an empty text there.
    let library = of_features("simhash-py empty=tie");
    assert_eq!(library.counted([("", 1); 0]).value(), Some(0));
}

#[test]
fn seomoz_on_hashes() {
    let library = of_features("seomoz");
    assert_eq!(library.hashes([0xABCD, 0xBCDE, 0xCDEF]).value(), Some(0xADCF));
    assert_eq!(library.hashes([0xABCD, !0xABCD]).value(), Some(0));
    assert_eq!(library.hashes([]), Outcome::TooShort { features: 0, fingerprint: Some(0) });
    // RFC 1321: the MD5 of "abc" is 900150983cd24fb0d6963f7d28e17f72.
    assert_eq!(library.counted([("abc", 1)]).value(), Some(0x900150983cd24fb0));
}

#[test]
fn text_dedup_on_text() {
    assert_eq!(of_text("text-dedup", FOX).value(), Some(0xef2a43bdb175a641));
    // Features are a set there, so a repeated word counts once, and punctuation does not count.
    let twice = format!("{FOX}; {FOX}!");
    let thrice = format!("{FOX} -- {FOX}, {FOX}");
    assert_eq!(of_text("text-dedup", &twice), of_text("text-dedup", &thrice));
    for short in ["", "one two three four"] {
        let outcome = of_text("text-dedup", short);
        assert_eq!(outcome, Outcome::TooShort { features: 0, fingerprint: Some(0) }, "{short:?}");
    }
    assert_ne!(of_text("text-dedup", "one two three four five").value(), Some(0));
}

/// Of `embed_func` of text_dedup/simhash.py of PyPI text-dedup 0.4.0, run by Python 3.11 with xxhash 4.1.0 and bitarray
/// 3.12.3, by its defaults and with 128 bits.
#[test]
fn text_dedup_0_4_0_on_text() {
    let wide = Fingerprinter::<u128>::new(&"text-dedup-0.4.0 width=128".parse().unwrap()).unwrap();
    for (text, narrow, of_128_bits) in [
        (FOX, 0xa23ec554685f346c, 0x236c931c1fb53cada23ec554685f346c),
        ("hello world", 0xdedafc8f126ab95b, 0xd2baa9485dc30070dedafc8f126ab95b),
        ("abcde", 0x69ec7e874a3b3d71, 0x03844afde37a55b569ec7e874a3b3d71),
        ("ab\ncd", 0xd9f51f9cadc82c49, 0x1fe93a822b0978ead9f51f9cadc82c49),
        ("ΌΣΟΣ ΣΑΣ ΟΔΟΣ.", 0x8b90400b40855c11, 0xe58f04530632580708010387a64b8343),
        ("İstanbul'da IĞDIR", 0x2b1b7406d5c612de, 0x3abe981999ba753a0b17b61eb59652d5),
        ("这是一个测试。我们在测试中文。", 0x1ac2ed31c6da97b3, 0x14a590133bb12b24f68cba2104f24cf0),
        ("Привет, МИР! Ещё раз.", 0x17be5b873e32e91b, 0xa7ed619822841142e6d9cc20d2e94614),
        ("aaaaaaa", 0xe4ba3228795dc9ef, 0x1ba4b00492c7202ee4ba3228795dc9ef),
        ("ẞtraße ǅ", 0xa4d390aaca803a20, 0x41512409a2070aaaa0db14a2a1c6e3b6),
        ("a\u{301}e\u{301}i\u{301} 😀😀!", 0xcc60c967e087d1c1, 0x07200694b081800703148c8d1fd809d5),
    ] {
        assert_eq!(of_text("text-dedup-0.4.0", text), Outcome::Fingerprint(narrow), "{text}");
        assert_eq!(
            wide.fingerprint(text, &mut Scratch::default()),
            Outcome::Fingerprint(of_128_bits),
            "{text}"
        );
    }
    // Fewer than five characters are nothing there.
    for short in ["abcd", ""] {
        assert_eq!(
            of_text("text-dedup-0.4.0", short),
            Outcome::TooShort { features: 0, fingerprint: Some(0) },
            "{short:?}"
        );
    }
}

#[test]
fn compatible_recipes_give_a_fingerprint_to_every_text_with_a_feature() {
    for recipe in Recipe::NAMES {
        let needed = recipe.parse::<Recipe>().unwrap().min_features;
        assert_eq!(needed, if recipe.starts_with("default") { 16 } else { 0 }, "{recipe}");
    }
    for recipe in ["simhash-py", "text-dedup-0.4.0", "mfonda", "trafilatura"] {
        assert!(of_text(recipe, "hello").reliable().is_some(), "{recipe}");
    }
    assert!(of_text("text-dedup", "one two three four five").reliable().is_some());
}

#[test]
fn mfonda_on_text() {
    for (text, fingerprint) in [
        ("this is a test phrase", 0x8c3a5f7e9ecb3f35),
        ("this is a test phrass", 0x8c3a5f7e9ecb3f21),
        ("these are test phrases", 0xddfdbf7fbfaffb1d),
        ("foo bar", 0xd8dbe7186bad3db3),
        ("FOO ...Bar", 0xd8dbe7186bad3db3),
    ] {
        assert_eq!(of_text("mfonda", text).value(), Some(fingerprint), "{text}");
    }
    assert_eq!(of_text("mfonda", ""), Outcome::TooShort { features: 0, fingerprint: Some(u64::MAX) });
}

#[test]
fn yanyiwu_on_given_terms() {
    // With one term, or one that outweighs the rest, only the hash matters: the self-test of lookup3.c.
    let library = of_features("yanyiwu");
    let speech = "Four score and seven years ago";
    assert_eq!(library.weighted([(speech, 1.5)]).value(), Some(0x17770551_ce7226e6));
    let outweighed = [("and", 0.4), (speech, 11.7), ("ago", 11.2)];
    assert_eq!(library.weighted(outweighed).value(), Some(0x17770551_ce7226e6));
    // Equal weights cancel in bits in which the terms differ.
    let (a, b): (u64, u64) = (Hash::Lookup3.of(b"a"), Hash::Lookup3.of(b"b"));
    assert_eq!(library.weighted([("a", 2.5), ("b", 2.5)]).value(), Some(a & b));
    assert_eq!(library.weighted([("", 1.0); 0]).value(), Some(0));
}

#[cfg(feature = "jieba")]
#[test]
fn yanyiwu_on_text_takes_the_heaviest_words() {
    use std::sync::Arc;

    use hamdex_simhash::Lists;
    use hamdex_simhash::word_lists::{IdfDictionary, StopWords, Unknown};

    let idf = Arc::new(IdfDictionary::read("北京 4\n清华大学 9\n来到 5\n".as_bytes()).unwrap());
    let stop = Arc::new(StopWords::read("来到\n".as_bytes()).unwrap());
    let recipe: Recipe = "yanyiwu tokens=jieba min-chars=2 top=2".parse().unwrap();
    let recipe = recipe.with_idf(&idf, Unknown::Mean).with_stop_words(&stop);
    let lists = Lists::default().with_idf(idf).with_stop_words(stop);
    let of = Fingerprinter::<u64>::with_lists(&recipe, lists).unwrap();
    let outcome = of.fingerprint("我来到北京清华大学，Internet Internet。", &mut Scratch::default());
    // A word of one character and a stop word do not vote; the unknown word votes with twice the mean, 6.
    let expected = of_features("yanyiwu").weighted([("Internet", 12.0), ("清华大学", 9.0)]);
    assert_eq!(outcome, expected);
    assert_eq!(outcome, Outcome::Fingerprint(expected.value().unwrap()));
}

#[test]
fn python2_hash_on_text() {
    let wide = Fingerprinter::<u128>::new(&"python2-hash width=128".parse().unwrap()).unwrap();
    for (text, fingerprint) in [
        ("This is a test string for testing", 0x20302202_800d8e90e45cc488u128),
        ("This is a test string for testing also", 0x203c2282_c00dbeb4e55cc7a8),
        ("nai nai ge xiong cao", 0x2ea_492b1485adbdb53a),
    ] {
        assert_eq!(of_text("python2-hash", text), Outcome::Fingerprint(fingerprint as u64), "{text}");
        assert_eq!(
            wide.fingerprint(text, &mut Scratch::default()),
            Outcome::Fingerprint(fingerprint),
            "{text}"
        );
    }
    let nothing = Outcome::TooShort { features: 0, fingerprint: Some(u64::MAX) };
    assert_eq!(of_text("python2-hash", " "), nothing);
}

/// The worked example of the descriptions of simhash: hashes of six bits count with or against their weight, the sums
/// are 13, 108, -22, -5, -32 and 55, and the bits 110001.
#[test]
fn the_signs_of_weighted_sums_are_the_bits() {
    let sums = [13.0, 108.0, -22.0, -5.0, -32.0, 55.0];
    let first = (0b100110u64, 4.0);
    // One hash per bit makes up what the first leaves to the sums: 2 · weight - all weights.
    let left: Vec<f64> = (0..6)
        .map(|place| sums[place] - if first.0 >> (5 - place) & 1 == 1 { first.1 } else { -first.1 })
        .collect();
    let all = -left.iter().sum::<f64>() / 4.0;
    let others = left.iter().enumerate().map(|(place, sum)| (1 << (5 - place), (sum + all) / 2.0));
    let voted = of_features("default").weighted_hashes(std::iter::once(first).chain(others));
    assert_eq!(voted.value().map(|value| value & 0b111111), Some(0b110001));
}

#[test]
fn times33_on_given_features() {
    // One feature is its own fingerprint: the hash from either start.
    for (recipe, start) in [("seomoz hash=times33", 5381), ("seomoz hash=times33:0", 0)] {
        let by_hand = b"abcde".iter().fold(start, |x: u64, &byte| x * 33 + u64::from(byte));
        assert_eq!(of_features(recipe).counted([("abcde", 1)]).value(), Some(by_hand));
    }
}

#[test]
fn trafilatura_on_text() {
    let outcome = of_text("trafilatura", "这是一个测试。我们在测试中文。");
    assert_eq!(outcome, Outcome::Fingerprint(0xff377edee6edfb78));
    // Of content_fingerprint of PyPI trafilatura 2.3.1.
    assert_eq!(of_text("trafilatura", FOX), Outcome::Fingerprint(0x1af083f01050ba17));
    let mixed = "ẞtraße ǅ Привет мир, как дела?";
    assert_eq!(of_text("trafilatura", mixed), Outcome::Fingerprint(0x3ee80f6aff45ef93));
    assert_eq!(of_text("trafilatura", ""), Outcome::TooShort { features: 0, fingerprint: Some(u64::MAX) });
    // The library prints it with {:x}, so leading zeros go; a caller who wants that does likewise.
    assert_eq!(format!("{:x}", outcome.value().unwrap()), "ff377edee6edfb78");
}
