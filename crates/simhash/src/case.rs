//! Foldings of texts, so that differences in writing do not matter: the choices of a recipe, and among them the
//! normalisation for caseless, compatible matching.
//!
//! Under [`Case::Caseless`] two texts have the same form if they match caselessly and compatibly (The Unicode Standard, section 3.13, D146) once
//! characters that cannot be seen are left out and apostrophes are one: the steps are
//!
//! 1. default-ignorable characters are dropped ([`is_ignorable`]), and apostrophes become `'` ([`apostrophe`]),
//! 2. the text is decomposed (NFKD), and step 1 repeated for the characters of the decompositions,
//! 3. every character is replaced by its full case folding,
//! 4. the text is composed (NFKC).
//!
//! Most characters go through these steps alone and give one character. A table has it, made page by page when a text
//! needs it; the steps are gone through for the others, together with the character before them.

use std::sync::OnceLock;

use unicase::UniCase;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The folding of upper-case letters and of other differences in writing, before a text is cut into tokens or after it
/// was cut into shingles.
///
/// The mappings to lower case come from the standard library. Unicode does not change them for existing characters,
/// but a new version may add a lower-case partner to a letter that had none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Case {
    /// `keep`: no folding.
    Keep,
    /// `lower`: the full mapping of a whole text, final sigma included: Python's `str.lower`.
    Lower,
    /// `lower-shingles`: as `lower`, but applied to each shingle after the text was cut, as in text-dedup 0.4.0. The
    /// context of a shingle has no influence (on a final sigma, say), and a letter with a lower case of two characters
    /// counts as one when the text is cut.
    LowerShingles,
    /// `simple`: one character for one, without context: Go's `bytes.ToLower`.
    Simple,
    /// `caseless`: texts that people take for equal are equal. Compatible forms become one (Unicode's NFKC: composed
    /// and decomposed accents, full-width letters, ligatures), letters are folded (the full folding, so `ß` is `ss`),
    /// characters without a shape are dropped (soft hyphens, zero-width spaces), and apostrophes become `'`.
    /// `docs/dedup.md` defines it.
    Caseless,
}

