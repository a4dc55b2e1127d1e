//! Clusters equal those of brute force.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use hamdex::{BuildOptions, Builder, Fingerprint, Index};
use hamdex_documents::known::{KnownAs, KnownTexts, NearestTexts, NewTexts};
use hamdex_documents::{Clustering, Clusters, Dedup, Document, Documents, Error, Preference, Similarity};
use hamdex_simhash::{Fingerprinter, Recipe, Scratch, Shingler, Shingles};
use proptest::prelude::*;

use super::common::{Rule, brute_force, corpus, found, text, texts};

fn preference() -> impl Strategy<Value = Preference> {
    prop_oneof![Just(Preference::First), Just(Preference::Longest)]
}

fn clustering() -> impl Strategy<Value = Clustering> {
    prop_oneof![Just(Clustering::Stars), Just(Clustering::Linked)]
}

/// Little memory, in which one text at a time is compared with known ones.
const LEAST_MEMORY: u64 = 24_000;

/// Known documents that count how often they are read.
struct Counted {
    documents: Documents,
    is_repeatable: bool,
    reads: AtomicUsize,
}

impl KnownTexts for Counted {
    fn search(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error> {
        assert_eq!(new.are_first(), self.reads.fetch_add(1, Relaxed) == 0);
        self.documents.search(new, nearest)
    }

    fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }
}

