//! Every byte of small files is damaged, one at a time: pairs that the rest proves are found, and none besides.

use std::collections::BTreeMap;

use hamdex_fingerprint::Fingerprint;
use proptest::prelude::*;

use crate::format::SectionRecord;
use crate::format::checksum::UnitKind;
use crate::format::section::extent;
use crate::salvage::changed_byte;
use crate::salvage::mend::find_footer;
use crate::shingles::table::LAYOUT;
use crate::{BuildOptions, Builder, Codec, FilterChoice, Index, Place, ReadErrorKind, salvage};

/// Fingerprints far and near, some with several ids.
fn pairs<F: Fingerprint>(count: u64, ids: bool) -> Vec<(F, u64)> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u128::from(state ^ state >> 29) << 64 | u128::from(state.rotate_left(31))
    };
    let mut pairs: Vec<(F, u64)> = (0..count)
        .flat_map(|number| {
            let value = F::truncate(next() >> (number % 3 * 7));
            let copies = if ids && number % 5 == 0 { 3 } else { 1 };
            (0..copies).map(move |copy| (value, if ids { number * 10 + copy } else { 0 }))
        })
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn file<F: Fingerprint>(pairs: &[(F, u64)], codec: Codec, design: &str, ids: bool) -> Vec<u8> {
    file_with(FilterChoice::Bits(11), pairs, codec, design, ids)
}

fn file_with<F: Fingerprint>(
    filter: FilterChoice,
    pairs: &[(F, u64)],
    codec: Codec,
    design: &str,
    ids: bool,
) -> Vec<u8> {
    let options = BuildOptions::new().codec(codec).ids(ids).block_bytes(512).filter(filter);
    let options = options.design(crate::Design::named(design, 3).unwrap());
    let mut builder = Builder::in_memory(options.sorted(true)).unwrap();
    for &(fingerprint, id) in pairs {
        if ids { builder.push_with_id(fingerprint, id) } else { builder.push(fingerprint) }.unwrap();
    }
    builder.into_inner().unwrap().0
}

/// The readable pairs of a file, by place; and those whose place is unknown.
type Read<F> = (BTreeMap<u64, (F, u64)>, Vec<(F, u64)>);

fn read<F: Fingerprint>(mut bytes: Vec<u8>, file_id: [u8; 16]) -> Option<Read<F>> {
    salvage::mend::<F>(&mut bytes, file_id);
    let index = Index::<F>::from_bytes(bytes).ok()?;
    let (mut placed, mut others) = (BTreeMap::new(), Vec::new());
    salvage::for_each_readable(&index, &mut |place, fingerprint, id| match place {
        Some(place) => assert!(placed.insert(place, (fingerprint, id)).is_none()),
        None => others.push((fingerprint, id)),
    });
    Some((placed, others))
}

/// Damages every `step`-th byte on its own.
fn check<F: Fingerprint>(codec: Codec, design: &str, ids: bool, step: usize) {
    let pairs = pairs::<F>(900, ids);
    let whole = file(&pairs, codec, design, ids);
    let file_id = Index::<F>::from_bytes(&whole[..]).unwrap().file_id();
    let footer = find_footer::<F>(&whole, file_id).unwrap().footer;
    let (file_id, tables) = (file_id.to_bytes(), footer.tables.len());
    // Ids and marks are nowhere else; with one table, nor are its entries.
    let lost_with =
        |kind| matches!(kind, UnitKind::Ids | UnitKind::IdStarts) || kind == UnitKind::Block && tables == 1;
    let at_risk: Vec<_> = footer
        .sections
        .iter()
        .filter(|record| lost_with(record.kind))
        .map(|record| {
            let length =
                if UnitKind::Block == record.kind { record.length } else { extent(record.length).unwrap() };
            record.offset..record.offset + length
        })
        .collect();
    let (mut complete, mut partial) = (0, 0);
    for at in (0..whole.len()).step_by(step).chain(whole.len() - 32..whole.len()) {
        for change in [1, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            let (placed, others) =
                read::<F>(damaged, file_id).unwrap_or_else(|| panic!("byte {at} of {codec}"));
            for (&place, pair) in &placed {
                assert_eq!(*pair, pairs[place as usize], "byte {at}");
            }
            assert!(others.iter().all(|pair| pairs.binary_search(pair).is_ok()), "byte {at}");
            if at_risk.iter().any(|range| range.contains(&(at as u64))) {
                partial += usize::from(placed.len() + others.len() < pairs.len());
            } else {
                assert_eq!(placed.len(), pairs.len(), "byte {at} of {codec}, {design}");
                complete += 1;
            }
        }
    }
    assert!(complete > 100, "{complete}");
    assert_eq!(partial > 0, ids || tables == 1, "{partial}");
}

