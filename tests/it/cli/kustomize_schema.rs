//! A kustomization whose `openapi` decides which lists a patch merges.

use std::process::Command;

use serde_json::Value;

use crate::support::kustomize;
use crate::support::project::Project;

const SERVER: &str = "apiVersion: mlops.example.com/v1\nkind: ModelServer\nmetadata: {name: a, namespace: app}\n\
    spec:\n  podSpec:\n    containers:\n    - name: a\n      image: x\n      readinessProbe: {tcpSocket: {port: 80}}\n";

const PATCH: &str = "apiVersion: mlops.example.com/v1\nkind: ModelServer\nmetadata: {name: a, namespace: app}\n\
    spec: {podSpec: {containers: [{name: a, image: y}]}}\n";

const SCHEMA: &str = r##"{"definitions": {
  "ModelServer": {
    "type": "object",
    "x-kubernetes-group-version-kind": [{"group": "mlops.example.com", "kind": "ModelServer", "version": "v1"}],
    "properties": {"spec": {"type": "object", "properties": {"podSpec": {"$ref": "#/definitions/PodSpec"}}}}
  },
  "PodSpec": {"type": "object", "properties": {"containers": {
    "type": "array", "items": {"type": "object"},
    "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"
  }}}
}}"##;

/// Returns a project in which `patch` patches the base. `schema` is appended to the kustomization of `folder`.
fn project(folder: &str, schema: &str) -> Project {
    let with_schema = |own: &str, text: &str| match own == folder {
        true => format!("{text}{schema}"),
        false => text.to_owned(),
    };
    Project::with(&[
        ("base/server.yaml", SERVER),
        (
            "base/kustomization.yaml",
            &with_schema("base", "resources: [server.yaml]\n"),
        ),
        ("overlay/patch.yaml", PATCH),
        ("overlay/schema.json", SCHEMA),
        ("base/schema.json", SCHEMA),
        (
            "overlay/kustomization.yaml",
            &with_schema(
                "overlay",
                "resources: [../base]\npatches: [{path: patch.yaml}]\n",
            ),
        ),
    ])
}

fn not_judged(project: &Project) -> Vec<Value> {
    let run = project.run(&["check", "--output-format", "json", "overlay"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let all = report["not_judged"].as_array().unwrap().iter();
    let is_kustomization = |found: &&Value| found["reason"] == "kustomization";
    all.filter(is_kustomization).cloned().collect()
}

/// Returns whether the build of the overlay contains the probe.
fn keeps_probe(project: &Project) -> Option<bool> {
    let build = Command::new(kustomize()?)
        .args(["build", "overlay"])
        .current_dir(project.path(""))
        .output()
        .unwrap();
    assert!(build.status.success(), "{build:?}");
    Some(String::from_utf8_lossy(&build.stdout).contains("readinessProbe"))
}

#[test]
fn a_kustomization_with_another_schema_is_not_judged_completely() {
    for folder in ["base", "overlay"] {
        let project = project(folder, "openapi: {path: schema.json}\n");
        let found = not_judged(&project);
        assert_eq!(found.len(), 1, "{folder}: {found:?}");
        let message = "how patches merge lists in `overlay/kustomization.yaml` is not known: `openapi` is not modelled";
        assert_eq!(found[0]["message"], message);
        assert_ne!(keeps_probe(&project), Some(false), "{folder}");
    }
}

#[test]
fn a_patch_replaces_lists_of_a_custom_kind_without_a_schema() {
    let project = project("", "");
    assert!(not_judged(&project).is_empty());
    assert_ne!(keeps_probe(&project), Some(true));
}

#[test]
fn a_schema_without_patches_has_no_effect() {
    let project = project("overlay", "openapi: {path: schema.json}\n");
    project.write(
        "overlay/kustomization.yaml",
        "resources: [../base]\nopenapi: {path: schema.json}\n",
    );
    assert!(not_judged(&project).is_empty());
    assert_ne!(keeps_probe(&project), Some(false));
}
