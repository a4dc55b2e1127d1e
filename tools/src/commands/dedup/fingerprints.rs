//! Clusters of precomputed fingerprints.

use clap::ValueEnum;
use hamdex::Fingerprint;
use hamdex_documents::{Clusters, Dedup};

use crate::commands::dedup::Args;
use crate::failure::Failure;
use crate::input::{self, Beside, Columns, Format, Found};

/// Options for inputs that are fingerprints.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The inputs are fingerprints, not texts: near-duplicates are within -k bits (default 3); FORMAT is as
    /// for --format of `hamdex build`
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with_all = ["format", "unique", "against", "recipe", "idf", "stop_words"]
    )]
    fingerprints: Option<Format>,
    /// With --fingerprints: their column in Parquet, Arrow, CSV and TSV files
    #[arg(long, value_name = "NAME", default_value = "fingerprint", requires = "fingerprints")]
    fingerprint_field: String,
    /// With --fingerprints: the source of ids
    #[arg(long, value_enum, default_value = "names", requires = "fingerprints")]
    ids: Ids,
}

/// The source of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ids {
    /// The rest of each line, as in `FINGERPRINT<TAB>NAME`, or the column --id-field (id); the row number if
    /// the rest is empty
    Names,
    /// The 0-based number of the fingerprint over all inputs
    Row,
}

impl Options {
    pub(super) fn are_given(&self) -> bool {
        self.fingerprints.is_some()
    }
}

/// Reads the inputs as fingerprints and finds their clusters.
pub(super) fn clusters<F: Fingerprint>(args: &Args, dedup: &Dedup<'_, F>) -> Result<Clusters, Failure> {
    let options = &args.fingerprints;
    let reading = input::Reading {
        paths: &args.inputs.paths,
        format: options.fingerprints.unwrap_or(Format::Auto),
        columns: Columns { fingerprint: &options.fingerprint_field, id: args.inputs.fields.id_name() },
        beside: if options.ids == Ids::Names { Beside::NameIfAny } else { Beside::Nothing },
        temp_dir: args.temp_dir.as_deref(),
        is_prompt: false,
    };
    dedup.run_on_fingerprints(|sink| {
        let mut row = 0u64;
        input::read::<F>(&reading, &mut |fingerprint, found| {
            match found {
                Found::Name(name) => sink(&String::from_utf8_lossy(&name), fingerprint)?,
                _ => sink(&row.to_string(), fingerprint)?,
            }
            row += 1;
            Ok(())
        })
    })
}
