//! Builds from sorted input give the same bytes as any other build.

use crate::common::{SHAPES, Shape, built, built_with_ids, data};
use hamdex::{BuildError, BuildOptions, Builder, Codec, Design};

fn options(codec: Codec) -> BuildOptions<u64> {
    BuildOptions::new().codec(codec).design(Design::named("halves", 3).unwrap())
}

#[test]
fn what_is_sorted_already_makes_the_same_bytes() {
    // The last one spills.
    let spilling: Vec<u64> = (0..3_000_000).map(|x| x * 5 / 4).collect();
    let shapes = SHAPES.map(|shape| data::<u64>(shape, 20_000, 5));
    for mut stored in shapes.into_iter().chain([spilling]) {
        stored.sort_unstable();
        let build = |options: BuildOptions<u64>| {
            let mut builder = Builder::in_memory(options.sorted(true)).unwrap();
            stored.iter().try_for_each(|&x| builder.push(x)).unwrap();
            builder.into_inner().unwrap().0
        };
        let options = || options(Codec::EliasFano).memory(16 << 20);
        assert!(build(options()) == built(&stored, options().memory(1 << 30)));
    }
    let mut pairs: Vec<(u64, u64)> =
        data::<u64>(Shape::Mixed, 3000, 6).into_iter().zip((0..).map(|id| id % 50)).collect();
    pairs.sort_unstable();
    let file = built_with_ids(&pairs, options(Codec::Huffman).sorted(true));
    assert!(file == built_with_ids(&pairs, options(Codec::Huffman)));
}

#[test]
fn what_is_not_sorted_is_refused_where_it_is_not() {
    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().sorted(true)).unwrap();
    [3, 3, 8].into_iter().try_for_each(|x| builder.push(x)).unwrap();
    let refused = builder.push(7).unwrap_err();
    assert!(matches!(refused, BuildError::Unsorted { number: 3 }), "{refused}");
    // Rejected items are not in the index; items in order are.
    builder.push(8).unwrap();
    assert_eq!(builder.into_inner().unwrap().1.pushed, 4);

    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().sorted(true).ids(true)).unwrap();
    builder.push_with_id(3, 9).unwrap();
    let refused = builder.push_with_id(3, 8).unwrap_err();
    assert!(matches!(refused, BuildError::Unsorted { number: 1 }), "{refused}");
}
