//! One file or folder per subcommand, and one for two of them:
//!
//! - [`dedup`]: the near-duplicates of a corpus, as clusters
//! - [`fingerprint`]: a fingerprint for each document
//! - [`idf`]: inverse document frequencies of the words of a corpus
//! - [`build`]: fingerprints or documents in, one index file out
//! - [`merge`]: several index files into one
//! - [`query`]: the stored fingerprints near given ones
//! - [`pairs`]: the stored fingerprints near each other
//! - [`dump`]: the contents of a file, down to the bit
//! - [`verify`]: whether a file is whole
//! - [`store`]: sets that can be updated
//! - [`shards`]: sets of many index files
//! - [`distance`]: how far apart two fingerprints or documents are
//! - `serve`: sets over the network, with the feature of that name
//! - [`designs`]: the choices of tables, with their costs
//! - [`demo`]: everything once, on generated data
//! - [`packaged`]: `completions` and `man`, shell completions and manual pages

pub(crate) mod build;
pub(crate) mod dedup;
pub(crate) mod demo;
pub(crate) mod designs;
pub(crate) mod distance;
pub(crate) mod dump;
pub(crate) mod fingerprint;
pub(crate) mod idf;
pub(crate) mod merge;
pub(crate) mod packaged;
pub(crate) mod pairs;
pub(crate) mod query;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod shards;
pub(crate) mod store;
pub(crate) mod verify;

use hamdex::set::Description;
use hamdex::{Fingerprint, FingerprintSet, check_distance};
use hamdex_any::AnySet;

use crate::failure::Failure;

/// An open set, for work on fingerprints of one width.
#[derive(Clone, Copy)]
pub(crate) struct Set<'s, F> {
    pub(crate) set: &'s dyn FingerprintSet<F>,
    pub(crate) description: &'s Description,
}

impl<'s, F: Fingerprint> Set<'s, F> {
    /// Returns the set, whose width must be that of `F`.
    pub(crate) fn of(any: &'s AnySet) -> Self {
        let set = any.typed::<F>().expect("the width was checked");
        Self { set: &**set, description: any.description() }
    }

    /// Returns the distance asked for, or that of the set.
    pub(crate) fn distance(self, asked: Option<u32>) -> Result<u32, Failure> {
        let distance = asked.unwrap_or(self.description.distance);
        check_distance::<F>(distance)?;
        Ok(distance)
    }

    /// Returns the set as a source of names, if its ids have names.
    pub(crate) fn names(self) -> Option<&'s dyn FingerprintSet<F>> {
        self.description.has_names.then_some(self.set)
    }
}