#[test]
fn whatever_one_byte_of_a_file_was_the_rest_proves_its_pairs() {
    check::<u64>(Codec::Huffman, "halves", false, 61);
    check::<u64>(Codec::Huffman, "halves", true, 61);
    check::<u64>(Codec::EliasFano, "cover-8", true, 97);
    check::<u64>(Codec::EliasFano, "single", false, 23);
    check::<u128>(Codec::Huffman, "halves", true, 127);
}

#[test]
fn every_byte_of_header_footer_and_trailer_is_restored() {
    let pairs = pairs::<u64>(300, true);
    for filter in [FilterChoice::None, FilterChoice::Bits(11)] {
        let whole = file_with(filter, &pairs, Codec::Huffman, "halves", true);
        let file_id = Index::<u64>::from_bytes(&whole[..]).unwrap().file_id();
        let footer = find_footer::<u64>(&whole, file_id).unwrap().footer;
        let filters = if filter == FilterChoice::None { 0 } else { 2 };
        assert_eq!(footer.optional_sections().len(), filters);
        let footer_at = footer.sections.last().map(|last| last.offset + last.length).unwrap() as usize;
        for at in (0..64).chain(footer_at..whole.len()) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            salvage::mend::<u64>(&mut damaged, file_id.to_bytes());
            // Zeros between sections are not restored, and not read.
            Index::<u64>::from_bytes(&damaged[..]).unwrap();
            assert_eq!(find_footer::<u64>(&damaged, file_id).unwrap().footer, footer, "byte {at}");
        }
    }
}

/// Without a trailer the length of a footer follows from its counts alone, of which one byte may be damaged too.
#[test]
fn a_footer_is_found_for_any_number_of_filters_and_tables() {
    for (design, ids) in [("single", false), ("halves", true), ("cover-8", false), ("cover-14", true)] {
        for filter in [FilterChoice::None, FilterChoice::Bits(1)] {
            let whole = file_with(filter, &pairs::<u64>(300, ids), Codec::EliasFano, design, ids);
            let file_id = Index::<u64>::from_bytes(&whole[..]).unwrap().file_id();
            let footer = find_footer::<u64>(&whole, file_id).unwrap();
            let (at, footer) = (footer.trailer.footer_offset as usize, footer.footer);
            // Of width, names, optional sections, tables, sections and ids.
            for change in [0, 6, 7, 12, 24, 28].map(|offset| (at + offset, 0xff)) {
                let mut damaged = whole.clone();
                let trailer_at = damaged.len() - 32;
                damaged[trailer_at..].fill(0x77);
                damaged[change.0] ^= change.1;
                let found = find_footer::<u64>(&damaged, file_id);
                assert_eq!(found.unwrap().footer, footer, "{design}, {filter:?}, {change:?}");
            }
        }
    }
}

