//! Clusters, against a search that compares every document with every other.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use hamdex::{BuildOptions, Builder, Engine, Index};
use hamdex_documents::{Check, Dedup, Document, Error, Preference};
use hamdex_simhash::{Fingerprinter, Outcome, Recipe, Scratch, Shingler};
use proptest::prelude::*;

/// Texts that are too short for a fingerprint.
const SHORT_TEXTS: [&str; 6] = ["", " \n", "Page not found", " Page not found", "Log in", "!"];

/// A text of 60 words, of which this many are replaced: texts of one story are links of chains.
fn text(story: usize, replaced: usize) -> String {
    let word = |place: usize| {
        if place < replaced { format!("new{place}") } else { format!("story{story}word{place}") }
    };
    (0..60).map(word).collect::<Vec<_>>().join(" ")
}

/// Few stories, so that there are repeats, chains and far documents; and short texts.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let long = (0usize..4, 0usize..14).prop_map(|(story, replaced)| text(story, replaced));
    let short = prop::sample::select(&SHORT_TEXTS[..]).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![6 => long, 1 => short], 0..40)
}

fn recipe<F: Engine>() -> Recipe {
    format!("default width={}", F::BITS).parse().unwrap()
}

/// Cluster, document, whether it is kept, distance to the kept one.
type Row = (u32, u32, bool, u32);

/// The clusters by definition: every pair is compared.
fn brute_force<F: Engine>(
    texts: &[String],
    distance: u32,
    known: &[F],
    prefer: Preference,
    check: Option<(f64, NonZeroUsize)>,
) -> Vec<Row> {
    let fingerprinter = Fingerprinter::<F>::new(&recipe::<F>()).unwrap();
    let mut scratch = Scratch::default();
    let outcomes: Vec<Outcome<F>> =
        texts.iter().map(|text| fingerprinter.fingerprint(text, &mut scratch)).collect();
    let are_near = |one: usize, other: usize| match (outcomes[one].reliable(), outcomes[other].reliable()) {
        (Some(one_fingerprint), Some(other_fingerprint)) => {
            let is_known = |f: F| known.iter().any(|&known| known.distance(f) <= distance);
            one_fingerprint.distance(other_fingerprint) <= distance
                && !is_known(one_fingerprint)
                && !is_known(other_fingerprint)
                && check.is_none_or(|(min_jaccard, words)| {
                    let mut shingler = Shingler::new(words);
                    let [one, other] = [one, other].map(|number| shingler.shingles(&texts[number]));
                    one.resemblance(&other) >= min_jaccard
                })
        }
        (None, None) => texts[one].trim() == texts[other].trim() && !texts[one].trim().is_empty(),
        _ => false,
    };
    // The least number that can be reached over near documents, repeated until nothing changes.
    let mut first: Vec<usize> = (0..texts.len()).collect();
    loop {
        let before = first.clone();
        for one in 0..texts.len() {
            for other in 0..texts.len() {
                if are_near(one, other) {
                    first[one] = first[one].min(first[other]);
                }
            }
        }
        if first == before {
            break;
        }
    }
    let mut clusters: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    (0..texts.len()).for_each(|document| clusters.entry(first[document]).or_default().push(document));
    clusters.retain(|_, members| members.len() > 1);
    let mut rows = Vec::new();
    for (cluster, members) in (1..).zip(clusters.values()) {
        let mut kept = members[0];
        for &member in members {
            if prefer == Preference::Longest && texts[member].len() > texts[kept].len() {
                kept = member;
            }
        }
        for &member in members {
            let distance = match (outcomes[member].reliable(), outcomes[kept].reliable()) {
                (Some(one), Some(other)) => one.distance(other),
                _ => 0,
            };
            rows.push((cluster, member as u32, member == kept, distance));
        }
    }
    rows
}

fn corpus(texts: &[String]) -> Vec<Document> {
    (0..).zip(texts).map(|(number, text)| Document::new(format!("d{number}"), text)).collect()
}

fn found<F: Engine>(dedup: &Dedup<'_, F>, texts: &[String]) -> Vec<Row> {
    let clusters = dedup.run_on(corpus(texts)).unwrap();
    let rows: Vec<Row> = clusters
        .members()
        .iter()
        .map(|member| (member.cluster, member.document, member.is_kept, member.distance))
        .collect();
    assert_eq!(clusters.count(), rows.iter().filter(|row| row.2).count() as u64);
    assert_eq!(clusters.duplicates(), rows.iter().filter(|row| !row.2).count() as u64);
    assert_eq!(clusters.counts().documents, texts.len() as u64);
    assert!(rows.iter().all(|row| clusters.id(row.1) == format!("d{}", row.1)));
    if clusters.known().is_none() {
        let unique: Vec<u32> = clusters.unique().collect();
        let duplicates = |document: &u32| rows.iter().any(|row| row.1 == *document && !row.2);
        assert!(unique.into_iter().eq((0..texts.len() as u32).filter(|document| !duplicates(document))));
    }
    rows
}

