//! Kustomizations that kustomize refuses to build are named, and those that it builds are not.

use std::process::Command;

use crate::support::kustomize;
use crate::support::manifest::PROBED;
use crate::support::project::Project;

const HOSTNAME: &str = "/spec/hostname";

/// Returns a project whose kustomization has the given fields, with `patch.yaml` of the text `patch`.
fn project(fields: &str, patch: &str) -> Project {
    Project::with(&[
        ("pod.yaml", PROBED),
        ("patch.yaml", patch),
        (
            "kustomization.yaml",
            &format!("resources: [pod.yaml]\n{fields}\n"),
        ),
    ])
}

/// Checks that meshprobe names what kustomize refuses, with the given message.
#[track_caller]
fn assert_refused(project: &Project, message: Option<&str>) {
    let run = project.run(&["check"]);
    let output = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_named = output.contains("kustomization-not-modelled");
    assert_eq!(is_named, message.is_some(), "{output}");
    assert!(output.contains(message.unwrap_or_default()), "{output}");
    let Some(kustomize) = kustomize() else {
        return;
    };
    let build = Command::new(kustomize)
        .args(["build", "."])
        .current_dir(project.path(""))
        .output()
        .unwrap();
    assert_eq!(build.status.success(), message.is_none(), "{build:?}");
}

#[test]
fn a_json_patch_that_starts_with_a_bracket_must_be_json() {
    let flow = format!("[{{op: add, path: {HOSTNAME}, value: web}}]");
    let json = format!(r#"[{{"op": "add", "path": "{HOSTNAME}", "value": "web"}}]"#);
    let fault = Some("text that starts with `[` must be JSON, with keys and values in quotes");
    for (patch, message) in [
        (flow.clone(), fault),
        (json.replace("}]", "},]"), fault),
        (format!("# YAML\n{flow}"), None),
        (json, None),
        (format!("- {{op: add, path: {HOSTNAME}, value: web}}"), None),
    ] {
        let inline = patch.replace('\n', "\n      ");
        for fields in [
            format!("patches:\n  - target: {{kind: Pod}}\n    patch: |\n      {inline}"),
            "patches: [{target: {kind: Pod}, path: patch.yaml}]".to_owned(),
            "patchesJson6902: [{target: {kind: Pod, name: web, version: v1}, path: patch.yaml}]"
                .to_owned(),
        ] {
            assert_refused(&project(&fields, &patch), message);
        }
    }
}

#[test]
fn an_unknown_order_is_refused() {
    let message = "`alphabetic` is not an order (`fifo` or `legacy`)";
    for (order, message) in [
        ("alphabetic", Some(message)),
        ("legacy", None),
        ("fifo", None),
    ] {
        let fields = format!("sortOptions: {{order: {order}}}");
        assert_refused(&project(&fields, ""), message);
    }
}
