//! For `cargo fuzz run cgi_request`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::cgi_request::target(data));
