//! What several kustomizations and Flux make of documents that they take in as they are.

#![allow(clippy::indexing_slicing, reason = "the report has what it always has")]

use crate::support::manifest::Manifest;
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
fn flux_fills_in_what_a_kustomization_has_set() {
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
        .says("error[tcp-probe-always-passes]");
}

#[test]
fn scopes_tell_kustomizations_of_one_base_apart() {
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
        let told: Vec<(String, String)> = report["workloads"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                let outcome = one["handlers"][0]["outcome"].as_str().unwrap();
                (
                    one["overlay"].as_str().unwrap().to_owned(),
                    outcome.to_owned(),
                )
            })
            .collect();
        let told: Vec<(&str, &str)> = told.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(
            told,
            [
                ("apps/a/kustomization.yaml", "ok"),
                ("apps/b/kustomization.yaml", "always-passes"),
            ]
        );
    }
}
