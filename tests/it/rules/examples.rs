//! The examples in the documentation of the rules.

use std::collections::BTreeSet;
use std::fs;

use meshprobe::rules::Example;

use super::fixture::{ARCHIVED, EXCERPT};
use crate::support::{findings, meshprobe};

#[test]
fn the_examples_of_the_documentation_are_correct() {
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
                rule.docs().contains(&format!("## {heading}")),
                "{} has no section `{heading}`",
                rule.id
            );
        }
        let example = sections.example.unwrap();
        let mut found = run_example(&example);
        assert!(
            found.remove(rule.id.as_str()),
            "{}: the rule does not report its example",
            rule.id
        );
        found.remove(EXCERPT);
        found.retain(|rule| !ARCHIVED.contains(&rule.as_str()));
        // In a tree of files, one of the files mostly has a fault of its own.
        let is_tree = example.files.len() > 1;
        assert!(
            found.is_empty() || is_tree,
            "{}: other rules report the example: {found:?}",
            rule.id
        );
        let mut instead = run_example(&sections.use_instead.unwrap());
        if rule.id.as_str() != EXCERPT {
            instead.remove(EXCERPT);
        }
        if !ARCHIVED.contains(&rule.id.as_str()) {
            instead.retain(|rule| !ARCHIVED.contains(&rule.as_str()));
        }
        assert!(
            instead.is_empty(),
            "{}: rules report the corrected example: {instead:?}",
            rule.id
        );
    }
}

/// Returns the rules that report an example.
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
