//! White space that kubectl and kustomize accept, and YAML 1.2 forbids: quoted scalars that continue left of their key.

use std::fmt::Write as _;

use crate::support::Run;
use crate::support::manifest::INJECTED;
use crate::support::project::Project;

const PROBE: &str = "    livenessProbe: {httpGet: {path: /, port: 80}}\n";

/// A pod whose container `web` has the given lines. The anchor makes the full parser read it.
fn pod(container: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: &anchor\n  name: web\n  namespace: shop\nspec:\n  containers:\n  \
         - name: web\n{container}"
    )
}

fn check(text: &str) -> Run {
    let project = Project::with(&[("ns.yaml", INJECTED), ("web.yaml", text)]);
    project.run(&["check", "--output-format", "concise"])
}

#[track_caller]
fn assert_accepted(text: &str) {
    let project = Project::with(&[("ns.yaml", INJECTED), ("web.yaml", text)]);
    let run = project.run(&["check", "--output-format", "concise"]);
    let run = run.exits(0).stdout_contains("1 workload");
    assert!(!run.stdout.contains("syntax-error"), "{}", run.stdout);
    project.assert_reversible("web.yaml");
}

/// Entries of `env` with outdented scalars, between comments, plain scalars and block scalars with quotes.
fn env(count: usize) -> String {
    let mut lines = String::from("    env:\n");
    for at in 0..count {
        let entry = match at % 5 {
            0 => "      value: \"one\ntwo\n  three\" # it's \"\n",
            1 => "      value: 'it''s\n    a # no comment\nb'\n      # don't \"\n",
            2 => "      value: |\n        it's \"a\n        # b'\n\n          \"c\n",
            3 => "      value: can't\n        \"quote' this\n",
            _ => "      value: !!str &a\n        \"one\n      # two\n\nthree\"\n",
        };
        write!(lines, "    - name: v{at}\n{entry}").unwrap();
    }
    lines
}

#[test]
fn many_outdented_scalars_are_accepted() {
    for count in [1, 5, 1000] {
        assert_accepted(&pod(&format!("{}{PROBE}", env(count))));
    }
}

#[test]
fn faults_behind_outdented_scalars_are_reported_at_their_location() {
    let entries = env(1000);
    let first = pod(&entries).lines().count() + 1;
    let more = "    x: \"y\nz\"\n";
    for (text, line, column) in [
        ("    args: [a\n".to_owned(), first, 11),
        ("    workingDir: \"a\n  b\" c\n".to_owned(), first + 1, 6),
        (
            format!("    workingDir: \"a\n  b\" c\n{more}"),
            first + 1,
            6,
        ),
        (format!("    workingDir: a: b\n{more}"), first, 18),
        ("    workingDir: \"a\n  b\nc\n".to_owned(), first + 1, 3),
    ] {
        check(&pod(&format!("{entries}{text}")))
            .exits(1)
            .stdout_contains(&format!("web.yaml:{line}:{column}: error[syntax-error]"));
    }
}

/// Quotes that do not start a scalar where a simple scanner would expect one.
#[test]
fn quotes_within_plain_scalars_do_not_start_a_scalar() {
    for value in [
        "a\n      \"b\n      c\"",
        "[a \"b,\n \"c\nd\"]",
        "- \"a\n    - b\"",
    ] {
        let text = pod(&format!(
            "    x: {value}\n    y: &y \"a\nb\"\n    z: \"c\nd\"\n{PROBE}"
        ));
        let run = check(&text);
        let rejected = value.starts_with('-');
        assert_eq!(
            run.stdout.contains("syntax-error"),
            rejected,
            "{}",
            run.stdout
        );
    }
}
