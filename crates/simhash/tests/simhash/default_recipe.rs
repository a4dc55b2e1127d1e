//! The promises of the default recipe: its bits never change, and it finds near-duplicates.

use hamdex_simhash::evaluate::{ByDistance, by_distance, by_longest_sentences, by_resemblance};
use hamdex_simhash::{Fingerprinter, Outcome, Recipe, Scratch};

use crate::shared_data::Corpus;

const ENGLISH: &str = "It was the best of times, it was the worst of times, it was the age of wisdom, \
                       it was the age of foolishness, it was the epoch of belief, it was the epoch of \
                       incredulity, it was the season of Light, it was the season of Darkness.";
const CHINESE: &str =
    "道可道，非常道；名可名，非常名。无名天地之始，有名万物之母。故常无欲，以观其妙；常有欲，以观其徼。";

fn of(text: &str) -> Outcome<u64> {
    Fingerprinter::new(&Recipe::default()).unwrap().fingerprint(text, &mut Scratch::default())
}

#[test]
fn its_bits_never_change() {
    // These are in files. Should one of them fail, the recipe's text form must change with the bits.
    assert_eq!(of(ENGLISH), Outcome::Fingerprint(0x831284633eeb8178));
    assert_eq!(of(CHINESE), Outcome::Fingerprint(0xa3f1c32db993ef96));
    let wide: Recipe = "default width=128".parse().unwrap();
    let wide = Fingerprinter::<u128>::new(&wide).unwrap();
    let of_wide = wide.fingerprint(ENGLISH, &mut Scratch::default());
    assert_eq!(of_wide, Outcome::Fingerprint(0xe32138c0a9bce629_a356d4433ffbc355));
}

#[test]
fn its_text_form_is_stable() {
    assert_eq!(
        Recipe::default().to_string(),
        "hamdex-simhash/1 width=64 case=simple tokens=words+bigrams tables=uax29-17.0.0,scripts-18.0.0 \
         min-chars=0 stop=none min-tokens=0 shingle=words:1 weight=log top=all hash=xxh3:0 tie=0 empty=none \
         min-features=16"
    );
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

fn scores(corpus: &Corpus) -> Vec<ByDistance> {
    let fingerprints: Vec<Option<u64>> = corpus.texts.iter().map(|text| of(text).reliable()).collect();
    let scores = by_distance(&fingerprints, &corpus.truth, 10);
    for each in &scores {
        let (precision, recall) = (each.score.precision(), each.score.recall());
        println!("{} k = {:2}: precision {precision:.2?} recall {recall:.2?}", corpus.name, each.distance);
    }
    scores
}

#[test]
fn near_duplicate_articles_are_found() {
    let Some(articles) = crate::shared_data::articles() else { return };
    assert_eq!((articles.texts.len(), articles.truth.pairs()), (1000, 10));
    let at_3 = scores(&articles)[3].score;
    assert!(at_3.recall() >= Some(0.9) && at_3.precision() >= Some(0.95), "{at_3:?}");
}

#[test]
fn pages_of_a_manual_are_found_in_two_languages() {
    for language in ["en", "zh_CN"] {
        let Some(manual) = crate::shared_data::manual(language) else { return };
        let at_3 = scores(&manual)[3].score;
        // A group is a page for two machines; in a third of the groups the two differ substantially.
        assert!(at_3.recall() >= Some(0.65) && at_3.precision() >= Some(0.95), "{language}: {at_3:?}");
    }
}

#[test]
fn other_methods_find_the_articles_too() {
    let Some(articles) = crate::shared_data::articles() else { return };
    let width = 4.try_into().unwrap();
    let by_resemblance = by_resemblance(&articles.texts, &articles.truth, width);
    let half = by_resemblance.iter().find(|each| each.resemblance_percent == 50).unwrap().score;
    assert_eq!((half.right, half.reported), (10, 10));
    // Half of the copies had their longest sentence altered.
    let longest = by_longest_sentences(&articles.texts, &articles.truth, 3);
    println!("longest sentences: {longest:?}");
    assert!(longest[0].score.right >= 5, "{longest:?}");
}
