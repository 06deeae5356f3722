//! The harness of all rules: every `fixtures/rules/<id>/{bad*,good*}` is found by its folder name.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use support::{Run, comments, findings, meshprobe, outside_edits};

fn fixtures() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let mut found = Vec::new();
    for folder in fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let rule = folder.file_name().unwrap().to_string_lossy().into_owned();
        for file in fs::read_dir(folder).unwrap() {
            found.push((rule.clone(), file.unwrap().path()));
        }
    }
    found.sort();
    found
}

fn is_bad(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(
        name.starts_with("bad") || name.starts_with("good"),
        "{name} is neither bad nor good"
    );
    name.starts_with("bad")
}

/// Runs `check` beside a copy of the fixture, so that paths in the output are short.
fn check(path: &Path, arguments: &[&str]) -> Run {
    let folder = path.parent().unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut all = vec!["check", "--isolated"];
    all.extend(arguments);
    all.push(&name);
    meshprobe(folder, &all, "")
}

#[test]
fn every_rule_has_bad_and_good_fixtures() {
    let fixtures = fixtures();
    for rule in meshprobe::rules::all() {
        for bad in [true, false] {
            let has = fixtures
                .iter()
                .any(|(id, path)| id == rule.id && is_bad(path) == bad);
            assert!(
                has,
                "{} has no {} fixture",
                rule.id,
                if bad { "bad" } else { "good" }
            );
        }
    }
    let known: BTreeSet<&str> = meshprobe::rules::all().iter().map(|rule| rule.id).collect();
    for (rule, _) in &fixtures {
        assert!(
            known.contains(rule.as_str()),
            "no rule for the fixtures in {rule}"
        );
    }
}

#[test]
fn bad_files_are_found_and_good_files_are_silent() {
    for (rule, path) in fixtures() {
        let run = check(&path, &["--output-format", "json"]);
        let findings = findings(&run);
        let found: BTreeSet<&str> = findings
            .iter()
            .filter_map(|finding| finding.get("rule")?.as_str())
            .collect();
        if is_bad(&path) {
            assert!(
                found.contains(rule.as_str()),
                "{}: found {found:?}",
                path.display()
            );
            assert_eq!(run.status, 1, "{}", path.display());
        } else {
            assert!(findings.is_empty(), "{}: {findings:#?}", path.display());
            assert_eq!(run.status, 0, "{}", path.display());
        }
    }
}

/// `expected.csv` was checked line by line against the fixtures: a finding is where its cause is.
#[test]
fn findings_are_at_the_lines_that_were_reviewed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let expected = fs::read_to_string(root.join("expected.csv")).unwrap();
    let mut found = String::from("rule,file,line,severity\n");
    for (_, path) in fixtures().iter().filter(|(_, path)| is_bad(path)) {
        let file = path.strip_prefix(&root).unwrap().to_string_lossy();
        for finding in findings(&check(path, &["--output-format", "json"])) {
            let text = |name: &str| finding[name].as_str().unwrap().to_owned();
            let (rule, line, severity) = (text("rule"), &finding["line"], text("severity"));
            found.push_str(&format!("{rule},{file},{line},{severity}\n"));
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn the_output_is_the_one_that_was_reviewed() {
    for (rule, path) in fixtures() {
        if is_bad(&path) {
            let run = check(&path, &["--color", "never"]);
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            insta::with_settings!({snapshot_path => "snapshots/rules", prepend_module_to_snapshot => false, omit_expression => true}, {
                insta::assert_snapshot!(format!("{rule}.{name}"), run.stdout);
            });
        }
    }
}

/// Fixes converge, mend what they say, bring nothing new, and touch nothing else.
#[test]
fn fixes_keep_their_promises() {
    for (_, path) in fixtures() {
        for unsafe_too in [false, true] {
            prove_fixes(&path, unsafe_too);
        }
    }
}

fn prove_fixes(path: &Path, unsafe_too: bool) {
    let before = fs::read_to_string(path).unwrap();
    let reported = findings(&check(path, &["--output-format", "json"]));
    let expected: Vec<_> = reported
        .iter()
        .filter(|finding| {
            let degree = finding
                .pointer("/fix/applicability")
                .and_then(|value| value.as_str());
            degree == Some("safe") || (unsafe_too && degree == Some("unsafe"))
        })
        .collect();

    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(path.file_name().unwrap());
    fs::write(&copy, &before).unwrap();
    let degree = if unsafe_too {
        "--unsafe-fixes"
    } else {
        "--fix"
    };
    let flags: &[&str] = if unsafe_too {
        &["--fix", degree]
    } else {
        &[degree]
    };
    check(&copy, flags);
    let after = fs::read_to_string(&copy).unwrap();
    let shown = path.display();

    if expected.is_empty() {
        assert_eq!(
            before, after,
            "{shown}: nothing to fix, but the file changed"
        );
        return;
    }
    assert_ne!(
        before, after,
        "{shown}: a {degree} is promised, but nothing changed"
    );
    assert_eq!(
        comments(&before),
        comments(&after),
        "{shown}: comments changed"
    );
    outside_edits(&before, &after, &expected);

    let left = findings(&check(&copy, &["--output-format", "json"]));
    let key = |finding: &serde_json::Value| {
        let text = |name: &str| finding.get(name).map(ToString::to_string);
        (
            text("rule"),
            text("container"),
            text("field"),
            text("object"),
        )
    };
    let known: BTreeSet<_> = reported.iter().map(key).collect();
    for finding in &left {
        assert!(
            known.contains(&key(finding)),
            "{shown}: the fix brought {finding:#}"
        );
    }
    let cured: BTreeSet<_> = expected.iter().map(|finding| key(finding)).collect();
    for finding in &left {
        assert!(
            !cured.contains(&key(finding)),
            "{shown}: not cured: {finding:#}"
        );
    }
    check(&copy, flags);
    assert_eq!(
        after,
        fs::read_to_string(&copy).unwrap(),
        "{shown}: fixing twice changes again"
    );
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
        let run = |yaml: &str| {
            let folder = tempfile::tempdir().unwrap();
            let arguments = ["check", "--isolated", "--output-format", "json", "-"];
            let run = meshprobe(folder.path(), &arguments, yaml);
            let found = findings(&run);
            found
                .iter()
                .filter_map(|finding| Some(finding.get("rule")?.as_str()?.to_owned()))
                .collect::<BTreeSet<_>>()
        };
        let example = run(&sections.example.unwrap());
        assert_eq!(
            example,
            BTreeSet::from([rule.id.to_owned()]),
            "{}: example",
            rule.id
        );
        let instead = run(&sections.use_instead.unwrap());
        assert!(
            instead.is_empty(),
            "{}: use instead gives {instead:?}",
            rule.id
        );
    }
}
