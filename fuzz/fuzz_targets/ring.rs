//! For `cargo fuzz run ring`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::ring::target(data));
