//! Reads documents from files of all common formats, and finds the near-duplicates among them. The `hamdex`
//! command is built on this library; other programs can use it in the same way.
//!
//! From documents to clusters:
//!
//! ```
//! use hamdex_documents::{Dedup, Documents};
//! use hamdex_simhash::{Fingerprinter, Recipe};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("articles.jsonl");
//! # let story = |name: &str| (0..60).map(|word| format!("{name}{word}")).collect::<Vec<_>>().join(" ");
//! # let (one, other, copy) = (story("a"), story("b"), story("a"));
//! std::fs::write(&path, format!(
//!     "{{\"id\": 1, \"text\": \"{one}\"}}\n{{\"id\": 2, \"text\": \"{other}\"}}\n{{\"id\": 3, \"text\": \"{copy}\"}}\n"
//! ))?;
//!
//! let fingerprinter = Fingerprinter::<u64>::new(&Recipe::default())?;
//! let documents = Documents::from_paths([&path]).on_notice(|notice| eprintln!("{notice:?}"));
//! let clusters = Dedup::new(fingerprinter).run(&documents)?;
//! for member in clusters.members() {
//!     println!("{} {} {}", member.cluster, clusters.id(member.document)?, member.is_kept);
//! }
//! assert_eq!((clusters.count(), clusters.duplicates()), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! - [`Documents`]: which documents to read, and how; [`Documents::read`] and [`Documents::fingerprint`].
//!   Problems with single documents are reported ([`Notice`](problems::Notice)) and counted ([`Counts`]).
//! - [`Documents::copyable`], [`Documents::copy`]: rows of the inputs, copied with all their columns and types.
//! - [`Documents::copyable_as_files`], [`Documents::copy_files`]: the same, each file in its own format.
//! - [`Documents::read_inputs`], [`Documents::copy_inputs`]: the same for rows that the caller reads.
//! - [`Input`]: a file or standard input, decompressed and with its format detected; [`Input::for_each_row`]
//!   reads named columns of CSV, TSV, Parquet and Arrow.
//! - [`Dedup`] and [`Clusters`]: near-duplicates, by the similarity of texts ([`Similarity`]) or the distance of
//!   fingerprints.
//! - [`known`]: documents that are known already, to leave out.
//! - [`SimilarTexts`]: the stored documents that are similar to a text.
//! - [`Rows`](tables::Rows): tables of results as JSON Lines, CSV or Parquet.
//! - [`RECIPE_KEY`], [`stored_recipe`]: the recipe in an index's metadata.
//!
//! The library prints nothing. It writes only the files that the caller names, and temporary files.
//!
//! # Features
//!
//! `parquet` (default): Parquet and Arrow files, in and out. Without it they are refused
//! ([`Error::WithoutParquet`]).

mod copy;
mod dedup;
mod document;
mod error;
mod format;
mod input;
mod parsers;
mod problem;
mod read;
mod rows;
mod table_reader;
mod table_writer;
mod walk;

pub use copy::Copied;
pub use dedup::clusters::{Clusters, Extent, Member};
pub use dedup::known::{SimilarTexts, TextSearcher};
pub use dedup::options::{Clustering, Dedup, Preference};
pub use dedup::resources::{Progress, Stage};
pub use dedup::similarity::Similarity;
pub use document::{Counts, Document, TooShort};
pub use error::{CopyErrorKind, Error};
pub use format::Format;
pub use hamdex::RECIPE_KEY;
pub use input::Input;
pub use read::fingerprint::stored_recipe;
pub use read::options::{Documents, MAX_TEXT_FIELDS};
pub use read::{InputRows, read_text};

/// Documents that are known already, whose near-duplicates are left out: what [`Dedup::against`] and
/// [`Dedup::against_texts`] take, and what they find.
pub mod known {
    pub use crate::dedup::known::{KnownShingles, KnownTexts, Reference, nearest_in};
    pub use crate::dedup::texts::new_texts::{Known, KnownAs, NearestTexts, NewTexts, Similar};
}

/// Problems with single documents and files, and their places.
pub mod problems {
    pub use crate::format::{FileKind, FileSort, kind_of_file};
    pub use crate::problem::{Action, Field, Notice, Place, Position, Problem, SomeNames};
}

/// Tables of cells, read and written row by row.
pub mod tables {
    pub use crate::table_reader::quoting::Quoting;
    pub use crate::table_reader::{ColumnNames, Value};
    pub use crate::table_writer::{Cell, Kind, Rows, TableFormat, write_json};
}
