//! For `cargo fuzz run legacy_expr`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::legacy_expr::target(data));
