//! Verification of every shard, and of the set as a whole.

use hamdex::{Fingerprint, Verified, VerifyOptions};

use crate::error::Error;
use crate::manifest::{MANIFEST, unlisted_files};
use crate::partition::{Partition, mix};
use crate::set::Shards;

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
    /// At the first damage; when no thread can be started; or when the progress callback stops the work.
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