/// Of the pages of a filter none can be read: every prefix passes, and queries find everything.
#[test]
fn a_damaged_filter_is_replaced_by_one_that_every_prefix_passes() {
    let pairs = pairs::<u64>(2000, false);
    let whole = file(&pairs, Codec::EliasFano, "halves", false);
    let file_id = Index::<u64>::from_bytes(&whole[..]).unwrap().file_id();
    let footer = find_footer::<u64>(&whole, file_id).unwrap().footer;
    for table in 0..2u32 {
        let is_filter = |section: &&SectionRecord| section.kind == UnitKind::Filter && section.table == table;
        let record = *footer.sections.iter().find(is_filter).unwrap();
        let mut damaged = whole.clone();
        damaged[record.offset as usize..(record.offset + record.length) as usize].fill(0xa5);
        assert!(Index::<u64>::from_bytes(&damaged[..]).is_err());
        salvage::mend::<u64>(&mut damaged, file_id.to_bytes());
        let index = Index::<u64>::from_bytes(damaged).unwrap();
        index.verify().unwrap();
        assert_eq!(index.filter_false_positives(table as usize, 500).unwrap(), Some(1.0));
        let other = index.filter_false_positives(1 - table as usize, 500).unwrap().unwrap();
        assert!(other < 0.1, "{other}");
        let mut searcher = index.searcher();
        for &(fingerprint, _) in pairs.iter().step_by(37) {
            for query in [fingerprint, fingerprint ^ 1 << 40, fingerprint ^ 0b101 << 30] {
                let found = searcher.within(query, 3).unwrap();
                let mut found: Vec<u64> = found.iter().map(|found| found.fingerprint).collect();
                found.sort_unstable();
                let expected = pairs.iter().map(|pair| pair.0).filter(|it| (it ^ query).count_ones() <= 3);
                assert_eq!(found, expected.collect::<Vec<_>>());
            }
        }
    }
}

/// Head and keys follow from the directory and the blocks of pairs. Where a block is damaged, too, the sets without a pair
/// in it are read.
#[test]
fn keys_of_shingles_are_restored() {
    let set_of = |id: u64| -> Vec<u64> { (0..id % 6).map(|number| (number << 40) | (id / 3)).collect() };
    for documents in [0u64, 1, 3, 700] {
        let mut builder = Builder::in_memory(BuildOptions::<u64>::new().shingles(true)).unwrap();
        for id in 0..documents {
            builder.push_with_id(id * 3, id).unwrap();
            builder.push_shingles(id, &set_of(id)).unwrap();
        }
        let whole = builder.into_inner().unwrap().0;
        let file_id = Index::<u64>::from_bytes(&whole[..]).unwrap().file_id();
        let footer = find_footer::<u64>(&whole, file_id).unwrap().footer;
        let of = |kind| footer.sections.iter().find(|section| section.kind == kind).unwrap();
        let (keys, pairs) = (of(UnitKind::ShingleKeys), of(UnitKind::ShinglePairs));
        let directory = of(UnitKind::ShingleDirectory);
        let section = keys.offset as usize..keys.end().unwrap() as usize;
        let mut damage: Vec<_> = section.clone().map(|at| at..at + 1).collect();
        damage.push(section);
        for damage in damage {
            let mut damaged = whole.clone();
            damaged[damage.clone()].iter_mut().for_each(|byte| *byte ^= 0x5a);
            let is_padding = Index::<u64>::from_bytes(&damaged[..]).is_ok_and(|index| {
                matches!(
                    index.verify().unwrap_err().kind(),
                    ReadErrorKind::Damaged { place: Place::Padding { .. }, .. }
                )
            });
            salvage::mend::<u64>(&mut damaged, file_id.to_bytes());
            assert!(damaged == whole || is_padding, "{documents} documents, {damage:?}");
        }
        let mut damaged = whole.clone();
        damaged[keys.offset as usize] ^= 1;
        let blocks = pairs.length / LAYOUT.block_bytes as u64;
        for block in 0..blocks {
            let mut damaged = damaged.clone();
            damaged[pairs.offset as usize + block as usize * LAYOUT.block_bytes + 100] ^= 1;
            salvage::mend::<u64>(&mut damaged, file_id.to_bytes());
            let (index, mut found) = (Index::<u64>::from_bytes(&damaged[..]).unwrap(), BTreeMap::new());
            salvage::for_each_set(&index, 1 << 10, &mut |id, set| {
                assert_eq!(set, set_of(id), "{documents} documents, block {block}");
                found.insert(id, set.len());
            })
            .unwrap();
            // Those without shingles, and where there are several blocks, others.
            assert!((0..documents).filter(|id| id % 6 == 0).all(|id| found.contains_key(&id)));
            assert!(
                found.len() < documents.max(2) as usize && (block == 0 || found.values().any(|len| *len > 0))
            );
            damaged[directory.offset as usize + 30] ^= 1;
            damaged[keys.offset as usize] ^= 1;
            let before = damaged.clone();
            salvage::mend::<u64>(&mut damaged, file_id.to_bytes());
            assert!(damaged == before, "three kinds of damage");
        }
    }
}

