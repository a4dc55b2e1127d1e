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
