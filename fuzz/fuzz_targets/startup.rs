//! Feeds arbitrary bytes to the property `startup`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::startup(data));
