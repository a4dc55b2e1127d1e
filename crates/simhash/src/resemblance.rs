//! Resemblance of texts: the share of their shingles that they have in common (Broder, "On the
//! resemblance and containment of documents", SEQUENCES 1997).
//!
//! Symbols as words, for texts that have little else: `a == b` and `a != b` have the same letters.

use std::num::NonZeroUsize;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use crate::case::Case;
use crate::extract::{Extractor, Workspace};
use crate::hash::Hash;
use crate::recipe::Recipe;
use crate::shingle::Shingle;
use crate::tokenise::Tokeniser;

const HASH: Hash = Hash::Xxh3 { seed: 0 };

/// An odd number without a pattern: the golden ratio's digits.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A shingler, which cuts texts into sets of shingles.
///
/// The words are those of Unicode Standard Annex 29 that contain a letter or a digit, of texts folded as
/// [`Case::Caseless`](crate::recipe::Case::Caseless) says. In a script
/// without spaces each character is a separate word, so five words of Chinese are five characters. Where such words are
/// fewer than a shingle has, or less than half of a text, symbols are words, too. A text of
/// fewer words than a shingle has one shingle, all of it; so has a text without any word that is not blank.
/// `docs/dedup.md` defines it so that other programs can do the same.
///
/// ```
/// use hamdex_simhash::Shingler;
///
/// let mut shingler = Shingler::new(2.try_into().expect("2 is not 0"));
/// let one = shingler.shingles("the cat sat on the mat");
/// let other = shingler.shingles("The cat sat on a mat!");
/// assert_eq!(one.resemblance(&other), 3.0 / 7.0);
/// ```
#[derive(Debug, Clone)]
pub struct Shingler {
    extractor: Extractor,
    workspace: Workspace,
    width: usize,
    /// The hashes of the words of a text.
    words: Vec<u64>,
}

/// The bits of a shingle's hash.
///
/// Two distinct shingles have equal hashes once in 2^48. Of two texts of n words each, some pair of distinct shingles
/// collides with a probability of about n² / 2^48, for 300 words 3 in ten billion; and that changes whether they are
/// near-duplicates only if they are a single shingle away from the limit. Stored sets take 25 % less than with 64.
pub const SHINGLE_BITS: u32 = 48;

/// The distinct shingles of a text, as hashes of [`SHINGLE_BITS`] bits in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shingles(Vec<u64>);

impl Shingler {
    /// Creates a shingler with shingles of `width` words.
    ///
    /// # Panics
    /// When the width is above [`Shingle::MAX_WIDTH`].
    #[must_use]
    pub fn new(width: NonZeroUsize) -> Self {
        assert!(width.get() <= Shingle::MAX_WIDTH, "a shingle has at most {} words", Shingle::MAX_WIDTH);
        let recipe = Recipe { case: Case::OF_SHINGLES, tokens: Tokeniser::Words, ..Recipe::default() };
        let extractor = Extractor::new(&recipe, None).expect("it takes text and no lists");
        Self { extractor, workspace: Workspace::default(), width: width.get(), words: Vec::new() }
    }

    /// Returns a text that says how the shingles are made: two sets are compared only if it is the same for both.
    #[must_use]
    pub fn definition(&self) -> String {
        let recipe = self.extractor.recipe();
        format!(
            "words:{} case={} tokens={}+signs+whole tables={},{} hash=xxh3 bits={SHINGLE_BITS}",
            self.width,
            recipe.case,
            recipe.tokens,
            recipe.tables(),
            tables_of_signs()
        )
    }

    /// Returns the number of words per shingle of a definition; `None` if this version makes no such shingles.
    #[must_use]
    pub fn words_of(definition: &str) -> Option<NonZeroUsize> {
        let words: NonZeroUsize = definition.strip_prefix("words:")?.split(' ').next()?.parse().ok()?;
        let is_this = words.get() <= Shingle::MAX_WIDTH && Self::new(words).definition() == definition;
        is_this.then_some(words)
    }

    /// Returns the shingles of a text.
    pub fn shingles(&mut self, text: &str) -> Shingles {
        let Self { extractor, workspace, width, words } = self;
        let mut words = Words::of(*width, words);
        extractor.features(text, workspace, |word| words.push(word));
        words.finish(text)
    }

