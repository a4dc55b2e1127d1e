//! Look-ups: from an id to its fingerprints, and from a name to its ids, on disk.
//!
//! An index has them if it was built with [`BuildOptions::lookups`](crate::BuildOptions::lookups): optional sections,
//! of which each is a hash table of *places*, those of pairs or those of names. A place stands in the bucket that the
//! first bits of the hash of its key choose, with some of the next bits, its *tag*; so a look-up reads the bounds of a
//! bucket and the bucket, and the key of one place in 128 that does not have it.
//!
//! - [`geometry`]: the form of a table, which follows from the number of its places; the hash functions
//! - [`reader`]: the places of a hash; verification

pub(crate) mod geometry;
pub(crate) mod reader;

pub(crate) use geometry::{Geometry, hash_of_id, hash_of_name};
pub(crate) use reader::LookupTable;
