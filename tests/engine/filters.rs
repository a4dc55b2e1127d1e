//! Filters change what a query reads, and nothing else.

use std::sync::Arc;

use crate::common::forge::{FILTER, Forged};
use crate::common::{SHAPES, Shape, brute_force, built, damaged_at, data, index, pairs, queries};
use hamdex::inspect::{ProbeTrace, reference};
use hamdex::{
    BatchOptions, BuildOptions, Checksums, Codec, Design, FilterChoice, Fingerprint, Index, MultiIndex,
    OpenOptions, Place, Strategy,
};

/// Small blocks: little data makes many.
fn options<F: Fingerprint>(codec: Codec, filter: FilterChoice) -> BuildOptions<F> {
    BuildOptions::new().codec(codec).block_bytes(512).filter(filter)
}

fn halves<F: Fingerprint>(filter: FilterChoice) -> BuildOptions<F> {
    options(Codec::EliasFano, filter).design(Design::named("halves", 3).unwrap())
}

/// All ways to ask an index, at a distance, give what brute force gives.
fn check<F: Fingerprint>(index: &Arc<Index<F>>, stored: &[F], queries: &[F], distance: u32, what: &str) {
    let mut searcher = index.searcher();
    let mut multi = MultiIndex::new([Arc::clone(index), Arc::clone(index)]).searcher();
    let expected: Vec<_> = queries.iter().map(|&query| brute_force(stored, query, distance)).collect();
    for (&query, expected) in queries.iter().zip(&expected) {
        assert_eq!(&pairs(searcher.within(query, distance).unwrap()), expected, "{what}, {query:?}");
        let nearest = searcher.nearest_within(query, 3, distance).unwrap();
        assert_eq!(pairs(nearest), expected[..expected.len().min(3)], "{what}, {query:?}");
        assert_eq!(multi.within(query, distance).unwrap().len(), expected.len(), "{what}, {query:?}");
    }
    for strategy in [Strategy::Auto, Strategy::Probe] {
        // More than a few, so that they are answered together.
        let many: Vec<F> = queries.iter().copied().cycle().take(300).collect();
        let options = BatchOptions::new().strategy(strategy).threads(2);
        let mut visited = 0;
        let outcome = index.batch_with(&many, distance, &options, |place, found| {
            visited += 1;
            assert_eq!(pairs(found), expected[place % queries.len()], "{what}, {strategy:?}");
            Ok::<_, hamdex::ReadError>(())
        });
        outcome.unwrap();
        assert_eq!(visited, many.len());
    }
}

fn check_designs<F: Fingerprint>(shape: Shape, distance: u32) {
    let stored = data::<F>(shape, 3000, 71);
    let queries = queries(&stored, 5, 72);
    for name in Design::<F>::names(distance) {
        for (codec, bits) in [(Codec::Huffman, 11), (Codec::EliasFano, 1), (Codec::EliasFano, 64)] {
            let design = Design::named(&name, distance).unwrap();
            let options = options(codec, FilterChoice::Bits(bits)).design(design);
            let index = Arc::new(index(built(&stored, options)));
            index.verify().unwrap();
            for asked in [0, distance.saturating_sub(1), distance, distance + 1, distance + 4] {
                let what = format!("{name} for {distance}, {codec}, {bits} bits, asked {asked}, {shape:?}");
                check(&index, &stored, &queries, asked, &what);
            }
        }
    }
}

#[test]
fn with_filters_results_equal_brute_force_at_64_bits() {
    for shape in SHAPES {
        check_designs::<u64>(shape, 3);
    }
    check_designs::<u64>(Shape::Mixed, 1);
    check_designs::<u64>(Shape::Mixed, 6);
}

#[test]
fn with_filters_results_equal_brute_force_at_128_bits() {
    for shape in [Shape::Empty, Shape::Extreme, Shape::Mixed, Shape::Clustered] {
        check_designs::<u128>(shape, 3);
    }
}

/// Of a set so dense that every second prefix occurs, a bitmap is the smaller filter.
#[test]
fn a_bitmap_serves_as_well() {
    let design = Design::custom(
        "short",
        3,
        // Two prefixes of twelve bits that share none, with an error each.
        vec![
            hamdex::TableDesign::new(0xfff0_0000_0000_0000, 1),
            hamdex::TableDesign::new(0x000f_ff00_0000_0000, 1),
        ],
    );
    let stored = data::<u64>(Shape::Uniform, 6000, 73);
    let queries = queries(&stored, 20, 74);
    let Ok(design) = design else { panic!("{design:?}") };
    let options = options(Codec::EliasFano, FilterChoice::Bits(8)).design(design);
    let bytes = built(&stored, options);
    let forged = Forged::new(bytes.clone());
    assert_eq!(forged.contents(FILTER, 0)[0], 2, "the form of a bitmap");
    let index = Arc::new(index(bytes));
    index.verify().unwrap();
    check(&index, &stored, &queries, 3, "bitmap");
}

