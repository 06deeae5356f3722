//! The checks of the fuzz targets on the stable toolchain: on the fixtures, and on every input that
//! was ever a finding (`fixtures/hostile/TARGET/NAME`).

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

/// Runs a target over files, and names those that it fails on.
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
fn what_was_a_finding_is_none() {
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
fn the_fixtures_are_read_alike() {
    run("parse", targets::parse::run, &fixtures());
    run("yaml_diff", targets::yaml_diff::run, &fixtures());
}

#[test]
fn some_of_the_fixtures_are_edited_and_judged_as_meant() {
    // All of them are seeds of the fuzz targets; here a debug build has no time for them.
    let some: Vec<PathBuf> = fixtures().into_iter().step_by(16).collect();
    for name in ["check", "edit"] {
        let (_, target) = TARGETS.into_iter().find(|(one, _)| *one == name).unwrap();
        run(name, target, &some);
    }
}

/// Marks of YAML, words and line breaks in any order: most of it is no YAML.
fn soup() -> impl Strategy<Value = String> {
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
    fn soup_is_read_alike_and_edited_as_meant(text in soup(), plan in prop::collection::vec(any::<u8>(), 0..12)) {
        targets::parse::run(text.as_bytes());
        targets::yaml_diff::run(text.as_bytes());
        let mut input = text.into_bytes();
        input.push(0xff);
        input.extend(plan);
        targets::edit::run(&input);
    }
}

/// For an input that a fuzzer has found: `FUZZ_TARGET=edit FUZZ_INPUT=FILE`.
#[test]
fn one_input_by_its_name() {
    let Ok(path) = std::env::var("FUZZ_INPUT") else {
        return;
    };
    let name = std::env::var("FUZZ_TARGET").unwrap();
    let (_, target) = TARGETS.into_iter().find(|(one, _)| *one == name).unwrap();
    let start = std::time::Instant::now();
    target(&fs::read(path).unwrap());
    println!("{:?}", start.elapsed());
}
