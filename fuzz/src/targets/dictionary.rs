//! Dictionaries of any bytes: refused or read, and what is read is written and read again.

use hamdex_simhash::word_lists::{IdfDictionary, Unknown};

/// Reads the input as a dictionary.
pub fn run(input: &[u8]) {
    let Ok(dictionary) = IdfDictionary::read(input) else { return };
    let written = dictionary.to_string();
    let again =
        IdfDictionary::read(written.as_bytes()).unwrap_or_else(|error| panic!("{error}: {written:?}"));
    assert_eq!(again.digest(), dictionary.digest(), "{written:?}");
    assert_eq!(again.words(), dictionary.words());
    assert_eq!(again.to_string(), written);
    let words = written.lines().filter_map(|line| line.rsplit_once(' ')).map(|(word, _)| word);
    for word in words.chain(["", "no such word"]) {
        for unknown in [Unknown::Median, Unknown::Mean] {
            let weight = dictionary.idf(word, unknown);
            assert_eq!(again.idf(word, unknown).to_bits(), weight.to_bits(), "{word:?}");
            assert!(weight.is_finite() && weight >= 0.0, "{word:?} weighs {weight}");
        }
    }
}

/// Dictionaries with numbers in all notations, and words that are hard to tell from them.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "the 0.1\nfox 5\nlazy dog 9.5\n",
        "a 1\r\n\r\nb 2.0\r\na 1e0",
        "\u{4e2d} 3.3333333333333335\ntwo  words 1e-300\n1 2 3\n",
        "a 0\na -0\nb 1.7976931348623157e308\nc 1.7976931348623157e308\n",
        "a\tb 1\n\u{feff}a 1\na\u{3000} 4\n a 5\n",
        "a 1\nb inf\n",
        "",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
