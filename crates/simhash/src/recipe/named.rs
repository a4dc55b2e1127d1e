//! Named recipes.

use std::num::NonZeroUsize;

use crate::case::Case;
use crate::hash::Hash;
use crate::recipe::{Empty, Recipe, Tie, Top, Weight, Width};
use crate::shingle::Shingle;
use crate::tokenise::Tokeniser;
use crate::word_lists::{IdfDictionary, StopWords, Unknown};

impl Default for Recipe {
    /// The recipe named `default`.
    fn default() -> Self {
        Self {
            width: Width::Bits64,
            case: Case::Caseless,
            tokens: Tokeniser::WordsBigrams,
            min_chars: 0,
            stop: None,
            stem: None,
            min_tokens: 0,
            shingle: Shingle::Words(NonZeroUsize::MIN),
            weight: Weight::Log,
            top: Top::All,
            hash: Hash::Xxh3 { seed: 0 },
            tie: Tie::Zero,
            empty: Empty::None,
            min_features: 16,
        }
    }
}

impl Recipe {
    /// The names of all named recipes.
    pub const NAMES: [&'static str; 10] = [
        "default",
        "default-1",
        "simhash-py",
        "seomoz",
        "text-dedup",
        "text-dedup-0.4.0",
        "mfonda",
        "yanyiwu",
        "trafilatura",
        "python2-hash",
    ];

    /// Returns the recipe of this name.
    ///
    /// | name | fingerprints of |
    /// |---|---|
    /// | `default` | this library, for web text in any language; see the [crate documentation](crate#the-default-recipe) |
    /// | `default-1` | the same as it was first: case is folded, and nothing else is |
    /// | `simhash-py` | PyPI `simhash` 2.1.2 |
    /// | `seomoz` | seomoz simhash-cpp, simhash-py and simhash-pybind: of given features |
    /// | `text-dedup` | text-dedup's simhash with its defaults, as its main branch has had it since 2025 and no release has it: shingles of three words, seed 42 |
    /// | `text-dedup-0.4.0` | the same of PyPI `text-dedup` 0.4.0, which pip installs: shingles of three characters, seed 0 |
    /// | `mfonda` | mfonda/simhash (Go) |
    /// | `yanyiwu` | yanyiwu/simhash (C++): of given terms and weights; see [`Recipe::yanyiwu_for_text`] |
    /// | `trafilatura` | the content fingerprint of PyPI `trafilatura` 2.3.1 (which it prints without leading zeros) |
    /// | `python2-hash` | a widely copied Python example, with the hash of strings of Python 2 |
    ///
    /// All but `default` and `default-1` give the bits that the library gives for every text that has a feature at all,
    /// however short (`min-features=0`), so that short texts have the same bits too. A text without features has the
    /// library's value ([`Outcome::value`](crate::Outcome::value)) and is reported as too short.
    ///
    /// **Characters that a Python does not know.** What is a letter, and what its lower case is, comes from the Unicode
    /// tables of the Python that the library ran on: 13 in Python 3.9 and 3.10, 14 in 3.11, 15 in 3.12, 15.1 in 3.13,
    /// 16 in 3.14. The text form of the recipe names the tables of this build (`tables`). A letter or digit that was
    /// added to Unicode in between is a separator in the older Python (`simhash-py`, `text-dedup`, `trafilatura`), and
    /// its capitals are not folded; here it is a letter. Such texts, which are rare, have other bits; all others have
    /// the same bits in any version.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let compatible = |case, tokens, hash| Self {
            case,
            tokens,
            weight: Weight::Count,
            hash,
            empty: Empty::Tie,
            min_features: 0,
            ..Self::default()
        };
        Some(match name {
            "default" => Self::default(),
            "default-1" => Self { case: Case::Simple, ..Self::default() },
            "simhash-py" => Self {
                shingle: Shingle::Chars(nonzero(4)),
                empty: Empty::Feature,
                ..compatible(Case::Lower, Tokeniser::PyJoined, Hash::Md5Tail)
            },
            "seomoz" => compatible(Case::Keep, Tokeniser::Given, Hash::Md5Head),
            "text-dedup" => Self {
                min_tokens: 5,
                shingle: Shingle::Words(nonzero(3)),
                weight: Weight::Once,
                ..compatible(Case::Lower, Tokeniser::PyWords, Hash::Xxh3 { seed: 42 })
            },
            "text-dedup-0.4.0" => Self {
                // The text is one token, which is dropped if it has fewer characters.
                min_chars: 5,
                shingle: Shingle::Chars(nonzero(3)),
                weight: Weight::Once,
                ..compatible(Case::LowerShingles, Tokeniser::Whole, Hash::Xxh3 { seed: 0 })
            },
            "mfonda" => Self { tie: Tie::One, ..compatible(Case::Simple, Tokeniser::Mfonda, Hash::Fnv1) },
            "yanyiwu" => compatible(Case::Keep, Tokeniser::Given, Hash::Lookup3),
            "trafilatura" => {
                Self { tie: Tie::One, ..compatible(Case::Keep, Tokeniser::Trafilatura, Hash::Blake2b) }
            }
            "python2-hash" => {
                Self { tie: Tie::One, ..compatible(Case::Keep, Tokeniser::WhiteSpace, Hash::Python2) }
            }
            _ => return None,
        })
    }

    /// Returns the recipe of yanyiwu/simhash for texts: words by jieba without those of one character and
    /// the stop words, weighed by tf·idf; a word that is not in the dictionary has the mean weight.
    ///
    /// Bit-identical where jieba-rs and cppjieba cut alike and no two words of equal weight compete for
    /// the last place (cppjieba leaves open which of them is taken).
    #[must_use]
    pub fn yanyiwu_for_text(idf: &IdfDictionary, stop: &StopWords, top: NonZeroUsize) -> Self {
        Self {
            width: Width::Bits64,
            case: Case::Keep,
            tokens: Tokeniser::Jieba,
            min_chars: 2,
            weight: Weight::Idf { dictionary: idf.digest(), unknown: Unknown::Mean },
            top: Top::Heaviest(top),
            hash: Hash::Lookup3,
            tie: Tie::Zero,
            empty: Empty::Tie,
            min_features: 0,
            ..Self::default()
        }
        .with_stop_words(stop)
    }
}

const fn nonzero(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).expect("the numbers are written above, and none is 0")
}
