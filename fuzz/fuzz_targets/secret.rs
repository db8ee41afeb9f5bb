//! Feeds arbitrary bytes to the property `secret`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::secret(data));
