//! The fixtures of the rules, `fixtures/rules/<id>/{bad*,good*}`, found by their folder names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use meshprobe::rules::Example;
use serde_json::Value;

use crate::support::{Run, findings, meshprobe};

/// The file that contains the arguments of a rule or of a tree, one per line.
const ARGUMENTS: &str = "arguments";

/// Rule that reports that a Namespace is not in the tree. An excerpt may omit it.
pub(super) const EXCERPT: &str = "namespace-unknown";

/// Rules about a mesh and not about a manifest, so an example cannot avoid them.
pub(super) const ARCHIVED: [&str; 2] = ["appmesh-ended", "osm-archived"];

/// A file, or a folder that is checked as a tree.
pub(crate) struct Fixture {
    pub(super) rule: String,
    pub(super) path: PathBuf,
    arguments: Vec<String>,
    /// `check` in JSON, run once for all tests.
    json: OnceLock<Run>,
}

impl Fixture {
    pub(super) fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned()
    }

    pub(super) fn is_bad(&self) -> bool {
        let name = self.name();
        assert!(
            name.starts_with("bad") || name.starts_with("good"),
            "{name} is neither bad nor good"
        );
        name.starts_with("bad")
    }

    /// Runs `check` in the folder of the fixture, so that paths in the output are short.
    pub(super) fn check(&self, arguments: &[&str]) -> Run {
        self.check_at(&self.path, arguments)
    }

    /// Runs `check` over a copy of the fixture.
    pub(super) fn check_at(&self, path: &Path, arguments: &[&str]) -> Run {
        let name = self.name();
        let mut all = vec!["check", "--threads", "1"];
        let (folder, target) = if path.is_dir() {
            (path, ".")
        } else {
            (path.parent().unwrap(), name.as_str())
        };
        if !folder.join(".meshprobe.yaml").is_file() {
            all.push("--isolated");
        }
        all.extend(self.arguments.iter().map(String::as_str));
        all.extend(arguments);
        all.push(target);
        meshprobe(folder, &all, "")
    }

    /// Returns the run of `check` in JSON.
    pub(super) fn json(&self) -> &Run {
        self.json
            .get_or_init(|| self.check(&["--output-format", "json"]))
    }

    pub(crate) fn findings(&self) -> Vec<Value> {
        findings(self.json())
    }
}

/// Returns all fixtures, sorted by path.
pub(crate) fn fixtures() -> &'static [Fixture] {
    static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(load);
    &FIXTURES
}

fn load() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let mut found = Vec::new();
    for folder in fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let rule = folder.file_name().unwrap().to_string_lossy().into_owned();
        for path in fs::read_dir(&folder).unwrap() {
            let path = path.unwrap().path();
            if !path.ends_with(ARGUMENTS) {
                let arguments = arguments(&folder, &path);
                found.push(Fixture {
                    rule: rule.clone(),
                    path,
                    arguments,
                    json: OnceLock::new(),
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Returns the arguments of a fixture: its own, or those of its rule.
fn arguments(folder: &Path, fixture: &Path) -> Vec<String> {
    let listed = |path: PathBuf| fs::read_to_string(path).ok();
    let lines = |text: String| text.lines().map(str::to_owned).collect();
    let own = if fixture.is_dir() {
        listed(fixture.join(ARGUMENTS)).map_or_else(Vec::new, lines)
    } else {
        Example::arguments_of(&fs::read_to_string(fixture).unwrap())
    };
    if own.is_empty() {
        listed(folder.join(ARGUMENTS)).map_or(own, lines)
    } else {
        own
    }
}

/// Returns the texts of the files of a fixture, by the path that the output shows.
pub(super) fn texts(path: &Path) -> BTreeMap<String, String> {
    if path.is_file() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        return BTreeMap::from([(name, fs::read_to_string(path).unwrap())]);
    }
    let files = walkdir::WalkDir::new(path).into_iter().map(Result::unwrap);
    files
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let shown = entry.path().strip_prefix(path).unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            (shown.to_string_lossy().into_owned(), text)
        })
        .collect()
}
