//! Any bytes as a file, their checksums made right: opened, asked, verified; compared with brute force if whole.

use std::collections::BTreeMap;

use hamdex::{BuildOptions, Builder, Codec, Design, FilterChoice, Fingerprint};

use crate::check;
use crate::common::{Shape, built, built_with_ids, built_with_names, data};
use crate::seal::seal;

/// Opens these bytes, and the same bytes with right checksums.
pub fn run(bytes: &[u8]) {
    check::file(bytes);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    check::file(&sealed);
}

/// Small files of every kind.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for codec in Codec::ALL {
        files.push(built(&data::<u64>(Shape::Mixed, 60, 1), options("halves", 3, codec)));
        files.push(built(&data::<u128>(Shape::Clustered, 40, 2), options("single", 2, codec)));
        files.push(built(&data::<u64>(Shape::Uniform, 250, 3), options("paper-4", 1, codec)));
        let filtered = options("halves", 3, codec).filter(FilterChoice::Bits(11));
        files.push(built(&data::<u64>(Shape::Mixed, 80, 5), filtered));
        let set = data::<u64>(Shape::Runs, 50, 4);
        let pairs: Vec<(u64, u64)> = set.iter().zip(0..).map(|(&x, id)| (x, 100 + id / 2 * 3)).collect();
        files.push(built_with_ids(&pairs, options("single", 1, codec)));
        let names = pairs.iter().map(|&(_, id)| (id, format!("document {id}").into_bytes()));
        files.push(built_with_names(&pairs, &names.collect::<BTreeMap<_, _>>(), options("halves", 1, codec)));
    }
    // A bitmap: 64 bits for each fingerprint are as many as there are prefixes of 16 bits.
    let bitmap = options("quarters", 3, Codec::EliasFano).filter(FilterChoice::Bits(64));
    files.push(built(&data::<u64>(Shape::Uniform, 1100, 6), bitmap));
    let wide = options("halves", 3, Codec::Huffman).filter(FilterChoice::Bits(20));
    files.push(built(&data::<u128>(Shape::Clustered, 60, 7), wide));
    // Ranks of marks, which small files do not have.
    let many: Vec<(u64, u64)> = (0..5000).map(|id| (id % 3, id)).collect();
    files.push(built_with_ids(&many, options("single", 1, Codec::Huffman)));
    files.push(built::<u64>(&[], options("single", 3, Codec::Huffman)));
    files.push(with_shingles(&[]));
    files.push(with_shingles(&[vec![1, 2, 3], vec![], vec![2, 3, 4, 1 << 47], vec![3]]));
    // Lists of several blocks.
    let sets = (0..1500).map(|number| vec![7, 8 + number % 3, 1 << 20 | number, (number + 1) << 30 | 1]);
    files.push(with_shingles(&sets.collect::<Vec<_>>()));
    files
}

/// A document for each set, which ascends.
fn with_shingles(sets: &[Vec<u64>]) -> Vec<u8> {
    let options = options::<u64>("single", 1, Codec::Huffman).shingles(true);
    let mut builder = Builder::in_memory(options).expect("memory");
    for (id, set) in (0..).zip(sets) {
        builder.push_with_id(id / 2, id).expect("memory");
        builder.push_shingles(id, set).expect("a set");
    }
    builder.into_inner().expect("memory").0
}

fn options<F: Fingerprint>(design: &str, distance: u32, codec: Codec) -> BuildOptions<F> {
    let design = Design::named(design, distance).expect("a design of the catalogue");
    BuildOptions::new().design(design).codec(codec).block_bytes(512).threads(1).metadata("a", "1")
}
