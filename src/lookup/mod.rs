//! Look-ups: from an id to its fingerprints, and from a name to its ids, on disk.
//!
//! An index that was built with [`BuildOptions::lookups`](crate::BuildOptions::lookups) has them as optional sections.
//! Each is a hash table of *places*: of pairs, or of names. The first bits of the hash of a key choose a bucket; a place
//! stands in it with some of the next bits, its *tag*. A look-up reads the bounds of a bucket and the bucket; at most one
//! look-up in 128 reads the key of a wrong place.
//!
//! - [`geometry`]: the form of a table, which follows from the number of its places; the hash functions
//! - [`reader`]: the places of a hash; verification

pub(crate) mod geometry;
pub(crate) mod reader;

pub(crate) use geometry::{Geometry, hash_of_id, hash_of_name};
pub(crate) use reader::LookupTable;
