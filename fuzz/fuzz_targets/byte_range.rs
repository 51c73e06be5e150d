//! For `cargo fuzz run byte_range`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::byte_range::target(data));
