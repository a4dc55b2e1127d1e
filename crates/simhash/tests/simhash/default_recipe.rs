//! The promises of the default recipe: its bits never change, and it finds near-duplicates.

use hamdex_simhash::{Fingerprinter, Outcome, Recipe, Scratch};

use crate::shared_data::{Corpus, Found};

const ENGLISH: &str = "It was the best of times, it was the worst of times, it was the age of wisdom, \
                       it was the age of foolishness, it was the epoch of belief, it was the epoch of \
                       incredulity, it was the season of Light, it was the season of Darkness.";
const FRENCH: &str = "L’été s’achève ; l’école n’a guère changé, mais l’élève l’a quit\u{ad}tée à regret. C’était \
                      l’e\u{301}poque où il suﬀisait d’aimer, d’être là, et d’espérer qu’aujourd’hui durerait.";
const CHINESE: &str =
    "道可道，非常道；名可名，非常名。无名天地之始，有名万物之母。故常无欲，以观其妙；常有欲，以观其徼。";

fn of(text: &str) -> Outcome<u64> {
    by("default", text)
}

fn by(recipe: &str, text: &str) -> Outcome<u64> {
    Fingerprinter::new(&recipe.parse().unwrap()).unwrap().fingerprint(text, &mut Scratch::default())
}

#[test]
fn its_bits_never_change() {
    // These are in files. Should one of them fail, the recipe's text form must change with the bits.
    for recipe in ["default", "default-1"] {
        assert_eq!(by(recipe, ENGLISH), Outcome::Fingerprint(0x831284633eeb8178));
        assert_eq!(by(recipe, CHINESE), Outcome::Fingerprint(0xa3f1c32db993ef96));
    }
    // Typographic apostrophes, decomposed accents and a ligature: the versions differ.
    assert_eq!(by("default", FRENCH), Outcome::Fingerprint(0x243605e609664186));
    assert_eq!(by("default-1", FRENCH), Outcome::Fingerprint(0x9017c6ec0c2001a1));
    let wide: Recipe = "default width=128".parse().unwrap();
    let wide = Fingerprinter::<u128>::new(&wide).unwrap();
    let of_wide = wide.fingerprint(ENGLISH, &mut Scratch::default());
    assert_eq!(of_wide, Outcome::Fingerprint(0xe32138c0a9bce629_a356d4433ffbc355));
}

#[test]
fn its_text_form_is_stable() {
    assert_eq!(
        Recipe::default().to_string(),
        "hamdex-simhash/1 width=64 case=caseless tokens=words+bigrams \
         tables=uax29-17.0.0,scripts-18.0.0,nfkc-18.0.0,unicase-2.10.0 min-chars=0 stop=none min-tokens=0 \
         shingle=words:1 weight=log top=all hash=xxh3:0 tie=0 empty=none min-features=16"
    );
}

#[test]
fn other_ways_to_write_the_same_do_not_matter() {
    use unicode_normalization::UnicodeNormalization;

    let decomposed: String = FRENCH.nfd().collect();
    let typed = FRENCH.replace(['’', '\u{ad}'], "").replace('ﬀ', "ff");
    assert_ne!(of(FRENCH), of(&typed), "without apostrophes");
    let typed = FRENCH.replace('’', "'").replace('\u{ad}', "").replace('ﬀ', "ff");
    let wide: String = typed.chars().map(full_width).collect();
    for other in [&decomposed, &typed, &wide, &typed.to_uppercase(), &decomposed.replace('ﬀ', "ff")] {
        assert_eq!(of(FRENCH), of(other), "{other}");
    }
    assert_ne!(by("default-1", FRENCH), by("default-1", &typed));
}

fn full_width(c: char) -> char {
    if c.is_ascii_graphic() { char::from_u32(u32::from(c) + 0xfee0).expect("it is a character") } else { c }
}

#[test]
fn layout_and_case_do_not_matter() {
    assert_eq!(of(ENGLISH), of(&ENGLISH.to_uppercase().replace(' ', " \n\t")));
    assert_eq!(of(ENGLISH), of(&ENGLISH.replace(',', " --")));
    assert_eq!(of(CHINESE), of(&CHINESE.replace(['，', '；'], "！")));
}

#[test]
fn a_used_scratch_changes_nothing() {
    let fingerprinter = Fingerprinter::<u64>::new(&Recipe::default()).unwrap();
    let mut scratch = Scratch::default();
    for text in [ENGLISH, "", CHINESE, "one two", ENGLISH] {
        assert_eq!(fingerprinter.fingerprint(text, &mut scratch), of(text));
    }
}

#[test]
fn threads_share_one_fingerprinter() {
    let fingerprinter = Fingerprinter::<u64>::new(&Recipe::default()).unwrap();
    std::thread::scope(|scope| {
        for text in [ENGLISH, CHINESE] {
            let fingerprinter = &fingerprinter;
            scope.spawn(move || {
                assert_eq!(fingerprinter.fingerprint(text, &mut Scratch::default()), of(text));
            });
        }
    });
}

#[test]
fn short_texts_have_no_value_in_common() {
    assert_eq!(of(""), Outcome::TooShort { features: 0, fingerprint: None });
    assert_eq!(of("?!"), Outcome::TooShort { features: 0, fingerprint: None });
    let (yes, no) = (of("yes"), of("no"));
    assert!(yes.is_too_short() && no.is_too_short());
    assert_ne!(yes.value(), no.value());
}

fn at_3(corpus: &Corpus) -> Found {
    let fingerprints: Vec<Option<u64>> = corpus.texts.iter().map(|text| of(text).reliable()).collect();
    corpus.found(&fingerprints, 3)
}

#[test]
fn near_duplicate_articles_are_found() {
    let Some(articles) = crate::shared_data::articles() else { return };
    assert_eq!((articles.texts.len(), articles.pairs.len()), (1000, 10));
    let at_3 = at_3(&articles);
    assert!(at_3.recall >= 0.9 && at_3.wrong == 0, "{at_3:?}");
}

#[test]
fn pages_of_a_manual_are_found_in_two_languages() {
    for language in ["en", "zh_CN"] {
        let Some(manual) = crate::shared_data::manual(language) else { return };
        let at_3 = at_3(&manual);
        // A group is a page for two machines; in a third of the groups the two differ substantially.
        assert!(at_3.recall >= 0.65 && at_3.precision >= 0.95, "{}: {at_3:?}", manual.name);
    }
}
