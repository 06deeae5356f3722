//! The checks of the fuzz targets on the stable toolchain: on the fixtures, and on every input that
//! a fuzzer has reported (`fixtures/hostile/TARGET/NAME`).

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rayon::prelude::*;

use crate::fuzz_targets as targets;

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 7] = [
    ("check", targets::check::run),
    ("config", targets::config::run),
    ("edit", targets::edit::run),
    ("krm", targets::krm::run),
    ("parse", targets::parse::run),
    ("probers", targets::probers::run),
    ("yaml_diff", targets::yaml_diff::run),
];

/// Lists the files below a folder, sorted.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Runs a target on files, and reports the files that it fails on.
fn run(name: &str, target: fn(&[u8]), paths: &[PathBuf]) {
    let failed: Vec<_> = paths
        .par_iter()
        .filter(|path| {
            let data = fs::read(path).unwrap();
            catch_unwind(AssertUnwindSafe(|| target(&data))).is_err()
        })
        .collect();
    assert!(failed.is_empty(), "{name}: {failed:#?}");
}

#[test]
fn inputs_that_a_fuzzer_reported_pass() {
    let mut count = 0;
    for (name, target) in TARGETS {
        let mut found = Vec::new();
        files(&Path::new("fixtures/hostile").join(name), &mut found);
        count += found.len();
        run(name, target, &found);
    }
    assert!(count > 8, "{count}");
}

fn fixtures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(Path::new("fixtures"), &mut found);
    found.retain(|path| !path.starts_with("fixtures/hostile"));
    assert!(found.len() > 1000, "{}", found.len());
    found
}

#[test]
fn fixtures_are_read_like_other_parsers_read_them() {
    run("parse", targets::parse::run, &fixtures());
    run("yaml_diff", targets::yaml_diff::run, &fixtures());
}

#[test]
fn a_sample_of_the_fixtures_is_edited_and_checked_correctly() {
    // All fixtures are seeds of the fuzz targets; in a debug build all of them would take too long.
    let sample: Vec<PathBuf> = fixtures().into_iter().step_by(16).collect();
    for name in ["check", "edit"] {
        let (_, target) = TARGETS.into_iter().find(|(one, _)| *one == name).unwrap();
        run(name, target, &sample);
    }
}

/// YAML indicators, words and line breaks in any order: most results are not valid YAML.
fn random_tokens() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        6 => prop::sample::select(vec![
            "a", "b", "key", "1", "true", "~", "<<", "\u{e9}", "word word", "a#b", "x:y", "-1", "0x1f", "=", ".", "@", "`", "%",
        ]),
        4 => prop::sample::select(vec![": ", ":", "- ", "-", "? ", "?", ", ", ",", " #c", "#", " "]),
        3 => prop::sample::select(vec!["{", "}", "[", "]", "{}", "[]", "{a: b}", "[a, b]"]),
        3 => prop::sample::select(vec!["\"", "'", "\"a\"", "'b'", "\"\\n\"", "''", "\"\\x41\"", "\"\\"]),
        2 => prop::sample::select(vec!["&x ", "*x", "&y ", "*y", "!t ", "!!str ", "! ", "!", "&", "*", "&x", "!<t> ", "!e!x "]),
        2 => prop::sample::select(vec!["|", ">", "|-", ">+", "|2", ">1-", "|\n  a\n", ">\n  a\n\n  b\n", "|+\n a\n\n"]),
        6 => prop::sample::select(vec!["\n", "\n  ", "\n ", "\n    ", "\n- ", "\n  - ", "\r\n", "\n\n", "\na: ", "\n  b: "]),
        1 => prop::sample::select(vec!["\t", "\r", "\u{feff}", "\u{85}", "\u{2028}", "\u{0}", "\u{a0}", "\n---\n", "\n...\n", "\n--- ", "\n%YAML 1.2\n---\n"]),
    ];
    prop::collection::vec(token, 1..24).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_tokens_are_read_and_edited_correctly(text in random_tokens(), plan in prop::collection::vec(any::<u8>(), 0..12)) {
        targets::parse::run(text.as_bytes());
        targets::yaml_diff::run(text.as_bytes());
        let mut input = text.into_bytes();
        input.push(0xff);
        input.extend(plan);
        targets::edit::run(&input);
    }
}

/// Runs one input that a fuzzer has reported: `FUZZ_TARGET=edit FUZZ_INPUT=FILE`.
#[test]
fn the_input_in_the_environment_passes() {
    let Ok(path) = std::env::var("FUZZ_INPUT") else {
        return;
    };
    let name = std::env::var("FUZZ_TARGET").unwrap();
    let (_, target) = TARGETS.into_iter().find(|(one, _)| *one == name).unwrap();
    let start = std::time::Instant::now();
    target(&fs::read(path).unwrap());
    println!("{:?}", start.elapsed());
}
