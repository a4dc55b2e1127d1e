//! Many queries at once, by strategy, against one after the other, on the same data in the same run.
//!
//! `cargo bench --bench batch`; the threads are rayon's: `RAYON_NUM_THREADS=1 cargo bench --bench batch`.

mod common;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hamdex::{BatchOptions, BuildOptions, Codec, Design, Match, ReadError, Strategy};

/// Fingerprints and queries.
const SIZES: [(usize, usize); 2] = [(1_000_000, 20_000), (4_000_000, 400_000)];
const DESIGNS: [&str; 3] = ["single", "halves", "cover-6"];

/// Fingerprints in a large file, and small batches against it: they should take no longer than single queries.
const SMALL: (usize, [usize; 4]) = (10_000_000, [1, 32, 256, 1024]);

/// Fingerprints that crowd, and queries among them.
const CROWDED: (usize, usize) = (2_000_000, 20_000);

/// Number of queries run one by one; all would take too long.
const ALONE: usize = 4096;

fn benches(criterion: &mut Criterion) {
    for (shape, data) in common::SHAPES {
        for (count, asked) in SIZES {
            let stored = data(count);
            let queries = common::queries(&stored, asked);
            let mut group = criterion.benchmark_group(format!("batch/{shape}/{count}/{asked}"));
            group.sample_size(10);
            for name in DESIGNS {
                let design = Design::named(name, 3).expect("it exists");
                let (_directory, index) = common::index(&stored, BuildOptions::new().design(design));
                group.throughput(Throughput::Elements(ALONE as u64));
                let mut searcher = index.searcher();
                group.bench_function(format!("{name}/alone"), |bencher| {
                    bencher.iter(|| {
                        for &query in &queries[..ALONE] {
                            black_box(searcher.within(query, 3).expect("the file is whole"));
                        }
                    });
                });
                group.throughput(Throughput::Elements(asked as u64));
                for (strategy, label) in [(Strategy::Probe, "probe"), (Strategy::Scan, "scan")] {
                    // A probe of one table looks into a large part of it for each query.
                    if name == "single" && strategy == Strategy::Probe {
                        continue;
                    }
                    let options = BatchOptions::new().strategy(strategy);
                    group.bench_function(format!("{name}/{label}"), |bencher| {
                        bencher.iter(|| {
                            let visit = |_, matches: &[_]| {
                                black_box(matches);
                                Ok::<_, hamdex::ReadError>(())
                            };
                            index.batch_with(&queries, 3, &options, visit).expect("the file is whole");
                        });
                    });
                }
            }
        }
    }
}

fn small(criterion: &mut Criterion) {
    let (count, sizes) = SMALL;
    let stored = common::uniform(count);
    let design = Design::named("cover-8", 3).expect("it exists");
    let options = BuildOptions::new().design(design).codec(Codec::EliasFano).block_bytes(512);
    let (_directory, index) = common::index(&stored, options);
    let mut group = criterion.benchmark_group(format!("batch/small/{count}"));
    for asked in sizes {
        let queries = common::queries(&stored, asked);
        group.throughput(Throughput::Elements(asked as u64));
        let mut searcher = index.searcher();
        group.bench_function(format!("{asked}/alone"), |bencher| {
            bencher.iter(|| {
                for &query in &queries {
                    black_box(searcher.within(query, 3).expect("the file is whole"));
                }
            });
        });
        group.bench_function(format!("{asked}/batch"), |bencher| {
            bencher.iter(|| {
                let visit = |_, matches: &[Match<u64>]| {
                    black_box(matches);
                    Ok::<_, ReadError>(())
                };
                index.batch_with(&queries, 3, &BatchOptions::new(), visit).expect("the file is whole");
            });
        });
    }
}

/// Crowded queries: they share most of their bits, so a scan compares each fingerprint with thousands of them.
fn crowded(criterion: &mut Criterion) {
    let (count, asked) = CROWDED;
    for (shape, stored) in [("crowded", common::crowded(count)), ("consecutive", common::consecutive(count))]
    {
        let chance = |i: u64| common::number(i ^ 0x5eed_0000_0000) as usize;
        let queries: Vec<u64> = (0..asked as u64).map(|i| stored[chance(i) % stored.len()]).collect();
        let mut group = criterion.benchmark_group(format!("batch/{shape}/{count}/{asked}"));
        group.sample_size(10);
        for name in ["single", "halves"] {
            let design = Design::named(name, 3).expect("it exists");
            let (_directory, index) = common::index(&stored, BuildOptions::new().design(design));
            for (strategy, label) in [(Strategy::Auto, "auto"), (Strategy::Probe, "probe")] {
                let options = BatchOptions::new().strategy(strategy);
                group.bench_function(format!("{name}/{label}"), |bencher| {
                    bencher.iter(|| {
                        let visit = |_, matches: &[_]| {
                            black_box(matches);
                            Ok::<_, hamdex::ReadError>(())
                        };
                        index.batch_with(&queries, 3, &options, visit).expect("the file is whole");
                    });
                });
            }
        }
    }
}

criterion_group!(all, benches, small, crowded);
criterion_main!(all);
