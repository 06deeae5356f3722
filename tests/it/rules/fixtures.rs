//! The harness of all rules: every `fixtures/rules/<id>/{bad*,good*}` is found by its folder name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Run, comments, findings, meshprobe, outside_edits};
use meshprobe::rules::{Example, FixAvailability};
use serde_json::Value;

/// The file that holds the arguments of a rule or of a tree, one per line.
const ARGUMENTS: &str = "arguments";

/// Says that a Namespace is not in the tree: an excerpt need not hold it.
const EXCERPT: &str = "namespace-unknown";

/// What is said of a mesh and not of a manifest: an example cannot help it.
const ARCHIVED: &str = "osm-archived";

/// A file, or a folder that is checked as a tree.
struct Fixture {
    rule: String,
    path: PathBuf,
    arguments: Vec<String>,
}

impl Fixture {
    fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned()
    }

    fn is_bad(&self) -> bool {
        let name = self.name();
        assert!(
            name.starts_with("bad") || name.starts_with("good"),
            "{name} is neither bad nor good"
        );
        name.starts_with("bad")
    }

    /// Runs `check` beside the fixture, so that paths in the output are short.
    fn check(&self, arguments: &[&str]) -> Run {
        self.check_at(&self.path, arguments)
    }

    /// Runs `check` over a copy of the fixture.
    fn check_at(&self, path: &Path, arguments: &[&str]) -> Run {
        let name = self.name();
        let mut all = vec!["check"];
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

    fn findings(&self) -> Vec<Value> {
        findings(&self.check(&["--output-format", "json"]))
    }
}

fn fixtures() -> Vec<Fixture> {
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
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The arguments of a fixture: its own, or those of its rule.
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

/// The files of a fixture with their texts, by the path that the output shows.
fn texts(path: &Path) -> BTreeMap<String, String> {
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

#[test]
fn every_rule_has_bad_and_good_fixtures() {
    let fixtures = fixtures();
    for rule in meshprobe::rules::all() {
        for bad in [true, false] {
            let has = fixtures
                .iter()
                .any(|fixture| fixture.rule == rule.id && fixture.is_bad() == bad);
            assert!(
                has,
                "{} has no {} fixture",
                rule.id,
                if bad { "bad" } else { "good" }
            );
        }
    }
    let known: BTreeSet<&str> = meshprobe::rules::all().iter().map(|rule| rule.id).collect();
    for fixture in &fixtures {
        assert!(
            known.contains(fixture.rule.as_str()),
            "no rule for the fixtures in {}",
            fixture.rule
        );
    }
}

#[test]
fn bad_files_are_found_and_good_files_are_silent() {
    for fixture in fixtures() {
        let shown = fixture.path.display();
        let run = fixture.check(&["--output-format", "json"]);
        let findings = findings(&run);
        let found: BTreeSet<&str> = findings
            .iter()
            .filter_map(|finding| finding.get("rule")?.as_str())
            .collect();
        if fixture.is_bad() {
            assert!(
                found.contains(fixture.rule.as_str()),
                "{shown}: found {found:?}"
            );
            let worst = findings.iter().any(|finding| finding["severity"] != "note");
            assert_eq!(run.code, i32::from(worst), "{shown}");
        } else {
            let is_excerpt = |one: &&Value| {
                let is_general = |id: &str| one["rule"] == id && fixture.rule != id;
                is_general(EXCERPT) || is_general(ARCHIVED)
            };
            let findings: Vec<_> = findings.iter().filter(|one| !is_excerpt(one)).collect();
            assert!(findings.is_empty(), "{shown}: {findings:#?}");
            assert_eq!(run.code, 0, "{shown}");
        }
    }
}

/// `expected.csv` was checked line by line against the fixtures: a finding is where its cause is.
/// `MESHPROBE_UPDATE_EXPECTED=1` writes it anew, for another such review.
#[test]
fn findings_are_at_the_lines_that_were_reviewed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let mut found = String::from("rule,file,line,severity\n");
    for fixture in fixtures().iter().filter(|fixture| fixture.is_bad()) {
        let shown = fixture.path.strip_prefix(&root).unwrap().to_string_lossy();
        for finding in fixture.findings() {
            let text = |name: &str| finding[name].as_str().unwrap().to_owned();
            let file = if fixture.path.is_dir() {
                format!("{shown}/{}", text("path"))
            } else {
                shown.clone().into_owned()
            };
            let (rule, line, severity) = (text("rule"), &finding["line"], text("severity"));
            found.push_str(&format!("{rule},{file},{line},{severity}\n"));
        }
    }
    let reviewed = root.join("expected.csv");
    if std::env::var_os("MESHPROBE_UPDATE_EXPECTED").is_some() {
        fs::write(&reviewed, &found).unwrap();
    }
    assert_eq!(found, fs::read_to_string(reviewed).unwrap());
}

#[test]
fn the_output_is_the_one_that_was_reviewed() {
    for fixture in fixtures().iter().filter(|fixture| fixture.is_bad()) {
        let run = fixture.check(&["--color", "never"]);
        let name = format!("{}.{}", fixture.rule, fixture.name());
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(name, run.stdout);
        });
    }
}

/// Fixes converge, mend what they say, bring nothing new, and touch nothing else.
#[test]
fn fixes_keep_their_promises() {
    for fixture in fixtures() {
        for unsafe_too in [false, true] {
            prove_fixes(&fixture, unsafe_too);
        }
    }
}