/// Ids with gaps, of which some have several fingerprints, and their sets: more than a page of the directory has room for.
fn file_with_sets(documents: u64) -> (Vec<u8>, BTreeMap<u64, Vec<u64>>) {
    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().shingles(true)).unwrap();
    let mut sets = BTreeMap::new();
    for number in 0..documents {
        let id = number * 7 + number % 3;
        let set: Vec<u64> = (0..number % 5).map(|part| (part << 40) | (number / 4)).collect();
        for copy in 0..1 + number % 2 {
            builder.push_with_id(number << 8 | copy, id).unwrap();
        }
        builder.push_shingles(id, &set).unwrap();
        sets.insert(id, set);
    }
    (builder.into_inner().unwrap().0, sets)
}

fn readable_sets(bytes: &[u8], memory: u64) -> BTreeMap<u64, Vec<u64>> {
    let (index, mut found) = (Index::<u64>::from_bytes(bytes).unwrap(), BTreeMap::new());
    salvage::for_each_set(&index, memory, &mut |id, set| {
        assert!(found.insert(id, set.to_vec()).is_none());
    })
    .unwrap();
    found
}

/// The directory of shingles has the ids of the file, and what the blocks of pairs have of each.
#[test]
fn the_directory_of_shingles_is_restored() {
    for documents in [1u64, 40, 6000] {
        let (whole, _) = file_with_sets(documents);
        let file_id = Index::<u64>::from_bytes(&whole[..]).unwrap().file_id();
        let footer = find_footer::<u64>(&whole, file_id).unwrap().footer;
        let of = |kind| *footer.sections.iter().find(|section| section.kind == kind).unwrap();
        let (directory, keys) = (of(UnitKind::ShingleDirectory), of(UnitKind::ShingleKeys));
        let section = directory.offset as usize..(directory.offset + directory.length) as usize;
        let step = if documents > 40 { 997 } else { 1 };
        let mut damage: Vec<_> = section.clone().step_by(step).map(|at| at..at + 1).collect();
        damage.push(section.clone());
        for damage in damage {
            for other in [None, Some(keys.offset as usize + 3)] {
                let mut damaged = whole.clone();
                damaged[damage.clone()].iter_mut().for_each(|byte| *byte ^= 0x5a);
                other.into_iter().for_each(|at| damaged[at] ^= 0x5a);
                salvage::mend::<u64>(&mut damaged, file_id.to_bytes());
                assert!(damaged == whole, "{documents} documents, {damage:?}, {other:?}");
            }
        }
    }
}

