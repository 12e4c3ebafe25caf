//! A secret is held back however its text is cut.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::redact(data));
