//! The report: a table for people, JSON for programs, and a picture.

mod label_placement;
pub(crate) mod svg;
pub(crate) mod table;

use serde::Serialize;

use crate::environment::Environment;
use crate::queries::Comparison;

/// The whole report, with a list per kind of measurement.
#[derive(Serialize)]
pub(crate) struct Report {
    pub environment: Environment,
    pub distance: u32,
    pub rounds: u32,
    pub queries: Vec<Comparison>,
}
