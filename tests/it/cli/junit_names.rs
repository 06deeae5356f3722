//! The names of test cases in JUnit reports.

use std::collections::BTreeSet;

use crate::support::manifest::{INJECTED, Manifest};
use crate::support::project::Project;

/// Returns a pod with two probes.
fn pod(container: &str) -> String {
    let probe = "httpGet: {path: /, port: 8080}";
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop}}\nspec:\n  containers:\n  \
         - name: {container}\n    readinessProbe: {{{probe}}}\n    livenessProbe: {{{probe}}}\n"
    )
}

/// Programs identify a test case by its name: equal names would hide findings.
#[test]
fn names_are_unique() {
    // Two objects with one name, and two containers whose names differ only in a character that is shown as a space.
    let pods = [pod("web"), pod("web"), pod("\"a b\""), pod("\"a\\tb\"")];
    let strict = Manifest::peer_authentication("shop", "STRICT").to_string();
    let project = Project::with(&[
        ("namespace.yaml", INJECTED),
        ("policy.yaml", &strict),
        ("web.yaml", &pods.join("---\n")),
    ]);
    let arguments = [
        "check",
        "--override",
        "rewrite=false",
        "--output-format",
        "junit",
    ];
    let run = project.run(&arguments).exits(1);
    let suites = run.stdout.split("<testsuite ");
    let suite = suites.into_iter().find(|suite| suite.contains("web.yaml"));
    let cases = suite.unwrap().lines();
    let cases = cases.filter(|line| line.contains("<testcase "));
    let mut names = BTreeSet::new();
    for case in cases {
        assert!(names.insert(case.trim()), "{case}");
    }
    insta::assert_snapshot!(Vec::from_iter(names).join("\n"));
}
