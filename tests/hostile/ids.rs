//! Ids and metadata.

use hamdex::{BuildOptions, Index, Merger, Place};

use crate::common::file::{self, Parts, field};
use crate::common::{Numbers, built_with_ids};
use crate::{MANY_IDS, PLAIN, SINGLE_IDS, assert_damaged, assert_footer_damaged, changed, entries, refusal};

#[test]
fn ids_out_of_order_are_refused() {
    let seed = &MANY_IDS;
    let parts = Parts::read(seed);
    let ids = parts.ids.as_ref().unwrap();
    // Equal ids: those of one fingerprint are not ascending.
    let file = changed(seed, |parts| parts.ids.as_mut().unwrap().ids.fill(0));
    assert_damaged(&file, |place| place == Place::Ids, "out of order");
    // A merge checks its inputs too, so damage is not copied.
    let index = Index::<u64>::from_bytes(file).unwrap();
    let refused = Merger::new([&index]).unwrap().write_to(&mut Vec::new()).unwrap_err();
    assert!(refused.to_string().contains("out of order"), "{refused}");
    // The greatest ones beyond 64 bits.
    for seed in [&*SINGLE_IDS, seed] {
        let file = changed(seed, |parts| parts.ids.as_mut().unwrap().base = u64::MAX - 3);
        assert_damaged(&file, |place| place == Place::Ids, "64 bits");
    }
    assert!(ids.count > parts.fingerprints);
}

#[test]
fn id_bits_and_counts_that_do_not_fit_the_sections_are_refused() {
    for seed in [&*SINGLE_IDS, &*MANY_IDS] {
        let parts = Parts::read(seed);
        let ids = parts.ids.unwrap();
        for bits in [0, 1, ids.bits - 1, ids.bits + 1, 64, 65, 255] {
            assert_footer_damaged(&file::with_footer(seed, field::ID_BITS, &[bits]), "");
        }
        for count in [0, 1, parts.fingerprints - 1, ids.count + 8, 1 << 40, 1 << 61, u64::MAX] {
            assert_footer_damaged(&file::with_footer(seed, field::ID_COUNT, &count.to_le_bytes()), "");
        }
        // A width of no bits, with a section of that length and any number of ids.
        let file = changed(seed, |parts| {
            let ids = parts.ids.as_mut().unwrap();
            (ids.bits, ids.ids) = (0, Vec::new());
        });
        let refusal = refusal::<u64>(&file);
        let single = ids.count == parts.fingerprints;
        assert_eq!(refusal.is_none(), single, "the same id for each is no lie: {refusal:?}");
    }
    // More ids than fingerprints, without marks for them: the marks' length does not fit.
    let file = changed(&SINGLE_IDS, |parts| {
        let ids = parts.ids.as_mut().unwrap();
        (ids.bits, ids.ids, ids.count) = (0, Vec::new(), 1 << 62);
    });
    assert_footer_damaged(&file, "");
}

#[test]
fn marks_that_are_more_or_fewer_than_fingerprints_are_refused() {
    let change = |change: &dyn Fn(&mut Vec<u8>)| {
        changed(&MANY_IDS, |parts| change(&mut parts.ids.as_mut().unwrap().starts))
    };
    let in_marks = |place| [Place::Ids, Place::IdStarts, Place::IdDirectory].contains(&place);
    assert_damaged(&change(&|starts| starts.fill(0)), in_marks, "");
    assert_damaged(&change(&|starts| starts[0] &= 0x7f), in_marks, "");
    assert_damaged(&change(&|starts| starts[5] = 0), in_marks, "");
    assert_damaged(&change(&|starts| starts[5] = 0xff), in_marks, "");
    let count = Parts::read(&MANY_IDS).ids.unwrap().count;
    assert_ne!(count % 8, 0, "some bits are to spare");
    assert_damaged(
        &change(&|starts| *starts.last_mut().unwrap() |= 1),
        |place| place == Place::IdStarts,
        "after its end",
    );
}

#[test]
fn bits_after_the_last_id_are_zero() {
    for seed in [&*SINGLE_IDS, &*MANY_IDS] {
        let ids = Parts::read(seed).ids.unwrap();
        assert_ne!(ids.count * u64::from(ids.bits) % 8, 0, "some bits are to spare");
        let file = changed(seed, |parts| *parts.ids.as_mut().unwrap().ids.last_mut().unwrap() |= 1);
        assert_damaged(&file, |place| place == Place::Ids, "after its end");
    }
}

