//! Feeds arbitrary bytes to the property `scram_server`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::scram_server(data));
