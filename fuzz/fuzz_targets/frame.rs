//! Feeds arbitrary bytes to the property `frame`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::frame(data));
