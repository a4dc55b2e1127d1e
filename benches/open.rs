//! Opening, at two sizes: all of it, and the two ends of the file alone. What lies between is the keys, which are
//! checked and grow with the file, and the design's proof and the codebooks, which do not. With the memory that an
//! open index takes in addition to the file.
//!
//! `cargo bench --bench open`

mod common;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use hamdex::{BuildOptions, Design, Index};

const COUNTS: [usize; 2] = [500_000, 5_000_000];
const DESIGNS: [&str; 2] = ["halves", "cover-8"];

fn benches(criterion: &mut Criterion) {
    for count in COUNTS {
        let stored = common::uniform(count);
        let mut group = criterion.benchmark_group(format!("open/{count}"));
        group.sample_size(20);
        for name in DESIGNS {
            let design = Design::named(name, 3).expect("it exists");
            let (directory, index) = common::index(&stored, BuildOptions::new().design(design));
            let path = directory.path().join(common::FILE_NAME);
            let keys: u64 = index.stats().tables.iter().map(|table| table.key_bytes).sum();
            let memory = index.stats().memory_bytes;
            println!("open/{count}/{name}: {keys} bytes of keys in the file, {memory} bytes of memory");
            group.bench_function(format!("{name}/whole"), |bencher| {
                bencher.iter(|| black_box(Index::<u64>::open(&path).expect("it is whole")));
            });
            // Asking for the width maps the file and reads and checks its header, trailer and footer.
            group.bench_function(format!("{name}/ends"), |bencher| {
                bencher.iter(|| black_box(hamdex::width(&path).expect("it is whole")));
            });
        }
    }
}

criterion_group!(all, benches);
criterion_main!(all);
