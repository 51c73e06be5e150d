//! For `cargo fuzz run login_form`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::login_form::target(data));