fn prove_fixes(fixture: &Fixture, unsafe_too: bool) {
    let shown = fixture.path.display();
    let before = texts(&fixture.path);
    let reported = fixture.findings();
    let expected: Vec<_> = reported
        .iter()
        .filter(|finding| {
            let degree = finding
                .pointer("/fix/applicability")
                .and_then(Value::as_str);
            degree == Some("safe") || (unsafe_too && degree == Some("unsafe"))
        })
        .collect();
    for title in reported
        .iter()
        .filter_map(|finding| finding.pointer("/fix/title"))
    {
        assert_ne!(title, "", "{shown}: a fix has no title");
    }

    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(fixture.name());
    copy_to(&copy, fixture, &before);
    let flags: &[&str] = if unsafe_too {
        &["--fix", "--unsafe-fixes"]
    } else {
        &["--fix"]
    };
    fixture.check_at(&copy, flags);
    let after = texts(&copy);

    if expected.is_empty() {
        assert_eq!(
            before, after,
            "{shown}: nothing to fix, but the files changed"
        );
        return;
    }
    assert_ne!(
        before, after,
        "{shown}: a fix is promised with {flags:?}, but nothing changed"
    );
    for (path, before) in &before {
        let after = &after[path];
        assert_eq!(
            comments(before),
            comments(after),
            "{shown}: comments changed in {path}"
        );
        outside_edits(path, before, after, &expected);
    }

    let left = findings(&fixture.check_at(&copy, &["--output-format", "json"]));
    let key = |finding: &Value| {
        ["path", "rule", "container", "field", "object"]
            .map(|name| finding.get(name).map(ToString::to_string))
    };
    let known: BTreeSet<_> = reported.iter().map(key).collect();
    let cured: BTreeSet<_> = expected.iter().map(|finding| key(finding)).collect();
    for finding in &left {
        let key = key(finding);
        assert!(known.contains(&key), "{shown}: the fix brought {finding:#}");
        assert!(!cured.contains(&key), "{shown}: not cured: {finding:#}");
    }
    fixture.check_at(&copy, flags);
    assert_eq!(after, texts(&copy), "{shown}: fixing twice changes again");
}

fn copy_to(copy: &Path, fixture: &Fixture, texts: &BTreeMap<String, String>) {
    for (path, text) in texts {
        let target = if fixture.path.is_dir() {
            copy.join(path)
        } else {
            copy.to_path_buf()
        };
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, text).unwrap();
    }
}

#[test]
fn the_examples_of_the_documentation_are_true() {
    for rule in meshprobe::rules::all() {
        let sections = rule.sections();
        assert!(
            sections.summary.ends_with('.'),
            "{}: {}",
            rule.id,
            sections.summary
        );
        for heading in [
            "What it checks",
            "Why it matters",
            "Fix safety",
            "References",
        ] {
            assert!(
                rule.docs.contains(&format!("## {heading}")),
                "{} lacks {heading}",
                rule.id
            );
        }
        let example = sections.example.unwrap();
        let mut found = run_example(&example);
        assert!(found.remove(rule.id), "{}: example", rule.id);
        found.remove(EXCERPT);
        found.remove(ARCHIVED);
        // What a tree of files shows is mostly a fault of one of them as well.
        let is_tree = example.files.len() > 1;
        assert!(found.is_empty() || is_tree, "{}: {found:?} too", rule.id);
        let mut instead = run_example(&sections.use_instead.unwrap());
        if rule.id != EXCERPT {
            instead.remove(EXCERPT);
        }
        if rule.id != ARCHIVED {
            instead.remove(ARCHIVED);
        }
        assert!(
            instead.is_empty(),
            "{}: use instead gives {instead:?}",
            rule.id
        );
    }
}

/// Returns the rules that speak up on an example.
fn run_example(example: &Example) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in &example.files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut arguments = vec!["check", "--isolated", "--output-format", "json"];
    arguments.extend(example.arguments.iter().map(String::as_str));
    let run = meshprobe(folder.path(), &arguments, "");
    findings(&run)
        .iter()
        .filter_map(|finding| Some(finding.get("rule")?.as_str()?.to_owned()))
        .collect()
}

/// `Rule.fix` over all fixtures and the catalogue: `Always` and `None` hold everywhere,
/// `Sometimes` has a case with a fix.
#[test]
fn the_declared_fix_availability_is_true() {
    let mut seen: BTreeMap<String, BTreeSet<bool>> = BTreeMap::new();
    let mut see = |found: Vec<Value>| {
        for finding in found {
            let rule = finding["rule"].as_str().unwrap().to_owned();
            seen.entry(rule)
                .or_default()
                .insert(!finding["fix"].is_null());
        }
    };
    for fixture in fixtures() {
        see(fixture.findings());
    }
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/catalogue");
    for folder in fs::read_dir(catalogue).unwrap() {
        let folder = folder.unwrap().path();
        if folder.join("bad.yaml").is_file() {
            let arguments = ["check", "--isolated", "--output-format", "json", "bad.yaml"];
            see(findings(&meshprobe(&folder, &arguments, "")));
        }
    }
    let mut wrong = Vec::new();
    for rule in meshprobe::rules::all() {
        let seen: Vec<bool> = seen.get(rule.id).into_iter().flatten().copied().collect();
        let holds = match rule.fix {
            FixAvailability::None => seen == [false],
            FixAvailability::Sometimes => seen == [false, true],
            FixAvailability::Always => seen == [true],
        };
        if !holds {
            wrong.push(format!(
                "{} is {:?}, but has fixes {seen:?}",
                rule.id, rule.fix
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
