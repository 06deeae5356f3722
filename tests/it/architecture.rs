//! Checks that each layer of a crate uses only lower layers of it, and that only the top layers do input and output.
//!
//! Which crates a crate may use is in its manifest, and the compiler enforces it.

use std::fs;
use std::path::Path;

use regex::Regex;

use crate::support::rust_code::{USE, code, imported_paths, rust_files};

/// The folders of the crates from the bottom to the top, each with its layers from the bottom to the top; a layer uses
/// only the layers of its crate before it. The crate of one layer is that layer.
const CRATES: &[(&str, &[&str])] = &[
    ("crates/yaml/src", &["yaml"]),
    ("crates/tree/src", &["filesystem", "git", "source"]),
    ("crates/mesh/src", &["finding", "kube", "mesh", "settings"]),
    ("crates/deploy/src", &["kustomize", "gitops"]),
    ("crates/predict/src", &["context", "predict"]),
    ("crates/rules/src", &["rules", "rewrite", "symptoms"]),
    ("crates/engine/src", &["engine", "diff"]),
    ("crates/report/src", &["report"]),
    ("crates/lsp/src", &["lsp"]),
    ("crates/mcp/src", &["mcp"]),
    ("src", &["krm", "cli"]),
];

/// The layers with access to the environment of the process.
const TOP_LAYERS: &[&str] = &["krm", "lsp", "mcp", "cli"];

/// Identifiers that only the top layers may use.
const TOP_LAYER_IDENTIFIERS: &[&str] = &[
    "println!",
    "print!(",
    "dbg!",
    "process::exit",
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

/// Crates that only some files may use, except in tests.
const CRATE_USERS: &[(&str, &[&str])] = &[
    ("miette", &["report/frames.rs"]),
    ("sha1", &["git/object_reader.rs"]),
    ("clap", &["cli/"]),
    ("crossbeam_channel", &["lsp/"]),
    ("gen_lsp_types", &["lsp/"]),
    ("lsp_server", &["lsp/", "cli/lsp.rs"]),
    ("terminal_size", &["cli/"]),
    ("granit_parser", &["yaml/"]),
    ("similar", &["diff/text_diff.rs", "report/diff.rs"]),
    ("maud", &["report/html/"]),
    // The folders for a kustomization that leads to the user's own, and for values of charts; and atomic writes.
    ("tempfile", &["cli/render/", "engine/write.rs"]),
    // The async runtime is only in the server.
    ("rmcp", &["mcp/"]),
    ("tokio", &["mcp/"]),
    (
        "percent_encoding",
        &[
            "lsp/encoding.rs",
            "mcp/roots.rs",
            "report/escape.rs",
            "report/sarif.rs",
        ],
    ),
];

/// Where programs are run: at the user's wish, and nowhere else.
const PROGRAMS: &[&str] = &[
    "cli/render/process.rs",
    "cli/run.rs",
    "cli/session.rs",
    "git/command.rs",
    "git/tree.rs",
];

struct SourceText {
    /// The folder of the crate.
    folder: &'static str,
    /// The layers of the crate.
    layers: &'static [&'static str],
    /// The path that starts with the layer, with `/`.
    path: String,
    layer: String,
    /// The numbered lines without comments and test-only items.
    code: Vec<(usize, String)>,
}

impl SourceText {
    /// Returns the position of a layer in the crate.
    fn rank(&self, layer: &str) -> Option<usize> {
        self.layers.iter().position(|known| *known == layer)
    }
}

fn sources() -> Vec<SourceText> {
    let crates = CRATES.iter().copied();
    crates
        .flat_map(|(folder, layers)| sources_of(folder, layers))
        .collect()
}

fn sources_of(folder: &'static str, layers: &'static [&'static str]) -> Vec<SourceText> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = rust_files(&root).into_iter().map(|file| {
        let path = file.strip_prefix(&root).unwrap().to_string_lossy();
        let path = path.replace('\\', "/");
        let path = match layers {
            [layer] => format!("{layer}/{path}"),
            _ => path,
        };
        SourceText {
            folder,
            layers,
            layer: path.split('/').next().unwrap().to_owned(),
            code: code(&fs::read_to_string(file).unwrap()),
            path,
        }
    });
    files
        .filter(|source| source.path != "lib.rs" && source.path != "main.rs")
        .collect()
}

/// Returns the layers that follow `crate::`, with their lines; also those in braces over several
/// lines.
fn used_layers(code: &[(usize, String)]) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (index, (number, line)) in code.iter().enumerate() {
        let rests = line
            .match_indices("crate::")
            .map(|(at, word)| at + word.len());
        for start in rests {
            let start_of_path = line.get(start..).unwrap();
            let below = code.iter().skip(index + 1).map(|(_, line)| line.as_str());
            let rest: Vec<&str> = std::iter::once(start_of_path).chain(below).collect();
            let words = match start_of_path.strip_prefix('{') {
                Some(_) => words_in_braces(&rest.join(" ")),
                None => vec![first_word(start_of_path)],
            };
            let words = words.into_iter().filter(|word| !word.is_empty());
            all.extend(words.map(|word| (*number, word)));
        }
    }
    all
}

/// Returns the first word of each part between the braces at the start of `text`.
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
            source.rank(&source.layer).is_some(),
            "{}: {} does not belong to a layer of {:?}",
            source.folder,
            source.path,
            source.layers
        );
    }
}

