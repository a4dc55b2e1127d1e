//! Tf·idf from a corpus's own dictionary, end to end.

use std::sync::Arc;

use hamdex_simhash::word_lists::{IdfBuilder, IdfDictionary, Unknown};
use hamdex_simhash::{Fingerprinter, Lists, Recipe, Scratch};

fn dictionary<T: AsRef<str>>(recipe: &Recipe, texts: &[T]) -> Arc<IdfDictionary> {
    let mut builder = IdfBuilder::new(recipe, None, 1_000_000).unwrap();
    texts.iter().for_each(|text| builder.add(text.as_ref()));
    assert_eq!(builder.error_documents(), 0);
    Arc::new(builder.finish().unwrap())
}

#[test]
fn a_dictionary_of_the_articles_finds_the_copies() {
    let Some(articles) = crate::shared_data::articles() else { return };
    let plain = Recipe::default();
    let idf = dictionary(&plain, &articles.texts);
    let recipe = plain.with_idf(&idf, Unknown::Median);
    // The recipe decoded from text works with the dictionary decoded from its file.
    let recipe: Recipe = recipe.to_string().parse().unwrap();
    let idf = Arc::new(IdfDictionary::read(idf.to_string().as_bytes()).unwrap());
    let of = Fingerprinter::<u64>::with_lists(&recipe, Lists::default().with_idf(idf)).unwrap();

    let mut scratch = Scratch::default();
    let fingerprints: Vec<_> =
        articles.texts.iter().map(|text| of.fingerprint(text, &mut scratch).reliable()).collect();
    let at_3 = articles.found(&fingerprints, 3);
    assert!(at_3.recall >= 0.9 && at_3.wrong == 0, "{at_3:?}");
}

#[test]
fn the_dictionary_must_be_the_one_of_the_recipe() {
    let plain = Recipe::default();
    let (one, other) = (dictionary(&plain, &["a b", "a c"]), dictionary(&plain, &["a b", "a d"]));
    let recipe = plain.with_idf(&one, Unknown::Median);
    let with = |lists| Fingerprinter::<u64>::with_lists(&recipe, lists);
    assert!(with(Lists::default().with_idf(one)).is_ok());
    for wrong in [Lists::default(), Lists::default().with_idf(other)] {
        let error = with(wrong).unwrap_err();
        assert!(error.to_string().starts_with("recipe needs the idf dictionary with digest "), "{error}");
    }
}

#[test]
fn only_the_heaviest_words_vote() {
    let corpus = ["the hen", "the fox", "the fox and the hen", "the dog", "the owl", "the cat"];
    let plain: Recipe = "default top=2 min-features=1".parse().unwrap();
    let idf = dictionary(&plain, &corpus);
    let recipe = plain.with_idf(&idf, Unknown::Median);
    let of = Fingerprinter::<u64>::with_lists(&recipe, Lists::default().with_idf(idf)).unwrap();
    let mut scratch = Scratch::default();
    let mut of = |text: &str| of.fingerprint(text, &mut scratch).value().unwrap();
    // "the" is in every document and weighs nothing; "fox" and "hen" weigh less than "dog" and "owl".
    assert_eq!(of("the dog, the owl"), of("the fox dog hen owl"));
    assert_ne!(of("the dog, the owl"), of("the dog, the cat"));
}
