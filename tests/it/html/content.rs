//! What the reports contain.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::fixture;
use crate::support::meshprobe;
use crate::support::project::Project;

use super::parsed::{content, parts, text, with_class};

fn html(tree: &str, arguments: &[&str]) -> String {
    let arguments: Vec<&str> = arguments
        .iter()
        .copied()
        .chain(["--output-format", "html"])
        .collect();
    meshprobe(&fixture(tree), &arguments, "").stdout
}

fn json(tree: &str, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = arguments
        .iter()
        .copied()
        .chain(["--output-format", "json"])
        .collect();
    let run = meshprobe(&fixture(tree), &arguments, "");
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{tree}: {error}: {}", run.stderr))
}

/// Counts words.
fn counts<'w>(words: impl Iterator<Item = &'w str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn all_findings_of_the_json_report_are_in_the_html_report() {
    for (tree, options) in [
        ("platform", &[][..]),
        ("demo", &[]),
        ("rules", &[]),
        ("kustomize", &["--assume", "injection=all"]),
    ] {
        let arguments: Vec<&str> = ["check", "."]
            .into_iter()
            .chain(options.iter().copied())
            .collect();
        let report = json(tree, &arguments);
        let findings = report["findings"].as_array().unwrap();
        let statuses = findings
            .iter()
            .map(|finding| match finding["suppressed"].is_null() {
                true => finding["severity"].as_str().unwrap(),
                false => "suppressed",
            });
        let parts = parts(&html(tree, &arguments));
        let blocks = with_class(&parts, "finding");
        let shown = blocks.iter().map(|block| block["data-f"].as_str());
        assert_eq!(counts(shown), counts(statuses), "{tree}");
        let text = text(&parts);
        for finding in findings {
            let rule = finding["rule"].as_str().unwrap();
            assert!(text.contains(rule), "{tree}: {rule}");
        }
        for entry in report["not_judged"].as_array().unwrap() {
            let path = entry["path"].as_str().unwrap();
            assert!(text.contains(path), "{tree}: {path}");
        }
    }
}

#[test]
fn suppressed_findings_are_marked() {
    let tree = fixture("demo");
    let copy = Project::new();
    for file in ["apps/cache/statefulset.yaml", "apps/namespace.yaml"] {
        copy.write(file, std::fs::read(tree.join(file)).unwrap());
    }
    copy.run(&["check", "--add-ignore", "known <since> 2024"]);
    let page = copy.run(&["check", "--output-format", "html"]).stdout;
    let parts = parts(&page);
    let blocks = with_class(&parts, "finding");
    assert!(!blocks.is_empty());
    assert!(blocks.iter().all(|block| block["data-f"] == "suppressed"));
    assert!(text(&parts).contains("known <since> 2024"));
}

#[test]
fn all_probes_of_predict_are_in_the_html_report() {
    for tree in ["platform", "demo", "gitops", "meshes"] {
        let report = json(tree, &["predict", "."]);
        let workloads = report["workloads"].as_array().unwrap();
        let mut keys: Vec<String> = Vec::new();
        for workload in workloads {
            for handler in workload["handlers"].as_array().unwrap() {
                let part = |value: &Value| value.to_string();
                keys.push(format!(
                    "{} {} {} {} {}",
                    part(&workload["path"]),
                    part(&workload["document"]),
                    part(&workload["object"]),
                    part(&handler["container"]),
                    part(&handler["slot"])
                ));
            }
        }
        keys.sort();
        keys.dedup();
        let machines = report["machines"].as_array().map_or(0, Vec::len);
        let parts = parts(&html(tree, &["predict", "."]));
        let probes = with_class(&parts, "probe");
        assert_eq!(probes.len(), keys.len() + machines, "{tree}");
    }
}

