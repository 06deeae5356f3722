//! `--helm auto`: the charts of the tree are rendered as they are deployed, with the real helm.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::support::manifest::{INJECTED, STRICT};
use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, helm, run};

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";

/// The port of the probe is a value; the namespace comes from the release.
const TEMPLATE: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}
  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false', where: {{ .Release.Namespace }}}
spec:
  containers:
    - name: web
      ports: [{containerPort: 8080}]
      readinessProbe:
        httpGet:
          path: {{ .Values.path }}
          port: {{ .Values.port }}
";

pub(super) fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::with(&[
        ("charts/web/Chart.yaml", CHART),
        ("charts/web/values.yaml", "path: /default\nport: 8080\n"),
        ("charts/web/templates/web.yaml", TEMPLATE),
        ("mesh/namespace.yaml", INJECTED),
        ("mesh/strict.yaml", STRICT),
    ]);
    for (path, text) in files {
        project.write(path, text);
    }
    project
}

pub(super) fn flux(rest: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: shop}}\nspec:\n  \
         chart: {{spec: {{chart: ./charts/web, sourceRef: {{kind: GitRepository, name: main}}}}}}\n{rest}"
    )
}

/// Runs the program with the real helm on its PATH; `None` if helm is not installed.
fn run_with_helm(project: &Project, arguments: &[&str]) -> Option<Run> {
    let helm = helm()?;
    let mut meshprobe = command(Path::new(PROGRAM), &project.path(""));
    let path = format!("{}:/usr/bin:/bin", helm.parent()?.display());
    let home = project.path("home");
    let run = run(
        meshprobe
            .args(arguments)
            .env("PATH", path)
            .env("HOME", home),
        b"",
    );
    Some(run)
}

/// Returns the JSON report of a check, and the exit code.
pub(super) fn report(project: &Project, arguments: &[&str]) -> Option<(Value, i32)> {
    let mut all = vec!["check", "--output-format", "json"];
    all.extend(arguments);
    let run = run_with_helm(project, &all)?;
    let report = serde_json::from_str(&run.stdout);
    Some((
        report.unwrap_or_else(|_| panic!("{}", run.stderr)),
        run.code,
    ))
}

/// Returns rule, path, line and the path of the rendered text of each finding.
fn places(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let text = |finding: &Value, pointer: &str| {
        let value = finding.pointer(pointer).cloned().unwrap_or_default();
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    findings
        .map(|finding| {
            let parts = ["/rule", "/path", "/line", "/rendered/path"];
            parts.map(|part| text(finding, part)).join(" ")
        })
        .collect()
}

/// Returns the paths of the probes that `predict` lists.
pub(super) fn probes(project: &Project, arguments: &[&str]) -> Option<String> {
    let mut all = vec!["predict"];
    all.extend(arguments);
    Some(run_with_helm(project, &all)?.exits(0).stdout)
}

#[test]
fn a_release_of_flux_is_judged_with_its_values_and_its_namespace() {
    let values = "  valuesFrom:\n  - {kind: ConfigMap, name: common}\n  - {kind: Secret, name: port, valuesKey: p, targetPath: port}\n  \
                  values: {path: /inline}\n";
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: common, namespace: shop}\ndata:\n  \
                  values.yaml: |\n    path: /from-config\n    port: 1\n";
    // 9090 is not a port of the container, but the kubelet targets it anyway.
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: port, namespace: shop}\ndata: {p: OTA5MA==}\n";
    let project = project(&[
        ("apps/web.yaml", &flux(values)),
        ("apps/config.yaml", config),
        ("apps/secret.yaml", secret),
    ]);
    let Some((report, code)) = report(&project, &["--helm", "auto"]) else {
        return;
    };
    assert_eq!(
        places(&report),
        [
            "strict-probe-not-rewritten charts/web/templates/web.yaml 10 charts/web/(helm template web)"
        ],
    );
    assert_eq!(code, 1);
    assert_eq!(report["not_judged"], serde_json::json!([]));
    assert_eq!(report["summary"]["workloads"], 1);
    let table = probes(&project, &["--helm", "auto"]).unwrap();
    assert!(
        table.contains("/inline") && table.contains("9090"),
        "{table}"
    );
    // Without the option, nothing is run, and the command is named.
    let (report, _) = self::report(&project, &[]).unwrap();
    let found = &report["not_judged"][0];
    assert_eq!(found["help"], "`meshprobe check --helm auto apps/web.yaml`");
    assert_eq!(report["summary"]["workloads"], 0);
    // The command judges it, as does the folder of the chart.
    for path in ["apps/web.yaml", "apps", "charts/web"] {
        let (report, _) = self::report(&project, &["--helm", "auto", path]).unwrap();
        assert_eq!(places(&report).len(), 1, "{path}");
    }
    let (report, code) = self::report(&project, &["--helm", "auto", "mesh"]).unwrap();
    assert_eq!((places(&report).len(), code), (0, 0));
}

