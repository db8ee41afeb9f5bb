//! Feeds arbitrary bytes to the property `conninfo`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::conninfo(data));
