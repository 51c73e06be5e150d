//! For `cargo fuzz run ocsp`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::ocsp::target(data));