#[test]
fn the_policy_allows_only_the_style_and_the_script_of_the_page() {
    let page = html("demo", &["check", "."]);
    let parts = parts(&page);
    let policy = parts.iter().find_map(|part| match part {
        super::parsed::Part::Start(_, attributes) if attributes.contains_key("http-equiv") => {
            attributes.get("content")
        }
        _ => None,
    });
    let policy = policy.unwrap();
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    for (directive, element) in [("style-src", "style"), ("script-src", "script")] {
        let hash = hmac_sha256::Hash::hash(content(&page, element).as_bytes());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let (_, rest) = policy.split_once(&format!("{directive} 'sha256-")).unwrap();
        let (encoded, _) = rest.split_once('\'').unwrap();
        assert_eq!(
            decoded(encoded),
            hex,
            "{directive}: update `POLICY` in `report/html/page.rs`"
        );
    }
}

/// Decodes base64 to hexadecimal digits.
fn decoded(text: &str) -> String {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = text
        .trim_end_matches('=')
        .chars()
        .map(|c| format!("{:06b}", alphabet.find(c).unwrap()))
        .collect();
    bits.as_bytes()
        .chunks_exact(8)
        .map(|byte| {
            let byte = u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap();
            format!("{byte:02x}")
        })
        .collect()
}

#[test]
fn a_report_is_the_same_in_every_run() {
    let one = html("platform", &["check", ".", "--threads", "1"]);
    let other = html("platform", &["check", ".", "--threads", "8"]);
    assert_eq!(one, other);
}

#[test]
fn a_report_names_its_files_relative_to_the_root() {
    let folder = fixture("demo").join("apps");
    let arguments = [
        "check",
        ".",
        "--output-format",
        "html",
        "--report-root",
        "..",
    ];
    let page = meshprobe(&folder, &arguments, "").stdout;
    let text = text(&parts(&page));
    assert!(text.contains("\napps/cache/statefulset.yaml:20\n"));
    // The line that decides is shown.
    assert!(text.contains("sidecar.istio.io/rewriteAppHTTPProbers: \"false\""));
    assert!(text.contains("\napps/namespace.yaml:6\n"));
}

#[test]
fn a_comparison_shows_both_states() {
    let page = html(
        "demo",
        &[
            "diff",
            ".",
            "--from",
            "mtls=PERMISSIVE",
            "--to",
            "mtls=STRICT",
        ],
    );
    let parts = parts(&page);
    let items = with_class(&parts, "item");
    let report = json(
        "demo",
        &[
            "diff",
            ".",
            "--from",
            "mtls=PERMISSIVE",
            "--to",
            "mtls=STRICT",
        ],
    );
    let changes = report["changes"].as_array().unwrap();
    assert!(!changes.is_empty());
    let classes = changes
        .iter()
        .map(|change| change["class"].as_str().unwrap());
    let shown = items.iter().map(|item| item["data-s"].as_str());
    assert_eq!(counts(shown), counts(classes));
    let text = text(&parts);
    assert!(text.contains("mutual TLS: PERMISSIVE") && text.contains("mutual TLS: STRICT"));
}

#[test]
fn reports_are_written_next_to_other_formats() {
    let project = Project::with(&[(
        "a.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web}]}\n",
    )]);
    let run = project.run(&[
        "check",
        "--report",
        "html=a.html",
        "--report",
        "json=a.json",
    ]);
    run.exits(0);
    assert!(
        project
            .read("a.html")
            .contains("<h1>Health probes in the mesh</h1>")
    );
    let run = project.run(&[
        "predict",
        "--report",
        "html=b.html",
        "--report",
        "json=b.json",
        "--report",
        "table=b.txt",
    ]);
    run.exits(0).stdout_contains("WORKLOAD");
    parts(&project.read("b.html"));
    assert!(project.read("b.json").ends_with("}\n") && project.read("b.txt").contains("WORKLOAD"));
    let run = project.run(&["predict", "--report", "html=a.yaml"]);
    run.exits(2)
        .stderr_contains("the report would overwrite it");
    for command in ["check", "predict", "diff"] {
        let run = project.run(&[command, "--report", "html=c", "--report", "json=./c"]);
        run.exits(2)
            .stderr_contains("two reports have the same file");
    }
}

#[test]
fn a_report_without_workloads_says_so() {
    let project = Project::with(&[("a.yaml", "a: b\n")]);
    let page = project.run(&["check", "--output-format", "html"]).stdout;
    let text = text(&parts(&page));
    assert!(text.contains("Nothing was judged"), "{text}");
    assert!(text.contains("a.yaml"), "{text}");
}
