//! Megabytes of text per second and core: `cargo bench -p hamdex-simhash`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hamdex_simhash::{FeatureFingerprinter, Fingerprinter, Recipe, Scratch};

#[path = "../tests/simhash/shared_data.rs"]
#[expect(dead_code, reason = "a bench needs no truth")]
mod shared_data;

const RECIPES: [&str; 5] = [
    "default",
    "default shingle=words:3 weight=count",
    "text-dedup",
    "simhash-py",
    "default tokens=words+jieba",
];

fn texts(criterion: &mut Criterion) {
    let corpora = [shared_data::articles(), shared_data::manual("en"), shared_data::manual("zh_CN")];
    for corpus in corpora.into_iter().flatten() {
        let mut group = criterion.benchmark_group(corpus.name);
        group.throughput(Throughput::Bytes(corpus.texts.iter().map(|text| text.len() as u64).sum()));
        group.sample_size(20);
        for name in RECIPES {
            let Ok(recipe) = name.parse::<Recipe>() else {
                println!("skipped: this build has no {name:?}");
                continue;
            };
            let fingerprinter = Fingerprinter::<u64>::new(&recipe).expect("the recipes need no lists");
            let mut scratch = Scratch::default();
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    for text in &corpus.texts {
                        black_box(fingerprinter.fingerprint(text, &mut scratch));
                    }
                });
            });
        }
        group.finish();
    }
}

fn votes(criterion: &mut Criterion) {
    let hashes: Vec<u64> = (1..=1000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut group = criterion.benchmark_group("vote");
    group.throughput(Throughput::Elements(hashes.len() as u64));
    let fingerprinter = FeatureFingerprinter::<u64>::new(&Recipe::default()).expect("it needs no lists");
    group.bench_function("bit planes", |bencher| {
        bencher.iter(|| fingerprinter.hashes(black_box(&hashes).iter().copied()));
    });
    group.bench_function("doubles", |bencher| {
        bencher.iter(|| fingerprinter.weighted_hashes(black_box(&hashes).iter().map(|&hash| (hash, 1.0))));
    });
    group.finish();
}

criterion_group!(benches, texts, votes);
criterion_main!(benches);
