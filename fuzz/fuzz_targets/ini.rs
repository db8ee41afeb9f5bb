//! Feeds arbitrary bytes to the property `ini`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::ini(data));
