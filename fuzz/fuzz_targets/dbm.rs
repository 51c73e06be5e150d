//! For `cargo fuzz run dbm`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::dbm::target(data));
