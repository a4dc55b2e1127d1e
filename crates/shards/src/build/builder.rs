//! The builder of a set from fingerprints in any order.

use std::fmt;
use std::path::Path;

use hamdex::{BuildError, BuildOptions, Builder, Fingerprint, RECIPE_KEY, SealedIndex, shingles};

use crate::build::spool::{Fields, Record, Spool};
use crate::build::{Target, check_open_files, put};
use crate::error::Error;
use crate::manifest::{IdType, Layout, MAX_SHARDS, Manifest};
use crate::partition::Partition;
use crate::set::{recipe_of_metadata, text_of_metadata};

/// The minimum memory of an index build.
const MIN_MEMORY: u64 = 16 << 20;

/// Builds a set of shards from fingerprints in any order.
///
/// The shards depend only on the fingerprints, ids and options, not on their order, the memory limit or the number of
/// threads. Until [`ShardsBuilder::finish`] succeeds, the directory does not exist or is unchanged.
///
/// Pushed records are kept in memory while they fit, and then in anonymous temporary files: twice for a set of families
/// (once in order, once by shard), otherwise once. Then shards are built one by one, in half of the memory limit.
pub struct ShardsBuilder<F: Fingerprint> {
    target: Target,
    layout: Layout,
    partition: Partition<F>,
    options: BuildOptions<F>,
    /// The pushed records, by the shards of the first family.
    parts: Vec<Spool<F>>,
    /// All records in order, for the other families.
    all: Option<Spool<F>>,
    pushed: u64,
}

/// The result of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardsSummary {
    /// Fingerprints pushed, with repeats.
    pub pushed: u64,
    /// The manifest.
    pub manifest: Manifest,
}

/// A set with complete and durable files that have no names yet. Dropped, it leaves nothing behind.
#[must_use = "a set that is not published is gone"]
pub struct SealedShards {
    target: Target,
    pushed: u64,
    manifest: Manifest,
    files: Vec<(String, SealedIndex)>,
}

impl<F: Fingerprint> ShardsBuilder<F> {
    /// Starts a set of `shards` shards in each family. `options` apply to each shard; their memory limit applies to the
    /// whole build, and their permission to overwrite to an existing set only, not to other directories.
    ///
    /// # Errors
    /// When the directory exists and may not be replaced, an option is out of its range, there are more shards than the
    /// format or the limit of open files permits, or the directory cannot be written.
    pub fn create(
        directory: impl AsRef<Path>,
        layout: Layout,
        shards: usize,
        options: BuildOptions<F>,
    ) -> Result<Self, Error> {
        let target = Target::new(directory.as_ref(), options.is_overwriting())?;
        let families = match layout {
            Layout::Hash => 1,
            Layout::Families if options.design_distance() >= F::BITS => {
                let expected = format!("below the width, {} bits, in a set of families", F::BITS);
                return Err(Error::Option {
                    option: "the distance",
                    given: options.design_distance().into(),
                    expected,
                });
            }
            Layout::Families => options.design_distance() + 1,
        };
        let most = MAX_SHARDS / families as usize;
        if shards == 0 || shards > most {
            let expected = format!("1 to {most} for {families} of these");
            return Err(Error::Option { option: "the number of shards", given: shards as u64, expected });
        }
        check_open_files(shards * families as usize)?;
        let memory = options.memory_limit();
        let temp_dir = options.temp_dir_path().map_or_else(|| target.parent(), Path::to_owned);
        let options = options.overwrite(false).temp_dir(&temp_dir);
        // Check the options before anything is read.
        drop(Builder::with_options(target.shard("shard"), options.clone())?);
        let options = options.memory((memory / 2).max(MIN_MEMORY));
        let partition = match layout {
            Layout::Hash => Partition::whole(shards),
            Layout::Families => Partition::of(families, shards),
        };
        let fields =
            Fields { ids: options.has_ids(), names: options.has_names(), shingles: options.has_shingles() };
        let room = usize::try_from(memory / 4).unwrap_or(usize::MAX);
        let parts = (0..shards).map(|_| Spool::new(fields, room / shards, &temp_dir)).collect();
        // Shingles are read one after the other, so one family has them.
        let all = (families > 1).then(|| Spool::new(Fields { shingles: false, ..fields }, room, &temp_dir));
        Ok(Self { target, layout, partition, options, parts, all, pushed: 0 })
    }

