//! One file or folder per subcommand:
//!
//! - [`dedup`]: the near-duplicates of a corpus, as clusters
//! - [`fingerprint`]: a fingerprint for each document
//! - [`idf`]: how telling each word of a corpus is
//! - [`evaluate`]: how well near-duplicates are found
//! - [`build`]: fingerprints or documents in, one index file out
//! - [`query`]: what is near
//! - [`pairs`]: what is near what
//! - [`dump`]: what a file is made of, down to the bit
//! - [`verify`]: is a file whole
//! - [`designs`]: which tables to choose
//! - [`demo`]: all of it, on data it makes itself

pub(crate) mod build;
pub(crate) mod dedup;
pub(crate) mod demo;
pub(crate) mod designs;
pub(crate) mod dump;
pub(crate) mod evaluate;
pub(crate) mod fingerprint;
pub(crate) mod idf;
pub(crate) mod pairs;
pub(crate) mod query;
pub(crate) mod verify;
