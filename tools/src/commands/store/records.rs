//! Fingerprints, with ids or names, from files or a pipe.

use std::path::PathBuf;

use hamdex::Fingerprint;

use crate::failure::Failure;
use crate::input::{Arrivals, Beside, Format, Found, Order, has_pipe};

/// The source of records.
#[derive(Debug, clap::Args)]
pub(super) struct Records {
    /// The format of the inputs
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) format: Format,
    /// The column of fingerprints in Parquet, Arrow, CSV and TSV files
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    fingerprint_field: String,
    /// Files of records; - or none for standard input
    #[arg(value_name = "INPUT")]
    pub(super) inputs: Vec<PathBuf>,
}

impl Records {
    /// Starts to read fingerprints, each with the value next to it: in tables, the one in this column.
    pub(super) fn read<F: Fingerprint>(
        &self,
        beside: Beside,
        id_field: &str,
        needs_each: bool,
    ) -> Result<Arrivals<(F, Found)>, Failure> {
        let order = Order {
            paths: self.inputs.clone(),
            format: self.format,
            fingerprint_field: self.fingerprint_field.clone(),
            id_field: id_field.to_owned(),
            is_id_optional: false,
            beside,
            is_prompt: has_pipe(&self.inputs),
            needs_each,
        };
        Arrivals::of_fingerprints(order, |fingerprint, found| (fingerprint, found))
    }
}
