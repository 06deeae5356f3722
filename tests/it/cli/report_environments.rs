//! Every format names the environments of a finding in one line.

use serde_json::Value;

use crate::support::manifest::{ANNOTATED_WEB, INJECTED, OPT_OUT, STRICT_MESH};
use crate::support::project::Project;
use crate::support::{fixture, meshprobe};

/// Each format, with the environments as it writes them after a message.
const FORMATS: [(&str, &str); 7] = [
    ("concise", " (in: prod-eu, prod-us, staging)\n"),
    ("full", "in: prod-eu, prod-us, staging\n"),
    ("github", "%0Ain: prod-eu, prod-us, staging%0A"),
    ("gitlab", "\\nin: prod-eu, prod-us, staging\\n"),
    ("junit", "\nin: prod-eu, prod-us, staging\n"),
    ("sarif", "\\n\\nin: prod-eu, prod-us, staging\\n"),
    ("summary", "<br>in: prod-eu, prod-us, staging"),
];

#[test]
fn environments_are_one_line_in_every_format() {
    for (format, expected) in FORMATS {
        let arguments = ["check", "--isolated", "--output-format", format, "."];
        let run = meshprobe(&fixture("platform"), &arguments, "").exits(1);
        assert!(
            !run.stdout.contains("in this overlay"),
            "{format}\n{}",
            run.stdout
        );
        run.stdout_contains(expected);
    }
}

/// A base that 33 clusters deploy, each with its own policy.
fn clusters() -> Project {
    let web = ANNOTATED_WEB.replace("a: b", OPT_OUT);
    let project = Project::with(&[
        ("base/web.yaml", &format!("{INJECTED}---\n{web}")),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
    ]);
    for number in 1..=33 {
        let folder = format!("clusters/c{number:02}");
        let kustomization = "resources: [../../base, mtls.yaml]\n";
        project.write(&format!("{folder}/kustomization.yaml"), kustomization);
        project.write(&format!("{folder}/mtls.yaml"), STRICT_MESH);
    }
    project
}

const STATEMENT: &str = "STRICT for the whole mesh";

#[test]
fn equal_statements_of_many_environments_are_one() {
    let project = clusters();
    let run = project.run(&["check", "--output-format", "github"]);
    let places = "%0Aclusters/c01/mtls.yaml:4, clusters/c02/mtls.yaml:4, ";
    for (run, expected) in [
        (run, places),
        (
            project.run(&["check", "--output-format", "junit"]),
            "clusters/c06/mtls.yaml:4 and 27 more: STRICT for the whole mesh",
        ),
        (
            project.run(&["predict", "--explain"]),
            "STRICT for the whole mesh (clusters/c01/mtls.yaml:4, ",
        ),
    ] {
        assert_eq!(run.stdout.matches(STATEMENT).count(), 1, "{}", run.stdout);
        let run = run.stdout_contains(expected);
        assert!(!run.stdout.contains("c07/mtls.yaml:4"), "{}", run.stdout);
        assert!(!run.stdout.contains("(in: "), "{}", run.stdout);
    }
    let run = project.run(&["check", "--output-format", "sarif"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let result = &report["runs"][0]["results"][0];
    let text = result["message"]["text"].as_str().unwrap();
    assert_eq!(text.matches(STATEMENT).count(), 1, "{text}");
    assert!(text.contains("(also [clusters/c02/mtls.yaml:4]("), "{text}");
    assert!(text.contains(") and 27 more)"), "{text}");
    // The data is complete.
    let related = result["relatedLocations"].as_array().unwrap();
    let of_policy = related
        .iter()
        .filter(|location| location["message"]["text"] == STATEMENT);
    assert_eq!(of_policy.count(), 33);
}

/// A statement that applies to some environments only names these.
#[test]
fn merged_statements_name_their_environments() {
    let project = clusters();
    for number in 3..=33 {
        let path = format!("clusters/c{number:02}/mtls.yaml");
        project.write(&path, STRICT_MESH.replace("STRICT", "PERMISSIVE"));
    }
    let run = project.run(&["predict", "--explain"]);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "STRICT (known) (in: c01, c02) STRICT for the whole mesh (clusters/c01/mtls.yaml:4, clusters/c02/mtls.yaml:4) ",
        "PERMISSIVE (known) (in: c03, c04, c05, c06, c07, c08 and 25 more) PERMISSIVE for the whole mesh (clusters/c03/mtls.yaml:4, ",
    ] {
        assert!(text.contains(expected), "{expected}\n{}", run.stdout);
    }
}

/// Groups of virtual machines and workloads without probes count in the same way in all formats.
#[test]
fn all_formats_have_the_same_counts() {
    let group = "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {name: vm, namespace: shop}\nspec:\n  \
                 template: {}\n  probe: {httpGet: {path: /, port: 80}}\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME, namespace: shop}\nspec: {containers: [{name: a, image: a, \
               livenessProbe: {exec: {command: [a]}}}]}\n";
    let project = Project::with(&[
        ("vm.yaml", group),
        ("base/a.yaml", &pod.replace("NAME", "a")),
        ("base/kustomization.yaml", "resources: [a.yaml]\n"),
        (
            "dev/kustomization.yaml",
            "resources: [../base]\ncommonAnnotations: {e: dev}\n",
        ),
        (
            "prod/kustomization.yaml",
            "resources: [../base]\ncommonAnnotations: {e: prod}\n",
        ),
        (
            "none.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: n}\nspec: {containers: [{name: a, image: a}]}\n",
        ),
    ]);
    let full = project.run(&["check", "."]).exits(0).stdout;
    assert!(full.contains("(4 workloads, 3 handlers"), "{full}");
    let json = project
        .run(&["check", "--output-format", "json", "."])
        .stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["summary"]["workloads"], 4);
    assert_eq!(json["summary"]["handlers"], 3);
    let tiles = |command: &str| {
        let page = project
            .run(&[command, "--output-format", "html", "."])
            .exits(0)
            .stdout;
        let text: String = page
            .split('<')
            .filter_map(|part| part.split_once('>'))
            .map(|(_, text)| format!("{text} "))
            .collect();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let page = tiles("check");
    assert!(page.contains("workloads 4 probes 3"), "{page}");
    let page = tiles("predict");
    assert!(page.contains("workloads 3 probes 3"), "{page}");
}
