//! For `cargo fuzz run nph_header`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::nph_header::target(data));
