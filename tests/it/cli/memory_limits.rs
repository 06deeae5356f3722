//! Input that would need more memory than the limits allow is not read, and the message names the option.

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
    project.write("dense.yaml", dense(CONFIG_MAP, 200_000));
    check(&project, &["--max-parsed", "4MiB", "."])
        .exits(1)
        .stdout_contains(
            "dense.yaml: error[file-left-out] not checked: `dense.yaml` has a size of 390 KiB",
        )
        .stdout_contains("the memory limit of 4 MiB")
        .stdout_contains("web.yaml");
    let full = project.run(&["check", "--max-parsed", "4MiB", "."]);
    assert!(full.exits(1).stdout.contains("--max-parsed 1GiB"));
    let raised = check(&project, &["--max-parsed", "64MiB", "."]).exits(1);
    assert_eq!(raised.stdout.lines().next(), before.stdout.lines().next());
}

#[test]
fn a_file_that_was_named_and_left_out_fails_the_run() {
    let project = shop();
    project.write("dense.yaml", dense(CONFIG_MAP, 200_000));
    for command in ["check", "predict", "rewrite"] {
        let run = project.run(&[command, "--max-parsed", "4MiB", "dense.yaml"]);
        let run = run.exits(2);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(all.contains("file-left-out"), "{command}: {all}");
    }
}

#[test]
fn a_dense_file_without_manifests_is_a_note() {
    let project = Project::with(&[("ns.yaml", INJECTED)]);
    project.write("data.yaml", dense("", 200_000));
    check(&project, &["--max-parsed", "4MiB", "."])
        .exits(0)
        .stdout_contains("data.yaml: note[file-left-out]");
}

#[test]
fn a_dense_manifest_whose_keys_are_written_as_escapes_is_an_error() {
    let project = shop();
    project.write(
        "dense.yaml",
        dense("\"\\x61piVersion\": v1\n\"k\\x69nd\": ConfigMap\n", 100_000),
    );
    check(&project, &["--max-parsed", "4MiB", "."])
        .stdout_contains("dense.yaml: error[file-left-out]");
}

#[test]
fn every_kind_of_dense_text_is_left_out() {
    let mut documents = "---\n".repeat(100_000);
    documents.push_str(CONFIG_MAP);
    let lines = format!("{CONFIG_MAP}{}", "\n".repeat(1_000_000));
    let items: String = (0..200_000).fold(String::new(), |mut text, _| {
        text.push_str("- a\n");
        text
    });
    let block = format!("{CONFIG_MAP}data:\n{items}");
    let nulls = format!("{CONFIG_MAP}data: [{}]\n", ":,".repeat(100_000));
    let template = dense(&format!("{CONFIG_MAP}b: '{{{{ .a }}}}'\n"), 200_000);
    let anchors = format!("{CONFIG_MAP}data: [{}]\n", "&a a,".repeat(100_000));
    let json = format!(
        r#"{{"kind": "ConfigMap", "data": [0{}]"#,
        ",0".repeat(200_000)
    );
    let json = format!(r#"{json}, "apiVersion": "v1"}}"#);
    let pods = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}}\n---\n".repeat(2_000);
    for text in [
        documents, lines, block, nulls, template, anchors, json, pods,
    ] {
        let project = shop();
        project.write("dense.yaml", &text);
        check(&project, &["--max-parsed", "4MiB", "."])
            .exits(1)
            .stdout_contains("dense.yaml: error[file-left-out]")
            .stdout_contains("web.yaml");
    }
}

#[test]
fn which_files_are_left_out_does_not_depend_on_threads() {
    let project = shop();
    for number in 0..40 {
        project.write(
            &format!("dense{number}.yaml"),
            dense(CONFIG_MAP, 10_000 + number * 500),
        );
    }
    let run = |threads| {
        check(
            &project,
            &["--threads", threads, "--max-parsed", "4MiB", "."],
        )
    };
    let single = run("1").exits(1);
    assert!(single.stdout.contains("file-left-out"), "{}", single.stdout);
    assert_eq!(single.stdout, run("4").stdout);
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
        .stdout_contains("it has more values than the memory limit allows");
}

#[test]
fn the_krm_function_rejects_a_list_that_is_too_large() {
    // 8 bytes for each line, more than the default allows.
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n{}",
        "\n".repeat(40 << 20)
    );
    Project::new()
        .pipe(&["krm"], list)
        .exits(2)
        .stderr_contains("standard input is too large");
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

#[test]
fn the_base_of_an_overlay_that_was_left_out_is_not_rewritten() {
    let project = overlaid();
    let before = project.read("base/web.yaml");
    let run = project.run(&["rewrite", "--write", "--max-rendered", "1KiB", "."]);
    let run = run.exits(1);
    assert!(
        run.stderr.contains("error[kustomize-overlay]"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("--max-rendered 1GiB"), "{}", run.stderr);
    assert_eq!(project.read("base/web.yaml"), before);
    project.run(&["rewrite", "--write", "."]).exits(0);
    let rewritten = project.read("base/web.yaml");
    assert_ne!(rewritten, before);
    project
        .run(&[
            "rewrite",
            "--undo",
            "--write",
            "--max-rendered",
            "1KiB",
            ".",
        ])
        .exits(1);
    assert_eq!(project.read("base/web.yaml"), rewritten);
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
    let sets = [(900, 1_000, 100), (1, 100_000, 100_000)];
    for (elements, bytes, times) in sets {
        project.write("set.yaml", application_set(elements, bytes, times));
        check(&project, &["--max-rendered", "8MiB", "."])
            .exits(1)
            .stdout_contains("overlay-left-out");
        let run = project.run(&["rewrite", "--diff", "--max-rendered", "8MiB", "."]);
        assert!(run.exits(1).stderr.contains("error[kustomize-overlay]"));
    }
    project.write("set.yaml", application_set(3, 10, 1));
    let run = check(&project, &["--max-rendered", "8MiB", "."]).exits(0);
    assert!(!run.stdout.contains("overlay-left-out"), "{}", run.stdout);
}

/// Parsing takes several times the size of a text, independent of what is kept of it.
#[test]
fn several_times_the_size_of_a_file_must_fit_in_memory() {
    let lines = |megabytes: usize| format!("a: |\n{}", "  xxxxxxxxxxxx\n".repeat(megabytes << 16));
    let project = Project::with(&[("ns.yaml", INJECTED), ("values.yaml", &lines(5))]);
    check(&project, &["--max-parsed", "18MiB", "."])
        .exits(0)
        .stdout_contains("values.yaml: note[file-left-out]");
    let run = check(&project, &["--max-parsed", "24MiB", "."]).exits(0);
    assert!(!run.stdout.contains("file-left-out"), "{}", run.stdout);
    // JSON of other tools is not parsed.
    let json = format!("{{\"a\": \"{}\"}}", "x".repeat(5 << 20));
    let project = Project::with(&[("ns.yaml", INJECTED), ("data.json", &json)]);
    let run = check(&project, &["--max-parsed", "18MiB", "."]).exits(0);
    assert!(!run.stdout.contains("file-left-out"), "{}", run.stdout);
}