#[test]
fn an_application_of_argo_cd_is_judged_with_its_values() {
    let app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  \
               destination: {namespace: shop}\n  source:\n    repoURL: https://git.example/r\n    path: charts/web\n    helm:\n      \
               releaseName: front\n      valueFiles: [prod.yaml]\n      valuesObject: {port: 8081}\n      \
               parameters: [{name: path, value: '/a,b'}]\n";
    let project = project(&[
        ("apps/web.yaml", app),
        ("charts/web/prod.yaml", "path: /prod\nport: 1\n"),
    ]);
    let Some(table) = probes(&project, &["--helm", "auto"]) else {
        return;
    };
    assert!(
        table.contains("front") && table.contains("/a,b") && table.contains("8081"),
        "{table}"
    );
    let (report, _) = report(&project, &["--helm", "auto"]).unwrap();
    assert_eq!(
        places(&report),
        [
            "strict-probe-not-rewritten charts/web/templates/web.yaml 10 charts/web/(helm template front)"
        ],
    );
    assert_eq!(report["not_judged"], serde_json::json!([]));
}

#[test]
fn each_cluster_has_its_own_facts_and_values() {
    let deploy = |cluster: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps}}\nspec: \
             {{path: ./apps/{cluster}, sourceRef: {{kind: GitRepository, name: main}}}}\n"
        )
    };
    let patch = "- target: {kind: HelmRelease}\n  patch: |\n    - {op: add, path: /spec/values, value: {path: /staging}}\n";
    let project = Project::with(&[
        ("charts/web/Chart.yaml", CHART),
        ("charts/web/values.yaml", "path: /default\nport: 8080\n"),
        ("charts/web/templates/web.yaml", TEMPLATE),
        ("apps/base/web.yaml", &flux("")),
        ("apps/base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("apps/prod-eu/kustomization.yaml", "resources: [../base]\n"),
        ("apps/prod-us/kustomization.yaml", "resources: [../base]\n"),
        (
            "apps/staging/kustomization.yaml",
            &format!("resources: [../base]\npatches:\n{patch}"),
        ),
        ("clusters/prod-eu/apps.yaml", &deploy("prod-eu")),
        (
            "clusters/prod-eu/mesh.yaml",
            &format!("{INJECTED}---\n{STRICT}"),
        ),
        ("clusters/prod-us/apps.yaml", &deploy("prod-us")),
        ("clusters/prod-us/mesh.yaml", INJECTED),
        ("clusters/staging/apps.yaml", &deploy("staging")),
        ("clusters/staging/mesh.yaml", INJECTED),
    ]);
    let Some((report, _)) = report(&project, &["--helm", "auto"]) else {
        return;
    };
    let of_rule = |report: &Value, rule: &str| {
        let places = places(report).into_iter();
        places
            .filter(|place| place.starts_with(rule))
            .collect::<Vec<_>>()
    };
    assert_eq!(report["not_judged"], serde_json::json!([]));
    // Only prod-eu requires mutual TLS; both production clusters share one output.
    assert_eq!(
        of_rule(&report, "strict-probe-not-rewritten"),
        [
            "strict-probe-not-rewritten charts/web/templates/web.yaml 10 charts/web/(helm template web)"
        ],
    );
    let overlays = report
        .pointer("/findings/0/overlays")
        .cloned()
        .unwrap_or_default();
    assert!(overlays.to_string().contains("prod-eu"), "{report:#}");
    let table = probes(&project, &["--helm", "auto"]).unwrap();
    assert!(
        table.contains("/staging") && table.contains("/default"),
        "{table}"
    );
    // One cluster has the findings that it has in the whole tree.
    for (cluster, count) in [("prod-eu", 1), ("prod-us", 0), ("staging", 0)] {
        let path = format!("clusters/{cluster}");
        let (report, _) = self::report(&project, &["--helm", "auto", &path]).unwrap();
        let found = of_rule(&report, "strict-probe-not-rewritten");
        assert_eq!(found.len(), count, "{cluster}: {report:#}");
        assert_eq!(report["summary"]["workloads"], 1, "{cluster}");
    }
}

