//! An open set of shards, and its verification: of every shard, and of the set as a whole.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use crate::error::Error;
use crate::manifest::{self, IdType, Layout, MANIFEST, Manifest, ShardEntry, unlisted_files};
use crate::partition::{Partition, mix};
use hamdex::{
    Fingerprint, Index, MultiIndex, OpenOptions, RECIPE_KEY, ReadError, ReadErrorKind, Verified,
    VerifyOptions, shingles,
};

/// An open set of shards: fingerprints in many files, queried as one. The [`Layout`] in its manifest is the
/// distribution of fingerprints over the files.
///
/// A shard is opened when it is first needed, since opening reads its keys: a query of a set of families opens only the
/// shards that it searches. Shards stay open. They are mapped, so they take address space but no file descriptors.
///
/// ```
/// use hamdex::{BuildOptions, OpenOptions};
/// use hamdex_shards::{Layout, Shards, ShardsBuilder};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("news.shards");
/// let mut builder = ShardsBuilder::<u64>::create(&path, Layout::Families, 4, BuildOptions::new().ids(true))?;
/// for (fingerprint, id) in [(0x00ff, 1), (0x01ff, 2), (0xabcd_ef01_2345_6789, 3)] {
///     builder.push_with_id(fingerprint, id)?;
/// }
/// builder.finish()?;
///
/// let set = Shards::<u64>::open(&path, &OpenOptions::new())?;
/// let mut searcher = set.searcher();
/// let near: Vec<u64> = searcher.within(0x00ff, 3)?.iter().map(|m| m.fingerprint).collect();
/// assert_eq!(near, [0x00ff, 0x01ff]);
/// assert_eq!(searcher.ids(0x01ff)?[0].id, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Shards<F: Fingerprint> {
    directory: PathBuf,
    manifest: Manifest,
    options: OpenOptions,
    /// The partition of a set of families.
    partition: Option<Partition<F>>,
    opened: Box<[OnceLock<Arc<Index<F>>>]>,
    /// Shards that together have every fingerprint.
    whole: OnceLock<MultiIndex<F>>,
}

/// Returns the width of the fingerprints in a set, in bits: 64 or 128.
///
/// # Errors
/// When the directory is not a set of shards, or its manifest cannot be read.
pub fn width(directory: impl AsRef<Path>) -> Result<u32, Error> {
    Ok(manifest::read(directory)?.width)
}

impl<F: Fingerprint> Shards<F> {
    /// Opens a set: reads its manifest, and checks the existence and length of all files. Each shard is opened with
    /// `options` when it is first needed.
    ///
    /// # Errors
    /// When the directory is not a set, its manifest is damaged or has a later version, a shard is missing or has
    /// another length, or the set has another width.
    pub fn open(directory: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, Error> {
        let directory = directory.as_ref().to_owned();
        let manifest = manifest::read(&directory)?;
        if manifest.width != F::BITS {
            return Err(Error::Width { path: directory, found: manifest.width, expected: F::BITS });
        }
        for shard in &manifest.shards {
            check_length(&directory.join(&shard.file), shard.bytes)?;
        }
        let partition = match manifest.layout {
            Layout::Hash => None,
            Layout::Families => {
                Some(Partition::of(manifest.distance + 1, manifest.shards.len() / manifest.families()))
            }
        };
        let opened = manifest.shards.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { directory, manifest, options: options.clone(), partition, opened, whole: OnceLock::new() })
    }

