//! Tests through the exported functions, as C calls them.
#![expect(unsafe_code, reason = "calls of functions for C, with arguments that are right and wrong")]

mod c;
mod callbacks;
mod crowds;
mod errors;
mod exact;
mod header;
mod hostile;
mod similar;
mod stores;
