//! A pack's manifest is read or refused, whatever it is.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::manifest(data));
