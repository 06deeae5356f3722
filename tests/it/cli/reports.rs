//! The content and the output of machine-readable reports.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support::manifest::{ANNOTATED_WEB, INJECTED, OPT_OUT, STRICT};
use crate::support::project::Project;

const MESH: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels:
    istio-injection: enabled
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata:
  name: default
  namespace: shop
spec:
  mtls:
    mode: STRICT
";

/// One probe that fails, one that is suppressed, one that always passes.
const WEB: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  template:
    metadata:
      labels: {app: web}
      annotations:
        sidecar.istio.io/rewriteAppHTTPProbers: "false"
    spec:
      containers:
        - name: web
          image: registry.example/web:1
          readinessProbe:
            httpGet: {path: /readyz, port: 8080}
          # meshprobe: ignore[strict-probe-not-rewritten] until "17" is <done>
          livenessProbe:
            httpGet: {path: /livez, port: 8080}
          startupProbe:
            tcpSocket: {port: 8080}
"#;

const FORMATS: [&str; 8] = [
    "full", "concise", "json", "sarif", "github", "gitlab", "junit", "summary",
];

fn project() -> Project {
    Project::with(&[
        ("infra/mesh.yaml", MESH),
        ("apps/web.yaml", WEB),
        (
            "apps/odd,name: 5%.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: [a&b<c>|`d\n",
        ),
        ("other.yaml", "a: [\n"),
    ])
}

