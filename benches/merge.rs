//! Merging two halves, compared with building the whole.
//!
//! `cargo bench --bench merge`

mod common;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hamdex::{BuildOptions, Builder, Codec, Design, Index, Merger};

const COUNT: usize = 2_000_000;

fn options(codec: Codec) -> BuildOptions<u64> {
    BuildOptions::new().codec(codec).design(Design::named("halves", 3).expect("it exists"))
}

fn built(stored: &[u64], codec: Codec) -> Vec<u8> {
    let mut builder = Builder::in_memory(options(codec)).expect("the options are right");
    stored.iter().try_for_each(|&x| builder.push(x)).expect("there is memory");
    builder.into_inner().expect("there is memory").0
}

fn benches(criterion: &mut Criterion) {
    let stored = common::uniform(COUNT);
    let (first, second) = stored.split_at(COUNT / 2);
    let mut group = criterion.benchmark_group(format!("merge/{COUNT}"));
    group.sample_size(10).throughput(Throughput::Elements(COUNT as u64));
    for codec in Codec::ALL {
        let inputs = [first, second]
            .map(|half| Index::<u64>::from_bytes(built(half, codec)).expect("it has been built"));
        group.bench_function(format!("{codec}/build"), |bencher| {
            bencher.iter(|| black_box(built(&stored, codec)));
        });
        group.bench_function(format!("{codec}/merge"), |bencher| {
            bencher.iter(|| {
                let mut bytes = Vec::new();
                let merger = Merger::new(&inputs).expect("two are not too many");
                black_box(merger.write_to(&mut bytes).expect("they are whole"));
                bytes
            });
        });
    }
}

criterion_group!(all, benches);
criterion_main!(all);