#[test]
fn a_file_has_the_filters_that_were_asked_for() {
    let stored = data::<u64>(Shape::Uniform, 40_000, 75);
    let bytes_of = |filter| -> Vec<Option<u64>> {
        let tables = index::<u64>(built(&stored, halves(filter))).stats().tables;
        tables.iter().map(|table| table.filter.map(|filter| filter.bytes)).collect()
    };
    assert_eq!(bytes_of(FilterChoice::None), [None, None]);
    assert_eq!(bytes_of(FilterChoice::Auto), bytes_of(FilterChoice::Bits(11)));
    for bits in [1, 7, 64] {
        for bytes in bytes_of(FilterChoice::Bits(bits)) {
            let most = u64::from(bits) * 40_000 / 8;
            let bytes = bytes.unwrap();
            assert!((most - most / 50 - 128..=most + most / 500 + 192).contains(&bytes), "{bits}: {bytes}");
        }
    }
    // Without errors in prefixes a filter saves next to nothing, nor does it in a cache.
    let exact = Design::named("cover-8", 3).unwrap();
    let file = index::<u64>(built(&stored, options(Codec::EliasFano, FilterChoice::Auto).design(exact)));
    assert!(file.stats().tables.iter().all(|table| table.filter.is_none()));
    let file = index::<u64>(built(&stored[..1000], halves(FilterChoice::Auto)));
    assert!(file.stats().tables.iter().all(|table| table.filter.is_none()));
    for bits in [0, 65] {
        let refused = hamdex::Builder::in_memory(halves::<u64>(FilterChoice::Bits(bits)));
        assert!(refused.unwrap_err().to_string().contains("1 to 64"));
    }
}

/// The blocks named are those with the matches: read bit by bit, all blocks of the tables together have no other.
fn check_explained<F: Fingerprint>(index: &Index<F>, stored: &[F], query: F, distance: u32) {
    let traces = index.explain(query, distance).unwrap();
    let stats = index.stats();
    let mut returned = Vec::new();
    for trace in &traces {
        let ProbeTrace { probe, permuted, filter, blocks, .. } = trace;
        let permutation = index.permutation(probe.table).unwrap();
        assert_eq!(permutation.apply(query), *permuted);
        assert!(blocks.is_sorted_by(|a, b| a.number < b.number));
        let prefix = |value: F| (value >> (F::BITS - probe.reach.prefix_bits())).to_u128();
        for block in blocks {
            let raw = index.raw_block(probe.table, block.number).unwrap();
            let before = block.number.checked_sub(1).map(|b| index.raw_block(probe.table, b).unwrap().key);
            assert_eq!((block.key, block.after), (raw.key, before));
            let fields = reference::read_block(raw.bytes, stats.coding(probe.table).unwrap()).unwrap();
            let entries = reference::fingerprints::<F>(&fields).into_iter();
            let is_within = |entry: F| (entry ^ *permuted).count_ones() <= distance;
            let is_in_reach = |entry: F| (prefix(entry ^ *permuted)).count_ones() <= probe.reach.radius;
            let expected = entries.filter(|&entry| is_within(entry) && is_in_reach(entry));
            let mut expected: Vec<F> = expected.map(|entry| permutation.undo(entry)).collect();
            let mut found: Vec<F> = block.matches.iter().map(|found| found.fingerprint).collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "block {}", block.number);
            assert!(
                block.matches.iter().all(|found| found.distance == (found.fingerprint ^ query).count_ones())
            );
            if let Some(filter) = filter.as_ref().filter(|filter| !filter.passes_too_many) {
                let passed: Vec<u64> = filter.passed.iter().map(|passed| passed.prefix).collect();
                assert!(
                    expected
                        .iter()
                        .all(|&found| { passed.contains(&(prefix(permutation.apply(found)) as u64)) })
                );
            }
        }
        if let Some(filter) = filter {
            let query_prefix = prefix(*permuted) as u64;
            assert!(filter.passed.len() as u64 <= filter.tried);
            assert!(!filter.passes_too_many || filter.passed.is_empty());
            for passed in &filter.passed {
                assert_eq!((passed.prefix ^ query_prefix).count_ones(), passed.errors);
                assert!(passed.errors <= probe.reach.radius);
            }
        }
        let matches = blocks.iter().flat_map(|block| &block.matches);
        returned.extend(matches.filter(|m| m.is_returned).map(|m| (m.distance, m.fingerprint)));
    }
    returned.sort_unstable();
    assert_eq!(returned, brute_force(stored, query, distance));
}

