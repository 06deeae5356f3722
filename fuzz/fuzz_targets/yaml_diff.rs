#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| meshprobe_fuzz::yaml_diff::run(data));
