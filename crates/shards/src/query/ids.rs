//! The ids of a fingerprint in all shards.

use hamdex::Fingerprint;
use hamdex::set::StoredId;

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
        let set = self.set();
        if set.manifest().id_type.is_none() {
            return Ok(Vec::new());
        }
        let mut ids = Vec::new();
        if let Some(number) = set.home(fingerprint) {
            set.add_ids(number, fingerprint, &mut ids)?;
        } else {
            let found = self.whole()?.within(fingerprint, 0)?.get(0);
            let shards: Vec<usize> =
                found.iter().flat_map(|found| found.found_in).map(|found| found.index).collect();
            let set = self.set();
            shards.into_iter().try_for_each(|number| set.add_ids(number, fingerprint, &mut ids))?;
        }
        unite(&mut ids, self.set().manifest().id_type);
        Ok(ids)
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

    fn add_ids(&self, number: usize, fingerprint: F, ids: &mut Vec<StoredId>) -> Result<(), Error> {
        let found = self.shard(number)?.ids(fingerprint)?;
        ids.extend(found.map(|id| StoredId { part: number, id }));
        Ok(())
    }
}

/// Sorts the ids of a fingerprint collected from all shards, and removes repeated numbers.
pub(crate) fn unite(ids: &mut Vec<StoredId>, id_type: Option<IdType>) {
    if id_type == Some(IdType::Numbers) {
        ids.sort_unstable_by_key(|stored| (stored.id, stored.part));
        ids.dedup_by_key(|stored| stored.id);
    } else {
        ids.sort_unstable();
    }
}