#[test]
fn layers_use_only_lower_layers_of_their_crate() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| source.layers.len() > 1) {
        for (number, used) in used_layers(&source.code) {
            let rank = source.rank(&used);
            if rank.is_none() || rank > source.rank(&source.layer) {
                wrong.push(format!(
                    "{}:{number}: {} uses {used}",
                    source.path, source.layer
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn only_the_top_layers_do_input_and_output() {
    let mut wrong = Vec::new();
    for source in sources()
        .iter()
        .filter(|source| !TOP_LAYERS.contains(&source.layer.as_str()))
    {
        for (number, line) in &source.code {
            for word in TOP_LAYER_IDENTIFIERS
                .iter()
                .filter(|word| line.contains(**word))
            {
                wrong.push(format!("{}:{number}: {word}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn crates_are_used_only_in_their_files() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (name, places) in CRATE_USERS {
            let is_test = source.path.ends_with("/tests.rs");
            if is_test || places.iter().any(|place| source.path.starts_with(place)) {
                continue;
            }
            let uses = [format!("{name}::"), format!("use {name};")];
            for (number, line) in &source.code {
                if uses.iter().any(|using| line.contains(using.as_str())) {
                    wrong.push(format!(
                        "{}:{number}: {name} belongs to {places:?}",
                        source.path
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// On Windows, `Path::canonicalize` returns another form of path than users write.
#[test]
fn paths_are_resolved_in_one_place() {
    let mut wrong = Vec::new();
    for source in sources() {
        let is_exempt = source.path == "filesystem/disk.rs";
        for (number, line) in source.code.iter().filter(|_| !is_exempt) {
            if line.contains("canonicalize(") {
                wrong.push(format!("{}:{number}: use source::canonical", source.path));
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
                wrong.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Git must not search for a repository in a folder of the tree, which can contain one with settings of its own.
#[test]
fn git_is_run_in_one_place() {
    let calls = [
        ("Command::new(\"git\")", &["git/command.rs"][..]),
        ("Git::at_root(", &["git/location.rs"]),
        ("Git::in_git_folder(", &["git/location.rs"]),
    ];
    for (call, places) in calls {
        let sources = sources();
        let found = sources
            .iter()
            .filter(|source| source.code.iter().any(|(_, line)| line.contains(call)));
        let found: Vec<&str> = found.map(|source| source.path.as_str()).collect();
        assert_eq!(found, places, "{call}");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scripts = fs::read_dir(root.join("action")).unwrap();
    let scripts = scripts
        .map(|entry| entry.unwrap().path())
        .chain([root.join("action.yml")]);
    // A message, which is quoted, or a comment may contain the word.
    let word = Regex::new(r"(^|[^\w$/.:-])git($|[^\w./:])").unwrap();
    let quoted = Regex::new(r"'[^']*'|(^|\s)#.*|description:.*").unwrap();
    let mut found = Vec::new();
    for script in scripts {
        let text = fs::read_to_string(&script).unwrap();
        let lines = text.lines().map(|line| quoted.replace_all(line, ""));
        found.extend(
            lines
                .filter(|line| word.is_match(line) && !line.contains("command -v git"))
                .map(|line| line.trim().to_owned()),
        );
    }
    assert_eq!(
        found,
        [
            "git -C \"$folder\" -c safe.bareRepository=explicit -c core.hooksPath=/dev/null -c core.fsmonitor=false \\"
        ]
    );
}

/// Names of one mesh that rules may use: the names of its annotations and the format of their values,
/// and the terms of a policy that results of the model contain. Rules get everything else from the
/// model, so that a new mesh changes no rule.
const KNOWN_TO_RULES: &[&str] = &[
    // Why an object of Istio is rejected: no other mesh has such objects.
    "meshprobe_mesh::mesh::istio::admission",
    "meshprobe_mesh::mesh::istio::admission::Rejection",
    "meshprobe_mesh::mesh::istio::annotations",
    "meshprobe_mesh::mesh::istio::keys",
    "meshprobe_mesh::mesh::istio::known_keys",
    // A plain value that predictions contain.
    "meshprobe_mesh::mesh::istio::mtls::MtlsMode",
    // The content of a WorkloadGroup, and the faults in it: no other mesh has such an object.
    "meshprobe_mesh::mesh::istio::vm",
    "meshprobe_mesh::mesh::istio::vm::FaultKind",
    "meshprobe_mesh::mesh::istio::rewrite::is_agent_path",
    "meshprobe_mesh::mesh::istio::rewrite::parse_bool",
];

#[test]
fn rules_use_the_model_instead_of_a_mesh() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| source.layer == "rules") {
        let text: String = source
            .code
            .iter()
            .map(|(_, line)| format!("{line}\n"))
            .collect();
        for path in imported_paths(&text) {
            let is_of_mesh = path.starts_with("meshprobe_mesh::mesh::istio");
            if is_of_mesh && !KNOWN_TO_RULES.contains(&path.as_str()) {
                wrong.push(format!("{}: {path}", source.path));
            }
        }
        let body = USE.replace_all(&text, "");
        for line in body.lines().filter(|line| line.contains("istio::")) {
            wrong.push(format!("{}: {line}", source.path));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A page that names a missing test makes a claim without proof.
#[test]
fn tests_named_in_the_pages_exist() {
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
fn layers_and_code_lines_are_extracted_from_text() {
    let names = |text: &str| {
        used_layers(&code(text))
            .into_iter()
            .map(|(_, name)| name)
            .collect::<Vec<_>>()
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
