//! The functions of [`Engine`] for both widths.

use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use crate::build::{BuildOptions, Builder, SealedIndex, Summary};
use crate::engine::{BoxedEntries, Engine, SharedIndexes, UnitedVisitor};
use crate::error::{BuildError, ReadError};
use crate::ids::Ids;
use crate::index::{
    BatchOptions, Entry, FoundIn, Index, IndexesSearcher, Match, MatchVisitor, OpenOptions, Pair, Pairs,
    Searcher, UnitedMatches, Verified, VerifyOptions,
};
use crate::mapping::Mapping;
use crate::merge::Merger;

macro_rules! impl_engine {
    ($type:ty) => {
        impl Engine for $type {
            fn push(builder: &mut Builder<Self>, fingerprint: Self) -> Result<(), BuildError> {
                builder.push(fingerprint)
            }

            fn push_with_id(
                builder: &mut Builder<Self>,
                fingerprint: Self,
                id: u64,
            ) -> Result<(), BuildError> {
                builder.push_with_id(fingerprint, id)
            }

            fn seal(builder: Builder<Self>) -> Result<SealedIndex, BuildError> {
                builder.seal()
            }

            fn merge(merger: Merger<'_, Self>, path: &Path) -> Result<SealedIndex, BuildError> {
                merger.seal(path)
            }

            fn open(path: &Path, options: &OpenOptions) -> Result<Index<Self>, ReadError> {
                options.open(path)
            }

            fn ids(index: &Index<Self>, fingerprint: Self) -> Result<Ids<'_>, ReadError> {
                index.ids(fingerprint)
            }

            fn for_each_entry(
                index: &Index<Self>,
                visit: &mut dyn FnMut(Entry<'_, Self>) -> ControlFlow<()>,
            ) -> Result<ControlFlow<()>, ReadError> {
                for entry in index.entries() {
                    if visit(entry?).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(ControlFlow::Continue(()))
            }

            fn within<'s>(
                searcher: &'s mut Searcher<&Index<Self>>,
                query: Self,
                distance: u32,
            ) -> Result<&'s [Match<Self>], ReadError> {
                searcher.within(query, distance)
            }

            fn first(
                searcher: &mut Searcher<&Index<Self>>,
                query: Self,
                distance: u32,
            ) -> Result<Option<Match<Self>>, ReadError> {
                searcher.first(query, distance)
            }

            fn nearest_within<'s>(
                searcher: &'s mut Searcher<&Index<Self>>,
                query: Self,
                count: usize,
                distance: u32,
            ) -> Result<&'s [Match<Self>], ReadError> {
                searcher.nearest_within(query, count, distance)
            }

            fn ids_of<'s>(
                searcher: &'s mut Searcher<&Index<Self>>,
                matches: &[Match<Self>],
            ) -> Result<Vec<Ids<'s>>, ReadError> {
                searcher.ids_of(matches)
            }

            fn batch_with(
                index: &Index<Self>,
                queries: &[Self],
                distance: u32,
                options: &BatchOptions,
                visit: &mut MatchVisitor<'_, Self>,
            ) -> Result<ControlFlow<()>, ReadError> {
                index.batch_with(queries, distance, options, visit)
            }

            fn for_each_batch(
                pairs: &Pairs<'_, Self>,
                visit: &mut dyn FnMut(&[Pair<Self>]) -> ControlFlow<()>,
            ) -> Result<ControlFlow<()>, ReadError> {
                pairs.for_each_batch(visit)
            }

            fn count_by_distance(pairs: &Pairs<'_, Self>) -> Result<Vec<u64>, ReadError> {
                pairs.count_by_distance()
            }

            fn pairs(index: &Index<Self>, distance: u32) -> Pairs<'_, Self> {
                index.pairs(distance)
            }

            fn verify(index: &Index<Self>, options: &VerifyOptions) -> Result<Verified, ReadError> {
                index.verify_with(options)
            }

            fn write_sorted(
                options: BuildOptions<Self>,
                records: &mut dyn Iterator<Item = (Self, u64)>,
                names: &mut dyn Iterator<Item = Result<(u64, &[u8]), ReadError>>,
                writer: &mut (dyn Write + Send),
            ) -> Result<Summary, BuildError> {
                let has_ids = options.ids;
                let mut builder = Builder::to_writer(writer, options.sorted(true))?;
                for (fingerprint, id) in records {
                    if has_ids {
                        builder.push_with_id(fingerprint, id)?;
                    } else {
                        builder.push(fingerprint)?;
                    }
                }
                for named in names {
                    let (id, name) = named?;
                    builder.push_name(id, name)?;
                }
                Ok(builder.into_inner()?.1)
            }

            fn merge_to(
                merger: Merger<'_, Self>,
                mut writer: &mut (dyn Write + Send),
            ) -> Result<Summary, BuildError> {
                merger.write_to(&mut writer)
            }

            fn open_mapping(
                data: Mapping,
                path: &Path,
                options: &OpenOptions,
            ) -> Result<Index<Self>, ReadError> {
                options.from_mapping(data, path)
            }

            fn places(index: &Index<Self>, fingerprint: Self) -> Result<Range<u64>, ReadError> {
                index.places(fingerprint)
            }

            fn rank(index: &Index<Self>, fingerprint: Self) -> Result<u64, ReadError> {
                index.rank(fingerprint)
            }

            fn entries(index: &Index<Self>, from: Self) -> BoxedEntries<'_, Self> {
                Box::new(index.entries().from(from))
            }

            fn mend(file: &mut [u8], file_id: [u8; 16]) {
                crate::salvage::mend::<Self>(file, file_id.into());
            }

            fn for_each_readable(index: &Index<Self>, visit: &mut dyn FnMut(Option<u64>, Self, u64)) {
                index.for_each_readable(visit);
            }

            fn within_all<'s>(
                searcher: &'s mut IndexesSearcher<Arc<Index<Self>>>,
                query: Self,
                distance: u32,
            ) -> Result<UnitedMatches<'s, Self>, ReadError> {
                searcher.within(query, distance)
            }

            fn nearest_within_all<'s>(
                searcher: &'s mut IndexesSearcher<Arc<Index<Self>>>,
                query: Self,
                count: usize,
                distance: u32,
            ) -> Result<UnitedMatches<'s, Self>, ReadError> {
                searcher.nearest_within(query, count, distance)
            }

            fn first_of_all(
                searcher: &mut IndexesSearcher<Arc<Index<Self>>>,
                query: Self,
                distance: u32,
            ) -> Result<Option<FoundIn<Self>>, ReadError> {
                searcher.first(query, distance)
            }

            fn batch_of_all(
                indexes: &SharedIndexes<Self>,
                queries: &[Self],
                distance: u32,
                options: &BatchOptions,
                visit: &mut UnitedVisitor<'_, Self>,
            ) -> Result<ControlFlow<()>, ReadError> {
                indexes.batch_with(queries, distance, options, visit)
            }

            fn pairs_of_all(indexes: &SharedIndexes<Self>, distance: u32) -> Pairs<'_, Self> {
                indexes.pairs(distance)
            }
        }
    };
}

impl_engine!(u64);
impl_engine!(u128);