#[test]
fn an_id_directory_that_leads_elsewhere_is_refused() {
    for seed in [&*SINGLE_IDS, &*MANY_IDS] {
        let ids = Parts::read(seed).ids.unwrap();
        for block in 0..ids.directory.len() {
            let right = ids.directory[block];
            let lies = [
                0,
                1,
                right + 1,
                right.wrapping_sub(1),
                ids.count - 1,
                ids.count,
                ids.count + 1,
                1 << 40,
                u64::MAX,
            ];
            for lie in lies.into_iter().filter(|&lie| lie != right) {
                let file = changed(seed, |parts| parts.ids.as_mut().unwrap().directory[block] = lie);
                assert_damaged(&file, |place| place == Place::IdDirectory, "");
                // Every stored fingerprint is looked up in the directory; none finds ids that do not exist.
                let index = Index::<u64>::from_bytes(&file).unwrap();
                for entry in entries(&Parts::read(seed), 0, block) {
                    if let Ok(found) = index.ids(entry) {
                        assert!(found.len() as u64 <= ids.count);
                        assert_eq!(found.len(), found.count());
                    }
                }
            }
        }
    }
}

#[test]
fn ranks_that_do_not_fit_the_marks_are_refused() {
    let mut numbers = Numbers(3);
    let mut input: Vec<(u64, u64)> = (0..50_000).map(|id| (1 << 63, id)).collect();
    input.extend((0..3000).map(|id| (numbers.word(), id)));
    let seed = built_with_ids(&input, BuildOptions::new().block_bytes(512));
    let parts = Parts::read(&seed);
    let right = &parts.ids.as_ref().unwrap().directory;
    let blocks = parts.tables[0].blocks.len();
    assert_eq!(right.len() - blocks, (53_000 - 1) / 4096);
    for (rank, &right) in right.iter().enumerate().skip(blocks) {
        let lies = [0, 1, right + 1, right.wrapping_sub(1), 3001, 1 << 40, u64::MAX];
        for lie in lies.into_iter().filter(|&lie| lie != right) {
            let file = changed(&seed, |parts| parts.ids.as_mut().unwrap().directory[rank] = lie);
            assert_damaged(&file, |place| place == Place::IdDirectory, "");
            let index = Index::<u64>::from_bytes(&file).unwrap();
            for (fingerprint, _) in input.iter().skip(49_999).step_by(7) {
                if let Ok(found) = index.ids(*fingerprint) {
                    assert!(found.len() <= 53_000);
                    assert_eq!(found.len(), found.count());
                }
            }
        }
    }
    // A list that is too short or too long is no list of ranks.
    for change in [|list: &mut Vec<u64>| list.push(3001), |list: &mut Vec<u64>| list.truncate(list.len() - 1)]
    {
        assert_footer_damaged(
            &changed(&seed, |parts| change(&mut parts.ids.as_mut().unwrap().directory)),
            "",
        );
    }
}

#[test]
fn metadata_that_is_no_list_of_names_and_values_is_refused() {
    let entry = |name: &[u8], value: &[u8]| {
        let lengths = [(name.len() as u32).to_le_bytes(), (value.len() as u32).to_le_bytes()].concat();
        [&lengths, name, value].concat()
    };
    let right = entry(b"b", b"2");
    let lies = [
        vec![1],
        vec![0; 7],
        vec![255; 8],
        right[..right.len() - 1].to_vec(),
        [&right[..], &[0]].concat(),
        [&right[..], &right[..]].concat(),
        [&right[..], &entry(b"a", b"")[..]].concat(),
        entry(b"\xff", b""),
        [&u32::MAX.to_le_bytes()[..], &[0; 4], b"abc"].concat(),
        [&[0; 4][..], &u32::MAX.to_le_bytes(), b"abc"].concat(),
    ];
    for lie in lies {
        let file = changed(&PLAIN, |parts| parts.metadata = lie);
        assert_damaged(&file, |place| place == Place::Metadata, "");
    }
    assert!(refusal::<u64>(&changed(&PLAIN, |parts| parts.metadata = right.clone())).is_none());
}
