//! The whole store, against a plain set and brute force.

mod backup;
mod close;
mod common;
mod concurrent;
mod crash;
mod crowded;
mod faults;
mod full_disk;
mod gated;
mod growth;
mod health;
mod ingest_named;
mod lookups;
#[cfg(unix)]
mod lost;
#[cfg(target_os = "linux")]
mod lost_files;
mod maintenance;
mod model;
mod named;
mod pressure;
mod publish;
mod reader;
mod repair;
mod repair_pairs;
mod replace_unless_near;
mod similar;
mod similar_crash;
mod similar_races;
