//! The files to merge, and checks that they fit together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hamdex::{Codec, Design, Fingerprint, Index};
use hamdex_documents::RECIPE_KEY;

use crate::failure::Failure;

/// Returns the width of all files.
pub(super) fn width(paths: &[PathBuf]) -> Result<u32, Failure> {
    let widths = paths.iter().map(|path| hamdex::width(path).map_err(Failure::Index));
    let widths: Vec<u32> = widths.collect::<Result<_, _>>()?;
    match widths.iter().position(|width| *width != widths[0]) {
        None => Ok(widths[0]),
        Some(other) => Err(Failure::Wrong(format!(
            "{} holds fingerprints of {} bits, and {} of {}: they cannot be merged",
            paths[0].display(),
            widths[0],
            paths[other].display(),
            widths[other],
        ))),
    }
}

/// Open indexes.
pub(super) struct Merging<'p, F> {
    pub(super) paths: &'p [PathBuf],
    pub(super) indexes: Vec<Index<F>>,
}

impl<'p, F: Fingerprint> Merging<'p, F> {
    /// Opens all files; refuses a mix of files with and without ids, or names.
    pub(super) fn open(paths: &'p [PathBuf]) -> Result<Self, Failure> {
        if paths.len() > hamdex::MAX_MERGED {
            return Err(Failure::Usage(format!(
                "{} files are more than the {} that can be merged at once: merge them in steps",
                paths.len(),
                hamdex::MAX_MERGED
            )));
        }
        let indexes = paths.iter().map(|path| Index::open(path).map_err(Failure::Index));
        let merging = Self { paths, indexes: indexes.collect::<Result<_, _>>()? };
        merging.all_or_none("ids", Index::has_ids)?;
        merging.all_or_none("names", Index::has_names)?;
        Ok(merging)
    }

    /// Refuses files of which some have a property and others do not.
    fn all_or_none(&self, what: &str, has: impl Fn(&Index<F>) -> bool) -> Result<(), Failure> {
        let outcome = self.common(&has).map(drop);
        outcome.map_err(|(a, b)| {
            let (with, without) = if has(&self.indexes[0]) { (a, b) } else { (b, a) };
            Failure::Wrong(format!(
                "{} has {what}, and {} has none: they cannot be merged",
                with.display(),
                without.display()
            ))
        })
    }

    /// Whether ids have names.
    pub(super) fn has_names(&self) -> bool {
        self.indexes.iter().any(Index::has_names)
    }

    /// Whether any index has look-ups.
    pub(super) fn has_lookups(&self) -> bool {
        self.indexes.iter().any(Index::has_lookups)
    }

    /// Returns the property that all indexes share, or two files that differ in it.
    fn common<'m, T: PartialEq>(&'m self, of: impl Fn(&'m Index<F>) -> T) -> Result<T, (&'p Path, &'p Path)> {
        let first = of(&self.indexes[0]);
        match self.indexes.iter().position(|index| of(index) != first) {
            None => Ok(first),
            Some(other) => Err((&self.paths[0], &self.paths[other])),
        }
    }

    /// Returns the design of the inputs; `None` if they differ.
    pub(super) fn design(&self) -> Option<&Design<F>> {
        self.common(Index::design).ok()
    }

    pub(super) fn greatest_distance(&self) -> u32 {
        self.indexes.iter().map(|index| index.design().distance()).max().expect("there is an input")
    }

    pub(super) fn codec(&self) -> Result<Codec, Failure> {
        self.common(|index| index.stats().codec).map_err(|(a, b)| {
            Failure::Usage(format!(
                "the codecs of {} and {} differ: choose one with --codec",
                a.display(),
                b.display()
            ))
        })
    }

    /// Returns the bytes per block of the inputs of this codec; `None` if they differ.
    pub(super) fn block_bytes(&self, codec: Codec) -> Option<u32> {
        let of_codec = self.indexes.iter().map(Index::stats).filter(|stats| stats.codec == codec);
        let mut sizes: Vec<u32> = of_codec.map(|stats| stats.block_bytes).collect();
        sizes.dedup();
        <[u32; 1]>::try_from(sizes).ok().map(|[bytes]| bytes)
    }

    /// Returns the metadata of the output: that of all inputs, which must agree.
    pub(super) fn metadata(&self) -> Result<&BTreeMap<String, Vec<u8>>, Failure> {
        let recipes = self.common(|index| index.metadata().get(RECIPE_KEY));
        recipes.map_err(|(a, b)| {
            Failure::Wrong(format!(
                "{} and {} were built by different recipes, or one of them without one: their fingerprints \
                 cannot be compared",
                a.display(),
                b.display()
            ))
        })?;
        self.common(Index::metadata).map_err(|(a, b)| {
            Failure::Wrong(format!(
                "the metadata of {} and {} differ: they cannot be merged",
                a.display(),
                b.display()
            ))
        })
    }
}