#[test]
fn the_blocks_of_an_explained_query_are_those_with_its_matches() {
    for shape in [Shape::Uniform, Shape::Clustered, Shape::Extreme] {
        let stored = data::<u64>(shape, 3000, 91);
        for filter in [FilterChoice::None, FilterChoice::Bits(11), FilterChoice::Bits(2)] {
            let index = index::<u64>(built(&stored, halves(filter)));
            for query in queries(&stored, 6, 92) {
                for distance in [0, 2, 3, 4, 9] {
                    check_explained(&index, &stored, query, distance);
                }
            }
            // With two bits for each fingerprint nearly all prefixes pass: it is not worth asking.
            let asks = index.explain(stored[0], 3).unwrap().iter().any(|trace| trace.filter.is_some());
            assert_eq!(asks, filter == FilterChoice::Bits(11), "{filter}, {shape:?}");
        }
    }
    let stored = data::<u128>(Shape::Mixed, 2000, 93);
    let index = index::<u128>(built(&stored, halves(FilterChoice::Bits(9))));
    for query in queries(&stored, 6, 94) {
        check_explained(&index, &stored, query, 3);
    }
    let nothing = self::index::<u64>(built::<u64>(&[], halves(FilterChoice::Bits(9))));
    assert!(nothing.explain(7, 3).unwrap().iter().all(|trace| trace.blocks.is_empty()));
}

/// Of 33 prefixes a uniform table has about one: the filter spares nearly all blocks.
#[test]
fn a_filter_spares_blocks() {
    let stored = data::<u64>(Shape::Uniform, 30_000, 95);
    let blocks_of = |filter| -> usize {
        let index = index::<u64>(built(&stored, halves(filter)));
        let count = |&query: &u64| -> usize {
            index.explain(query, 3).unwrap().iter().map(|trace| trace.blocks.len()).sum()
        };
        queries(&stored, 20, 96).iter().map(count).sum()
    };
    let (without, with) = (blocks_of(FilterChoice::None), blocks_of(FilterChoice::Bits(11)));
    assert!(with * 3 < without, "{with} of {without}");
}

#[test]
fn the_load_of_a_filter_is_the_share_of_set_bits() {
    let stored = data::<u64>(Shape::Uniform, 30_000, 97);
    let index = index::<u64>(built(&stored, halves(FilterChoice::Bits(10))));
    for table in 0..2 {
        // Five bits for each fingerprint, thrown at ten.
        let load = index.filter_load(table).unwrap().unwrap();
        assert!((load - (1.0 - (-0.5f64).exp())).abs() < 0.02, "{load}");
        let measured = index.filter_false_positives(table, 20_000).unwrap().unwrap();
        let expected = index.stats().tables[table].filter.unwrap().expected_false_positives;
        assert!((0.5..2.0).contains(&(measured / expected)), "{measured}, {expected}");
    }
    assert_eq!(index.filter_load(2).unwrap(), None);
    let without = self::index::<u64>(built(&stored, halves(FilterChoice::None)));
    assert_eq!(without.filter_load(0).unwrap(), None);
}

#[test]
fn the_same_input_gives_the_same_filters() {
    let stored = data::<u64>(Shape::Mixed, 60_000, 76);
    let first = built(&stored, halves(FilterChoice::Bits(9)));
    let mut sorted = stored.clone();
    sorted.sort_unstable();
    assert!(built(&sorted, halves(FilterChoice::Bits(9)).sorted(true).threads(1)) == first);
    let reversed: Vec<u64> = stored.iter().rev().copied().collect();
    assert!(built(&reversed, halves(FilterChoice::Bits(9)).memory(16 << 20)) == first);
    let id = |filter| index::<u64>(built(&stored, halves(filter))).file_id();
    let ids = [id(FilterChoice::None), id(FilterChoice::Bits(8)), id(FilterChoice::Bits(9))];
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
}

#[test]
fn a_filter_that_lacks_a_prefix_is_seen_by_verify() {
    let stored = data::<u64>(Shape::Uniform, 3000, 77);
    for table in 0..2 {
        let mut forged = Forged::new(built(&stored, halves(FilterChoice::Bits(11))));
        let section = forged.section(FILTER, table);
        forged.put(section.offset + 64 * 5, &[0; 64]);
        forged.seal();
        let error = index::<u64>(forged.bytes).verify().unwrap_err();
        assert_eq!(damaged_at(&error), Some(Place::Filter { table: table as usize }), "{error}");
    }
}

