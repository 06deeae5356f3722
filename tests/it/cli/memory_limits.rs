//! Files with too many values are not checked, and are named.

use std::fmt::Write as _;

use crate::support::Run;
use crate::support::manifest::{INJECTED, OPT_OUT, PROBED as WEB, STRICT};
use crate::support::project::Project;

/// A document with one list of the given number of short values.
fn dense(head: &str, values: usize) -> String {
    format!("{head}data: [a{}]\n", ",a".repeat(values - 1))
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

fn shop() -> Project {
    let opted_out = format!("namespace: shop, annotations: {{{OPT_OUT}}}}}");
    let web = WEB.replace("namespace: shop}", &opted_out);
    Project::with(&[
        ("ns.yaml", INJECTED),
        ("strict.yaml", STRICT),
        ("web.yaml", &web),
    ])
}

fn check(project: &Project, arguments: &[&str]) -> Run {
    let all = [&["check", "--output-format", "concise"], arguments].concat();
    project.run(&all)
}

#[test]
fn a_dense_manifest_is_left_out_and_all_others_are_checked() {
    let project = shop();
    let before = check(&project, &["."]).exits(1);
    assert!(before.stdout.contains("web.yaml"), "{}", before.stdout);
    project.write("dense.yaml", dense(CONFIG_MAP, 1_100_000));
    check(&project, &["."])
        .exits(1)
        .stdout_contains("dense.yaml: error[file-left-out] not checked: `dense.yaml`; a file may have 1000000 values")
        .stdout_contains("web.yaml");
}

#[test]
fn a_file_that_is_too_large_is_left_out() {
    let project = shop();
    let large = |head: &str| format!("{head}# {}\n", "x".repeat(16 << 20));
    project.write("large.yaml", large(CONFIG_MAP));
    project.write("other.yaml", large("a: b\n"));
    check(&project, &["."])
        .exits(1)
        .stdout_contains(
            "large.yaml: error[file-left-out] not checked: `large.yaml`; a file may have 16 MiB",
        )
        .stdout_contains("other.yaml: warning[file-left-out]")
        .stdout_contains("web.yaml");
}

#[test]
fn a_file_that_was_named_and_left_out_fails_the_run() {
    let project = shop();
    project.write("dense.yaml", dense(CONFIG_MAP, 1_100_000));
    for command in ["check", "predict", "rewrite"] {
        let run = project.run(&[command, "dense.yaml"]);
        let run = run.exits(2);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(all.contains("file-left-out"), "{command}: {all}");
    }
}

#[test]
fn a_dense_file_without_manifests_is_a_note() {
    let project = Project::with(&[("ns.yaml", INJECTED)]);
    project.write("data.yaml", dense("", 1_100_000));
    check(&project, &["."])
        .exits(0)
        .stdout_contains("data.yaml: note[file-left-out]");
}

#[test]
fn a_dense_manifest_whose_keys_are_written_as_escapes_is_an_error() {
    let project = shop();
    project.write(
        "dense.yaml",
        dense(
            "\"\\x61piVersion\": v1\n\"k\\x69nd\": ConfigMap\n",
            1_100_000,
        ),
    );
    check(&project, &["."]).stdout_contains("dense.yaml: error[file-left-out]");
}

#[test]
fn a_dense_text_within_a_document_is_rejected() {
    let project = Project::with(&[
        ("base/ns.yaml", INJECTED),
        ("base/web.yaml", WEB),
        (
            "base/kustomization.yaml",
            "resources: [ns.yaml, web.yaml]\n",
        ),
    ]);
    let patch = dense("", 1_100_000);
    let overlay = format!("resources: [../base]\npatches:\n- patch: |\n    {patch}");
    project.write("over/kustomization.yaml", overlay);
    check(&project, &["."])
        .exits(0)
        .stdout_contains("it has too many values");
}

/// A base, and an overlay that does not change it.
fn overlaid() -> Project {
    let base = "resources: [ns.yaml, web.yaml]\n";
    let over = "resources: [../base]\nnamePrefix: a-\n";
    Project::with(&[
        ("base/ns.yaml", INJECTED),
        ("base/web.yaml", WEB),
        ("base/kustomization.yaml", base),
        ("over/kustomization.yaml", over),
    ])
}

/// An ApplicationSet with the given number and size of parameters, and a template that repeats one of them.
fn application_set(elements: usize, bytes: usize, times: usize) -> String {
    let mut text = "\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all, namespace: argocd}
spec:
  generators:
  - matrix:
      generators:
      - list:
          elements:
"
    .to_owned();
    let _ = writeln!(text, "          - {{large: {}}}", "x".repeat(bytes));
    text.push_str("      - list:\n          elements:\n");
    for element in 0..elements {
        let _ = writeln!(text, "          - {{name: e{element}}}");
    }
    let _ = writeln!(
        text,
        "  template:\n    metadata: {{name: '{{{{name}}}}', annotations: {{a: '{}'}}}}\n    \
         spec: {{destination: {{namespace: shop}}, source: {{path: base}}}}",
        "{{large}}".repeat(times)
    );
    text
}

#[test]
fn applications_that_multiply_are_left_out() {
    let project = overlaid();
    let sets = [(9_000, 1_000, 100), (1, 100_000, 100_000)];
    for (elements, bytes, times) in sets {
        project.write("set.yaml", application_set(elements, bytes, times));
        check(&project, &["."])
            .exits(1)
            .stdout_contains("overlay-left-out");
        let run = project.run(&["rewrite", "--diff", "."]);
        assert!(run.exits(1).stderr.contains("error[kustomize-overlay]"));
    }
    project.write("set.yaml", application_set(3, 10, 1));
    let run = check(&project, &["."]).exits(0);
    assert!(!run.stdout.contains("overlay-left-out"), "{}", run.stdout);
}
