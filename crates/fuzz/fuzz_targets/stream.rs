//! A model server's stream means the same however it is cut.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::stream(data));
