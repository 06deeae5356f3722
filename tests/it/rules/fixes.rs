//! The fixes of the rules, on their fixtures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use meshprobe::rules::FixAvailability;
use rayon::prelude::*;
use serde_json::Value;

use super::fixture::{Fixture, fixtures, texts};
use crate::support::{comments, findings, outside_edits};

/// Fixes remove their findings, add no others, change nothing else, and a second run changes nothing.
#[test]
fn fixes_remove_their_findings_and_change_nothing_else() {
    fixtures().par_iter().for_each(|fixture| {
        let reported = fixture.findings();
        for unsafe_too in [false, true] {
            check_fixes(fixture, &reported, unsafe_too);
        }
    });
}

fn check_fixes(fixture: &Fixture, reported: &[Value], unsafe_too: bool) {
    let shown = fixture.path.display();
    let before = texts(&fixture.path);
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
        "{shown}: a fix is available with {flags:?}, but nothing changed"
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
    let fixed: BTreeSet<_> = expected.iter().map(|finding| key(finding)).collect();
    for finding in &left {
        let key = key(finding);
        assert!(known.contains(&key), "{shown}: the fix added {finding:#}");
        assert!(!fixed.contains(&key), "{shown}: not fixed: {finding:#}");
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

/// Checks `Rule.fix` on all fixtures: `Always` and `None` hold for every finding, and `Sometimes` has findings with
/// and without a fix.
#[test]
fn the_declared_fix_availability_is_correct() {
    let mut seen: BTreeMap<String, BTreeSet<bool>> = BTreeMap::new();
    for finding in fixtures().iter().flat_map(Fixture::findings) {
        let rule = finding["rule"].as_str().unwrap().to_owned();
        seen.entry(rule)
            .or_default()
            .insert(!finding["fix"].is_null());
    }
    let mut wrong = Vec::new();
    for rule in meshprobe::rules::all() {
        let seen: Vec<bool> = seen
            .get(rule.id.as_str())
            .into_iter()
            .flatten()
            .copied()
            .collect();
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
