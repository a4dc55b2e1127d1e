//! The worked example of shards-spec.md: built by the library, and worked out again by the text.
//!
//! With HAMDEX_BLESS set, the parts between the markers are written anew.

use std::fmt::Write;
use std::path::PathBuf;

use hamdex::{BuildOptions, Design, Index};
use hamdex_shards::{Layout, MANIFEST, ShardsBuilder};

const PAIRS: [(u64, u64); 3] =
    [(0x8000_0000_0000_0001, 7), (0x0123_4567_89ab_cdef, 8), (0x0123_4567_89ab_cdee, 9)];

/// As the text has it.
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The text between `<!-- name -->` and `<!-- end of name -->` is a fenced block of this text.
fn compare(name: &str, language: &str, fresh: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shards-spec.md");
    let spec = std::fs::read_to_string(&path).unwrap();
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let (before, rest) = spec.split_once(&start).expect(name);
    let (stored, after) = rest.split_once(&end).expect(name);
    let fresh = format!("```{language}\n{fresh}```\n");
    if std::env::var_os("HAMDEX_BLESS").is_some() {
        std::fs::write(path, [before, &start, &fresh, &end, after].concat()).unwrap();
    } else {
        assert!(stored == fresh, "{name} in shards-spec.md is not what the library gives:\n{fresh}");
    }
}

#[test]
fn the_example_is_the_one_in_the_text() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("set");
    let options = BuildOptions::<u64>::new().design(Design::named("single", 1).unwrap()).ids(true);
    let mut builder = ShardsBuilder::create(&path, Layout::Families, 2, options).unwrap();
    PAIRS.into_iter().for_each(|(fingerprint, id)| builder.push_with_id(fingerprint, id).unwrap());
    let manifest = builder.finish().unwrap().manifest;

    assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    let mut text = String::from("fingerprint       group  g         hash              shard\n");
    for (fingerprint, _) in PAIRS {
        for (group, bits) in [(0, fingerprint >> 32), (1, fingerprint & 0xffff_ffff)] {
            let hash = mix(bits ^ mix(0));
            let shard = hash as usize % 2;
            writeln!(text, "{fingerprint:016x}  {group}      {bits:08x}  {hash:016x}  {shard}").unwrap();
            for other in [0, 1] {
                let file = &manifest.shards[2 * group + other].file;
                let holds = Index::<u64>::open(path.join(file)).unwrap().contains(fingerprint).unwrap();
                assert_eq!(holds, other == shard, "{fingerprint:x} in {file}");
            }
        }
    }
    compare("example shards", "text", &text);
    compare("example shards manifest", "text", &std::fs::read_to_string(path.join(MANIFEST)).unwrap());
}
