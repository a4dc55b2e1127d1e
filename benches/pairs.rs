//! The self-join, by design: tables streamed as they are, and values gathered in memory; and without an index.
//!
//! `cargo bench --bench pairs`

mod common;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hamdex::{BuildOptions, Design};

const COUNTS: [usize; 2] = [100_000, 2_000_000];
const DESIGNS: [&str; 3] = ["halves", "cover-6", "cover-8"];

fn benches(criterion: &mut Criterion) {
    for (shape, data) in common::SHAPES {
        for count in COUNTS {
            let stored = data(count);
            let mut group = criterion.benchmark_group(format!("pairs/{shape}/{count}"));
            group.sample_size(10);
            for name in DESIGNS {
                let design = Design::named(name, 3).expect("it exists");
                let (_directory, index) = common::index(&stored, BuildOptions::new().design(design));
                group.throughput(Throughput::Elements(index.len() * index.design().tables().len() as u64));
                for threads in [1, 2] {
                    group.bench_function(format!("{name}/{threads}"), |bencher| {
                        bencher.iter(|| {
                            let pairs = index.pairs(3).threads(threads);
                            black_box(pairs.count_by_distance().expect("the file is whole"))
                        });
                    });
                }
            }
            group.throughput(Throughput::Elements(count as u64));
            for threads in [1, 2] {
                group.bench_function(format!("slice/{threads}"), |bencher| {
                    bencher.iter(|| {
                        let pairs = hamdex::pairs(&stored, 3).threads(threads);
                        black_box(pairs.count_by_distance().expect("there is memory"))
                    });
                });
            }
        }
    }
}

criterion_group!(all, benches);
criterion_main!(all);