#[test]
fn a_head_that_is_not_of_the_table_is_refused() {
    let bytes = built(&data::<u64>(Shape::Uniform, 3000, 78), halves(FilterChoice::Bits(11)));
    // The form, the prefix, the number of lines, a reserved byte.
    for (at, byte) in [(0, 0), (0, 2), (0, 3), (4, 31), (8, 0xff), (16, 1), (63, 1)] {
        let mut forged = Forged::new(bytes.clone());
        let section = forged.section(FILTER, 1);
        forged.put(section.offset + at, &[byte]);
        forged.seal();
        let error = Index::<u64>::from_bytes(forged.bytes).unwrap_err();
        assert_eq!(damaged_at(&error), Some(Place::Filter { table: 1 }), "{at}: {error}");
    }
}

#[test]
fn a_damaged_page_is_an_error_and_no_missed_match() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.hamdex");
    let stored = data::<u64>(Shape::Uniform, 30_000, 79);
    let queries = queries(&stored, 300, 80);
    let mut forged = Forged::new(built(&stored, halves(FilterChoice::Bits(11))));
    let section = forged.section(FILTER, 0);
    forged.flip_at(section.offset + 20_000);
    std::fs::write(&path, &forged.bytes).unwrap();
    // Keys and filters are read when the file is opened, unless they stay in it.
    for options in [OpenOptions::new(), OpenOptions::new().in_memory(true)] {
        let error = options.open::<u64>(&path).unwrap_err();
        assert_eq!(damaged_at(&error), Some(Place::Filter { table: 0 }), "{error}");
    }
    let mapped = OpenOptions::new().map_keys(true);
    assert!(mapped.clone().checksums(Checksums::UpFront).open::<u64>(&path).is_err());
    assert!(mapped.clone().checksums(Checksums::Always).open::<u64>(&path).is_err());
    let index: Index<u64> = mapped.open(&path).unwrap();
    let mut searcher = index.searcher();
    let mut failed = 0;
    for &query in &queries {
        match searcher.within(query, 3) {
            Ok(found) => assert_eq!(pairs(found), brute_force(&stored, query, 3)),
            Err(error) => {
                assert_eq!(damaged_at(&error), Some(Place::Filter { table: 0 }), "{error}");
                failed += 1;
            }
        }
    }
    assert!(failed > 0);
    let error = index
        .batch_with(&queries, 3, &BatchOptions::new().strategy(Strategy::Probe), |_, _| {
            Ok::<_, hamdex::ReadError>(())
        })
        .unwrap_err();
    assert_eq!(damaged_at(&error), Some(Place::Filter { table: 0 }), "{error}");
}

/// A reader skips optional sections that it does not know, except for their checksums.
#[test]
fn an_unknown_optional_section_is_skipped() {
    let stored = data::<u64>(Shape::Mixed, 3000, 81);
    let mut forged = Forged::new(built(&stored, halves(FilterChoice::Bits(11))));
    for (number, section) in forged.sections.clone().into_iter().enumerate() {
        if section.kind == FILTER {
            let kind = 1000 + section.table;
            forged.put_footer(forged.section_record(number), &kind.to_le_bytes());
            forged.sections[number].kind = kind;
        }
    }
    forged.seal();
    let index = Arc::new(index::<u64>(forged.bytes.clone()));
    index.verify().unwrap();
    assert!(index.stats().tables.iter().all(|table| table.filter.is_none()));
    check(&index, &stored, &queries(&stored, 5, 82), 3, "unknown section");
    forged.flip_at(forged.section(1001, 1).offset);
    let index = Index::<u64>::from_bytes(forged.bytes).unwrap();
    let error = index.verify().unwrap_err();
    assert_eq!(damaged_at(&error), Some(Place::Section { kind: 1001 }), "{error}");
}

#[test]
fn optional_sections_out_of_order_are_refused() {
    let bytes = built(&data::<u64>(Shape::Uniform, 3000, 83), halves(FilterChoice::Bits(11)));
    let forge = |change: &dyn Fn(&mut Forged)| {
        let mut forged = Forged::new(bytes.clone());
        change(&mut forged);
        forged.seal();
        let error = Index::<u64>::from_bytes(forged.bytes).unwrap_err();
        assert_eq!(damaged_at(&error), Some(Place::Footer), "{error}");
    };
    let last = |forged: &Forged| forged.section_record(forged.sections.len() - 1);
    // Twice the same, of a table that is not there, of a kind that is not optional, and more or fewer than said.
    forge(&|forged| forged.put_footer(last(forged) + 4, &[0]));
    forge(&|forged| forged.put_footer(last(forged) + 4, &[2]));
    forge(&|forged| forged.put_footer(last(forged), &[99, 0]));
    forge(&|forged| forged.put_footer(7, &[1]));
    forge(&|forged| forged.put_footer(7, &[3]));
}