#[test]
fn new_texts_beyond_the_memory_are_compared_part_by_part() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.jsonl");
    let lines: String = (5..15)
        .map(|story| format!("{{\"id\": \"k{story}\", \"text\": \"{}\"}}\n", text(story, 0)))
        .collect();
    std::fs::write(&path, lines).unwrap();
    let texts: Vec<String> = (0..20).map(|story| text(story, 0)).collect();
    for (memory, is_repeatable, reads) in
        [(LEAST_MEMORY, true, 20), (LEAST_MEMORY, false, 1), (1 << 30, true, 1)]
    {
        let documents = Documents::from_paths([&path]);
        assert!(KnownTexts::is_repeatable(&documents));
        let known = Counted { documents, is_repeatable, reads: AtomicUsize::new(0) };
        let dedup = Rule::of_similarity(0.7, 5).dedup::<u64>().memory(memory);
        let clusters = dedup.against_texts(&known).run_on(corpus(&texts)).unwrap();
        assert_eq!(clusters.unique().collect::<Vec<_>>(), (0..5).chain(15..20).collect::<Vec<_>>());
        assert_eq!(known.reads.into_inner(), reads);
    }
    // Standard input is read once, unless it is kept.
    let standard_input = Documents::from_paths(["-"]);
    assert!(!KnownTexts::is_repeatable(&standard_input));
    assert!(KnownTexts::is_repeatable(&standard_input.repeatable()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn clusters_by_distance_are_those_of_brute_force(
        texts in texts(),
        distance in 0u32..=10,
        prefer in preference(),
        clustering in clustering(),
    ) {
        let rule = Rule { prefer, clustering, ..Rule::of_distance(distance) };
        prop_assert_eq!(found(&rule.dedup::<u64>(), &texts), brute_force::<u64>(&texts, &[], rule));
        prop_assert_eq!(found(&rule.dedup::<u128>(), &texts), brute_force::<u128>(&texts, &[], rule));
    }

    #[test]
    fn clusters_by_similarity_are_those_of_brute_force(
        texts in texts(),
        percent in 1u32..=100,
        words in 1usize..7,
        prefer in preference(),
        clustering in clustering(),
    ) {
        let least = f64::from(percent) / 100.0;
        let rule = Rule { prefer, clustering, ..Rule::of_similarity(least, words) };
        prop_assert_eq!(found(&rule.dedup::<u64>(), &texts), brute_force::<u64>(&texts, &[], rule));
    }

    #[test]
    fn clusters_by_both_are_those_of_brute_force(
        texts in texts(),
        percent in 1u32..=100,
        distance in 0u32..=12,
        prefer in preference(),
        clustering in clustering(),
    ) {
        let least = f64::from(percent) / 100.0;
        let rule = Rule { distance: Some(distance), prefer, clustering, ..Rule::of_similarity(least, 3) };
        prop_assert_eq!(found(&rule.dedup::<u64>(), &texts), brute_force::<u64>(&texts, &[], rule));
    }

    #[test]
    fn what_is_known_belongs_to_no_cluster(texts in texts(), known in texts(), distance in 0u32..=8, by_texts: bool) {
        let fingerprinter = Fingerprinter::<u64>::new(&Recipe::default()).unwrap();
        let mut scratch = Scratch::default();
        let known: Vec<u64> = known
            .iter()
            .take(2)
            .filter_map(|text| fingerprinter.fingerprint(text, &mut scratch).reliable())
            .collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.hamdex");
        let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new()).unwrap();
        known.iter().for_each(|&fingerprint| builder.push(fingerprint).unwrap());
        builder.finish().unwrap();
        let index = Index::<u64>::open(&path).unwrap();
        let rule = if by_texts { Rule::default() } else { Rule::of_distance(distance) };
        let dedup = rule.dedup().against(&index, rule.distance.unwrap_or(3));
        prop_assert_eq!(found(&dedup, &texts), brute_force(&texts, &known, rule));
    }

    #[test]
    fn texts_that_are_known_belong_to_no_cluster(
        texts in texts(),
        known in texts(),
        percent in 1u32..=100,
        words in 1usize..7,
        prefer in preference(),
        clustering in clustering(),
        memory in prop::sample::select(&[LEAST_MEMORY, 1 << 30][..]),
    ) {
        let similarity = Similarity::new(f64::from(percent) / 100.0, words.try_into().unwrap()).unwrap();
        let rule = Rule { prefer, clustering, similarity: Some(similarity), ..Rule::default() };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.jsonl");
        let mut lines = String::new();
        for (number, text) in known.iter().enumerate() {
            lines += &format!("{{\"id\": \"k{number}\", \"text\": {text:?}}}\n");
        }
        std::fs::write(&path, lines).unwrap();
        let reference = Documents::from_paths([&path]);
        let dedup = rule.dedup::<u64>().memory(memory);
        let clusters = dedup.against_texts(&reference).run_on(corpus(&texts)).unwrap();

        let mut shingler = Shingler::new(similarity.words());
        let known: Vec<Shingles> = known.iter().map(|text| shingler.shingles(text)).collect();
        let mut expected = Vec::new();
        let mut left = texts.clone();
        for (document, text) in texts.iter().enumerate() {
            let shingles = shingler.shingles(text);
            let (mut nearest, mut most) = (None, 0.0);
            for (number, known) in known.iter().enumerate() {
                let similarity = shingles.resemblance(known);
                if similarity >= rule.similarity.unwrap().least() && similarity > most {
                    (nearest, most) = (Some(format!("k{number}")), similarity);
                }
            }
            if let Some(name) = nearest {
                expected.push((document as u32, KnownAs::Name(name), Some(most)));
                // A blank text is in no cluster.
                left[document] = String::new();
            }
        }
        let found = clusters.known().unwrap().iter();
        let found: Vec<_> = found.map(|known| (known.document, known.known.clone(), known.similarity)).collect();
        prop_assert_eq!(found, expected);
        let rows: Vec<_> = clusters.members().iter().map(|member| (member.cluster, member.document, member.is_kept)).collect();
        let expected: Vec<_> = brute_force::<u64>(&left, &[], rule).into_iter().map(|row| (row.0, row.1, row.2)).collect();
        prop_assert_eq!(rows, expected);
    }

    #[test]
    fn daily_runs_equal_one_over_all(days in prop::collection::vec(texts(), 1..5), percent in 30u32..=100) {
        let rule = Rule::of_similarity(f64::from(percent) / 100.0, 3);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kept.jsonl");
        let (mut kept, mut lines) = (Vec::new(), String::new());
        std::fs::write(&path, "").unwrap();
        for (day, texts) in days.iter().enumerate() {
            let reference = Documents::from_paths([&path]);
            let clusters = rule.dedup::<u64>().against_texts(&reference).run_on(corpus(texts)).unwrap();
            for document in clusters.unique() {
                kept.push((day, document));
                lines += &format!("{{\"id\": \"{day}-{document}\", \"text\": {:?}}}\n", texts[document as usize]);
            }
            std::fs::write(&path, &lines).unwrap();
        }
        let all: Vec<String> = days.concat();
        let numbers: Vec<(usize, u32)> = days.iter().enumerate()
            .flat_map(|(day, texts)| (0..texts.len() as u32).map(move |document| (day, document)))
            .collect();
        let clusters = rule.dedup::<u64>().run_on(corpus(&all)).unwrap();
        let expected: Vec<_> = clusters.unique().map(|document| numbers[document as usize]).collect();
        prop_assert_eq!(kept, expected);
    }

    #[test]
    fn fingerprints_without_texts_have_the_same_clusters(
        fingerprints in prop::collection::vec(prop_oneof![0u64..64, any::<u64>()], 0..60),
        distance in 0u32..6,
    ) {
        let rule = Rule::of_distance(distance);
        let clusters = rule.dedup::<u64>().run_on_fingerprints(|sink| {
            fingerprints.iter().try_for_each(|&fingerprint| sink(b"", fingerprint, None))
        });
        let clusters: Clusters = clusters.unwrap();
        let mut centres: Vec<u64> = Vec::new();
        let mut duplicates = Vec::new();
        for (document, &fingerprint) in (0..).zip(&fingerprints) {
            match centres.iter().find(|centre| centre.distance(fingerprint) <= distance) {
                Some(centre) => duplicates.push((document, centre.distance(fingerprint))),
                None => centres.push(fingerprint),
            }
        }
        let members = clusters.members().iter().filter(|member| !member.is_kept);
        let mut found: Vec<(u32, u32)> = members.map(|member| (member.document, member.distance)).collect();
        found.sort_unstable();
        prop_assert_eq!(found, duplicates);
    }
}