    /// Adds a fingerprint to a set without ids.
    ///
    /// # Errors
    /// When the options say that the set has ids, or temporary files cannot be written.
    pub fn push(&mut self, fingerprint: F) -> Result<(), Error> {
        self.require([false, false, false])?;
        self.add(Record { fingerprint, id: 0, name: &[], shingles: &[] })
    }

    /// Adds a fingerprint and one of its ids to a set with ids and without names.
    ///
    /// # Errors
    /// When the options say that the set has no ids, or names; when temporary files cannot be written.
    pub fn push_with_id(&mut self, fingerprint: F, id: u64) -> Result<(), Error> {
        self.require([true, false, false])?;
        self.add(Record { fingerprint, id, name: &[], shingles: &[] })
    }

    /// Adds a fingerprint, its id and the name of the id to a set with names. Ids must be ascending.
    ///
    /// # Errors
    /// When the options say that the set has no names, or temporary files cannot be written. Ids that are not ascending
    /// fail in [`ShardsBuilder::finish`].
    pub fn push_named(&mut self, fingerprint: F, id: u64, name: impl AsRef<[u8]>) -> Result<(), Error> {
        self.require([true, true, false])?;
        self.add(Record { fingerprint, id, name: name.as_ref(), shingles: &[] })
    }

    /// Adds a fingerprint, its id, the name of the id to a set with names, and the shingles of its document, ascending
    /// hashes of [`hamdex::shingles::BITS`] bits, to a set with shingles. Ids must be ascending. The shards of the
    /// first family keep the shingles.
    ///
    /// # Errors
    /// When the options say that the set has no shingles, or a name is given to one without names or lacks; when the
    /// shingles are not a set, or temporary files cannot be written. Ids that are not ascending fail in
    /// [`ShardsBuilder::finish`].
    pub fn push_document(
        &mut self,
        fingerprint: F,
        id: u64,
        name: Option<&[u8]>,
        shingles: &[u64],
    ) -> Result<(), Error> {
        self.require([true, name.is_some(), true])?;
        let encoded = shingles::encode(shingles).ok_or(BuildError::InvalidShingles { id })?;
        self.add(Record { fingerprint, id, name: name.unwrap_or_default(), shingles: &encoded })
    }

    /// Fails unless the set has ids, names and shingles as a record does.
    fn require(&self, fields: [bool; 3]) -> Result<(), Error> {
        let options = &self.options;
        if [options.has_ids(), options.has_names(), options.has_shingles()] == fields {
            return Ok(());
        }
        Err(Error::UnexpectedRecord)
    }

    fn add(&mut self, record: Record<'_, F>) -> Result<(), Error> {
        self.parts[self.partition.shard(0, record.fingerprint)].push(record)?;
        if let Some(all) = &mut self.all {
            all.push(record)?;
        }
        self.pushed += 1;
        Ok(())
    }

    /// Builds all shards, and publishes the set when all of it is durable.
    ///
    /// # Errors
    /// When memory or disk space runs out, a design is not possible, the directory has been created meanwhile, or the
    /// build is cancelled. An existing set is unchanged then, unless the error says that the output is
    /// in place.
    pub fn finish(self) -> Result<ShardsSummary, Error> {
        self.seal(&mut |_, _| {})?.publish()
    }

