//! For `cargo fuzz run proxy_protocol`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::proxy_protocol::target(data));
