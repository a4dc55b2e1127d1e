//! Corpora, and their clusters by definition.

use std::collections::BTreeMap;

use hamdex::Fingerprint;
use hamdex_documents::{Clustering, Dedup, Document, Preference, Similarity};
use hamdex_simhash::{Fingerprinter, Outcome, Recipe, Scratch, Shingler, Shingles};
use proptest::prelude::*;

/// Texts that are too short for a fingerprint.
const SHORT_TEXTS: [&str; 8] =
    ["", " \n", "Page not found", " Page not found", "page, not found!", "Log in", "!", "!?"];

/// A text of 60 words, of which this many are replaced: texts of one story are links of chains.
pub(crate) fn text(story: usize, replaced: usize) -> String {
    let word = |place: usize| {
        if place < replaced { format!("new{place}") } else { format!("story{story}word{place}") }
    };
    (0..60).map(word).collect::<Vec<_>>().join(" ")
}

/// The same, replaced here and there.
fn scattered(story: usize, places: &[usize]) -> String {
    let word = |place: usize| {
        if places.contains(&place) { format!("new{place}") } else { format!("story{story}word{place}") }
    };
    (0..60).map(word).collect::<Vec<_>>().join(" ")
}

/// Words of which there are few, so that most shingles are in many texts.
fn babble() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&["a", "b", "c"][..]), 1..60).prop_map(|words| words.join(" "))
}

/// Few stories, so that there are repeats, chains and far documents; short texts, and texts of common shingles.
pub(crate) fn texts() -> impl Strategy<Value = Vec<String>> {
    let long = (0usize..4, 0usize..14).prop_map(|(story, replaced)| text(story, replaced));
    let edited = (0usize..3, prop::collection::vec(0usize..60, 0..5))
        .prop_map(|(story, places)| scattered(story, &places));
    let cut = (0usize..3, 0usize..20, 40usize..60).prop_map(|(story, start, end)| {
        text(story, 0).split(' ').skip(start).take(end - start).collect::<Vec<_>>().join(" ")
    });
    let short = prop::sample::select(&SHORT_TEXTS[..]).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![4 => long, 4 => edited, 3 => cut, 2 => babble(), 2 => short], 0..40)
}

/// The definition of near-duplicates.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rule {
    pub(crate) distance: Option<u32>,
    pub(crate) similarity: Option<Similarity>,
    pub(crate) prefer: Preference,
    pub(crate) clustering: Clustering,
}

impl Rule {
    pub(crate) fn of_distance(distance: u32) -> Self {
        Self { distance: Some(distance), ..Self::default() }
    }

    pub(crate) fn of_similarity(least: f64, words: usize) -> Self {
        let similarity = Similarity::new(least, words.try_into().unwrap()).unwrap();
        Self { similarity: Some(similarity), ..Self::default() }
    }

    pub(crate) fn dedup<F: Fingerprint>(&self) -> Dedup<'static, F> {
        let fingerprinter = Fingerprinter::<F>::new(&recipe::<F>()).unwrap();
        let mut dedup = Dedup::new(fingerprinter).prefer(self.prefer).clusters(self.clustering);
        if let Some(distance) = self.distance {
            dedup = dedup.distance(distance);
        }
        if let Some(similarity) = self.similarity {
            dedup = dedup.similarity(similarity);
        }
        dedup
    }
}

fn recipe<F: Fingerprint>() -> Recipe {
    format!("default width={}", F::BITS).parse().unwrap()
}

/// Cluster, document, whether it is kept, distance and similarity to the kept one.
pub(crate) type Row = (u32, u32, bool, u32, Option<f64>);

/// Everything about texts that makes near-duplicates, compared pair by pair.
struct Compared<F> {
    outcomes: Vec<Outcome<F>>,
    shingles: Vec<Shingles>,
    texts: Vec<String>,
    known: Vec<F>,
    rule: Rule,
}

impl<F: Fingerprint> Compared<F> {
    fn new(texts: &[String], known: &[F], rule: Rule) -> Self {
        let fingerprinter = Fingerprinter::<F>::new(&recipe::<F>()).unwrap();
        let mut scratch = Scratch::default();
        let mut shingler = Shingler::new(rule.similarity.unwrap_or_default().words());
        Self {
            outcomes: texts.iter().map(|text| fingerprinter.fingerprint(text, &mut scratch)).collect(),
            shingles: texts.iter().map(|text| shingler.shingles(text)).collect(),
            texts: texts.to_vec(),
            known: known.to_vec(),
            rule,
        }
    }

    fn is_known(&self, document: usize) -> bool {
        let within = self.rule.distance.unwrap_or(3);
        let fingerprint = self.outcomes[document].reliable();
        fingerprint.is_some_and(|f| self.known.iter().any(|known| known.distance(f) <= within))
    }

