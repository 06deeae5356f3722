//! Documents that several kustomizations and Flux include unchanged.

#![allow(clippy::indexing_slicing, reason = "the report has what it always has")]

use crate::support::manifest::{INJECTED, Manifest};
use crate::support::project::Project;

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: web
        ports: [{containerPort: 8080}]
        livenessProbe: {tcpSocket: {port: 8080}}
";

fn operator(name: &str, rewrite: bool) -> String {
    let values = format!("{{sidecarInjectorWebhook: {{rewriteAppHTTPProbe: {rewrite}}}}}");
    Manifest::operator(name, &format!("revision: {name}, values: {values}")).to_string()
}

fn flux(path: &str, more: &str) -> String {
    let spec = format!("  path: {path}\n  sourceRef: {{kind: GitRepository, name: here}}\n{more}");
    Manifest::new("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "apps")
        .within("flux-system")
        .spec(&spec)
        .to_string()
}

#[test]
fn flux_substitutes_variables_in_values_that_a_kustomization_sets() {
    let namespace = Manifest::namespace("prod").labels("istio.io/rev: one");
    let project = Project::with(&[
        (
            "app/kustomization.yaml",
            "namespace: ${ns}\nresources: [web.yaml]\n",
        ),
        ("app/web.yaml", WEB),
        ("clusters/namespace.yaml", &namespace.to_string()),
        ("clusters/operator.yaml", &operator("one", false)),
        (
            "clusters/apps.yaml",
            &flux("./app", "  postBuild: {substitute: {ns: prod}}\n"),
        ),
    ]);
    project
        .run(&["check", "."])
        .exits(1)
        .stdout_contains("error[tcp-probe-always-passes]");
}

#[test]
fn scopes_distinguish_kustomizations_of_one_base() {
    let kustomization = "resources: [../../base/web.yaml]\n";
    let settings = "\
apiVersion: meshprobe.dev/v1alpha1
kind: MeshProbe
spec:
  scopes:
  - paths: [apps/a/**]
    override: {injection: all, revision: two}
  - paths: [apps/b/**]
    override: {injection: all, revision: one}
";
    let project = Project::with(&[
        (".meshprobe.yaml", settings),
        ("apps/a/kustomization.yaml", kustomization),
        ("apps/b/kustomization.yaml", kustomization),
        ("base/web.yaml", WEB),
        ("infra/one.yaml", &operator("one", false)),
        ("infra/two.yaml", &operator("two", true)),
        ("clusters/apps.yaml", &flux("./apps", "")),
    ]);
    for threads in ["1", "8"] {
        let run = project.run(&[
            "predict",
            ".",
            "--output-format",
            "json",
            "--threads",
            threads,
        ]);
        let report: serde_json::Value = serde_json::from_str(&run.exits(0).stdout).unwrap();
        let workloads: Vec<(String, String)> = report["workloads"]
            .as_array()
            .unwrap()
            .iter()
            .map(|workload| {
                let outcome = workload["handlers"][0]["outcome"].as_str().unwrap();
                (
                    workload["overlay"].as_str().unwrap().to_owned(),
                    outcome.to_owned(),
                )
            })
            .collect();
        let outcomes: Vec<(&str, &str)> = workloads
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            outcomes,
            [
                ("apps/a/kustomization.yaml", "ok"),
                ("apps/b/kustomization.yaml", "always-passes"),
            ]
        );
    }
}

/// The workloads of a kustomization that two objects deploy unchanged.
fn deployed_unchanged(deploying: &str) -> Project {
    Project::with(&[
        (
            "app/kustomization.yaml",
            "resources: [web.yaml]\nnamespace: shop\n",
        ),
        ("app/web.yaml", WEB),
        ("mesh.yaml", INJECTED),
        ("clusters/one.yaml", deploying),
        (
            "clusters/two.yaml",
            &deploying.replace("name: apps", "name: more"),
        ),
    ])
}

#[test]
fn a_kustomization_that_is_deployed_unchanged_is_rewritten() {
    let application = Manifest::new("argoproj.io/v1alpha1", "Application", "apps")
        .within("argocd")
        .spec("  source: {repoURL: https://git.example/x, path: app}\n  destination: {name: x}\n")
        .to_string();
    for deploying in [flux("./app", ""), application] {
        let project = deployed_unchanged(&deploying);
        project.run(&["rewrite", "--write", "."]).exits(0);
        let text = project.read("app/web.yaml");
        assert!(text.contains("/app-health/web/livez"), "{text}");
    }
}

#[test]
fn a_kustomization_is_not_rewritten_if_its_deployment_discards_the_change() {
    let patch = "  patches:\n  - patch: |-\n      apiVersion: apps/v1\n      kind: Deployment\n      metadata: {name: web}\n      \
                 spec: {template: {metadata: {$patch: replace, labels: {app: web}}}}\n";
    let project = deployed_unchanged(&flux("./app", patch));
    let run = project.run(&["rewrite", "--write", "."]).exits(1);
    assert!(
        run.stderr.contains("error[kustomize-overlay]"),
        "{}",
        run.stderr
    );
    assert_eq!(project.read("app/web.yaml"), WEB);
}