/// Where blocks are damaged, too, the directory stays so, and the sets that need neither are read.
#[test]
fn sets_outside_damaged_pages_and_blocks_are_read() {
    let (whole, sets) = file_with_sets(6000);
    let file_id = Index::<u64>::from_bytes(&whole[..]).unwrap().file_id();
    let footer = find_footer::<u64>(&whole, file_id).unwrap().footer;
    let of = |kind| *footer.sections.iter().find(|section| section.kind == kind).unwrap();
    let (directory, pairs) = (of(UnitKind::ShingleDirectory), of(UnitKind::ShinglePairs));
    assert!(directory.length > 4 * 4096, "several pages");
    let pages = directory.length.div_ceil(4096) as usize;
    let blocks = pairs.length as usize / LAYOUT.block_bytes;
    for block in [0, blocks / 2, blocks - 1] {
        let mut one_block = whole.clone();
        one_block[pairs.offset as usize + block * LAYOUT.block_bytes + 100] ^= 1;
        let with_block = readable_sets(&one_block, 1 << 14);
        for some in [vec![1], vec![pages - 1], vec![2, 3], (1..pages).collect()] {
            let mut damaged = one_block.clone();
            for page in &some {
                damaged[directory.offset as usize + page * 4096 + 5] ^= 1;
            }
            salvage::mend::<u64>(&mut damaged, file_id.to_bytes());
            for memory in [1 << 10, 1 << 14, u64::MAX] {
                let found = readable_sets(&damaged, memory);
                assert!(found.iter().all(|(id, set)| sets[id] == *set), "block {block}, pages {some:?}");
                assert!(found.keys().all(|id| with_block.contains_key(id)));
                let is_some_left = some.len() < pages - 1;
                assert_eq!(found.len() > 1000, is_some_left, "block {block}, pages {some:?}");
                assert!(found.len() < with_block.len());
            }
        }
    }
}

#[test]
fn blocks_next_to_each_other_are_put_together_from_other_tables() {
    for ids in [false, true] {
        let pairs = pairs::<u64>(2000, ids);
        let whole = file(&pairs, Codec::Huffman, "halves", ids);
        let file_id = Index::<u64>::from_bytes(&whole[..]).unwrap().file_id().to_bytes();
        let mut damaged = whole.clone();
        for block in [0usize, 1, 2, 5, 7] {
            damaged[4096 + 512 * block + 100] ^= 4;
        }
        let (placed, others) = read::<u64>(damaged.clone(), file_id).unwrap();
        assert_eq!(placed.into_values().collect::<Vec<_>>(), pairs);
        assert_eq!(others, []);
        // Without the other tables, all but these blocks; behind them places are known again.
        let footer = find_footer::<u64>(&whole, file_id.into()).unwrap().footer;
        for record in footer.sections.iter().filter(|r| r.kind == UnitKind::Block && r.table > 0) {
            damaged[record.offset as usize..(record.offset + record.length) as usize].fill(0xee);
        }
        let (placed, others) = read::<u64>(damaged, file_id).unwrap();
        assert!(placed.len() + others.len() < pairs.len());
        assert!(placed.iter().all(|(&place, pair)| pairs[place as usize] == *pair));
        assert_eq!(placed.last_key_value().map(|(&place, _)| place), Some(pairs.len() as u64 - 1));
        assert!(others.iter().all(|pair| pairs.binary_search(pair).is_ok()));
    }
}

#[test]
fn what_is_no_file_is_left_as_it_is() {
    for length in [0, 1, 95, 4096, 4127, 4128, 9000] {
        let mut bytes = vec![0x5a; length];
        salvage::mend::<u64>(&mut bytes, [3; 16]);
        assert!(Index::<u64>::from_bytes(bytes).is_err());
    }
    let pairs = pairs::<u64>(300, false);
    let mut wide = file(&pairs, Codec::Huffman, "halves", false);
    let file_id = Index::<u64>::from_bytes(&wide[..]).unwrap().file_id().to_bytes();
    salvage::mend::<u128>(&mut wide, file_id);
    assert!(Index::<u128>::from_bytes(&wide[..]).is_err());
}

proptest! {
    #[test]
    fn a_changed_byte_is_found(
        unit in prop::collection::vec(any::<u8>(), 1..4096), at: prop::sample::Index, change in 1u8..,
    ) {
        let mut changed = unit.clone();
        let at = at.index(unit.len());
        changed[at] ^= change;
        let difference = crc32fast::hash(&unit) ^ crc32fast::hash(&changed);
        prop_assert_eq!(changed_byte(unit.len(), difference), Some((at, change)));
    }
}

#[test]
fn no_change_has_no_place() {
    assert_eq!(changed_byte(4096, 0), None);
    assert_eq!(changed_byte(0, 5), None);
}