#[test]
fn a_chart_that_nothing_deploys_is_rendered_with_its_defaults() {
    let project = project(&[]);
    let arguments = ["--helm", "auto", "--namespace", "shop"];
    let Some((report, _)) = report(&project, &arguments) else {
        return;
    };
    assert_eq!(
        places(&report),
        ["strict-probe-not-rewritten charts/web/templates/web.yaml 10 charts/web/(helm template)"],
    );
    assert_eq!(report["not_judged"], serde_json::json!([]));
}

#[test]
fn what_is_missing_is_named_and_remote_charts_are_not_rendered() {
    let remote = flux("")
        .replace("GitRepository", "HelmRepository")
        .replace("./charts/web", "web");
    let project = project(&[
        (
            "apps/web.yaml",
            &flux("  valuesFrom: [{kind: Secret, name: s}]\n"),
        ),
        (
            "apps/remote.yaml",
            &remote.replace("name: web,", "name: remote,"),
        ),
    ]);
    let Some((report, code)) = report(&project, &["--helm", "auto"]) else {
        return;
    };
    let messages: Vec<&str> = report["not_judged"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["message"].as_str().unwrap())
        .collect();
    let has = |part: &str| messages.iter().any(|message| message.contains(part));
    let missing = "values come from Secret `s`, which is not in the tree";
    assert!(has(missing), "{messages:?}");
    assert!(
        has("HelmRelease/remote: the chart `web` is not in the tree"),
        "{messages:?}"
    );
    assert!(
        !places(&report)
            .iter()
            .any(|place| place.contains("(helm template"))
    );
    assert_eq!(code, 0);
}

#[test]
fn a_failed_rendering_is_named() {
    let project = project(&[("apps/web.yaml", &flux(""))]);
    project.write(
        "charts/web/templates/fail.yaml",
        "{{ fail \"no image\" }}\n",
    );
    let arguments = ["--helm", "auto", "--fail-on", "never"];
    let Some((report, code)) = report(&project, &arguments) else {
        return;
    };
    assert_eq!(code, 2);
    let finding = &report["findings"][0];
    assert_eq!(finding["rule"], "not-rendered");
    assert_eq!(finding["path"], "apps/web.yaml");
    assert_eq!(finding["line"], 5, "the line of the chart");
    assert!(
        finding["message"].as_str().unwrap().contains("no image"),
        "{finding}"
    );
    // The command that failed is not recommended, and the chart is not counted again.
    let not_judged = report["not_judged"].as_array().unwrap();
    let [release] = not_judged.as_slice() else {
        panic!("{not_judged:?}");
    };
    assert_eq!(
        release["message"],
        "HelmRelease/web: helm cannot render the chart in `charts/web`"
    );
    assert_eq!(release["help"], "fix the error reported as `not-rendered`");
    // Another path only lacks facts.
    let run = run_with_helm(&project, &["check", "--helm", "auto", "mesh"]).unwrap();
    run.exits(0)
        .stderr_contains("note: facts may be missing: `helm template charts/web` failed");
    // A chart that nothing deploys.
    fs::remove_file(project.path("apps/web.yaml")).unwrap();
    let (report, _) = self::report(&project, &arguments).unwrap();
    assert_eq!(report["findings"][0]["path"], "charts/web/Chart.yaml");
    let help = report["not_judged"][0]["help"].as_str().unwrap();
    assert!(
        help.contains("pass the values that the chart requires"),
        "{help}"
    );
}

#[test]
fn a_failed_rendering_names_all_objects_that_deploy_the_chart() {
    let release = flux("");
    let project = project(&[("apps/a.yaml", &release), ("apps/b.yaml", &release)]);
    project.write(
        "charts/web/templates/fail.yaml",
        "{{ fail \"no image\" }}\n",
    );
    let Some((report, _)) = report(&project, &["--helm", "auto", "apps/b.yaml"]) else {
        return;
    };
    let finding = &report["findings"][0];
    assert_eq!(finding["path"], "apps/b.yaml");
    assert_eq!(finding["related"][0]["path"], "apps/a.yaml", "{finding}");
}