    /// Returns the manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the directory of the set.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the number of fingerprints; in layout `hash` an upper bound, since one may be in several shards.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.manifest.fingerprints()
    }

    /// Returns whether the set has no fingerprints.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the distance, in bits, for which the set is built. Queries beyond it are exact too, and search a whole
    /// family.
    #[must_use]
    pub fn distance(&self) -> u32 {
        self.manifest.distance
    }

    /// Returns the number of shards opened so far.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.opened.iter().filter(|shard| shard.get().is_some()).count()
    }

    /// Returns a shard by its number in the manifest, and opens it if necessary. Queries do not need this.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is not the file listed in the manifest.
    pub fn shard(&self, number: usize) -> Result<&Arc<Index<F>>, Error> {
        if let Some(index) = self.opened[number].get() {
            return Ok(index);
        }
        let entry = &self.manifest.shards[number];
        let path = self.directory.join(&entry.file);
        let index = self.options.open::<F>(&path).map_err(|error| width_is_damage(error, &path))?;
        let has_shingles = self.manifest.shingles.is_some() && self.first_family().contains(&number);
        check_shard(&index, &path, (entry, has_shingles), &self.manifest)?;
        // Another thread may have opened the same shard meanwhile.
        Ok(self.opened[number].get_or_init(|| Arc::new(index)))
    }

    /// Checks that no page of the shards that are open was gone when it was read.
    ///
    /// # Errors
    /// When one was.
    pub(crate) fn check_opened(&self) -> Result<(), ReadError> {
        self.opened.iter().filter_map(|index| index.get()).try_for_each(|index| index.check_file())
    }

    /// Returns whether a shard is open.
    pub(crate) fn is_open(&self, number: usize) -> bool {
        self.opened[number].get().is_some()
    }

    /// Returns the partition if there are families for this distance.
    pub(crate) fn partition_for(&self, distance: u32) -> Option<&Partition<F>> {
        self.partition.as_ref().filter(|_| distance <= self.manifest.distance)
    }

    /// Returns the partition if there are families.
    pub(crate) fn partition(&self) -> Option<&Partition<F>> {
        self.partition.as_ref()
    }

    /// Returns the numbers of shards that together have every fingerprint.
    pub(crate) fn first_family(&self) -> std::ops::Range<usize> {
        0..self.manifest.first_family().len()
    }

    /// Returns shards that together have every fingerprint, as one.
    pub(crate) fn whole(&self) -> Result<&MultiIndex<F>, Error> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let indexes = self.first_family().map(|number| self.shard(number).cloned());
        let indexes = MultiIndex::new(indexes.collect::<Result<Vec<_>, _>>()?);
        Ok(self.whole.get_or_init(|| indexes))
    }
}

fn check_length(path: &Path, bytes: u64) -> Result<(), Error> {
    match path.metadata() {
        Ok(file) if !file.is_file() => Err(Error::damaged(path, "it is not a file")),
        Ok(file) if file.len() != bytes => {
            Err(Error::damaged(path, format!("it has {} bytes, and the manifest says {bytes}", file.len())))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::Missing { path: path.to_owned() })
        }
        Err(error) => Err(Error::io("look at it", path)(error)),
    }
}

/// Turns an error about the width into one about damage: the manifest says the width of every shard.
fn width_is_damage(error: ReadError, path: &Path) -> Error {
    match error.kind() {
        ReadErrorKind::Width { .. } => not_the_file(path, "its width"),
        _ => error.into(),
    }
}

fn not_the_file(path: &Path, differs: &str) -> Error {
    Error::damaged(path, format!("it is not the file that the manifest names: {differs} differs"))
}

/// Fails if an index is not the shard of this manifest entry.
fn check_shard<F: Fingerprint>(
    index: &Index<F>,
    path: &Path,
    (entry, has_shingles): (&ShardEntry, bool),
    manifest: &Manifest,
) -> Result<(), Error> {
    let differs = if index.file_id().to_string() != entry.file_id {
        "its file id"
    } else if index.len() != entry.fingerprints || ids_of(index) != entry.ids {
        "its number of fingerprints or ids"
    } else if id_type(index) != manifest.id_type {
        "what its ids are"
    } else if recipe(index, path)? != manifest.recipe {
        "its recipe"
    } else if shingles_of(index, path)? != manifest.shingles.clone().filter(|_| has_shingles) {
        "its shingles"
    } else {
        return Ok(());
    };
    Err(not_the_file(path, differs))
}

/// Returns the number of ids in an index.
pub(crate) fn ids_of<F: Fingerprint>(index: &Index<F>) -> u64 {
    index.stats().ids.map_or(0, |ids| ids.count)
}

/// Returns the kind of ids in an index.
pub(crate) fn id_type<F: Fingerprint>(index: &Index<F>) -> Option<IdType> {
    match (index.has_ids(), index.has_names()) {
        (false, _) => None,
        (true, false) => Some(IdType::Numbers),
        (true, true) => Some(IdType::Names),
    }
}

