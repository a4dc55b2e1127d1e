//! The whole store, against a plain set and brute force.

mod admin;
mod common;
mod concurrent;
mod crash;
mod faults;
mod model;
mod named;
mod reader;
