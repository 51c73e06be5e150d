//! For `cargo fuzz run ssi`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::ssi::target(data));