fn report(format: &str) -> String {
    project().run(&["check", "--output-format", format]).stdout
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn github_annotations() {
    insta::assert_snapshot!(report("github"));
}

#[test]
fn gitlab_code_quality() {
    insta::assert_snapshot!(report("gitlab"));
}

#[test]
fn junit() {
    insta::assert_snapshot!(report("junit"));
}

#[test]
fn summary_of_a_job() {
    insta::assert_snapshot!(report("summary"));
}

/// Another test checks the list of rules.
#[test]
fn sarif_results() {
    let mut report = json(&report("sarif"));
    let run = &mut report["runs"][0];
    let driver = &mut run["tool"]["driver"];
    let rules = driver["rules"].take();
    for version in ["version", "semanticVersion"] {
        assert_eq!(driver[version].take(), env!("CARGO_PKG_VERSION"));
    }
    for result in run["results"].as_array_mut().unwrap() {
        let index = result["ruleIndex"].take();
        let index = usize::try_from(index.as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}

/// Checks that every region is within one line, that it has all four numbers, and that no path is absolute.
#[test]
fn sarif_locations_conform_to_code_scanning() {
    let report = json(&report("sarif"));
    let mut regions = 0;
    visit(&report, &mut |key, value| match key {
        "region" if value.get("startColumn").is_some() => {
            regions += 1;
            assert_eq!(value["startLine"], value["endLine"], "{value}");
            assert!(value["startColumn"].as_u64() <= value["endColumn"].as_u64());
        }
        "uri" => {
            let uri = value.as_str().unwrap();
            assert!(!uri.starts_with('/') && !uri.contains(':'), "{uri}");
        }
        _ => {}
    });
    assert!(regions > 5, "{regions}");
}

fn visit(value: &Value, visitor: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| visit(item, visitor)),
        Value::Object(map) => {
            for (key, value) in map {
                visitor(key, value);
                visit(value, visitor);
            }
        }
        _ => {}
    }
}

#[test]
fn one_run_writes_many_reports() {
    let project = project();
    let reports: Vec<String> = FORMATS
        .iter()
        .map(|format| format!("{format}=out.{format}.txt"))
        .collect();
    let mut arguments = vec!["check", "--output-format", "concise"];
    arguments.extend(reports.iter().flat_map(|report| ["--report", report]));
    let run = project.run(&arguments).exits(1);
    for format in FORMATS {
        let alone = project.run(&["check", "--output-format", format]);
        assert_eq!(project.read(&format!("out.{format}.txt")), alone.stdout);
        alone.exits(1);
    }
    assert_eq!(project.read("out.concise.txt"), run.stdout);
}

#[test]
fn a_summary_is_appended_and_others_are_replaced() {
    let project = project();
    project.write("summary.md", "before\n");
    project.write("report.json", "before\n");
    let reports = [
        "--report",
        "summary=summary.md",
        "--report",
        "json=report.json",
    ];
    project.run(&[&["check"], &reports[..]].concat()).exits(1);
    assert!(
        project
            .read("summary.md")
            .starts_with("before\n## meshprobe\n")
    );
    assert_eq!(json(&project.read("report.json"))["version"], 1);
    let entries = fs::read_dir(project.path("")).unwrap().count();
    assert_eq!(entries, 6, "a temporary file remains");
}

#[test]
fn a_summary_stays_below_the_limit() {
    let project = Project::new();
    for number in 0..4000 {
        project.write(&format!("{number:0>200}.yaml"), "apiVersion: v1\nkind: [\n");
    }
    let run = project
        .run(&["check", "--output-format", "summary"])
        .exits(1);
    assert!(run.stdout.len() < 1024 * 1024, "{}", run.stdout.len());
    assert!(run.stdout.len() > 1000 * 1024, "{}", run.stdout.len());
    run.stdout_contains(" more findings not shown here; see the log.");
    // The existing content counts.
    project.write("summary.md", "x".repeat(1024 * 1024 - 5000));
    project
        .run(&[
            "check",
            "--output-format",
            "concise",
            "--report",
            "summary=summary.md",
        ])
        .exits(1);
    assert!(project.read("summary.md").len() < 1024 * 1024);
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure_and_the_others_are_written() {
    let project = project();
    fs::create_dir(project.path("folder")).unwrap();
    for path in ["nowhere/out.sarif", "folder"] {
        for format in ["sarif", "summary"] {
            let bad = format!("{format}={path}");
            let run = project.run(&["check", "--report", &bad, "--report", "json=good.json"]);
            let run = run
                .exits(2)
                .stderr_contains(&format!("error: cannot write `{path}`: "));
            assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
            run.stdout_contains("strict-probe-not-rewritten");
            fs::remove_file(project.path("good.json")).unwrap();
        }
    }
}

#[test]
fn mistakes_are_reported_before_anything_is_written() {
    let project = project();
    for (arguments, message) in [
        (
            &["--report", "sarif"][..],
            "expected a format, `=` and a file",
        ),
        (
            &["--report", "json=-"],
            "use `--output-format` for standard output",
        ),
        (
            &["--report", "pdf=x"],
            "unknown format `pdf`; expected one of `full`, ",
        ),
        (
            &["--report", "json=x", "--report", "sarif=x"],
            "two reports have the same file `x`",
        ),
        (
            &["--report-root", "nowhere"],
            "the folder `nowhere` for `--report-root` does not exist",
        ),
        (
            &["--statistics", "--output-format", "sarif"],
            "`--statistics` requires the format",
        ),
    ] {
        let run = project.run(&[&["check"], arguments].concat());
        run.exits(2).stderr_contains(message);
        assert!(!project.path("x").exists());
    }
}

#[test]
fn paths_are_relative_to_the_report_root() {
    let project = project();
    let paths = |format: &str| {
        let arguments = [
            "check",
            "--report-root",
            "..",
            "--output-format",
            format,
            "web.yaml",
        ];
        project.run_in("apps", &arguments, "").stdout
    };
    for format in ["sarif", "github", "gitlab", "junit", "summary"] {
        let text = paths(format);
        assert!(text.contains("apps/web.yaml"), "{format}\n{text}");
    }
    // Programs that read JSON open the files relative to the working directory.
    assert!(!paths("json").contains("apps/web.yaml"));
}

#[test]
fn files_outside_of_the_root_are_reported_with_their_absolute_path() {
    let project = project();
    let arguments = ["check", "--output-format", "sarif", "../other.yaml"];
    let report = json(&project.run_in("apps", &arguments, "").stdout);
    let location = &report["runs"][0]["results"][0]["locations"][0];
    let artifact = &location["physicalLocation"]["artifactLocation"];
    let uri = artifact["uri"].as_str().unwrap();
    assert!(
        uri.starts_with("file:///") && uri.ends_with("/other.yaml"),
        "{uri}"
    );
}

#[test]
fn reports_contain_the_findings_that_remain_after_fixes() {
    let project = project();
    let run = project.run(&[
        "check",
        "--fix",
        "--unsafe-fixes",
        "--report",
        "json=out.json",
        "--output-format",
        "json",
    ]);
    assert_eq!(project.read("out.json"), run.stdout);
    assert!(!run.stdout.contains("readinessProbe of container"));
}

/// GitLab compares two branches: a finding that has only moved must keep its fingerprint.
#[test]
fn fingerprints_do_not_depend_on_lines_above() {
    let project = project();
    let prints = |text: &str| {
        let issues = json(text);
        let issues = issues.as_array().unwrap();
        issues
            .iter()
            .map(|issue| issue["fingerprint"].to_string())
            .collect::<Vec<String>>()
    };
    let arguments = ["check", "--output-format", "gitlab"];
    let before = prints(&project.run(&arguments).stdout);
    let unique: BTreeSet<&String> = before.iter().collect();
    assert_eq!(unique.len(), before.len());
    project.write("apps/web.yaml", format!("# one\n# two\n{WEB}"));
    assert_eq!(prints(&project.run(&arguments).stdout), before);
}

#[test]
fn github_shows_ten_of_a_type() {
    let project = Project::new();
    for number in 0..13 {
        project.write(&format!("{number:02}.yaml"), "apiVersion: v1\nkind: [\n");
    }
    let run = project
        .run(&["check", "--output-format", "github"])
        .exits(1);
    assert_eq!(run.stdout.matches("::error ").count(), 10);
    run.stdout_contains(
        "\n3 more errors without annotation; GitHub shows 10 annotations of each type\n",
    );
}

/// Values of a manifest must neither act as commands of the runner nor break the table cell.
#[test]
fn control_sequences_of_manifests_are_escaped() {
    let project = Project::new();
    let name = "x\\n::error::y\\u001b]0;t\\u0007 ]]> <b>`";
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: \"{name}\"\n  namespace: shop\nspec:\n  containers:\n  - name: \"{name}\"\n    readinessProbe:\n      httpGet: {{path: /, port: 8080}}\n"
    );
    project.write("web.yaml", pod);
    project.write("mesh.yaml", MESH);
    for format in FORMATS {
        let arguments = [
            "check",
            "--override",
            "rewrite=false",
            "--output-format",
            format,
        ];
        let run = project.run(&arguments).exits(1);
        let odd = |c: char| c.is_control() && c != '\n';
        assert!(!run.stdout.contains(odd), "{format}\n{}", run.stdout);
        assert!(
            !run.stdout.contains("\n::error::y"),
            "{format}\n{}",
            run.stdout
        );
    }
    insta::assert_snapshot!(
        project
            .run(&[
                "check",
                "--override",
                "rewrite=false",
                "--output-format",
                "summary"
            ])
            .stdout
    );
}

#[test]
fn reports_for_web_pages_name_the_command_of_a_fix() {
    let project = Project::with(&[(
        "all.yaml",
        &[INJECTED, STRICT, &*ANNOTATED_WEB.replace("a: b", OPT_OUT)].join("---\n"),
    )]);
    let fix = "fix: set `sidecar.istio.io/rewriteAppHTTPProbers`";
    let command = "the agent in the sidecar then makes the check (`meshprobe check --fix`)";
    for format in ["summary", "github", "gitlab", "junit", "sarif"] {
        let run = project.run(&["check", "--output-format", format]);
        run.stdout_contains(fix).stdout_contains(command);
    }
    // A viewer of SARIF applies the fix itself.
    let run = project.run(&["check", "--output-format", "sarif"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let description = report["runs"][0]["results"][0]["fixes"][0]["description"]["text"]
        .as_str()
        .unwrap();
    assert!(
        description.ends_with(" then makes the check"),
        "{description}"
    );
}

/// "in 1 file" counts the files with findings, and the parenthesis what was checked.
#[test]
fn the_summary_counts_files_with_findings_and_files_that_were_checked() {
    let web = ANNOTATED_WEB.replace("a: b", OPT_OUT);
    let project = Project::with(&[
        ("apps/web.yaml", &web),
        ("mesh/mesh.yaml", &format!("{INJECTED}---\n{STRICT}")),
    ]);
    project
        .run(&["check"])
        .stdout_contains("Found 1 error in 1 of 2 files (1 workload, 1 handler).");
    project
        .run(&["check", "--output-format", "summary"])
        .stdout_contains("**1 error** in 1 of 2 files (1 workload, 1 handler).");
    project.write("apps/api.yaml", web.replace("web", "api"));
    project
        .run(&["check"])
        .stdout_contains("Found 2 errors in 2 of 3 files (2 workloads, 2 handlers).");
    project
        .run(&["check", "mesh"])
        .stdout_contains("Nothing was judged in 1 file (0 workloads, 0 handlers).");
}