#[test]
fn a_chart_in_a_clone_of_the_other_repository_is_rendered() {
    let source = "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: main, namespace: shop}\n\
                  spec: {url: 'https://git.example/org/charts'}\n";
    let project = Project::new();
    fs::remove_dir(project.path(".git")).unwrap();
    let config = |name: &str| format!("[remote \"origin\"]\nurl = git@git.example:org/{name}\n");
    for (path, text) in [
        ("fleet/.git/config", config("fleet").as_str()),
        ("fleet/web.yaml", &(flux("") + source)),
        ("fleet/charts/web/Chart.yaml", CHART),
        (
            "fleet/charts/web/templates/web.yaml",
            "{{ fail \"another chart\" }}\n",
        ),
        ("fleet/mesh.yaml", &format!("{INJECTED}---\n{STRICT}")),
        ("clone/.git/config", &config("charts")),
        ("clone/charts/web/Chart.yaml", CHART),
        (
            "clone/charts/web/values.yaml",
            "path: /default\nport: 8080\n",
        ),
        ("clone/charts/web/templates/web.yaml", TEMPLATE),
    ] {
        project.write(path, text);
    }
    let Some(helm) = helm() else {
        return;
    };
    let check = |arguments: &[&str]| -> Value {
        let mut meshprobe = command(Path::new(PROGRAM), &project.path("fleet"));
        let path = format!("{}:/usr/bin:/bin", helm.parent().unwrap().display());
        let options = ["check", "--helm", "auto", "--output-format", "json"];
        let run = run(
            meshprobe.args(options).args(arguments).env("PATH", path),
            b"",
        );
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr))
    };
    let report = check(&["web.yaml"]);
    let release = &report["not_judged"][0];
    assert_eq!(
        release["message"],
        "HelmRelease/web: the chart `./charts/web` is in GitRepository `main` (`https://git.example/org/charts`), \
         which is another repository"
    );
    assert_eq!(
        release["help"],
        "render it as it is deployed, and pipe the rendering into `meshprobe check --context . -`"
    );
    let report = check(&["--context", "../clone", "web.yaml"]);
    assert_eq!(report["not_judged"], serde_json::json!([]));
    assert_eq!(report["summary"]["workloads"], 1);
}

#[test]
fn a_configuration_of_the_tree_cannot_run_helm() {
    let config = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  helm: auto\n";
    let project = project(&[("apps/web.yaml", &flux("")), (".meshprobe.yaml", config)]);
    project.write("bin/helm", "#!/bin/sh\ntouch ran\n");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path("bin/helm"), executable).unwrap();
    let start = |arguments: &[&str]| {
        let mut meshprobe = command(Path::new(PROGRAM), &project.path(""));
        let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
        run(meshprobe.args(arguments).env("PATH", path), b"")
    };
    for command in ["check", "predict", "rewrite"] {
        start(&[command])
            .exits(2)
            .stderr_contains(".meshprobe.yaml:4:3: `helm: auto` runs a program")
            .stderr_contains("help: pass `--helm auto`");
    }
    assert!(!project.path("ran").exists());
    start(&["check", "--config", ".meshprobe.yaml"]).exits(0);
    assert!(project.path("ran").exists());
}

#[test]
fn values_on_the_command_line_belong_to_a_chart() {
    let project = project(&[]);
    for option in [["--values", "charts/web/values.yaml"], ["--set", "port=1"]] {
        let arguments = [&["check", "--helm", "auto"][..], &option].concat();
        project
            .run(&arguments)
            .exits(2)
            .stderr_contains("cannot be used with `--helm auto`")
            .stderr_contains("help: name the chart");
    }
    for command in [&["check", "--fix"][..], &["rewrite", "--write"]] {
        let arguments = [command, &["--helm", "auto"]].concat();
        project.run(&arguments).exits(2);
    }
}

