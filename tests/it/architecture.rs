//! Fails when a layer uses one above it, or does what only the top layers may do.

use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up; each uses only what stands before it.
const LAYERS: &[&str] = &[
    "filesystem",
    "yaml",
    "source",
    "finding",
    "kube",
    "mesh",
    "settings",
    "context",
    "predict",
    "rules",
    "rewrite",
    "engine",
    "report",
    "krm",
    "cli",
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

/// Crates that a few places alone may use, tests left out.
const PLACES: &[(&str, &[&str])] = &[
    ("miette", &["report/human.rs"]),
    ("clap", &["cli/"]),
    ("terminal_size", &["cli/"]),
    ("granit_parser", &["yaml/"]),
    ("similar", &["report/diff.rs"]),
    // The folder for a kustomization that leads to the user's own.
    ("tempfile", &["cli/render.rs"]),
    ("rustix", &["filesystem/", "engine/attributes.rs"]),
];

/// Where programs are run: at the user's wish, and nowhere else.
const PROGRAMS: &[&str] = &["cli/mod.rs", "cli/render/process.rs", "cli/session.rs"];

struct SourceText {
    /// Relative to `src`, with `/`.
    path: String,
    layer: String,
    /// Without comments and items that only tests see.
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
    let mut code = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            // rustfmt puts the end of an item where it starts.
            let indent = |line: &str| line.len() - line.trim_start().len();
            let mine = indent(line);
            let ends = |line: &str| indent(line) == mine && line.ends_with([';', '}']);
            let _ = lines.find(|(_, line)| ends(line));
        } else if !line.trim_start().starts_with("//") {
            code.push((number + 1, line.to_owned()));
        }
    }
    code
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|known| *known == layer)
}

/// The layers that are named behind `crate::`, with their lines; also those in braces over
/// several lines.
fn named(code: &[(usize, String)]) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (index, (number, line)) in code.iter().enumerate() {
        let rests = line
            .match_indices("crate::")
            .map(|(at, word)| at + word.len());
        for start in rests {
            let here = line.get(start..).unwrap();
            let below = code.iter().skip(index + 1).map(|(_, line)| line.as_str());
            let rest: Vec<&str> = std::iter::once(here).chain(below).collect();
            let words = match here.strip_prefix('{') {
                Some(_) => words_in_braces(&rest.join(" ")),
                None => vec![first_word(here)],
            };
            let words = words.into_iter().filter(|word| !word.is_empty());
            all.extend(words.map(|word| (*number, word)));
        }
    }
    all
}

/// The first word of each part between the braces that `text` starts with.
fn words_in_braces(text: &str) -> Vec<String> {
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match c {
            _ if depth == 0 => break,
            ',' if depth == 1 => parts.push(String::new()),
            '{' if depth == 1 => {}
            _ => parts.last_mut().unwrap().push(c),
        }
    }
    parts.iter().map(|part| first_word(part)).collect()
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
        for (number, used) in named(&source.code) {
            let allowed = used == source.layer || rank(&used) < rank(&source.layer);
            if rank(&used).is_none() || !allowed {
                wrong.push(format!(
                    "src/{}:{number}: {} uses {used}",
                    source.path, source.layer
                ));
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
        for (name, places) in PLACES {
            let is_test = source.path.ends_with("/tests.rs");
            if is_test || places.iter().any(|place| source.path.starts_with(place)) {
                continue;
            }
            let uses = [format!("{name}::"), format!("use {name};")];
            for (number, line) in &source.code {
                if uses.iter().any(|using| line.contains(using.as_str())) {
                    wrong.push(format!(
                        "src/{}:{number}: {name} belongs to {places:?}",
                        source.path
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// `Path::canonicalize` returns another form on Windows than users write.
#[test]
fn paths_are_resolved_in_one_place() {
    let mut wrong = Vec::new();
    for source in sources() {
        let is_exempt = source.path == "filesystem/canonical.rs";
        for (number, line) in source.code.iter().filter(|_| !is_exempt) {
            if line.contains("canonicalize(") {
                wrong.push(format!(
                    "src/{}:{number}: use source::canonical",
                    source.path
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn programs_are_run_in_one_place() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (number, line) in &source.code {
            if line.contains("std::process") && !PROGRAMS.contains(&source.path.as_str()) {
                wrong.push(format!("src/{}:{number}: {line}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What a rule may know of one mesh: the names of its annotations and how their values are
/// written, and the words of a policy that answers of the model come in. All else it asks the
/// model, so that a new mesh changes no rule.
const KNOWN_TO_RULES: &[&str] = &[
    "mesh::istio::annotations;",
    "mesh::istio::keys;",
    // A plain value, which predictions hold.
    "mesh::istio::mtls::MtlsMode;",
    // What a WorkloadGroup says, and which of it is refused: no other mesh has such an object.
    "mesh::istio::vm;",
    "mesh::istio::rewrite::is_agent_path;",
    "mesh::istio::rewrite::parse_bool;",
    "mesh::istio::rewrite::{is_agent_path, parse_bool};",
];

#[test]
fn rules_ask_the_model_and_no_mesh() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| source.layer == "rules") {
        for (number, line) in &source.code {
            let names =
                line.contains("istio::") || line.contains("mesh::{") && line.contains("istio");
            if names && !KNOWN_TO_RULES.iter().any(|known| line.ends_with(known)) {
                wrong.push(format!("src/{}:{number}: {line}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A page that names a test which does not exist promises what nobody proves.
#[test]
fn the_tests_that_the_pages_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in [
        "docs/architecture.md",
        "docs/krm.md",
        "docs/rewrite.md",
        "CONTRIBUTING.md",
    ] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        for (at, _) in text.match_indices("`tests/") {
            let rest = text.get(at + 1..).unwrap();
            let path = rest.split('`').next().unwrap();
            assert!(root.join(path).exists(), "{page} names {path}");
        }
    }
}

#[test]
fn the_reader_of_this_test_reads() {
    let names = |text: &str| {
        let all = named(&code(text)).into_iter();
        all.map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(names("use crate::{yaml, kube::Object};"), ["yaml", "kube"]);
    assert_eq!(
        names("use crate::{\n    kube::{Object, Pod},\n    yaml,\n};\nuse x::{y};"),
        ["kube", "yaml"]
    );
    assert_eq!(
        names("crate::rules::all(crate::engine::X)"),
        ["rules", "engine"]
    );
    let text =
        "a\n// crate::x\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\nmod more {\n    c;\n}\nd";
    let lines: Vec<_> = code(text).into_iter().map(|(number, _)| number).collect();
    assert_eq!(lines, [1, 5, 10]);
}