#[test]
fn a_chain_is_several_stars() {
    let texts: Vec<String> = (0..14).map(|replaced| text(0, replaced)).collect();
    for rule in [Rule::of_distance(8), Rule::of_similarity(0.8, 5)] {
        let linked = Rule { clustering: Clustering::Linked, ..rule };
        let rows = found(&linked.dedup::<u64>(), &texts);
        assert_eq!(rows, brute_force::<u64>(&texts, &[], linked));
        assert_eq!((rows.len(), rows.iter().filter(|row| row.2).count()), (14, 1), "{rows:?}");
        let rows = found(&rule.dedup::<u64>(), &texts);
        assert!(rows.iter().filter(|row| row.2).count() > 1, "{rows:?}");
    }
}

#[test]
fn the_default_is_seven_tenths_of_the_shingles_of_five_words() {
    // 60 words have 56 shingles. What is replaced at the start takes with it the same number of them.
    let texts: Vec<String> = [0, 9, 10].iter().map(|&replaced| text(0, replaced)).collect();
    let clusters = Rule::default().dedup::<u64>().run_on(corpus(&texts)).unwrap();
    let similar = clusters.members().iter().map(|member| (member.document, member.similarity));
    assert!(similar.eq([(0, Some(1.0)), (1, Some(47.0 / 65.0))]));
}

#[test]
fn nothing_and_one_document_have_no_clusters() {
    for rule in [Rule::default(), Rule::of_distance(3)] {
        for texts in [vec![], vec![String::new()], vec![text(1, 0)], vec![String::new(); 3]] {
            assert_eq!(found(&rule.dedup::<u64>(), &texts), []);
        }
    }
}

#[test]
fn fingerprints_have_no_similarity() {
    let dedup: Dedup<'_, u64> = Rule::of_similarity(0.5, 5).dedup();
    let error: Error = dedup.run_on_fingerprints(|_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("no texts"), "{error}");
}

#[test]
fn short_texts_with_equal_shingles_are_near_whatever_their_fingerprints() {
    let words = |count: usize| (0..count).map(|at| ["one", "other"][at % 2]).collect::<Vec<_>>().join(" ");
    let texts = [words(6), words(7), words(9), "another short text".to_owned()];
    let fingerprinter = Fingerprinter::<u64>::new(&Recipe::default()).unwrap();
    let mut scratch = Scratch::default();
    let outcomes: Vec<_> = texts.iter().map(|text| fingerprinter.fingerprint(text, &mut scratch)).collect();
    assert!(outcomes.iter().all(|outcome| outcome.is_too_short()), "{outcomes:?}");
    assert_ne!(outcomes[0].value(), outcomes[1].value());
    let similarity = Similarity::new(0.9, 5.try_into().unwrap()).unwrap();
    let documents = (0..).zip(&texts).map(|(id, text): (u32, _)| Document::new(id.to_string(), text.clone()));
    let dedup = Dedup::new(fingerprinter.clone()).distance(3).similarity(similarity);
    let clusters = dedup.run_on(documents.collect::<Vec<_>>()).unwrap();
    assert_eq!((clusters.count(), clusters.duplicates()), (1, 2));
}
