#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| meshprobe_fuzz::parse::run(data));
