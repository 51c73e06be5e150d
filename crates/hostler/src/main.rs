//! hostler
fn main() {}
