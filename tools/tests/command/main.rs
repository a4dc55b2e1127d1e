//! The command as its users run it: one module per topic, in one binary, so that it is linked once.

mod batch;
mod build;
#[cfg(unix)]
mod clone;
mod columns;
#[cfg(unix)]
mod commands_page;
mod common;
mod conventions;
mod dedup;
mod distance;
mod documents;
mod faults;
mod filters;
mod folders;
mod inputs;
mod later;
mod limits;
mod lists;
mod lookups;
mod merge;
mod names;
mod outputs;
mod pairs;
mod query;
#[cfg(unix)]
mod sessions;
mod shards;
mod similar;
mod stats;
mod store;
mod terminal;
mod texts;
mod unique;
