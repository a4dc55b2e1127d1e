//! Queries by design, against a scan of all fingerprints in memory, on the same data in the same run.
//!
//! `cargo bench --bench query`

mod common;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hamdex::{BuildOptions, Design};

const COUNT: usize = 1_000_000;
const QUERIES: usize = 4096;
const DESIGNS: [&str; 6] = ["single", "halves", "paper-4", "cover-6", "cover-8", "paper-10"];

/// Queries that the scan gets: it is too slow for all of them.
const SCANNED: usize = 16;

fn benches(criterion: &mut Criterion) {
    for (shape, data) in common::SHAPES {
        let stored = data(COUNT);
        let queries = common::queries(&stored, QUERIES);
        let mut group = criterion.benchmark_group(format!("query/{shape}/{COUNT}"));
        group.sample_size(20);
        for name in DESIGNS {
            let design = Design::named(name, 3).expect("it exists");
            let (_directory, index) = common::index(&stored, BuildOptions::new().design(design));
            let bytes = index.stats().file_bytes as f64 / index.len() as f64;
            println!("query/{shape}/{name}: {bytes:.2} bytes per fingerprint");
            let mut searcher = index.searcher();
            group.throughput(Throughput::Elements(QUERIES as u64));
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    for &query in &queries {
                        black_box(searcher.within(query, 3).expect("the file is whole"));
                    }
                });
            });
        }
        group.throughput(Throughput::Elements(SCANNED as u64));
        group.bench_function("scan-in-memory", |bencher| {
            bencher.iter(|| {
                for &query in &queries[..SCANNED] {
                    black_box(stored.iter().filter(|&&x| (x ^ query).count_ones() <= 3).count());
                }
            });
        });
    }
}

criterion_group!(all, benches);
criterion_main!(all);
