//! The schema of a store: the properties that are fixed at its creation.

use hamdex::{BuildOptions, Codec, Design, DesignError, FilterChoice, Fingerprint};

use crate::manifest::Manifest;
use crate::manifest::identity::Identity;

/// The properties of a store that are fixed at its creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema {
    pub(crate) identity: Identity,
    /// The distance that its segments are designed for.
    pub(crate) distance: u32,
    /// The name of their design.
    pub(crate) design: String,
    pub(crate) codec: Codec,
    pub(crate) filter: FilterChoice,
    /// The recipe that turns texts into its fingerprints.
    pub(crate) recipe: Option<String>,
    /// The definition of the shingles of its documents.
    pub(crate) shingles: Option<String>,
    /// Whether its segments have look-ups.
    pub(crate) lookups: bool,
}

impl Schema {
    pub(crate) fn of(manifest: &Manifest) -> Self {
        Self {
            identity: manifest.identity,
            distance: manifest.distance,
            design: manifest.design.clone(),
            codec: manifest.codec,
            filter: manifest.filter,
            recipe: manifest.recipe.clone(),
            shingles: manifest.shingles.clone(),
            lookups: manifest.lookups,
        }
    }

    /// Returns the design of its segments.
    pub(crate) fn design<F: Fingerprint>(&self) -> Result<Design<F>, DesignError> {
        Design::named(&self.design, self.distance)
    }

    /// Returns the options by which its segments are built.
    pub(crate) fn build_options<F: Fingerprint>(&self) -> Result<BuildOptions<F>, DesignError> {
        let options = BuildOptions::new().design(self.design()?).codec(self.codec).filter(self.filter);
        let Identity { has_ids, has_names, has_shingles, .. } = self.identity;
        Ok(options.ids(has_ids).names(has_names).shingles(has_shingles).lookups(self.lookups))
    }
}