/// Returns the recipe of an index, if it has one.
pub(crate) fn recipe<F: Fingerprint>(index: &Index<F>, path: &Path) -> Result<Option<String>, Error> {
    recipe_of_metadata(index.metadata().get(RECIPE_KEY).map(Vec::as_slice), path)
}

/// Returns the definition of the shingles of an index, if it keeps any.
pub(crate) fn shingles_of<F: Fingerprint>(index: &Index<F>, path: &Path) -> Result<Option<String>, Error> {
    let definition = index.metadata().get(shingles::KEY).map_or(&b""[..], Vec::as_slice);
    text_of_metadata(index.has_shingles().then_some(definition), "its definition of shingles", path)
}

/// Decodes the recipe in the metadata of an index.
pub(crate) fn recipe_of_metadata(bytes: Option<&[u8]>, path: &Path) -> Result<Option<String>, Error> {
    text_of_metadata(bytes, "its recipe", path)
}

/// Decodes a text in the metadata of an index.
pub(crate) fn text_of_metadata(
    bytes: Option<&[u8]>,
    what: &str,
    path: &Path,
) -> Result<Option<String>, Error> {
    let text = bytes.map(|bytes| String::from_utf8(bytes.to_vec())).transpose();
    text.map_err(|_| Error::damaged(path, format!("{what} is not UTF-8")))
}

impl<F: Fingerprint> fmt::Debug for Shards<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shards")
            .field("directory", &self.directory)
            .field("layout", &self.manifest.layout)
            .field("shards", &self.manifest.shards.len())
            .field("opened", &self.opened())
            .finish_non_exhaustive()
    }
}

/// An order-independent checksum of all (fingerprint, id) pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Contents {
    sums: [u64; 2],
}

impl Contents {
    fn add(&mut self, fingerprint: u128, id: u64) {
        for (seed, sum) in (1..).zip(&mut self.sums) {
            let high = mix((fingerprint >> 64) as u64 ^ mix(seed));
            *sum = sum.wrapping_add(mix(id ^ mix(fingerprint as u64 ^ high)));
        }
    }
}

impl<F: Fingerprint> Shards<F> {
    /// Reads and verifies every shard: [`hamdex::Index::verify_with`] for each, its identity with the manifest entry,
    /// and, in a set of families, that every fingerprint is in its shard and that all families have the same contents.
    ///
    /// # Errors
    /// At the first damage; when no thread can be started; or when the work is cancelled.
    pub fn verify(&self, options: &VerifyOptions) -> Result<Verified, Error> {
        let manifest = self.manifest();
        let notes = unlisted_files(self.directory(), manifest)?.into_iter();
        let mut verified = Verified::default();
        for number in 0..manifest.shards.len() {
            verified.add(&self.shard(number)?.verify_with(options)?);
        }
        verified.families = manifest.families();
        verified.fingerprints = manifest.fingerprints();
        verified.ids = manifest.ids();
        verified.notes = notes.map(|name| format!("{name}: is not part of the set")).collect();
        if let Some(partition) = self.partition() {
            self.verify_families(partition)?;
        }
        Ok(verified)
    }

    fn verify_families(&self, partition: &Partition<F>) -> Result<(), Error> {
        let mut first = None;
        for family in 0..partition.families() {
            let mut contents = Contents::default();
            for shard in 0..partition.shards() {
                let number = family * partition.shards() + shard;
                let path = || self.directory().join(&self.manifest().shards[number].file);
                let mut misplaced = None;
                for entry in self.shard(number)?.entries() {
                    let entry = entry?;
                    if partition.shard(family, entry.fingerprint) != shard {
                        misplaced = Some(entry.fingerprint);
                        break;
                    }
                    let bits = entry.fingerprint.to_u128();
                    if self.manifest().id_type.is_none() {
                        contents.add(bits, 0);
                    }
                    entry.ids.for_each(|id| contents.add(bits, id));
                }
                if let Some(fingerprint) = misplaced {
                    let what = format!("fingerprint {} belongs in another shard", fingerprint.hex());
                    return Err(Error::damaged(path(), what));
                }
            }
            if *first.get_or_insert(contents) != contents {
                let what = format!("families 0 and {family} have different contents");
                return Err(Error::damaged(self.directory().join(MANIFEST), what));
            }
        }
        Ok(())
    }
}
