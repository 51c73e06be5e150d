//! For `cargo fuzz run ajp`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::ajp::target(data));
