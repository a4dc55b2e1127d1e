//! Segments that are cut off while they are mapped, in a process that survives it.

use std::fs::File;

use hamdex::{Category, FingerprintSet, Mapping};
use hamdex_store::{CreateOptions, Operation, Store, StoreOptions};

#[test]
fn nothing_is_made_of_a_segment_that_is_lost() {
    Mapping::survive_lost_pages().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store =
        Store::<u64>::create(&path, &CreateOptions::new(), StoreOptions::new().merges(false)).unwrap();
    let fingerprint = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for half in [0..10_000, 10_000..20_000] {
        store.write(half.map(|number| Operation::Insert(fingerprint(number), number)).collect()).unwrap();
        store.flush().unwrap();
    }
    let snapshot = store.snapshot();
    // Every block is verified now, and is not verified again.
    assert_eq!(snapshot.pairs_in_order().filter(Result::is_ok).count(), 20_000);
    snapshot.check_files().unwrap();
    let segment = path.join("segments/000001.hamdex");
    let whole = std::fs::read(&segment).unwrap();
    File::options().write(true).open(&segment).unwrap().set_len(4096).unwrap();

    let error = store.compact().unwrap_err();
    assert_eq!(error.category(), Category::Damaged, "{error}");
    let error = snapshot.check_files().unwrap_err();
    assert!(error.category() == Category::Damaged && error.to_string().contains("mv"), "{error}");
    // Whether something is near depends on the segment.
    for number in [0, 20_001] {
        let refused = store.insert_unless_near(fingerprint(number), number, 3);
        assert_eq!(refused.unwrap_err().category(), Category::Damaged);
    }
    assert_eq!(store.stats().segments.len(), 2);
    drop((snapshot, store));
    // Nothing else has changed: with the file, everything is back.
    std::fs::write(&segment, whole).unwrap();
    let store = Store::<u64>::open(&path, StoreOptions::new()).unwrap();
    store.compact().unwrap();
    assert_eq!(store.snapshot().count().unwrap().pairs, 20_000);
    assert!(!store.snapshot().contains(fingerprint(20_001)).unwrap());
}
