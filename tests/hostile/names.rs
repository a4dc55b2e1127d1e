//! Names.

use hamdex::{Index, Place};
use proptest::prelude::*;

use crate::common::allocations::largest;
use crate::common::file::{self, field};
use crate::{NAMED, PLAIN, SINGLE_IDS, assert_damaged, assert_footer_damaged, changed};

#[test]
fn names_that_the_footer_adds_or_takes_away_are_refused() {
    for names in [2, 3, 255] {
        assert_footer_damaged(&file::with_footer(&NAMED, field::HAS_NAMES, &[names]), "names");
    }
    assert_footer_damaged(&file::with_footer(&NAMED, field::HAS_NAMES, &[0]), "sections");
    assert_footer_damaged(&file::with_footer(&SINGLE_IDS, field::HAS_NAMES, &[1]), "sections");
    assert_footer_damaged(&file::with_footer(&PLAIN, field::HAS_NAMES, &[1]), "names");
}

#[test]
fn directories_of_any_length_are_refused_or_harmless() {
    for length in [0, 1, 23, 24, 25, 100] {
        let file = changed(&NAMED, |parts| parts.names.as_mut().unwrap()[0].truncate(length));
        assert_damaged(&file, |place| place == Place::NameDirectory, "");
        assert!(Index::<u64>::from_bytes(&file).unwrap().names().is_err());
    }
    // Names without end, of which the file would have nothing.
    let file = changed(&NAMED, |parts| {
        let [directory, names] = parts.names.as_mut().unwrap();
        names.clear();
        *directory = vec![0; 24];
        directory[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    });
    assert_damaged(&file, |place| place == Place::NameDirectory, "out of range");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// For any directory, a name is a part of the names or an error, and nothing large is allocated.
    #[test]
    fn any_directory_gives_some_answer(
        mut directory in prop::collection::vec(any::<u8>(), 24..200),
        names in prop::collection::vec(any::<u8>(), 0..50),
        count in 0u64..70,
        id_bits in prop_oneof![Just(0u8), 0u8..20, Just(64)],
        end_bits in 0u8..9,
        fits: bool,
    ) {
        directory[..8].copy_from_slice(&count.to_le_bytes());
        directory[16] = id_bits;
        directory[17] = end_bits;
        directory[18..24].fill(0);
        if fits {
            let bits = |bits: u8| (count as usize * usize::from(bits)).div_ceil(8);
            directory.resize(24 + bits(id_bits) + bits(end_bits), 0x11);
        }
        let file = changed(&NAMED, |parts| parts.names = Some([directory.clone(), names.clone()]));
        let index = Index::<u64>::from_bytes(&file).unwrap();
        if let Ok(found) = index.names() {
            let found = found.unwrap();
            for id in [0, 1, 5, u64::from(directory[8]), u64::MAX] {
                if let Ok(Some(name)) = found.get(id) {
                    prop_assert!(names.windows(name.len().max(1)).any(|part| part == name) || name.is_empty());
                }
            }
            prop_assert!(found.iter().take(100).count() <= 100);
        }
        let _ = index.verify();
        prop_assert!(largest() < crate::MAX_BYTES);
    }
}
