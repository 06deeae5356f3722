//! The location that `predict` reports for a handler: in the file that the user wrote.

use serde_json::Value;

use crate::support::project::Project;

const BASE: &str = "\
# the base
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: web

        # where it begins
        livenessProbe:
          httpGet: {path: /live, port: 8080}
";
const PATCH: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: web
        readinessProbe:
          httpGet: {path: /ready, port: 8080}
";

#[test]
fn a_handler_is_reported_at_the_location_where_it_was_written() {
    let project = Project::with(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", BASE),
        (
            "prod/kustomization.yaml",
            "namespace: shop\nresources: [../base]\npatches:\n- path: ready.yaml\n",
        ),
        ("prod/ready.yaml", PATCH),
    ]);
    let run = project
        .run(&["predict", "--output-format", "json"])
        .exits(0);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let handlers = report["workloads"][0]["handlers"].as_array().unwrap();
    let locations: Vec<(&str, Option<&str>, u64)> = handlers
        .iter()
        .map(|handler| {
            let text = |key: &str| handler[key].as_str();
            let line = handler["line"].as_u64().unwrap();
            (text("slot").unwrap(), text("path"), line)
        })
        .collect();
    assert_eq!(
        locations,
        [
            ("livenessProbe", None, 12),
            ("readinessProbe", Some("prod/ready.yaml"), 9),
        ]
    );
}