    fn similarity(&self, one: usize, other: usize) -> f64 {
        self.shingles[one].resemblance(&self.shingles[other])
    }

    fn are_near(&self, one: usize, other: usize) -> bool {
        let is_blank = |document: usize| self.texts[document].trim().is_empty();
        if [one, other].iter().any(|&document| self.is_known(document) || is_blank(document)) {
            return false;
        }
        let fingerprints = (self.outcomes[one].reliable(), self.outcomes[other].reliable());
        match (self.rule.distance, self.rule.similarity, fingerprints) {
            (None, similarity, _) => self.similarity(one, other) >= similarity.unwrap_or_default().least(),
            (Some(distance), similarity, (Some(first), Some(second))) => {
                let is_similar = |s: Similarity| self.similarity(one, other) >= s.least();
                first.distance(second) <= distance && similarity.is_none_or(is_similar)
            }
            (Some(_), None, (None, None)) => self.texts[one].trim() == self.texts[other].trim(),
            (Some(_), Some(_), (None, None)) => self.shingles[one] == self.shingles[other],
            _ => false,
        }
    }

    /// Documents in the order in which they are preferred.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        if self.rule.prefer == Preference::Longest {
            order.sort_by_key(|&document| std::cmp::Reverse(self.texts[document].len()));
        }
        order
    }

    /// The kept document of each.
    fn kept(&self) -> Vec<usize> {
        let order = self.order();
        let mut kept: Vec<usize> = (0..self.texts.len()).collect();
        if self.rule.clustering == Clustering::Stars {
            let mut centres = Vec::new();
            for &document in &order {
                match centres.iter().find(|&&centre| self.are_near(centre, document)) {
                    Some(&centre) => kept[document] = centre,
                    None => centres.push(document),
                }
            }
            return kept;
        }
        let rank = |document: usize| order.iter().position(|&other| other == document);
        // The most preferred document that can be reached, repeated until nothing changes.
        loop {
            let before = kept.clone();
            for one in 0..kept.len() {
                for other in 0..kept.len() {
                    if self.are_near(one, other) && rank(kept[other]) < rank(kept[one]) {
                        kept[one] = kept[other];
                    }
                }
            }
            if kept == before {
                return kept;
            }
        }
    }
}

/// The clusters by definition.
pub(crate) fn brute_force<F: Fingerprint>(texts: &[String], known: &[F], rule: Rule) -> Vec<Row> {
    let compared = Compared::new(texts, known, rule);
    let kept = compared.kept();
    let mut clusters: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    (0..texts.len()).for_each(|document| clusters.entry(kept[document]).or_default().push(document));
    let mut clusters: Vec<Vec<usize>> = clusters.into_values().filter(|members| members.len() > 1).collect();
    clusters.sort_by_key(|members| members[0]);
    let value = |document: usize| compared.outcomes[document].value().unwrap_or(F::ZERO);
    let with_texts = rule.similarity.is_some() || rule.distance.is_none();
    let mut rows = Vec::new();
    for (cluster, members) in (1..).zip(&clusters) {
        let kept = kept[members[0]];
        for &member in members {
            let distance = value(member).distance(value(kept));
            let similarity = with_texts.then(|| compared.similarity(member, kept));
            rows.push((cluster, member as u32, member == kept, distance, similarity));
        }
    }
    rows
}

pub(crate) fn corpus(texts: &[String]) -> Vec<Document> {
    (0..).zip(texts).map(|(number, text)| Document::new(format!("d{number}"), text)).collect()
}

pub(crate) fn found<F: Fingerprint>(dedup: &Dedup<'_, F>, texts: &[String]) -> Vec<Row> {
    let clusters = dedup.run_on(corpus(texts)).unwrap();
    let rows: Vec<Row> = clusters
        .members()
        .iter()
        .map(|member| (member.cluster, member.document, member.is_kept, member.distance, member.similarity))
        .collect();
    assert_eq!(clusters.count(), rows.iter().filter(|row| row.2).count() as u64);
    assert_eq!(clusters.duplicates(), rows.iter().filter(|row| !row.2).count() as u64);
    assert_eq!(clusters.counts().documents, texts.len() as u64);
    assert!(rows.iter().all(|row| clusters.id(row.1).unwrap() == format!("d{}", row.1)));
    if clusters.known().is_none() {
        let unique: Vec<u32> = clusters.unique().collect();
        let duplicates = |document: &u32| rows.iter().any(|row| row.1 == *document && !row.2);
        assert!(unique.into_iter().eq((0..texts.len() as u32).filter(|document| !duplicates(document))));
    }
    rows
}
