//! hostler-front
fn main() {}
