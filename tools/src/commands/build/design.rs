//! The design of a build, from its name.

use hamdex::{AUTO, BuildOptions, Design, DesignError, Fingerprint};

/// Returns the named design for a distance, or one chosen by the number of fingerprints.
pub(crate) fn choose<F: Fingerprint>(
    options: BuildOptions<F>,
    name: &str,
    distance: u32,
) -> Result<BuildOptions<F>, DesignError> {
    if name == AUTO {
        Ok(options.distance(distance))
    } else {
        Ok(options.design(Design::named(name, distance)?))
    }
}