    /// Calls `word` with every word of a text, folded, in order.
    pub fn words(&mut self, text: &str, word: impl FnMut(&str)) {
        self.extractor.features(text, &mut self.workspace, word);
    }

    /// Starts a text whose words are given by the caller.
    pub(crate) fn start(&mut self) -> Words<'_> {
        Words::of(self.width, &mut self.words)
    }
}

/// The words of a text, case-folded.
pub(crate) struct Words<'a> {
    width: usize,
    hashes: &'a mut Vec<u64>,
    /// The characters of the words.
    characters: usize,
}

impl<'a> Words<'a> {
    fn of(width: usize, hashes: &'a mut Vec<u64>) -> Self {
        hashes.clear();
        Self { width, hashes, characters: 0 }
    }

    pub(crate) fn push(&mut self, word: &str) {
        self.characters += word.chars().count();
        self.hashes.push(HASH.of(word.as_bytes()));
    }

    /// Returns the shingles of the whole text.
    pub(crate) fn finish(mut self, text: &str) -> Shingles {
        let mut shingles = Vec::new();
        if self.hashes.len() < self.width || 2 * self.characters < visible(text) {
            let mut buffer = String::new();
            let form = Case::OF_SHINGLES.fold(text, &mut buffer);
            if form.chars().any(is_sign) {
                self.hashes.clear();
                self.characters = 0;
                words_and_signs(form, |word| self.push(word));
            }
            // Two texts are not equal because the little that is left of them is.
            if 2 * self.characters < visible(form) {
                self.hashes.clear();
                let whole = form.trim();
                shingles.extend((!whole.is_empty()).then(|| mix(HASH.of(whole.as_bytes()))));
            }
        }
        shingles.reserve(self.hashes.len());
        roll(self.hashes, self.width, |shingle| shingles.push(shingle));
        shingles.sort_unstable();
        shingles.dedup();
        Shingles(shingles)
    }
}

/// Calls `shingle` with a hash of every run of `width` words, or of all of fewer: a polynomial in [`BASE`] with the
/// hashes of the words as coefficients, which takes the same time for every width, and mixed well.
fn roll(words: &[u64], width: usize, mut shingle: impl FnMut(u64)) {
    let width = width.min(words.len());
    if width == 0 {
        return;
    }
    let next = |sum: u64, word: u64| sum.wrapping_mul(BASE).wrapping_add(word);
    let (start, rest) = words.split_at(width);
    let mut sum = start.iter().fold(0, |sum, &word| next(sum, word));
    shingle(mix(sum));
    let leaving = (0..width).fold(1u64, |power, _| power.wrapping_mul(BASE));
    for (&word, &last) in rest.iter().zip(words) {
        sum = next(sum, word).wrapping_sub(last.wrapping_mul(leaving));
        shingle(mix(sum));
    }
}

/// Makes every bit depend on every other, by the finalisation of MurmurHash3, and keeps the leading
/// [`SHINGLE_BITS`].
fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (hash ^ hash >> 33) >> (u64::BITS - SHINGLE_BITS)
}

impl Shingles {
    /// Returns the number of shared shingles divided by that of all shingles of the two (Jaccard): 0 to 1, and
    /// 0 when neither has any.
    #[must_use]
    pub fn resemblance(&self, other: &Self) -> f64 {
        resemblance(&self.0, &other.0)
    }

    /// Returns the hashes, in ascending order, each once.
    #[must_use]
    pub fn hashes(&self) -> &[u64] {
        &self.0
    }

    /// Returns a digest of 128 bits: equal sets have equal ones.
    #[must_use]
    pub fn digest(&self) -> u128 {
        let bytes: Vec<u8> = self.0.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        HASH.of(&bytes)
    }
}

