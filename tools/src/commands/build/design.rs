//! From the name of a design to the options of a build.

use hamdex::{AUTO, BuildOptions, Design, DesignError, Fingerprint};

/// The design of that name for that distance, or one chosen by the number of fingerprints.
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
