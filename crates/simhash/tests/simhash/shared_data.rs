//! Real texts with known near-duplicates, kept next to the project.

use std::fs;
use std::path::PathBuf;

use hamdex_fingerprint::Fingerprint;

/// Documents and which of them are near-duplicates.
pub(crate) struct Corpus {
    pub(crate) name: &'static str,
    pub(crate) texts: Vec<String>,
    /// The pairs of near-duplicates.
    pub(crate) pairs: Vec<(usize, usize)>,
}

/// The pairs within a distance, against the near-duplicates.
#[derive(Debug)]
pub(crate) struct Found {
    /// The number of pairs that are no near-duplicates.
    pub(crate) wrong: usize,
    pub(crate) precision: f64,
    pub(crate) recall: f64,
}

impl Corpus {
    /// Counts the pairs of fingerprints within a distance. A text without a fingerprint is in none.
    pub(crate) fn found<F: Fingerprint>(&self, fingerprints: &[Option<F>], distance: u32) -> Found {
        let is_near = |&(one, other): &(usize, usize)| {
            let both = fingerprints[one].zip(fingerprints[other]);
            both.is_some_and(|(one, other)| one.distance(other) <= distance)
        };
        let right = self.pairs.iter().copied().filter(is_near).count();
        let all = (0..fingerprints.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
        let all = all.filter(is_near).count();
        let share = |whole: usize| if whole == 0 { 1.0 } else { right as f64 / whole as f64 };
        Found { wrong: all - right, precision: share(all), recall: share(self.pairs.len()) }
    }
}

/// Returns a file of the shared data; prints a message and returns `None` if it does not exist.
fn read(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    let text = fs::read_to_string(&path);
    if text.is_err() {
        println!("skipped: no {name} in ../shared/data next to the project");
    }
    text.ok()
}

/// 1,000 English articles, one per line after its id, with 10 true pairs.
pub(crate) fn articles() -> Option<Corpus> {
    let (lines, pairs) = (read("articles_1000.train")?, read("articles_1000.truth")?);
    let (ids, texts): (Vec<&str>, Vec<String>) =
        lines.lines().filter_map(|line| line.split_once(' ')).map(|(id, text)| (id, text.to_owned())).unzip();
    let place = |id: &str| ids.iter().position(|&other| other == id).expect("the truth names articles");
    let pairs = pairs.lines().filter_map(|pair| pair.split_once(' ')).map(|(a, b)| (place(a), place(b)));
    Some(Corpus { name: "articles", texts, pairs: pairs.collect() })
}

/// Pages of a manual for two machines, in English and in Chinese; a group is one page of one language.
pub(crate) fn manual(language: &'static str) -> Option<Corpus> {
    let lines = read("install-guide.jsonl")?;
    let pages =
        lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON Lines"));
    let field = |page: &serde_json::Value, name: &str| page[name].as_str().expect("a text field").to_owned();
    let pages = pages.filter(|page| field(page, "group").starts_with(language));
    let (groups, texts): (Vec<_>, Vec<_>) =
        pages.map(|page| (field(&page, "group"), field(&page, "text"))).unzip();
    let all = (0..texts.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
    let pairs = all.filter(|&(one, other)| groups[one] == groups[other]).collect();
    Some(Corpus { name: language, texts, pairs })
}
