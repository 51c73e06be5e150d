//! For `cargo fuzz run fastcgi`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::fastcgi::target(data));
