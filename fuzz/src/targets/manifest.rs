//! The text of a manifest, its checksums made right: what is read is written alike, and what can be had of a damaged
//! one is a manifest.

use hamdex_store::internals::manifest::{parse, salvage, to_text};

use crate::store::{files_of, sealed_manifest};
use crate::targets::store;

/// Reads the input, as it is and with right checksums.
pub fn run(input: &[u8]) {
    for text in [input.to_vec(), sealed_manifest(input)] {
        let parsed = parse(&text);
        if let Ok(manifest) = &parsed {
            assert_eq!(to_text(manifest).as_bytes(), text);
        }
        for salvaged in
            [salvage(&text, b""), salvage(&text, input), salvage(b"", &text)].into_iter().flatten()
        {
            let written = to_text(&salvaged.manifest);
            assert_eq!(parse(written.as_bytes()).as_ref(), Ok(&salvaged.manifest), "{written}");
            if let Ok(manifest) = &parsed {
                assert_eq!(&salvaged.manifest, manifest);
                assert!(salvaged.is_whole(), "{:?}", salvaged.problems);
            }
        }
    }
}

/// Manifests of stores of all kinds.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    store::stores().iter().map(|disk| files_of(disk)["manifest"].clone()).collect()
}
