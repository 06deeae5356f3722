//! Manifests that another tool renders: findings name the file that the user edits.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::support::manifest::STRICT_MESH;
use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, run};

const CHART: &str = "apiVersion: v2\nname: shop\nversion: 0.1.0\n";

const TEMPLATE: &str = "\
{{- if .Values.on }}
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-web
  labels: {sidecar.istio.io/inject: \"true\"}
  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}
spec:
  containers:
    - name: web
      ports:
        - containerPort: 8080
      readinessProbe:
        httpGet:
          port: {{ .Values.port }}
{{- end }}
";

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: x-web
  labels: {sidecar.istio.io/inject: \"true\"}
  annotations:
    sidecar.istio.io/rewriteAppHTTPProbers: \"false\"
spec:
  containers:
    - name: web
      ports:
        - containerPort: 8080
      readinessProbe:
        httpGet:
          port: 8080
";

/// The evidence that a pod is injected if its Namespace is unknown.
const SIGN: &str = "  labels: {sidecar.istio.io/inject: \"true\"}\n";

/// The output of `helm template`.
fn helm_output() -> String {
    format!(
        "---\n# Source: shop/templates/mtls.yaml\n{STRICT_MESH}---\n# Source: shop/templates/web.yaml\n{POD}"
    )
}

fn chart() -> Project {
    Project::with(&[
        ("deploy/Chart.yaml", CHART),
        ("deploy/templates/web.yaml", TEMPLATE),
        ("deploy/templates/mtls.yaml", STRICT_MESH),
    ])
}

fn first(run: &Run) -> Value {
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    report.pointer("/findings/0").unwrap().clone()
}

#[test]
fn a_piped_chart_is_reported_at_its_templates() {
    let project = chart();
    let run = project
        .pipe(&["check", "--assume", "injection=all", "-"], helm_output())
        .exits(1);
    insta::assert_snapshot!("helm_full", run.transcript());
    let arguments = [
        "check",
        "--assume",
        "injection=all",
        "--output-format",
        "concise",
        "-",
    ];
    let run = project.pipe(&arguments, helm_output()).exits(1);
    insta::assert_snapshot!("helm_concise", run.transcript());
    let run = project
        .pipe(
            &[
                "check",
                "--assume",
                "injection=all",
                "--output-format",
                "json",
                "-",
            ],
            helm_output(),
        )
        .exits(1);
    let finding = first(&run);
    let part = |key: &str| finding.get(key).unwrap().clone();
    let places = serde_json::json!({
        "path": part("path"), "line": part("line"), "column": part("column"),
        "rendered": part("rendered"), "related": part("related"),
    });
    insta::assert_snapshot!("helm_json", serde_json::to_string_pretty(&places).unwrap());
}

#[test]
fn suppressions_can_name_the_file_that_the_user_edits() {
    let project = chart();
    let arguments = [
        "check",
        "--assume",
        "injection=all",
        "--output-format",
        "concise",
        "-",
    ];
    let rule = "strict-probe-not-rewritten";
    let header = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n";
    for (path, code) in [("deploy/**", 0), ("elsewhere/**", 1)] {
        let spec = format!("  ignore: [{{rule: {rule}, path: '{path}', reason: x}}]\n");
        project.write(".meshprobe.yaml", format!("{header}{spec}"));
        project.pipe(&arguments, helm_output()).exits(code);
        let spec = format!("  scopes: [{{paths: ['{path}'], rules: {{{rule}: note}}}}]\n");
        project.write(".meshprobe.yaml", format!("{header}{spec}"));
        project.pipe(&arguments, helm_output()).exits(code);
    }
}

#[test]
fn predict_names_the_template_too() {
    let arguments = ["predict", "--output-format", "json", "-"];
    let run = chart().pipe(&arguments, helm_output()).exits(0);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let at = |pointer: &str| report.pointer(pointer).unwrap().clone();
    assert_eq!(at("/workloads/0/path"), "deploy/templates/web.yaml");
    let handler = "/workloads/0/handlers/0";
    assert_eq!(at(&format!("{handler}/line")), 13);
    assert_eq!(at(&format!("{handler}/rendered/path")), "stdin");
    assert_eq!(at(&format!("{handler}/rendered/line")), 21);
}

#[test]
fn a_rendered_file_keeps_its_path_if_its_source_is_missing() {
    let project = Project::with(&[("rendered/all.yaml", &helm_output())]);
    let run = project
        .run(&[
            "check",
            "--assume",
            "injection=all",
            "--output-format",
            "concise",
        ])
        .exits(1);
    assert!(
        run.stdout.starts_with("rendered/all.yaml:21:"),
        "{}",
        run.stdout
    );
    let itself = POD.replace(
        "annotations:\n",
        "annotations:\n    config.kubernetes.io/path: pod.yaml\n",
    );
    let own = Project::with(&[("pod.yaml", &itself), ("mtls.yaml", STRICT_MESH)]);
    let arguments = [
        "check",
        "--assume",
        "injection=all",
        "--output-format",
        "concise",
    ];
    let run = own.run(&arguments).exits(1);
    assert!(
        run.stdout.starts_with("pod.yaml:14:7:") && !run.stdout.contains("(rendered"),
        "{}",
        run.stdout
    );
    let project = chart();
    project.write("rendered/all.yaml", helm_output());
    project
        .run(&[
            "check",
            "--assume",
            "injection=all",
            "--output-format",
            "concise",
            "rendered",
        ])
        .exits(1)
        .stdout_contains("deploy/templates/web.yaml:13:7: warning[strict-probe-not-rewritten]")
        .stdout_contains("(rendered: rendered/all.yaml:");
}

#[test]
fn findings_of_a_build_are_reported_at_its_base() {
    let project = Project::with(&[("base/web.yaml", POD), ("base/mtls.yaml", STRICT_MESH)]);
    let origin =
        |path: &str| format!("    config.kubernetes.io/origin: |\n      path: ../base/{path}\n");
    let pod = POD.replace("name: x-web", "name: prod-x-web");
    let pod = pod.replace(
        "  annotations:\n",
        &format!("  annotations:\n{}", origin("web.yaml")),
    );
    let build = format!("{pod}---\n{STRICT_MESH}");
    project
        .pipe(
            &[
                "check",
                "--assume",
                "injection=all",
                "--output-format",
                "concise",
                "-",
            ],
            build,
        )
        .exits(1)
        .stdout_contains("base/web.yaml:13:7: warning[strict-probe-not-rewritten]")
        .stdout_contains("(rendered: stdin:15:7)");
}

#[test]
fn the_krm_function_reports_the_file_and_the_line() {
    let project = Project::with(&[("base/web.yaml", POD)]);
    let origin = "    config.kubernetes.io/origin: |\n      path: ../base/web.yaml\n    internal.config.kubernetes.io/previousKinds: Pod\n    internal.config.kubernetes.io/previousNames: x-web\n";
    let pod = POD.replace("x-web", "other");
    let pod = pod.replace("  annotations:\n", &format!("  annotations:\n{origin}"));
    let strict = STRICT_MESH.trim_end().replace('\n', "\n  ");
    let pod = pod.trim_end().replace('\n', "\n  ");
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {pod}\n- {strict}\nfunctionConfig:\n  apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  spec: {{failOn: warning, assume: {{injection: all}}}}\n"
    );
    project.write("overlay/x", "");
    let run = project
        .run_in("overlay", &["krm"], list)
        .exits(1)
        .stderr_contains("../base/web.yaml:13:7: Pod other: warning[strict-probe-not-rewritten]")
        .stdout_contains("path: ../base/web.yaml");
    assert!(!run.stderr.contains("stdin"), "{}", run.stderr);
}

