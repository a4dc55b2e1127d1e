//! The whole store, against a plain set and brute force.

mod admin;
mod backup;
mod close;
mod common;
mod concurrent;
mod crash;
mod faults;
mod full_disk;
mod ingest_named;
mod model;
mod named;
mod reader;
mod repair;
