//! The hamdex command.
fn main() {}
