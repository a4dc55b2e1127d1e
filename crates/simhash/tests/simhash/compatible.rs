//! Fingerprints of other libraries, bit for bit: vectors of their own test suites, or of running them.

use hamdex_simhash::{FeatureFingerprinter, Fingerprinter, Hash, Outcome, Scratch};

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
    // Equal weights against each other leave 0 where the terms differ.
    let (a, b): (u64, u64) = (Hash::Lookup3.of(b"a"), Hash::Lookup3.of(b"b"));
    assert_eq!(library.weighted([("a", 2.5), ("b", 2.5)]).value(), Some(a & b));
    assert_eq!(library.weighted([("", 1.0); 0]).value(), Some(0));
}

#[cfg(feature = "jieba")]
#[test]
fn yanyiwu_on_text_takes_the_heaviest_words() {
    use std::sync::Arc;

    use hamdex_simhash::{IdfDictionary, Lists, Recipe, StopWords};

    let idf = Arc::new(IdfDictionary::read("北京 4\n清华大学 9\n来到 5\n".as_bytes()).unwrap());
    let stop = Arc::new(StopWords::read("来到\n".as_bytes()).unwrap());
    let top = 2.try_into().unwrap();
    let recipe = Recipe::yanyiwu_for_text(&idf, &stop, top);
    let lists = Lists::default().with_idf(idf).with_stop_words(stop);
    let of = Fingerprinter::<u64>::with_lists(&recipe, lists).unwrap();
    let outcome = of.fingerprint("我来到北京清华大学，Internet Internet。", &mut Scratch::default());
    // A word of one character and a stop word do not vote; the unknown word votes with twice the mean, 6.
    let expected = of_features("yanyiwu").weighted([("Internet", 12.0), ("清华大学", 9.0)]);
    assert_eq!(outcome, expected);
    assert_eq!(outcome, Outcome::TooShort { features: 2, fingerprint: expected.value() });
}

#[test]
fn trafilatura_on_text() {
    let outcome = of_text("trafilatura", "这是一个测试。我们在测试中文。");
    assert_eq!(outcome, Outcome::TooShort { features: 2, fingerprint: Some(0xff377edee6edfb78) });
    assert_eq!(of_text("trafilatura", ""), Outcome::TooShort { features: 0, fingerprint: Some(u64::MAX) });
    // The library prints it with {:x}, so leading zeros go; a caller who wants that does likewise.
    assert_eq!(format!("{:x}", outcome.value().unwrap()), "ff377edee6edfb78");
}
