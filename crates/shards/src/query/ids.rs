//! The ids of a fingerprint in all shards.

use hamdex::Fingerprint;
use hamdex::set::{MatchIds, StoredId, ids_of_parts};

use crate::error::Error;
use crate::manifest::IdType;
use crate::query::searcher::ShardsSearcher;
use crate::set::Shards;

impl<F: Fingerprint> ShardsSearcher<'_, F> {
    /// Returns the ids of a fingerprint in all shards: numbers ascending, each once; ids with names by shard and then
    /// ascending. Empty if the fingerprint is not stored, or the set has no ids.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block or page that is read is damaged.
    pub fn ids(&mut self, fingerprint: F) -> Result<Vec<StoredId>, Error> {
        Ok(self.first_ids(fingerprint, usize::MAX)?.collect())
    }

    /// Returns the first `most` ids of a fingerprint in all shards, in the order of [`ShardsSearcher::ids`], and the
    /// number of all.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::ids`].
    pub fn first_ids(&mut self, fingerprint: F, most: usize) -> Result<MatchIds<'static>, Error> {
        let set = self.set();
        let Some(id_type) = set.manifest().id_type else { return Ok(Vec::<StoredId>::new().into()) };
        let shards: Vec<usize> = if let Some(number) = set.home(fingerprint) {
            vec![number]
        } else {
            let found = self.whole()?.within(fingerprint, 0)?.get(0);
            found.iter().flat_map(|found| found.found_in).map(|found| found.index).collect()
        };
        let set = self.set();
        let mut lists = Vec::with_capacity(shards.len());
        for &number in &shards {
            lists.push((number, set.shard(number)?.ids(fingerprint)?));
        }
        lists.sort_unstable_by_key(|(number, _)| *number);
        Ok(ids_of_parts(lists, id_type == IdType::Names, most))
    }
}

impl<F: Fingerprint> Shards<F> {
    /// Returns the name of an id; `None` if ids have no names.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn name(&self, id: StoredId) -> Result<Option<&[u8]>, Error> {
        match self.shard(id.part)?.names()? {
            Some(names) => Ok(Some(names.name_of(id.id)?)),
            None => Ok(None),
        }
    }

    /// Returns the shard of a fingerprint in some family, preferably an open one; `None` without families.
    fn home(&self, fingerprint: F) -> Option<usize> {
        let partition = self.partition()?;
        let homes = |family| family * partition.shards() + partition.shard(family, fingerprint);
        let mut all = (0..partition.families()).map(homes);
        all.clone().find(|&number| self.is_open(number)).or_else(|| all.next())
    }
}
