//! Precision and recall of recipes on the texts in `../shared/data` next to the project.
//!
//! `cargo run --release -p hamdex-simhash --example compare -- default "default shingle=words:1" …`
//! prints a table for each recipe; `--svg DIR` also draws one picture per corpus, `--methods` scores
//! the two other methods.

use std::num::NonZeroUsize;
use std::time::Instant;
use std::{env, fs};

use hamdex_simhash::evaluate::{Curve, Score, by_distance, by_longest_sentences, by_resemblance, svg_chart};
use hamdex_simhash::{Fingerprinter, Recipe, Scratch, Width};

#[path = "../tests/simhash/shared_data.rs"]
mod shared_data;
use shared_data::Corpus;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut recipes = Vec::new();
    let (mut svg, mut methods) = (None, false);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--svg" => svg = arguments.next(),
            "--methods" => methods = true,
            _ => recipes.push((argument.parse::<Recipe>()?, argument)),
        }
    }
    let corpora = [shared_data::articles(), shared_data::manual("en"), shared_data::manual("zh_CN")];
    for corpus in corpora.into_iter().flatten() {
        let documents = corpus.texts.len();
        println!("\n{}: {documents} documents, {} true pairs", corpus.name, corpus.truth.pairs());
        let mut curves = Vec::new();
        for (series, (recipe, name)) in recipes.iter().enumerate() {
            match recipe.width {
                Width::Bits64 => curves.extend(print_distances::<u64>(&corpus, recipe, name, series)?),
                Width::Bits128 => curves.extend(print_distances::<u128>(&corpus, recipe, name, series)?),
            }
        }
        if methods {
            print_methods(&corpus);
        }
        if let Some(folder) = &svg {
            let picture = svg_chart(&format!("Near-duplicates: {}", corpus.name), "distance ≤ k", &curves);
            fs::write(format!("{folder}/{}.svg", corpus.name), picture)?;
        }
    }
    Ok(())
}

fn print_distances<F: hamdex_fingerprint::Fingerprint>(
    corpus: &Corpus,
    recipe: &Recipe,
    name: &str,
    series: usize,
) -> Result<[Curve; 2], Box<dyn std::error::Error>> {
    let fingerprinter = Fingerprinter::<F>::new(recipe)?;
    let mut scratch = Scratch::default();
    let start = Instant::now();
    let fingerprints: Vec<Option<F>> =
        corpus.texts.iter().map(|text| fingerprinter.fingerprint(text, &mut scratch).reliable()).collect();
    let seconds = start.elapsed().as_secs_f64();
    let bytes: usize = corpus.texts.iter().map(String::len).sum();
    let short = fingerprints.iter().filter(|fingerprint| fingerprint.is_none()).count();
    println!("{name}: {short} too short, {:.0} MB/s", bytes as f64 / 1e6 / seconds);

    let scores = by_distance(&fingerprints, &corpus.truth, 10);
    for each in &scores {
        println!("  k = {:2}  {}", each.distance, line(each.score));
    }
    let curve = |what: &str, dashed, share: fn(&Score) -> Option<f64>| Curve {
        name: format!("{what}, {name}"),
        series,
        dashed,
        points: scores.iter().map(|each| (f64::from(each.distance), share(&each.score))).collect(),
    };
    Ok([curve("precision", false, Score::precision), curve("recall", true, Score::recall)])
}

fn print_methods(corpus: &Corpus) {
    println!("w-shingling, w = 4");
    let width = NonZeroUsize::new(4).expect("4 is not 0");
    for each in by_resemblance(&corpus.texts, &corpus.truth, width) {
        println!("  at least {:3} %  {}", each.resemblance_percent, line(each.score));
    }
    println!("longest sentences");
    for each in by_longest_sentences(&corpus.texts, &corpus.truth, 5) {
        println!("  n = {}  {}", each.sentences, line(each.score));
    }
}

fn line(score: Score) -> String {
    let share = |share: Option<f64>| share.map_or("   –".to_owned(), |share| format!("{share:.2}"));
    let Score { reported, right, .. } = score;
    format!(
        "precision {}  recall {}  ({right} right of {reported} reported)",
        share(score.precision()),
        share(score.recall())
    )
}
