//! hostler-site
fn main() {}
