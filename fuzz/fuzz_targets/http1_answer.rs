//! For `cargo fuzz run http1_answer`; see ../README.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostler_fuzz::target::http1_answer::target(data));
