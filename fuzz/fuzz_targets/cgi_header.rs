//! For `cargo fuzz run cgi_header`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::cgi_header::target(data));
