//! The targets, one file each.
//!
//! Of a file: [`index`], [`forged`], [`blocks`], [`names`]. Of the engine: [`built`], [`design`], [`merge`],
//! [`fingerprint`]. Of a store: [`manifest`], [`log`], [`removals`], [`store`], [`operations`]. Of sets of files:
//! [`shards`]. Of texts and of what the command reads, with the feature `documents`: `documents`, `columns`, `rows`,
//! `recipe`, `dictionary`, `inputs`.

pub mod blocks;
pub mod built;
#[cfg(feature = "documents")]
pub mod columns;
pub mod design;
#[cfg(feature = "documents")]
pub mod dictionary;
#[cfg(feature = "documents")]
pub mod documents;
pub mod fingerprint;
pub mod forged;
pub mod index;
#[cfg(feature = "documents")]
pub mod inputs;
pub mod log;
pub mod manifest;
pub mod merge;
pub mod names;
pub mod operations;
#[cfg(feature = "documents")]
pub mod recipe;
pub mod removals;
#[cfg(feature = "documents")]
pub mod rows;
pub mod shards;
pub mod store;

/// A target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: that of its module and of its program.
    pub name: &'static str,
    /// Runs it on an input; panics where a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs to start from, made anew each time.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

macro_rules! targets {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        /// All targets of this build.
        pub const TARGETS: &[Target] = &[
            $($(#[$attribute])* Target { name: stringify!($name), run: $name::run, seeds: $name::seeds },)*
        ];
    };
}

targets! {
    index
    forged
    blocks
    names
    built
    design
    merge
    fingerprint
    manifest
    log
    removals
    store
    operations
    shards
    #[cfg(feature = "documents")]
    documents
    #[cfg(feature = "documents")]
    columns
    #[cfg(feature = "documents")]
    rows
    #[cfg(feature = "documents")]
    recipe
    #[cfg(feature = "documents")]
    dictionary
    #[cfg(feature = "documents")]
    inputs
}

/// Inputs of a target that takes choices from its bytes: bytes by chance, and a few that are all alike.
fn choices(count: u64, length: usize) -> Vec<Vec<u8>> {
    let chance = (0..count).map(|seed| {
        let mut numbers = crate::common::Numbers(seed);
        (0..length).map(|_| numbers.word() as u8).collect()
    });
    chance.chain([vec![], vec![0; length], vec![0xff; length]]).collect()
}

/// The bytes of an index over these pairs, or over their fingerprints alone.
fn built_in_memory<F: hamdex::Fingerprint>(
    pairs: &[(F, u64)],
    has_ids: bool,
    names: Option<&std::collections::BTreeMap<u64, Vec<u8>>>,
    options: hamdex::BuildOptions<F>,
) -> Vec<u8> {
    let options = options.ids(has_ids).names(names.is_some());
    let mut builder = hamdex::Builder::in_memory(options).expect("options in their ranges");
    for &(fingerprint, id) in pairs {
        let outcome = if has_ids { builder.push_with_id(fingerprint, id) } else { builder.push(fingerprint) };
        outcome.expect("memory is enough");
    }
    for (&id, name) in names.into_iter().flatten() {
        builder.push_name(id, name).expect("they ascend");
    }
    builder.into_inner().expect("memory is enough").0
}

/// A directory for the files of one run, in memory where the system has such a place.
fn directory() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    directory.expect("a temporary directory")
}
