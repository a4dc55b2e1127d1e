//! Which sets have a shingle in their prefix.

use crate::dedup::lists::Lists;
use crate::dedup::prefix::Prefix;
use crate::error::Error;

/// Lists of classes by the shingles of their prefixes.
#[derive(Default)]
pub(crate) struct Postings {
    /// By the shingles that lead to sets as large or larger.
    short: Lists,
    /// By the others.
    long: Lists,
}

impl Postings {
    pub(crate) fn add(&mut self, class: u32, prefix: &Prefix) -> Result<(), Error> {
        for (place, &shingle) in prefix.shingles.iter().enumerate() {
            let lists = if place < prefix.short { &mut self.short } else { &mut self.long };
            lists.add(shingle, class)?;
        }
        Ok(())
    }

    /// Calls `found` with every class that may be similar to one with this prefix and size, some of them several
    /// times.
    pub(crate) fn candidates(&self, prefix: &Prefix, size: u32, sizes: &[u32], mut found: impl FnMut(u32)) {
        for (place, &shingle) in prefix.shingles.iter().enumerate() {
            let is_short = place < prefix.short;
            // The first common shingle is in the short prefix of the smaller set.
            self.short.each(shingle, |class| {
                if is_short || sizes[class as usize] < size {
                    found(class);
                }
            });
            if is_short {
                self.long.each(shingle, |class| {
                    if sizes[class as usize] > size {
                        found(class);
                    }
                });
            }
        }
    }
}
