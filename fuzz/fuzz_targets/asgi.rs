//! For `cargo fuzz run asgi`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::asgi::target(data));