impl Case {
    /// The names that [`FromStr`](std::str::FromStr) accepts.
    pub const NAMES: [&'static str; 5] = ["keep", "lower", "lower-shingles", "simple", "caseless"];

    /// The folding of texts that are compared by their shingles.
    pub(crate) const OF_SHINGLES: Self = Self::Caseless;

    /// Returns the versions of the tables that the folding depends on; none for those of the standard library.
    pub(crate) fn tables(self) -> Option<String> {
        (self == Self::Caseless).then(caseless_tables)
    }

    /// Returns a shingle as it is hashed; `buffer` holds it if it differs from `shingle`.
    #[inline]
    pub(crate) fn fold_shingle<'t>(self, shingle: &'t str, buffer: &'t mut String) -> &'t str {
        match self {
            Self::LowerShingles if shingle.is_ascii() => {
                buffer.clear();
                buffer.push_str(shingle);
                buffer.make_ascii_lowercase();
                buffer
            }
            Self::LowerShingles => {
                *buffer = shingle.to_lowercase();
                buffer
            }
            Self::Keep | Self::Lower | Self::Simple | Self::Caseless => shingle,
        }
    }

    /// Returns the text as it is before it is cut; `buffer` holds it if it differs from `text`.
    pub(crate) fn fold<'t>(self, text: &'t str, buffer: &'t mut String) -> &'t str {
        buffer.clear();
        match self {
            Self::Keep | Self::LowerShingles => return text,
            Self::Caseless => fold_caseless(text, buffer),
            _ if text.is_ascii() => {
                buffer.push_str(text);
                buffer.make_ascii_lowercase();
            }
            Self::Lower => *buffer = text.to_lowercase(),
            // Only U+0130 maps to more than one character; its simple mapping is the first of them.
            Self::Simple => buffer.extend(text.chars().map(|c| c.to_lowercase().next().unwrap_or(c))),
        }
        buffer
    }
}

named_values!(Case, "case", {
    Keep: "keep",
    Lower: "lower",
    LowerShingles: "lower-shingles",
    Simple: "simple",
    Caseless: "caseless",
}, known: Self::NAMES);

/// The versions of the tables, for recipes. Those of case folding have the version of their crate, which names none.
fn caseless_tables() -> String {
    let (major, minor, patch) = unicode_normalization::UNICODE_VERSION;
    format!("nfkc-{major}.{minor}.{patch},unicase-2.10.0")
}

/// Appends the form of `text` to `folded`.
fn fold_caseless(text: &str, folded: &mut String) {
    let mut rest = text;
    while let Some(start) = rest.bytes().position(|byte| !byte.is_ascii()) {
        fold_ascii(&rest[..start], folded);
        let length = rest.as_bytes()[start..].iter().position(u8::is_ascii).unwrap_or(rest.len() - start);
        let (run, after) = rest.split_at(start + length);
        fold_other(run, start, folded);
        rest = after;
    }
    fold_ascii(rest, folded);
}

/// Appends ASCII, of which each character is itself, except capitals and the grave accent.
fn fold_ascii(text: &str, folded: &mut String) {
    let start = folded.len();
    let mut pieces = text.split('`');
    folded.extend(pieces.next());
    for piece in pieces {
        folded.push('\'');
        folded.push_str(piece);
    }
    folded[start..].make_ascii_lowercase();
}

/// Appends a run from `start` on without ASCII. What is before is ASCII, and appended already.
fn fold_other(run: &str, start: usize, folded: &mut String) {
    // The last character in both texts: what follows may combine with it.
    let is_first = start == 0;
    let mut last = if is_first { (0, folded.len()) } else { (start - 1, folded.len() - 1) };
    let mut chars = run[start..].char_indices();
    while let Some((place, c)) = chars.next() {
        if let Some(alone) = folded_alone(c) {
            last = (start + place, folded.len());
            folded.push(alone);
            continue;
        }
        let mut ahead = chars.clone();
        while ahead.next().is_some_and(|(_, c)| folded_alone(c).is_none()) {
            chars = ahead.clone();
        }
        let end = run.len() - chars.as_str().len();
        folded.truncate(last.1);
        fold_together(&run[last.0..end], folded);
        last = (end, folded.len());
    }
}

/// Appends the form of a part of a text, by the steps of the definition.
fn fold_together(part: &str, folded: &mut String) {
    let seen = |c: &char| !is_ignorable(*c);
    let decomposed = part.chars().filter(seen).map(apostrophe).nfkd().filter(seen).map(apostrophe);
    let caseless = UniCase::unicode(decomposed.collect::<String>()).to_folded_case();
    folded.extend(caseless.chars().nfkc());
}

/// Characters per page.
const PAGE: usize = 256;

/// The pages of the table, each made when it is needed.
static PAGES: [OnceLock<Box<[Option<char>; PAGE]>>; 0x11_0000 / PAGE] =
    [const { OnceLock::new() }; 0x11_0000 / PAGE];

/// Returns the one character that stands for `c` in any text; `None` if there is none, or if what is around decides.
#[inline]
fn folded_alone(c: char) -> Option<char> {
    let (page, place) = (c as usize / PAGE, c as usize % PAGE);
    PAGES[page].get_or_init(|| {
        let of = |place| char::from_u32((page * PAGE + place) as u32).and_then(find_alone);
        Box::new(std::array::from_fn(of))
    })[place]
}

fn find_alone(c: char) -> Option<char> {
    let mut folded = String::new();
    fold_together(c.encode_utf8(&mut [0; 4]), &mut folded);
    let mut chars = folded.chars();
    let alone = chars.next().filter(|_| chars.next().is_none())?;
    (starts_apart(c) && starts_apart(alone)).then_some(alone)
}

/// Whether a character is neither composed nor reordered with one before it.
fn starts_apart(c: char) -> bool {
    let first = std::iter::once(c).nfkd().next().unwrap_or(c);
    canonical_combining_class(first) == 0 && is_nfc_quick(std::iter::once(first)) == IsNormalized::Yes
}

/// Returns `'` for a character that is written as an apostrophe.
fn apostrophe(c: char) -> char {
    match c {
        // Grave and acute accents, alone or in full width, and the same from Greek.
        '\u{60}' | '\u{b4}' | '\u{ff40}' | '\u{1fef}' | '\u{1ffd}'
        // Modifier letters: turned comma, apostrophe, reversed comma.
        | '\u{2bb}'..='\u{2bd}'
        // Armenian.
        | '\u{55a}'
        // Quotation marks: left, right, high-reversed-9; prime; full width.
        | '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}' | '\u{ff07}' => '\'',
        _ => c,
    }
}

/// The property Default_Ignorable_Code_Point of Unicode: characters without a shape, such as soft hyphens, joiners,
/// marks of direction and selectors of variants. It covers unassigned ranges too, so that it rarely changes.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_foldings_differ() {
        let mut buffer = String::new();
        let mut fold = |case: Case, text: &str| case.fold(text, &mut buffer).to_owned();
        assert_eq!(fold(Case::Keep, "ΌΣ İ A"), "ΌΣ İ A");
        assert_eq!(fold(Case::Lower, "ΌΣ İ A"), "ός i\u{307} a");
        assert_eq!(fold(Case::Simple, "ΌΣ İ A"), "όσ i a");
        assert_eq!(fold(Case::Simple, "ABC"), "abc");
        assert_eq!(fold(Case::Simple, "\u{212a}"), "k");
        assert_eq!(fold(Case::LowerShingles, "ΌΣ İ A"), "ΌΣ İ A");
        assert_eq!(fold(Case::Caseless, "ΌΣ İ A ß’"), "όσ i\u{307} a ss'");
        let mut shingle = |text: &str| Case::LowerShingles.fold_shingle(text, &mut buffer).to_owned();
        assert_eq!([shingle("ΌΣ"), shingle("ΌΣ İ"), shingle("A b")], ["ός", "ός i\u{307}", "a b"]);
    }

    fn of(text: &str) -> String {
        let mut folded = String::new();
        fold_caseless(text, &mut folded);
        folded
    }

    fn by_steps(text: &str) -> String {
        let mut folded = String::new();
        fold_together(text, &mut folded);
        folded
    }

    #[test]
    fn what_looks_equal_is_equal() {
        for (one, other) in [
            ("don’t", "DON'T"),
            ("don`t don´t don＇t don‘t", "don't don't don't don't"),
            ("caf\u{e9}", "Cafe\u{301}"),
            ("Entwick\u{ad}lung", "entwicklung"),
            ("zero\u{200b}width\u{feff}", "zerowidth"),
            ("Ｆｕｌｌ　ｗｉｄｔｈ１２", "full width12"),
            ("ｶﾞﾗｽ", "ガラス"),
            ("STRASSE", "straße"),
            ("ΟΔΟΣ", "οδος"),
            ("ﬁn ½", "fin 1⁄2"),
            ("e\u{ad}\u{301}", "é"),
            ("a\u{34f}\u{301}\u{327}", "a\u{327}\u{301}"),
            ("ŉ", "ʼn"),
            ("ᾴ", "α\u{301}ι"),
            ("\u{1100}\u{1161}\u{11a8}", "각"),
            ("\u{fdfa}", "صلى الله عليه وسلم"),
        ] {
            assert_eq!(of(one), of(other), "{one} {other}");
        }
        assert_eq!(of("I İ ı"), "i i\u{307} ı");
        assert_eq!(of("a‑b — “c”"), "a‐b — “c”");
    }

    #[test]
    fn every_character_is_folded_by_the_steps_and_stays_as_it_is_then() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let text = format!("e{c}\u{301}{c}x");
            let folded = by_steps(&text);
            assert_eq!(of(&text), folded, "{c:?}");
            assert_eq!(of(&folded), folded, "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_folded_by_the_steps(
            text in "[a`Eéß’ſKῼ\u{1fb3}\u{301}\u{327}\u{345}\u{ad}\u{200d}\u{34f}ᄀ가\u{1161}\u{11a8}か\u{3099}ﾞ中ﬁ㎏İ]{0,24}|\\PC{0,24}"
        ) {
            let folded = by_steps(&text);
            prop_assert_eq!(of(&text), folded.clone());
            prop_assert_eq!(of(&folded), folded);
        }

        #[test]
        fn equal_texts_in_other_forms_have_one_form(text in "\\PC{0,24}|[a-zéèßÅñüがポ각]{0,24}") {
            let folded = of(&text);
            prop_assert_eq!(of(&text.nfc().collect::<String>()), folded.clone());
            prop_assert_eq!(of(&text.nfd().collect::<String>()), folded);
        }
    }
}