fn dedup<F: Engine>() -> Dedup<'static, F> {
    Dedup::new(Fingerprinter::<F>::new(&recipe::<F>()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn clusters_are_those_of_brute_force(texts in texts(), distance in 0u32..=10, longest: bool) {
        let prefer = if longest { Preference::Longest } else { Preference::First };
        let by_index = found(&dedup::<u64>().distance(distance).prefer(prefer), &texts);
        prop_assert_eq!(by_index, brute_force::<u64>(&texts, distance, &[], prefer, None));
        let by_index = found(&dedup::<u128>().distance(distance).prefer(prefer), &texts);
        prop_assert_eq!(by_index, brute_force::<u128>(&texts, distance, &[], prefer, None));
    }

    #[test]
    fn confirmed_clusters_are_those_of_brute_force(texts in texts(), percent in 0u32..=100) {
        let (share, words) = (f64::from(percent) / 100.0, NonZeroUsize::new(3).unwrap());
        let dedup = dedup::<u64>().distance(8).check(Check::new(share, words).unwrap());
        let expected = brute_force::<u64>(&texts, 8, &[], Preference::First, Some((share, words)));
        prop_assert_eq!(found(&dedup, &texts), expected);
    }

    #[test]
    fn what_is_known_belongs_to_no_cluster(texts in texts(), known in texts(), distance in 0u32..=8) {
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
        let dedup = Dedup::new(fingerprinter).distance(distance).against(&index);
        let expected = brute_force(&texts, distance, &known, Preference::First, None);
        prop_assert_eq!(found(&dedup, &texts), expected);
    }
}

#[test]
fn a_chain_is_one_cluster_though_its_ends_are_far_apart() {
    let texts: Vec<String> = (0..14).map(|replaced| text(0, replaced)).collect();
    let rows = found(&dedup::<u64>().distance(8), &texts);
    assert_eq!(rows, brute_force::<u64>(&texts, 8, &[], Preference::First, None));
    assert!(rows.iter().any(|row| row.0 == 1 && row.3 > 8), "{rows:?}");
}

#[test]
fn nothing_and_one_document_have_no_clusters() {
    for texts in [vec![], vec![String::new()], vec![text(1, 0)]] {
        assert_eq!(found(&dedup::<u64>(), &texts), []);
    }
}

#[test]
fn documents_that_are_too_short_are_reported_even_if_the_search_fails() {
    let directory = tempfile::tempdir().unwrap();
    let temp_dir = directory.path().join("temporary");
    std::fs::create_dir(&temp_dir).unwrap();
    let reported = Arc::new(Mutex::new(Vec::new()));
    let receiver = Arc::clone(&reported);
    let dedup = dedup::<u64>()
        .temp_dir(&temp_dir)
        .on_too_short(move |documents| receiver.lock().unwrap().extend_from_slice(documents.examples()));
    let texts = [text(0, 0), "short".to_owned(), text(1, 0)];
    // The search finds no directory for its index.
    let documents = corpus(&texts).into_iter().inspect(|_| drop(std::fs::remove_dir(&temp_dir)));
    let error = dedup.run_on(documents).unwrap_err();
    assert!(matches!(error, Error::Temporary { .. }), "{error:?}");
    assert_eq!(*reported.lock().unwrap(), [("d1".to_owned(), 1)]);
}

/// So that a run which is killed leaves nothing either.
#[cfg(target_os = "linux")]
#[test]
fn no_temporary_file_has_a_name() {
    let directory = tempfile::tempdir().unwrap();
    let seen = Arc::new(Mutex::new((0, Vec::new())));
    let (watched, record) = (directory.path().to_owned(), Arc::clone(&seen));
    let dedup = Dedup::new(Fingerprinter::<u64>::new(&recipe::<u64>()).unwrap())
        .temp_dir(directory.path())
        .keep_texts(true)
        .on_progress(move |_| {
            let mut record = record.lock().unwrap();
            record.0 += 1;
            record.1.extend(watched.read_dir().unwrap().map(|entry| entry.unwrap().file_name()));
        });
    let documents = (0..50).map(|number| Document::new(number.to_string(), text(number / 2, 0)));
    assert_eq!(dedup.run_on(documents).unwrap().count(), 25);
    let (reports, names) = &*seen.lock().unwrap();
    assert!(*reports > 1, "the search reports its progress");
    assert!(names.is_empty(), "{names:?}");
}
