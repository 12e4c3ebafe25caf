//! A bash command has a class, whatever it is.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::shell(data));
