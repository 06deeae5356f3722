//! Fails when a layer uses one above it, or does what only the top layers may do.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the sources may stop"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up; each uses only what stands before it.
const LAYERS: &[&str] = &[
    "yaml", "source", "finding", "kube", "mesh", "settings", "context", "predict", "rules",
    "rewrite", "engine", "report", "krm", "cli",
];

/// The layers that talk to the world.
const TOP: &[&str] = &["krm", "cli"];

/// What only the top layers may do, in the words of the code.
const WORLD: &[&str] = &[
    "println!",
    "print!(",
    "dbg!",
    "process::exit",
    "std::process",
    "std::env",
    "env::var",
    "env::args",
    "SystemTime",
    "Instant::now",
    "std::net",
    "io::stdin",
    "io::stdout",
    "io::stderr",
];

/// Crates that one place alone may use.
const ONE_PLACE: &[(&str, &str)] = &[
    ("miette", "report/human.rs"),
    ("clap", "cli/"),
    ("terminal_size", "cli/"),
    ("granit_parser", "yaml/"),
    ("similar", "report/diff.rs"),
    ("tempfile", "engine/write.rs"),
];

struct SourceText {
    /// Relative to `src`, with `/`.
    path: String,
    layer: String,
    /// Without comments and unit tests.
    code: Vec<(usize, String)>,
}

fn sources() -> Vec<SourceText> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    files
        .iter()
        .map(|file| {
            let path = file
                .strip_prefix(&root)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            let layer = path
                .split('/')
                .next()
                .unwrap()
                .trim_end_matches(".rs")
                .to_owned();
            SourceText {
                layer,
                code: code(&fs::read_to_string(file).unwrap()),
                path,
            }
        })
        .filter(|source| source.path != "lib.rs" && source.path != "main.rs")
        .collect()
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn code(text: &str) -> Vec<(usize, String)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(number, line)| (number + 1, line.to_owned()))
        .collect()
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|known| *known == layer)
}

/// The layers that a line names behind `crate::`, also those in braces.
fn named(line: &str) -> Vec<String> {
    line.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(inside) => inside
                .split('}')
                .next()
                .unwrap_or_default()
                .split(',')
                .map(first_word)
                .collect(),
            None => vec![first_word(rest)],
        })
        .filter(|word| !word.is_empty())
        .collect()
}

fn first_word(text: &str) -> String {
    text.trim()
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn every_module_is_a_layer() {
    for source in sources() {
        assert!(
            rank(&source.layer).is_some(),
            "src/{} belongs to no layer of {LAYERS:?}",
            source.path
        );
    }
}

#[test]
fn layers_use_only_what_lies_below() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (number, line) in &source.code {
            for used in named(line) {
                let allowed = used == source.layer || rank(&used) < rank(&source.layer);
                if rank(&used).is_none() || !allowed {
                    wrong.push(format!(
                        "src/{}:{number}: {} uses {used}",
                        source.path, source.layer
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn only_the_top_layers_talk_to_the_world() {
    let mut wrong = Vec::new();
    for source in sources()
        .iter()
        .filter(|source| !TOP.contains(&source.layer.as_str()))
    {
        for (number, line) in &source.code {
            for word in WORLD.iter().filter(|word| line.contains(**word)) {
                wrong.push(format!("src/{}:{number}: {word}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn crates_stay_in_their_place() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (name, place) in ONE_PLACE {
            if source.path.starts_with(place) {
                continue;
            }
            let uses = [format!("{name}::"), format!("use {name};")];
            for (number, line) in &source.code {
                if uses.iter().any(|using| line.contains(using.as_str())) {
                    wrong.push(format!(
                        "src/{}:{number}: {name} belongs to src/{place}",
                        source.path
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_reader_of_this_test_reads() {
    assert_eq!(named("use crate::{yaml, kube::Object};"), ["yaml", "kube"]);
    assert_eq!(
        named("crate::rules::all(crate::engine::X)"),
        ["rules", "engine"]
    );
    assert!(code("a\n// crate::x\n#[cfg(test)]\nb").len() == 1);
}
