//! A set whose width is erased.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use hamdex::set::{Description, StoredId};
use hamdex::{Fingerprint, FingerprintSet, SetError, Verified, VerifyOptions};

use crate::fingerprint::AnyFingerprint;
use crate::kind::Kind;
use crate::searcher::AnySearcher;

/// An index, a snapshot of a store, or a set of shards, of any width. A clone is cheap.
#[derive(Clone)]
pub struct AnySet {
    kind: Kind,
    description: Arc<Description>,
    set: Width,
}

#[derive(Clone)]
enum Width {
    Bits64(Arc<dyn FingerprintSet<u64>>),
    Bits128(Arc<dyn FingerprintSet<u128>>),
}

/// Does the same with a set of either width.
macro_rules! either {
    ($any:expr, $set:ident => $work:expr) => {
        match $any {
            Width::Bits64($set) => $work,
            Width::Bits128($set) => $work,
        }
    };
}

impl AnySet {
    /// Erases the width of a set of this kind.
    pub fn new<F: Fingerprint>(kind: Kind, set: Arc<dyn FingerprintSet<F>>) -> Self {
        let description = Arc::new(set.describe());
        let set: &dyn Any = &set;
        let narrow = set.downcast_ref().map(|set| Width::Bits64(Arc::clone(set)));
        let set = narrow.or_else(|| set.downcast_ref().map(|set| Width::Bits128(Arc::clone(set))));
        Self { kind, description, set: set.expect("fingerprints have one of these widths") }
    }

    /// The kind of container.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The properties of the set.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The set at its width; `None` if it has another width.
    #[must_use]
    pub fn typed<F: Fingerprint>(&self) -> Option<&Arc<dyn FingerprintSet<F>>> {
        either!(&self.set, set => (set as &dyn Any).downcast_ref())
    }

    /// A searcher, which holds the memory that queries use again and again: one per thread.
    #[must_use]
    pub fn searcher(&self) -> AnySearcher<'_> {
        either!(&self.set, set => AnySearcher::new(set.open_searcher()))
    }

    /// Whether a fingerprint is stored.
    ///
    /// # Errors
    /// When a block that is read is damaged, or the fingerprint has more bits than those of the set.
    pub fn contains(&self, fingerprint: AnyFingerprint) -> Result<bool, SetError> {
        Ok(self.searcher().first(fingerprint, 0)?.is_some())
    }

    /// The name of an id of this set; `None` if its ids have no names.
    ///
    /// # Errors
    /// When a page that is read is damaged, or the id is not stored.
    pub fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        either!(&self.set, set => set.name_of(id))
    }

    /// Checks that no page of a mapped file was gone when it was read: see [`FingerprintSet::check_files`].
    ///
    /// # Errors
    /// When a file was cut off, or could not be read, since it was opened.
    pub fn check_files(&self) -> Result<(), SetError> {
        either!(&self.set, set => set.check_files())
    }

    /// Reads the whole set and checks everything.
    ///
    /// # Errors
    /// The first damage; when no thread can be started; or when the progress callback stops the work.
    pub fn verify(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        either!(&self.set, set => set.verify_all(options))
    }
}

impl fmt::Debug for AnySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySet").field("kind", &self.kind).field("description", &self.description).finish()
    }
}
