//! Files of later versions: refused as such, and not as damaged.

use std::path::Path;

use crate::common::{LINES, Scratch};

#[test]
fn a_width_of_a_later_version_is_refused_as_a_feature_that_is_lacking() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/bad/third-width.hamdex");
    let scratch = Scratch::new();
    std::fs::copy(golden, scratch.path("wide.hamdex")).unwrap();
    scratch.write("web.txt", LINES);
    scratch.output(&["build", "--quiet", "-o", "web.hamdex", "web.txt"]);
    scratch.output(&["store", "create", "--quiet", "--ids", "none", "web.store"]);
    let before = scratch.names();
    for args in [
        &["query", "wide.hamdex", "0123456789abcdef"][..],
        &["pairs", "wide.hamdex"],
        &["verify", "wide.hamdex"],
        &["dump", "wide.hamdex"],
        &["merge", "web.hamdex", "wide.hamdex", "-o", "both.hamdex"],
        &["dedup", "--fingerprints", "web.txt", "--against", "wide.hamdex"],
        &["shards", "create", "set.shards", "web.hamdex", "wide.hamdex"],
        &["store", "ingest", "web.store", "wide.hamdex"],
    ] {
        let (code, message) = scratch.failure(args);
        assert_eq!(code, 3, "{args:?}: {message}");
        let expected = "wide.hamdex: needs features that this reader lacks (bits 0x1); update hamdex";
        assert!(message.contains(expected) && !message.contains("damage"), "{args:?}: {message}");
        assert_eq!(scratch.names(), before, "{args:?}");
    }
}