/// Adds executables to a folder on the PATH of the project.
fn with_programs(project: &Project, programs: &[(&str, &str)]) {
    for (name, script) in programs {
        let path = format!("bin/{name}");
        project.write(&path, format!("#!/bin/sh\n{script}"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(project.path(&path), mode).unwrap();
    }
}

fn run_with_programs(project: &Project, arguments: &[&str]) -> Run {
    let mut meshprobe = command(Path::new(PROGRAM), &project.path(""));
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    run(meshprobe.args(arguments).env("PATH", path), b"")
}

#[test]
fn a_chart_is_rendered_by_the_helm_of_the_user() {
    let project = chart();
    project.write("out.yaml", helm_output());
    project.write("values.yaml", "port: 8080\n");
    with_programs(&project, &[("helm", "echo \"$@\" >called\ncat out.yaml\n")]);
    let arguments = [
        "check",
        "--helm",
        "deploy",
        "--values",
        "values.yaml",
        "--assume",
        "injection=all",
        "-n",
        "shop",
        "--output-format",
        "concise",
    ];
    run_with_programs(&project, &arguments)
        .exits(1)
        .stdout_contains("deploy/templates/web.yaml:13:7: warning[strict-probe-not-rewritten]")
        .stdout_contains("(rendered: deploy/(helm template):");
    assert_eq!(
        project.read("called"),
        "template deploy --namespace shop --values values.yaml\n"
    );
}

#[test]
fn a_rendered_chart_is_judged() {
    let project = chart();
    project.write("out.yaml", helm_output());
    with_programs(&project, &[("helm", "cat out.yaml\n")]);
    let arguments = [
        "check",
        "--output-format",
        "json",
        "--assume",
        "injection=all",
        ".",
    ];
    let reported = |arguments: &[&str]| {
        let report = run_with_programs(&project, arguments).stdout;
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let templates = findings
            .filter(|finding| finding["rule"] == "unrendered-template")
            .count();
        (templates, report["not_judged"].as_array().unwrap().len())
    };
    assert_eq!(reported(&arguments), (1, 1));
    let rendered = [&arguments[..], &["--helm", "deploy"]].concat();
    assert_eq!(reported(&rendered), (0, 0));
}

#[test]
fn a_failed_rendering_is_a_finding_and_the_files_are_checked() {
    let project = Project::with(&[
        ("k/kustomization.yaml", "resources: [web.yaml, mtls.yaml]\n"),
        ("k/web.yaml", POD),
        ("k/mtls.yaml", STRICT_MESH),
        ("deploy/Chart.yaml", CHART),
        ("deploy/templates/web.yaml", TEMPLATE),
    ]);
    let fails = "echo 'Error: something is wrong' >&2\necho 'it is' >&2\nexit 1\n";
    with_programs(&project, &[("kustomize", fails), ("helm", fails)]);
    let arguments = [
        "check",
        "--kustomize",
        "k",
        "--helm",
        "deploy",
        "--output-format",
        "concise",
    ];
    let run = run_with_programs(&project, &arguments).exits(2);
    insta::assert_snapshot!("failed", run.transcript());
    let never = [&arguments[..], &["--fail-on", "never"]].concat();
    run_with_programs(&project, &never).exits(2);
    run_with_programs(&project, &["predict", "--helm", "deploy"]).exits(2);
    let run = run_with_programs(&project, &["rewrite", "--kustomize", "k"]).exits(2);
    insta::assert_snapshot!("failed_rewrite", run.transcript());
    // Without a renderer. The PATH is set, because an unset PATH has a default.
    let mut alone = command(Path::new(PROGRAM), &project.path(""));
    let run = crate::support::run(alone.args(arguments).env("PATH", "/nowhere"), b"").exits(2);
    insta::assert_snapshot!("no_renderer", run.transcript());
}

#[test]
fn missing_and_uneditable_inputs_are_usage_errors() {
    let project = chart();
    for (arguments, message) in [
        (
            vec!["check", "--kustomize", "none"],
            "cannot read `none` for `--kustomize`: no such file",
        ),
        (
            vec!["check", "--kustomize", "https://example.com/x"],
            "cannot read `https://example.com/x` for `--kustomize`",
        ),
        (
            vec!["check", "--kustomize", "deploy/Chart.yaml"],
            "is not a folder",
        ),
        (
            vec!["check", "--helm", "none"],
            "cannot read `none` for `--helm`",
        ),
        (
            vec!["check", "--helm", "deploy", "--values", "none"],
            "cannot read `none` for `--values`",
        ),
        (
            vec!["check", "--helm", "deploy", "--fix"],
            "`--fix` cannot edit manifests that",
        ),
        (
            vec!["rewrite", "--helm", "deploy", "--write"],
            "`--write` cannot be used with",
        ),
        (
            vec!["rewrite", "--helm", "deploy", "--kustomize", "deploy"],
            "only one file can be printed to standard output",
        ),
    ] {
        project.run(&arguments).exits(2).stderr_contains(message);
    }
}

#[test]
fn workloads_that_a_function_should_have_rewritten_are_required() {
    let project = Project::new();
    let plain = POD.replace(
        "    sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n",
        "    a: b\n",
    );
    let arguments = [
        "check",
        "--require-rewritten",
        "--assume",
        "injection=all",
        "--output-format",
        "concise",
        "-",
    ];
    let run = project.pipe(&arguments, &plain).exits(1);
    insta::assert_snapshot!("required", run.transcript());
    // If no file shows whether there is a mesh, no rewrite is required.
    let unknown = project.pipe(
        &["check", "--require-rewritten", "-"],
        plain.replace(SIGN, ""),
    );
    let unknown = unknown
        .exits(1)
        .stdout_contains("may need a rewrite: the files do not show");
    unknown.stdout_contains("`--assume injection=all`");
    let rewritten = project
        .pipe(&["rewrite", "--assume", "injection=all", "-"], &plain)
        .exits(0)
        .stdout;
    assert!(rewritten.contains("/app-health/web/readyz"));
    project.pipe(&arguments, &rewritten).exits(0);
    // A pod that opted out and a pod outside of the mesh do not require a rewrite.
    project.pipe(&arguments, POD).exits(0);
    project
        .pipe(
            &arguments,
            plain.replace("inject: \"true\"", "inject: \"false\""),
        )
        .exits(0);
    let suppressed = plain.replace(
        "a: b",
        "meshprobe.dev/ignore: 'not-rewritten-ahead: as we like it'",
    );
    project.pipe(&arguments, suppressed).exits(0);
}
