//! Blocks: encode, decode, and a probe that reads as little as it can.
//!
//! `cargo bench --bench codec`

mod common;

use std::hint::black_box;
use std::ops::ControlFlow;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hamdex::Codec;
use hamdex::internals::{BlockCodec, Layout, Scratch, Target, count_differences};

const COUNT: usize = 1 << 20;

/// The block sizes worth comparing.
const BLOCK_BYTES: [usize; 4] = [512, 1024, 2048, 4096];

/// Blocks decoded together.
const TOGETHER: usize = 8;

/// Blocks and what a probe needs to find its way among them.
struct Blocks {
    codec: BlockCodec,
    /// The end of each block's values, and its bytes.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    keys: Vec<u64>,
}

fn encode(codec: &BlockCodec, layout: Layout, values: &[u64]) -> Blocks {
    let mut blocks = Blocks { codec: codec.clone(), ends: Vec::new(), bytes: Vec::new(), keys: Vec::new() };
    let mut start = 0;
    while start < values.len() {
        let end = start + codec.fill(&values[start..]);
        let at = blocks.bytes.len();
        blocks.bytes.resize(at + layout.block_bytes, 0);
        codec.encode(&values[start..end], &mut blocks.bytes[at..]);
        blocks.ends.push(end);
        blocks.keys.push(values[end - 1]);
        start = end;
    }
    blocks
}

/// Looks for all that shares the first 24 bits with the query and lies within 3 bits of it.
fn probe(blocks: &Blocks, layout: Layout, query: u64, scratch: &mut Scratch<u64>) -> usize {
    let target = Target { query, prefix_bits: 24, radius: 0, distance: 3 };
    let block = blocks.keys.partition_point(|&key| key < query & !(u64::MAX >> 24));
    let mut found = 0;
    if block < blocks.keys.len() {
        let bytes = &blocks.bytes[block * layout.block_bytes..][..layout.block_bytes];
        let count = |_, _| {
            found += 1;
            ControlFlow::Continue(())
        };
        let outcome = blocks.codec.scan(bytes, blocks.keys[block], &target, scratch, count);
        assert!(outcome.expect("the blocks are whole").is_continue());
    }
    found
}

fn benches(criterion: &mut Criterion) {
    for (shape, data) in common::SHAPES {
        let mut values = data(COUNT);
        values.sort_unstable();
        values.dedup();
        let mut counts = [0; 64];
        count_differences(None, &values, &mut counts);
        let mut group = criterion.benchmark_group(format!("codec/{shape}"));
        group.sample_size(20);
        for block_bytes in BLOCK_BYTES {
            let layout = Layout { codec: Codec::Huffman, block_bytes };
            let codec = BlockCodec::from_counts(layout, &counts, None);
            let blocks = encode(&codec, layout, &values);
            let name = block_bytes;
            let bits = (blocks.bytes.len() + blocks.keys.len() * 8) as f64 * 8.0 / values.len() as f64;
            println!("codec/{shape}/{name}: {bits:.2} bits per fingerprint, keys included");

            group.throughput(Throughput::Elements(values.len() as u64));
            group.bench_function(format!("encode/{name}"), |bencher| {
                bencher.iter(|| black_box(encode(&codec, layout, &values)));
            });
            group.bench_function(format!("decode/{name}"), |bencher| {
                let (mut scratch, mut decoded) = (Scratch::default(), Vec::<u64>::new());
                let all: Vec<&[u8]> = blocks.bytes.chunks_exact(block_bytes).collect();
                bencher.iter(|| {
                    for together in all.chunks(TOGETHER) {
                        decoded.clear();
                        let outcome = codec.decode(together, &mut scratch, &mut decoded, |_, _| Ok(()));
                        outcome.expect("the blocks are whole");
                        black_box(&decoded);
                    }
                });
            });
            let queries = common::queries(&values, 1 << 14);
            group.throughput(Throughput::Elements(queries.len() as u64));
            group.bench_function(format!("probe/{name}"), |bencher| {
                let mut scratch = Scratch::default();
                bencher.iter(|| {
                    queries.iter().map(|&query| probe(&blocks, layout, query, &mut scratch)).sum::<usize>()
                });
            });
        }
    }
}

criterion_group!(all, benches);
criterion_main!(all);
