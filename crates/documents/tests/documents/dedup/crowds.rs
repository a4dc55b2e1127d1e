//! Many near-equal documents: as many comparisons as documents, not as pairs.

use hamdex_documents::{Clustering, Clusters, Document};

use super::common::{Rule, text};

/// A number that looks random.
fn number(counter: u64) -> u64 {
    let mixed = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
}

/// A text of 60 words, of which one is another in each.
fn one_word_apart(count: u32) -> impl Iterator<Item = Document> + Send {
    (0..count).map(|document| {
        let place = number(document.into()) % 60;
        let word = |at: u64| if at == place { format!("new{document}") } else { format!("word{at}") };
        Document::new(document.to_string(), (0..60).map(word).collect::<Vec<_>>().join(" "))
    })
}

#[test]
fn equal_documents_are_one_star() {
    for rule in [Rule::default(), Rule::of_distance(3)] {
        let documents = (0..20_000).map(|number| Document::new(number.to_string(), text(1, 0)));
        let clusters = rule.dedup::<u64>().run_on(documents).unwrap();
        assert_eq!((clusters.count(), clusters.duplicates()), (1, 19_999));
    }
}

#[test]
fn shuffles_of_a_text_are_no_copies_of_it() {
    let words: Vec<String> = (0..100).map(|word| format!("word{word}")).collect();
    let shuffled = |seed: u64| {
        let mut words = words.clone();
        words.sort_by_cached_key(|word| number(seed * 1000 + word[4..].parse::<u64>().unwrap()));
        Document::new(seed.to_string(), words.join(" "))
    };
    for distance in [None, Some(3)] {
        let rule = Rule { distance, ..Rule::of_similarity(0.7, 5) };
        let clusters = rule.dedup::<u64>().run_on((0..3000).map(shuffled)).unwrap();
        assert_eq!(clusters.count(), 0);
    }
    let clusters = Rule::of_distance(3).dedup::<u64>().run_on((0..3000).map(shuffled)).unwrap();
    assert_eq!((clusters.count(), clusters.duplicates()), (1, 2999));
}

#[test]
fn documents_that_differ_in_a_word_are_few_stars_and_one_chain() {
    let count = 10_000;
    // Most pairs share 51 or 46 of 61 or 66 shingles: more than 0.69, and pairs with the same word more.
    let rule = Rule::of_similarity(0.69, 5);
    let clusters = rule.dedup::<u64>().run_on(one_word_apart(count)).unwrap();
    assert_eq!((clusters.count(), clusters.duplicates()), (1, u64::from(count) - 1));
    let linked = Rule { clustering: Clustering::Linked, ..Rule::of_similarity(0.8, 5) };
    let clusters = linked.dedup::<u64>().run_on(one_word_apart(count)).unwrap();
    assert!(clusters.count() < 100 && clusters.duplicates() > u64::from(count) - 100, "{}", clusters.count());
}

#[test]
fn a_crowd_of_fingerprints_is_few_stars() {
    let count = 100_000;
    let rule = Rule::of_distance(8);
    // Three of 32 bits differ from the centre: hundreds of millions of pairs are near.
    let clusters = rule.dedup::<u64>().run_on_fingerprints(|sink| {
        (0..count).try_for_each(|document| {
            let flips = [0, 1, 2].map(|flip| 1u64 << (number(document * 3 + flip) % 32));
            sink(b"", flips.iter().fold(7 << 40, |fingerprint, bit| fingerprint ^ bit), None)
        })
    });
    let clusters: Clusters = clusters.unwrap();
    assert_eq!((clusters.count(), clusters.duplicates()), (1, count - 1));
}

#[test]
fn a_template_that_many_texts_share_is_no_copy() {
    // Of 96 shingles, 70 are in all texts: 0.57 similar, though three quarters of each are the same.
    let count = 5000;
    let template: Vec<String> = (0..74).map(|word| format!("template{word}")).collect();
    let documents = (0..count).map(|document| {
        let own = (0..26).map(|word| format!("own{document}word{word}"));
        Document::new(document.to_string(), template.iter().cloned().chain(own).collect::<Vec<_>>().join(" "))
    });
    for clustering in [Clustering::Stars, Clustering::Linked] {
        let rule = Rule { clustering, ..Rule::default() };
        assert_eq!(rule.dedup::<u64>().run_on(documents.clone()).unwrap().count(), 0);
    }
}
