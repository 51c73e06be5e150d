//! hostler-master
fn main() {}
