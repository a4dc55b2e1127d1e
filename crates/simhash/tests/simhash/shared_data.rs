//! Real texts with known near-duplicates, kept next to the project.

use std::fs;
use std::path::PathBuf;

use hamdex_simhash::evaluate::Truth;

/// Documents and which of them are near-duplicates.
pub(crate) struct Corpus {
    pub(crate) name: &'static str,
    pub(crate) texts: Vec<String>,
    pub(crate) truth: Truth,
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
    let place =
        |id: &str| ids.iter().position(|&other| other == id).expect("the truth names articles") as u32;
    let truth = pairs.lines().filter_map(|pair| pair.split_once(' ')).map(|(a, b)| (place(a), place(b)));
    Some(Corpus { name: "articles", truth: Truth::of_pairs(truth), texts })
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
    Some(Corpus { name: language, truth: Truth::of_groups(groups), texts })
}