    /// Builds all shards without publishing the set. Calls `built` before each shard with the number of complete shards
    /// and the total.
    ///
    /// # Errors
    /// As for [`ShardsBuilder::finish`]; nothing is left behind then.
    pub fn seal(mut self, built: &mut dyn FnMut(usize, usize)) -> Result<SealedShards, Error> {
        let shards = self.partition.shards();
        let total = shards * self.partition.families();
        let mut files = Vec::with_capacity(total);
        for family in 0..self.partition.families() {
            let parts = if family == 0 { std::mem::take(&mut self.parts) } else { self.parts_of(family)? };
            if family + 1 == self.partition.families() {
                self.all = None;
            }
            for (shard, part) in parts.into_iter().enumerate() {
                built(files.len(), total);
                let file = match self.layout {
                    Layout::Hash => format!("shard-{shard:05}.hamdex"),
                    Layout::Families => format!("family-{family}-shard-{shard:05}.hamdex"),
                };
                let sealed = self.build(&file, part, family == 0)?;
                files.push((file, sealed));
            }
        }
        built(total, total);
        let (pushed, manifest) = (self.pushed, self.manifest()?);
        Ok(SealedShards { target: self.target, pushed, manifest, files })
    }

    /// Returns all records by the shards of a later family.
    fn parts_of(&mut self, family: usize) -> Result<Vec<Spool<F>>, Error> {
        let Self { partition, all, .. } = self;
        let all = all.as_mut().expect("there is a later family");
        let mut parts: Vec<_> = (0..partition.shards()).map(|_| all.shared_by(partition.shards())).collect();
        all.for_each(&mut |record| parts[partition.shard(family, record.fingerprint)].push(record))?;
        Ok(parts)
    }

    fn build(&self, file: &str, mut part: Spool<F>, is_first_family: bool) -> Result<SealedIndex, Error> {
        let has_shingles = is_first_family && self.options.has_shingles();
        let mut options = self.options.clone().shingles(has_shingles);
        if !has_shingles {
            options = options.without_metadata(shingles::KEY);
        }
        let mut builder = Builder::with_options(self.target.shard(file), options)?;
        let (ids, names) = (self.options.has_ids(), self.options.has_names());
        let mut set = Vec::new();
        part.for_each(&mut |Record { fingerprint, id, name, shingles }| {
            if ids {
                builder.push_with_id(fingerprint, id)?;
            } else {
                builder.push(fingerprint)?;
            }
            if names {
                builder.push_name(id, name)?;
            }
            if has_shingles {
                let is_set = shingles::decode(shingles, &mut set);
                debug_assert!(is_set, "it was encoded");
                builder.push_shingles(id, &set)?;
            }
            Ok(())
        })?;
        drop(part);
        Ok(builder.seal()?)
    }

    /// Returns the definition of the shingles, if there are any.
    fn shingles(&self) -> Result<Option<String>, Error> {
        let definition = self.options.metadata_value(shingles::KEY).unwrap_or_default();
        let definition = self.options.has_shingles().then_some(definition);
        text_of_metadata(definition, "its definition of shingles", self.target.path())
    }

    /// Returns the manifest without its shards.
    fn manifest(&self) -> Result<Manifest, Error> {
        let id_type = match (self.options.has_ids(), self.options.has_names()) {
            (false, _) => None,
            (true, false) => Some(IdType::Numbers),
            (true, true) => Some(IdType::Names),
        };
        Ok(Manifest {
            layout: self.layout,
            width: F::BITS,
            distance: self.options.design_distance(),
            recipe: recipe_of_metadata(self.options.metadata_value(RECIPE_KEY), self.target.path())?,
            id_type,
            shingles: self.shingles()?,
            shards: Vec::new(),
        })
    }
}

impl SealedShards {
    /// Publishes the set under its name.
    ///
    /// # Errors
    /// When the directory has been created meanwhile, or cannot be renamed. An existing set is unchanged then, unless
    /// the error says that the output is in place.
    pub fn publish(self) -> Result<ShardsSummary, Error> {
        let Self { target, pushed, mut manifest, files } = self;
        let directory = target.start()?;
        for (file, sealed) in files {
            manifest.shards.push(put(&directory, file, sealed)?);
        }
        target.publish(directory, &manifest)?;
        Ok(ShardsSummary { pushed, manifest })
    }
}

impl<F: Fingerprint> fmt::Debug for ShardsBuilder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardsBuilder")
            .field("target", &self.target)
            .field("layout", &self.layout)
            .field("options", &self.options)
            .field("pushed", &self.pushed)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SealedShards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedShards").field("manifest", &self.manifest).finish_non_exhaustive()
    }
}
