//! A schema and arguments have an answer, whatever they are.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::schema(data));
