//! Building, at two sizes.
//!
//! `cargo bench --bench build`

mod common;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use hamdex::{BuildOptions, Builder, Design};

fn benches(criterion: &mut Criterion) {
    for count in [100_000, 2_000_000] {
        let stored = common::uniform(count);
        let mut group = criterion.benchmark_group(format!("build/{count}"));
        group.sample_size(10).throughput(Throughput::Elements(count as u64));
        for (name, threads) in [("one-thread", 1), ("two-threads", 2)] {
            group.bench_function(name, |bencher| {
                bencher.iter_batched(
                    || tempfile::tempdir().expect("a temporary directory"),
                    |directory| {
                        let design = Design::named("halves", 3).expect("it exists");
                        let options = BuildOptions::new().design(design).threads(threads);
                        let path = directory.path().join(common::FILE_NAME);
                        let mut builder =
                            Builder::with_options(path, options).expect("the options are right");
                        stored.iter().try_for_each(|&x| builder.push(x)).expect("there is memory");
                        black_box(builder.finish().expect("there is room"));
                        directory
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
}

criterion_group!(all, benches);
criterion_main!(all);