#[test]
fn values_can_be_set_and_facts_of_the_repository_apply() {
    let project = project(&[]);
    let arguments = [
        "check",
        "--helm",
        "charts/web",
        "--namespace",
        "shop",
        "--set",
        "port=8081,path=/x",
        "--set",
        "path=/set",
        "--output-format",
        "concise",
    ];
    let Some(run) = run_with_helm(&project, &arguments) else {
        return;
    };
    // Namespace and policy are in other folders of the repository.
    run.exits(1)
        .stdout_contains("charts/web/templates/web.yaml:10:7: error[strict-probe-not-rewritten]");
    let without = [&arguments[..], &["--no-context"]].concat();
    let run = run_with_helm(&project, &without).unwrap().exits(0);
    assert!(!run.stdout.contains("strict-probe"), "{}", run.stdout);
    let table = probes(
        &project,
        &[
            "--helm",
            "charts/web",
            "--set",
            "port=8081,path=/x",
            "--set",
            "path=/set",
        ],
    );
    let table = table.unwrap();
    assert!(table.contains("/set") && table.contains("8081"), "{table}");
}

/// Three clusters deploy one chart, with two outputs.
fn three_clusters() -> Project {
    let deploy = |cluster: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps}}\nspec: \
             {{path: ./apps/{cluster}, sourceRef: {{kind: GitRepository, name: main}}}}\n"
        )
    };
    let project = Project::with(&[
        ("charts/web/Chart.yaml", CHART),
        ("charts/web/values.yaml", "path: /default\nport: 8080\n"),
        ("charts/web/templates/web.yaml", TEMPLATE),
        ("apps/base/web.yaml", &flux("")),
        ("apps/base/kustomization.yaml", "resources: [web.yaml]\n"),
    ]);
    let patch = "patches:\n- target: {kind: HelmRelease}\n  patch: |\n    - {op: add, path: /spec/values, value: {path: \
                 /staging}}\n";
    for (cluster, patches) in [("prod-eu", ""), ("prod-us", ""), ("staging", patch)] {
        let kustomization = format!("resources: [../base]\n{patches}");
        project.write(&format!("apps/{cluster}/kustomization.yaml"), kustomization);
        project.write(&format!("clusters/{cluster}/apps.yaml"), deploy(cluster));
        let mesh = format!("{INJECTED}---\n{STRICT}");
        project.write(&format!("clusters/{cluster}/mesh.yaml"), mesh);
    }
    project
}

#[test]
fn a_finding_in_a_template_is_reported_once_and_names_its_clusters() {
    let project = three_clusters();
    let check = ["check", "--helm", "auto"];
    let Some(run) = run_with_helm(&project, &check) else {
        return;
    };
    let run = run
        .exits(1)
        .stdout_contains("  in: prod-eu, prod-us, staging\n");
    assert_eq!(run.stdout.matches("error[").count(), 1, "{}", run.stdout);
    // Another outcome in one of the clusters is named.
    let policy = STRICT.replace("STRICT", "PERMISSIVE");
    project.write(
        "clusters/staging/mesh.yaml",
        format!("{INJECTED}---\n{policy}"),
    );
    let run = run_with_helm(&project, &check).unwrap();
    run.exits(1)
        .stdout_contains("  in: prod-eu, prod-us; works in staging\n");
    // The table names the clusters of each output.
    let table = probes(&project, &["--helm", "auto"]).unwrap();
    assert!(
        table.contains("prod-eu, prod-us") && table.contains("staging"),
        "{table}"
    );
    // The HelmReleases may also be in the folders of the clusters.
    std::fs::remove_dir_all(project.path("apps")).unwrap();
    for (cluster, values) in [
        ("prod-eu", ""),
        ("prod-us", ""),
        ("staging", "  values: {path: /x}\n"),
    ] {
        project.write(&format!("clusters/{cluster}/apps.yaml"), flux(values));
        let mesh = format!("{INJECTED}---\n{STRICT}");
        project.write(&format!("clusters/{cluster}/mesh.yaml"), mesh);
    }
    let run = run_with_helm(&project, &check).unwrap().exits(1);
    let run = run.stdout_contains("  in: prod-eu, prod-us, staging\n");
    assert_eq!(run.stdout.matches("error[").count(), 1, "{}", run.stdout);
    // One of the clusters can be selected.
    let run = run_with_helm(&project, &[&check[..], &["--cluster", "prod-eu"]].concat()).unwrap();
    run.exits(1)
        .stdout_contains("error[strict-probe-not-rewritten]");
}
