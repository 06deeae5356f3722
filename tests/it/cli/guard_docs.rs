//! The guards of `rewrite` are documented and configured like rules.

use meshprobe::finding::GuardId;

use super::fixes::{NAMESPACE, WEB};
use crate::support::project::Project;

fn config(rules: &str) -> String {
    format!(
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {{name: x}}\nspec: {{rules: {{{rules}}}}}\n"
    )
}

/// A probe whose port no container declares.
fn pod_with_undeclared_port() -> String {
    WEB.replace("port: 8080", "port: htpt")
}

#[test]
fn every_guard_is_explained_and_listed_separately() {
    let project = Project::new();
    let listed = project.run(&["rule"]).exits(0).stdout;
    let (rules, guards) = listed.split_once("\nGuards of rewrite:\n").unwrap();
    assert!(rules.contains("\nedit-refused ") && !rules.contains("\nprobe-host"));
    for line in guards.lines() {
        let mut words = line.split_whitespace();
        let (id, severity) = (words.next().unwrap(), words.next().unwrap());
        let summary = words.collect::<Vec<_>>().join(" ");
        let run = project
            .run(&["rule", id])
            .exits(0)
            .stdout_contains(&format!("# {id} ({severity})\n\n"))
            .stdout_contains("## Why it matters")
            .stdout_contains("## What to do");
        let page = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!summary.is_empty() && page.contains(&summary), "{line}");
    }
    project
        .run(&["rule", "prob-host"])
        .exits(2)
        .stderr_contains("did you mean `probe-host`");
}

/// The compiler rejects a guard without an id, and a unit test an id without a page; this test finds pages of guards that
/// no longer exist.
#[test]
fn every_guard_is_used_in_the_sources() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let rewrite = walkdir::WalkDir::new(root.join("rules/src/rewrite")).into_iter();
    let files = rewrite.map(|entry| entry.unwrap().into_path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let text: String = files
        .chain([root.join("predict/src/predict/istio/rewrite_blocker.rs")])
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let mut words: std::collections::BTreeSet<&str> = std::collections::BTreeSet::new();
    for rest in text.split("GuardId::").skip(1) {
        words.extend(
            rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .next(),
        );
    }
    for guard in GuardId::ALL {
        let name = guard.as_str().to_uppercase().replace('-', "_");
        assert!(words.contains(name.as_str()), "{guard}");
    }
}

#[test]
fn a_guard_can_be_ignored_and_lowered() {
    let project = Project::with(&[
        ("ns.yaml", NAMESPACE),
        ("web.yaml", &pod_with_undeclared_port()),
    ]);
    let rewrite = ["rewrite", "--diff", "."];
    project
        .run(&rewrite)
        .exits(1)
        .stderr_contains("error[port-unresolved]");
    project.write(".meshprobe.yaml", config("port-unresolved: warning"));
    project
        .run(&rewrite)
        .exits(1)
        .stderr_contains("warning[port-unresolved]");
    project.write(".meshprobe.yaml", config("port-unresolved: note"));
    project
        .run(&rewrite)
        .exits(0)
        .stderr_contains("note[port-unresolved]");
    project.write(".meshprobe.yaml", config("port-unresolved: ignore"));
    let run = project.run(&rewrite).exits(0);
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("", "0 of 1 workload would be rewritten, 1 refused.\n")
    );
}

#[test]
fn a_guard_is_reported_once_if_a_check_reports_the_same_error() {
    let items: String = NAMESPACE
        .split("---\n")
        .chain([pod_with_undeclared_port().as_str()])
        .map(|item| {
            let mut lines = item.lines().filter(|line| !line.starts_with('#'));
            let first = lines.next().unwrap_or_default();
            let rest: String = lines.map(|line| format!("  {line}\n")).collect();
            format!("- {first}\n{rest}")
        })
        .collect();
    let list = |rules: &str| {
        let function: String = config(rules)
            .lines()
            .map(|line| format!("  {line}\n"))
            .collect();
        format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig:\n{function}"
        )
    };
    let run = Project::new().pipe(&["krm"], list("")).exits(1);
    assert!(
        run.stdout.contains("rule: port-unresolved"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("rule: named-port-unresolved"));
    assert!(
        run.stderr.contains("error[named-port-unresolved]"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stderr.matches("error[").count(), 1, "{}", run.stderr);
    let run = Project::new()
        .pipe(&["krm"], list("named-port-unresolved: ignore"))
        .exits(1);
    assert!(
        run.stderr.contains("error[port-unresolved]"),
        "{}",
        run.stderr
    );
    Project::new()
        .pipe(
            &["krm"],
            list("named-port-unresolved: ignore, port-unresolved: ignore"),
        )
        .exits(0);
}
