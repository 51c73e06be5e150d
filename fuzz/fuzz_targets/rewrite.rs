//! For `cargo fuzz run rewrite`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::rewrite::target(data));
