#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| meshprobe_fuzz::edit::run(data));
