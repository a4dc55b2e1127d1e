//! Any small set, built with any options: what is found is what brute force finds, and the bytes depend on the set
//! alone.

use std::collections::BTreeMap;

use arbitrary::Unstructured;
use hamdex::{BuildOptions, Fingerprint, Index, VerifyOptions};

use crate::check::agrees;
use crate::choose::{flag, options, pairs, set};
use crate::common::id_lists;
use crate::targets::built_in_memory;

/// Builds what the input describes, and compares.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    if flag(&mut bytes) { of_width::<u128>(bytes) } else { of_width::<u64>(bytes) }
}

fn of_width<F: Fingerprint>(mut bytes: Unstructured<'_>) {
    let options: BuildOptions<F> = options(&mut bytes);
    let (has_ids, has_names) = (flag(&mut bytes), flag(&mut bytes));
    let set: Vec<F> = set(&mut bytes);
    let mut pairs = pairs(&mut bytes, &set);
    if !has_ids {
        pairs.iter_mut().for_each(|pair| pair.1 = 0);
    }
    let names = (has_ids && has_names).then(|| names(&mut bytes, &pairs));
    let file = built_in_memory(&pairs, has_ids, names.as_ref(), options.clone());
    let index = Index::<F>::from_bytes(file.as_slice()).expect("what was built");
    let verified = index.verify_with(&VerifyOptions::new().threads(1)).expect("what was built");
    let lists = id_lists(&pairs);
    assert!(index.fingerprints().map(Result::unwrap).eq(lists.keys().copied()));
    if has_ids {
        assert_eq!(verified.ids, lists.values().map(Vec::len).sum::<usize>() as u64);
        for (&fingerprint, ids) in &lists {
            assert!(index.ids(fingerprint).expect("what was built").eq(ids.iter().copied()));
        }
    }
    if let Some(names) = &names {
        let found = index.names().expect("what was built").expect("it has names");
        for (&id, name) in names {
            assert_eq!(found.get(id).expect("what was built"), Some(name.as_slice()));
        }
    }
    agrees(&index, &file);
    // In another order, with everything twice.
    let mut again = pairs.clone();
    again.reverse();
    again.extend_from_slice(&pairs);
    assert!(
        built_in_memory(&again, has_ids, names.as_ref(), options) == file,
        "the bytes depend on the order"
    );
}

/// A name for each id, and for a few others.
fn names<F>(bytes: &mut Unstructured<'_>, pairs: &[(F, u64)]) -> BTreeMap<u64, Vec<u8>> {
    let mut names = BTreeMap::new();
    for &(_, id) in pairs {
        names.entry(id).or_insert_with(|| bytes.arbitrary::<&[u8]>().unwrap_or_default().to_vec());
        if flag(bytes) {
            names.entry(id.wrapping_add(5)).or_default();
        }
    }
    names
}

/// Choices by chance.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    super::choices(24, 300)
}
