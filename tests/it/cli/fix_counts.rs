//! The counts of fixes in the summary.

use super::fixes::{NAMESPACE, WEB, opted_out};
use crate::support::project::Project;

/// Three probes that fail because of one annotation.
fn three() -> String {
    let probe = "            httpGet: {path: /healthz, port: 8080}\n";
    let others =
        format!("{probe}          livenessProbe:\n{probe}          startupProbe:\n{probe}");
    opted_out().replace(probe, &others)
}

#[test]
fn the_summary_counts_findings_and_not_edits() {
    let project = Project::with(&[("infra/ns.yaml", NAMESPACE), ("apps/web.yaml", &three())]);
    project
        .run(&["check"])
        .exits(1)
        .stdout_contains("Found 3 errors")
        .stdout_contains("3 fixable with `--fix`");
    project
        .run(&["check", "--diff"])
        .exits(1)
        .stderr_contains("Would fix 3 findings in 1 file.");
    project
        .run(&["check", "--fix"])
        .exits(0)
        .stdout_contains("Fixed 3 findings.");
}

/// A fix of a Namespace removes two findings and reveals those of three probes, which the next round fixes.
#[test]
fn the_summary_counts_the_findings_of_all_rounds() {
    let namespace = NAMESPACE.replace("istio-injection: enabled", "istio-injection: Enabled");
    let project = Project::with(&[("infra/ns.yaml", &namespace), ("apps/web.yaml", &three())]);
    let arguments = ["check", "--unsafe-fixes"];
    project
        .run(&[&arguments[..], &["--diff"]].concat())
        .exits(1)
        .stderr_contains("Would fix 5 findings in 2 files.");
    project
        .run(&[&arguments[..], &["--fix"]].concat())
        .exits(0)
        .stdout_contains("Fixed 5 findings.");
}

#[cfg(unix)]
#[test]
fn findings_in_files_that_cannot_be_written_are_still_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let locked = opted_out().replace("name: web ", "name: two ");
    let project = Project::with(&[
        ("infra/ns.yaml", NAMESPACE),
        ("apps/locked.yaml", &locked),
        ("apps/web.yaml", &opted_out()),
    ]);
    let read_only = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(project.path("apps/locked.yaml"), read_only).unwrap();
    let run = project
        .run(&["check", "--fix", "--output-format", "concise"])
        .exits(2)
        .stdout_contains("apps/locked.yaml:20:11: error[strict-probe-not-rewritten]")
        .stdout_contains("Found 1 error")
        .stdout_contains("Fixed 1 finding.")
        .stderr_contains("error: cannot write `apps/locked.yaml`: it is read-only");
    assert!(!run.stdout.contains("apps/web.yaml"), "{}", run.stdout);
    assert_eq!(project.read("apps/locked.yaml"), locked);
    project
        .run(&["check", "--fix", "apps/locked.yaml", "--context", "infra"])
        .exits(2)
        .stdout_contains("Found 1 error");
}

#[test]
fn a_byte_order_mark_is_kept_and_does_not_prevent_fixes() {
    let (_, first_key) = WEB.split_once('\n').unwrap();
    let (_, opted_out) = opted_out()
        .split_once('\n')
        .map(|(comment, rest)| (comment.to_owned(), rest.to_owned()))
        .unwrap();
    for line_end in ["\n", "\r\n"] {
        let marked = |text: &str| format!("\u{feff}{}", text.replace('\n', line_end));
        let project = Project::with(&[("ns.yaml", NAMESPACE), ("web.yaml", &marked(first_key))]);
        project.run(&["rewrite", "--write", "."]).exits(0);
        let written = project.read("web.yaml");
        assert!(written.starts_with("\u{feff}apiVersion: apps/v1"));
        assert!(written.contains("/app-health/web/readyz"), "{written}");
        project.write("web.yaml", marked(&opted_out));
        project
            .run(&["check", "--fix", "."])
            .exits(0)
            .stdout_contains("Fixed 1 finding.");
        let fixed = project.read("web.yaml");
        assert_eq!(fixed, marked(&opted_out).replace("'false'", "'true'"));
    }
}
