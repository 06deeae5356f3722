//! A rule reports its `bad` fixtures, `good` fixtures have no findings, and the output equals the reviewed snapshots.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde_json::Value;

use super::fixture::{ARCHIVED, EXCERPT, fixtures};

#[test]
fn every_rule_has_bad_and_good_fixtures() {
    let fixtures = fixtures();
    for rule in meshprobe::rules::all() {
        for bad in [true, false] {
            let has = fixtures
                .iter()
                .any(|fixture| fixture.rule == rule.id.as_str() && fixture.is_bad() == bad);
            assert!(
                has,
                "{} has no {} fixture",
                rule.id,
                if bad { "bad" } else { "good" }
            );
        }
    }
    let known: BTreeSet<&str> = meshprobe::rules::all()
        .iter()
        .map(|rule| rule.id.as_str())
        .collect();
    for fixture in fixtures {
        assert!(
            known.contains(fixture.rule.as_str()),
            "no rule for the fixtures in {}",
            fixture.rule
        );
    }
}

#[test]
fn bad_files_are_reported_and_good_files_are_not() {
    fixtures().par_iter().for_each(|fixture| {
        let shown = fixture.path.display();
        let code = fixture.json().code;
        let findings = fixture.findings();
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
            assert_eq!(code, i32::from(worst), "{shown}");
        } else {
            let is_general = |finding: &&Value| {
                let is_rule = |id: &str| finding["rule"] == id && fixture.rule != id;
                is_rule(EXCERPT) || ARCHIVED.into_iter().any(is_rule)
            };
            let findings: Vec<_> = findings
                .iter()
                .filter(|finding| !is_general(finding))
                .collect();
            assert!(findings.is_empty(), "{shown}: {findings:#?}");
            assert_eq!(code, 0, "{shown}");
        }
    });
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
