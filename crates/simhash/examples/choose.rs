//! The measurements by which the default recipe was chosen: `cargo run --release -p hamdex-simhash --example choose`
//! measures a list of candidates, or the recipes given as arguments, on the texts in
//! `../shared/data` next to the project.
//!
//! With 10 true pairs a lucky seed of the hash makes any recipe look good, so everything is averaged over
//! many seeds of XXH3.

use std::env;

use hamdex_fingerprint::Fingerprint;
use hamdex_simhash::recipe::Hash;
use hamdex_simhash::{Fingerprinter, Recipe, RecipeError, Scratch};

#[path = "../tests/simhash/shared_data.rs"]
mod shared_data;
use shared_data::Corpus;

const SEEDS: u64 = 24;

const CANDIDATES: [&str; 15] = [
    "default",
    "default weight=count",
    "default weight=once",
    "default tokens=words",
    "default tokens=words+jieba",
    "default shingle=words:2 weight=count",
    "default shingle=words:2",
    "default shingle=words:2 weight=once",
    "default shingle=words:3 weight=count",
    "default tokens=words shingle=chars:4 weight=count",
    "default tokens=words shingle=chars:4",
    "default tokens=words shingle=chars:4 weight=once",
    "default tokens=words shingle=chars:5 weight=count",
    "default tokens=words shingle=chars:5",
    "default tokens=words shingle=chars:5 weight=once",
];

fn main() -> Result<(), RecipeError> {
    let given: Vec<String> = env::args().skip(1).collect();
    let recipes: Vec<&str> =
        if given.is_empty() { CANDIDATES.to_vec() } else { given.iter().map(String::as_str).collect() };
    let corpora = [shared_data::articles(), shared_data::manual("en"), shared_data::manual("zh_CN")];
    let corpora: Vec<Corpus> = corpora.into_iter().flatten().collect();

    println!("k = 3, mean of {SEEDS} seeds: precision (its least) / recall");
    for name in &recipes {
        print!("{name:50}");
        for corpus in &corpora {
            print!("  {} {}", corpus.name, score(&name.parse()?, corpus)?);
        }
        println!();
    }
    let long: Vec<(&str, usize, Vec<String>)> = corpora
        .iter()
        .filter(|corpus| corpus.name != "en")
        .flat_map(|corpus| {
            // The second half of the manual repeats the first for another machine.
            let distinct = if corpus.name == "articles" { 1000 } else { corpus.texts.len() / 2 };
            [4, 10, 40].map(|size| {
                let texts: Vec<String> =
                    corpus.texts[..distinct].chunks_exact(size).map(|some| some.join("\n")).collect();
                (corpus.name, size, texts)
            })
        })
        .filter(|(_, _, texts)| texts.len() > 2)
        .collect();
    println!("\ndifferent long texts (xN: N articles joined): mean and least distance, over all seeds");
    for name in &recipes {
        print!("{name:50}");
        for (corpus, size, texts) in &long {
            let (mean, least) = distances(&name.parse()?, texts)?;
            print!("  {corpus} x{size} {mean:.1} {least}");
        }
        println!();
    }
    if let Some(articles) = corpora.iter().find(|corpus| corpus.name == "articles") {
        println!("\none word replaced in a text of this many different words: mean distance, share within 3");
        for words in [8, 16, 24, 32, 48, 64, 96, 128] {
            let (mean, within) = edits(recipes[0], &articles.texts, words)?;
            println!("{words:4} words: {mean:4.1}  {within:.2}");
        }
    }
    Ok(())
}

fn seeded(recipe: &Recipe) -> impl Iterator<Item = Result<Fingerprinter<u64>, RecipeError>> {
    (0..SEEDS).map(|seed| {
        let mut seeded = recipe.clone();
        seeded.hash = Hash::Xxh3 { seed };
        Fingerprinter::new(&seeded)
    })
}

fn score(recipe: &Recipe, corpus: &Corpus) -> Result<String, RecipeError> {
    let (mut precision, mut worst, mut recall, mut wrong_at_8) = (0.0, 1.0f64, 0.0, 0);
    let mut scratch = Scratch::default();
    for fingerprinter in seeded(recipe) {
        let fingerprinter = fingerprinter?;
        let of = |text: &String| fingerprinter.fingerprint(text, &mut scratch).reliable();
        let fingerprints: Vec<Option<u64>> = corpus.texts.iter().map(of).collect();
        let at_3 = corpus.found(&fingerprints, 3);
        precision += at_3.precision / SEEDS as f64;
        worst = worst.min(at_3.precision);
        recall += at_3.recall / SEEDS as f64;
        wrong_at_8 += corpus.found(&fingerprints, 8).wrong;
    }
    let wrong_at_8 = wrong_at_8 as f64 / SEEDS as f64;
    Ok(format!("{precision:.3} ({worst:.2}) / {recall:.3}, wrong at k = 8: {wrong_at_8:.1}"))
}

fn distances(recipe: &Recipe, texts: &[String]) -> Result<(f64, u32), RecipeError> {
    let (mut sum, mut pairs, mut least) = (0u64, 0u64, u64::BITS);
    let mut scratch = Scratch::default();
    for fingerprinter in seeded(recipe) {
        let fingerprinter = fingerprinter?;
        let of = |text: &String| fingerprinter.fingerprint(text, &mut scratch).reliable();
        let fingerprints: Vec<u64> = texts.iter().filter_map(of).collect();
        for (index, one) in fingerprints.iter().enumerate() {
            for other in &fingerprints[..index] {
                let distance = one.distance(*other);
                sum += u64::from(distance);
                pairs += 1;
                least = least.min(distance);
            }
        }
    }
    Ok((sum as f64 / pairs as f64, least))
}

fn edits(recipe: &str, texts: &[String], words: usize) -> Result<(f64, f64), RecipeError> {
    let recipe: Recipe = format!("{recipe} min-features=1").parse()?;
    let fingerprinter = Fingerprinter::<u64>::new(&recipe)?;
    let mut scratch = Scratch::default();
    let (mut sum, mut near, mut count) = (0u32, 0u32, 0u32);
    for (index, text) in texts.iter().enumerate() {
        let mut seen = std::collections::HashSet::new();
        let mut start: Vec<&str> = text
            .split(' ')
            .take_while(|word| {
                seen.insert(word.to_lowercase());
                seen.len() <= words
            })
            .collect();
        if seen.len() <= words {
            continue;
        }
        let mut of = |text: &[&str]| fingerprinter.fingerprint(&text.join(" "), &mut scratch).value();
        let before = of(&start);
        let place = index * 7919 % start.len();
        start[place] = "replacement";
        if let (Some(before), Some(after)) = (before, of(&start)) {
            sum += before.distance(after);
            near += u32::from(before.distance(after) <= 3);
            count += 1;
        }
    }
    Ok((f64::from(sum) / f64::from(count), f64::from(near) / f64::from(count)))
}
