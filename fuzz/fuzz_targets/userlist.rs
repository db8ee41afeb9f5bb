//! Feeds arbitrary bytes to the property `userlist`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::userlist(data));
