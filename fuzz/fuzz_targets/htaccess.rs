//! For `cargo fuzz run htaccess`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::htaccess::target(data));