/// Returns the [`Shingles::resemblance`] of two sets given by their hashes, each in ascending order.
#[must_use]
pub fn resemblance(one: &[u64], other: &[u64]) -> f64 {
    let (mut mine, mut its) = (0, 0);
    let mut shared = 0usize;
    while mine < one.len() && its < other.len() {
        // Without a branch, which would be unpredictable.
        let (first, second) = (one[mine], other[its]);
        shared += usize::from(first == second);
        mine += usize::from(first <= second);
        its += usize::from(second <= first);
    }
    let all = one.len() + other.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// Returns whether a character is a sign: a symbol (general category S), of private use (Co) or unassigned (Cn); U+FFFD
/// is none, since it stands for any character.
fn is_sign(character: char) -> bool {
    if character == char::REPLACEMENT_CHARACTER {
        return false;
    }
    let category = character.general_category();
    matches!(category, GeneralCategory::PrivateUse | GeneralCategory::Unassigned)
        || character.general_category_group() == GeneralCategoryGroup::Symbol
}

/// Returns the versions of the tables.
fn tables_of_signs() -> String {
    Tokeniser::PyWords.tables()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// Returns the number of characters other than white space of ASCII.
fn visible(text: &str) -> usize {
    text.bytes().filter(|&byte| byte & 0xc0 != 0x80 && !is_space(byte)).count()
}

/// Calls `word` with every word of a text and every segment with a sign, in order.
fn words_and_signs<'t>(text: &'t str, mut word: impl FnMut(&'t str)) {
    for piece in text.split(|character: char| u8::try_from(character).is_ok_and(is_space)) {
        let mut words = piece.unicode_word_indices().peekable();
        for segment in piece.split_word_bound_indices() {
            if words.next_if_eq(&segment).is_some() || segment.1.chars().any(is_sign) {
                word(segment.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprinter::{Fingerprinter, Scratch};

    #[test]
    fn resemblance_is_shared_over_all() {
        let mut shingler = Shingler::new(NonZeroUsize::MIN);
        let mut of = |one: &str, other: &str| shingler.shingles(one).resemblance(&shingler.shingles(other));
        assert_eq!(of("a b c", "c b a a"), 1.0);
        assert_eq!(of("a b c", "b c d"), 0.5);
        assert_eq!(of("a", "b"), 0.0);
        assert_eq!(of("", "!"), 0.0);
    }

    #[test]
    fn a_definition_pins_words_and_tables() {
        let definition = Shingler::new(NonZeroUsize::new(5).unwrap()).definition();
        assert_eq!(
            definition,
            "words:5 case=caseless tokens=words+signs+whole tables=uax29-17.0.0,nfkc-18.0.0,unicase-2.10.0,ucd-18.0.0 hash=xxh3 \
             bits=48"
        );
        assert_eq!(Shingler::words_of(&definition), NonZeroUsize::new(5));
        assert_eq!(Shingler::words_of(&definition.replace("caseless", "simple")), None);
    }

    #[test]
    fn words_are_those_of_shingles() {
        let mut shingler = Shingler::new(NonZeroUsize::MIN);
        let mut words = Vec::new();
        shingler.words("Don’t, 我们 ＯＫ!", |word| words.push(word.to_owned()));
        assert_eq!(words, ["don't", "我", "们", "ok"]);
    }

    #[test]
    fn symbols_are_words_where_there_is_little_else() {
        let mut shingler = Shingler::new(NonZeroUsize::new(5).unwrap());
        let mut of = |text: &str| shingler.shingles(text);
        let glyphs = |step: u32| -> String {
            (0..2000).map(|at| char::from_u32(0xe000 + at * step % 3001).unwrap()).collect()
        };
        let mail = "from a to b in 2024 ";
        for (one, other) in [
            ("👍 thanks", "👎 thanks"),
            ("a == b", "a != b"),
            ("a <= b", "a >= b"),
            ("⠓⠑⠇⠇⠕ 1", "⠺⠕⠗⠇⠙ 1"),
            ("C++", "C"),
            (&format!("{} 1", glyphs(7)), &format!("{} 1", glyphs(11))),
            (&format!("{mail}{}", glyphs(7)), &format!("{mail}{}", glyphs(11))),
            // Little of these is words or signs, and so the whole text is compared.
            (
                "\u{fffd}\u{fffd}\u{fffd} \u{fffd}\u{fffd} 2024",
                "\u{fffd}\u{fffd} \u{fffd}\u{fffd} 2024 \u{fffd}",
            ),
            ("????? ?? ??????? 2024 ????", "???? ??? ?????? 2024 ?? ????"),
            ("\u{1}\u{2}\u{3}\u{4} 1", "\u{4}\u{3}\u{2}\u{1} 1"),
            ("... --- ... 5", "5"),
        ] {
            assert!(of(one).resemblance(&of(other)) < 0.1, "{one} {other}");
        }
        // Punctuation says nothing, and symbols in the midst of words nothing, either.
        for (one, other) in [
            ("Thanks!", "thanks"),
            ("(thanks)...", "- Thanks -"),
            ("????? 2024", "\u{feff}????? 2024 "),
            ("\u{1f44d} thanks", "👍\u{fe0f} Thanks."),
            ("it costs 5 euros and 10 cents", "it costs €5 euros and 10 cents"),
            ("one two three four five six = 7", "one two three four five six 7"),
        ] {
            assert_eq!(of(one), of(other), "{one} {other}");
        }
    }

    #[test]
    fn every_run_of_words_is_a_shingle() {
        let words: Vec<u64> = (0..30).map(|word| mix(word % 7 + 1)).collect();
        for width in 1..40 {
            let mut rolled = Vec::new();
            roll(&words, width, |shingle| rolled.push(shingle));
            let direct = words.windows(width.min(30)).map(|run| {
                mix(run.iter().fold(0u64, |sum, &word| sum.wrapping_mul(BASE).wrapping_add(word)))
            });
            assert_eq!(rolled, direct.collect::<Vec<_>>(), "{width}");
        }
    }

    #[test]
    fn texts_that_are_cut_once_have_the_same_fingerprints_and_shingles() {
        let text = "We 我们在家 know, OK? データを見る: don't 3.14 在";
        let (mut scratch, mut shingler) = (Scratch::default(), Shingler::new(NonZeroUsize::new(3).unwrap()));
        for recipe in [
            "default",
            "default-1",
            "default tokens=words",
            "default weight=once",
            "text-dedup",
            "default top=3",
        ] {
            let fingerprinter = Fingerprinter::<u64>::new(&recipe.parse().unwrap()).unwrap();
            for text in [text, "", "?!"] {
                let both = fingerprinter.fingerprint_and_shingles(text, &mut scratch, &mut shingler);
                let each = (fingerprinter.fingerprint(text, &mut scratch), shingler.shingles(text));
                assert_eq!(both, each, "{recipe}");
            }
        }
    }

    #[test]
    fn texts_that_people_take_for_equal_have_equal_shingles() {
        let mut shingler = Shingler::new(NonZeroUsize::new(3).unwrap());
        let mut of = |text: &str| shingler.shingles(text);
        assert_eq!(
            of("It’s a naïve café\u{ad}teria Ｎｏ．１"),
            of("IT'S a nai\u{308}ve cafe\u{301}teria no.1")
        );
        assert_eq!(of("STRASSE zu Groß-Ostheim"), of("straße zu\u{200b} gross ostheim"));
    }

    #[test]
    fn characters_are_words_where_there_are_no_spaces() {
        let mut shingler = Shingler::new(NonZeroUsize::new(5).unwrap());
        assert_eq!(shingler.shingles("我们在家里。").hashes().len(), 1);
        assert_eq!(shingler.shingles("我们在家里吃饭").hashes().len(), 3);
    }

    #[test]
    fn short_texts_are_one_shingle_and_blank_ones_none() {
        let mut shingler = Shingler::new(NonZeroUsize::new(5).unwrap());
        let mut of = |text: &str| shingler.shingles(text);
        assert_eq!(of("Page not found"), of("page, not found!"));
        assert_eq!(of("?!"), of(" ?! "));
        assert_eq!(of("?!"), of("？\u{200b}！"));
        assert_eq!(of("\u{200b}\u{ad}"), Shingles::default());
        assert_ne!(of("?!"), of("!?"));
        assert_eq!(of(" \n"), Shingles::default());
        assert_eq!(of("one two three").digest(), of("One, two, three.").digest());
        assert_ne!(of("one two three").digest(), of("three two one").digest());
    }

    #[test]
    fn signs_are_words_among_words() {
        let mut found = Vec::new();
        words_and_signs("a == don't, \u{1f44d}\u{1f3fd}b \u{e000}!\u{b}3.14€ (x)", |word| found.push(word));
        assert_eq!(found, ["a", "=", "=", "don't", "\u{1f44d}\u{1f3fd}", "b", "\u{e000}", "3.14", "€", "x"]);
        assert_eq!(visible(" a\u{b}é\t€\n"), 3);
        assert!(
            !is_sign('!')
                && !is_sign('-')
                && !is_sign('字')
                && is_sign('~')
                && is_sign('\u{2801}')
                && !is_sign('\u{fffd}')
        );
    }
}
