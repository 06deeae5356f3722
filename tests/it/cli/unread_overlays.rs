//! Files that are included by a kustomization which cannot be read are not rewritten.

use crate::support::manifest::{INJECTED, Pod};
use crate::support::project::Project;

fn deployment(name: &str) -> String {
    let pod = Pod::deployment(name).within("shop").container("web");
    pod.probe("readinessProbe", "httpGet: {path: /ready, port: 8080}")
        .to_string()
}

/// Two bases, and an overlay of the first one.
fn project(overlay: impl AsRef<[u8]>) -> Project {
    let project = Project::with(&[
        ("ns.yaml", INJECTED),
        ("base/web.yaml", &deployment("web")),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("other/web.yaml", &deployment("other")),
        ("other/kustomization.yaml", "resources: [web.yaml]\n"),
    ]);
    project.write("over/kustomization.yaml", overlay);
    project
}

const REWRITE: [&str; 5] = ["rewrite", "--write", "--mesh-version", "1.28", "."];

/// Checks that the base is unchanged, that the message names the overlay, and that the other base is rewritten.
#[track_caller]
fn assert_refused(project: &Project, arguments: &[&str], reason: &str) {
    let run = project.run(arguments).exits(1);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "error[kustomize-overlay]",
        "Deployment/web is not rewritten: the effect of `over/kustomization.yaml` on it is not known",
        reason,
    ] {
        assert!(message.contains(part), "{part}\n{message}");
    }
    assert_eq!(project.read("base/web.yaml"), deployment("web"));
    assert_ne!(
        project.read("other/web.yaml"),
        project.read("base/web.yaml")
    );
}

const PATCH: &str = "patches:\n- target: {kind: Deployment}\n  patch: '- {op: remove, path: /spec/template/metadata/annotations}'\n";

#[test]
fn a_base_of_an_overlay_that_is_not_yaml_is_not_rewritten() {
    for (overlay, reason) in [
        (format!("resources: [../base\n{PATCH}"), "it is not YAML"),
        (
            format!("resources:\n- ../base\n\t{PATCH}"),
            "it is not YAML",
        ),
        (
            format!("resources: [../base]\nx: {{{{ .x }}}}\n{PATCH}"),
            "it is a template",
        ),
    ] {
        let project = project(&overlay);
        assert_refused(&project, &REWRITE, reason);
        let other = project.read("other/web.yaml");
        assert!(other.contains("/app-health/web/readyz"), "{other}");
    }
}

#[test]
fn a_base_of_an_overlay_without_text_is_not_rewritten() {
    let mut bytes = b"resources: [../base]\n# \xff\n".to_vec();
    bytes.extend(PATCH.as_bytes());
    assert_refused(&project(&bytes), &REWRITE, "it is not UTF-8");
    let large = format!(
        "resources: [../base]\n{PATCH}x: [{}]\n",
        "{a: 1},".repeat(400_000)
    );
    assert_refused(&project(&large), &REWRITE, "it is too large");
}

#[cfg(unix)]
#[test]
fn a_base_of_an_overlay_that_cannot_be_opened_is_not_rewritten() {
    let project = project("");
    std::fs::remove_file(project.path("over/kustomization.yaml")).unwrap();
    project.pipe_file("over/kustomization.yaml");
    assert_refused(&project, &REWRITE, "it cannot be read");
}

#[test]
fn undo_applies_the_same_check() {
    let project = project(format!("resources: [../base]\n{PATCH}"));
    project.run(&[
        "rewrite",
        "--write",
        "--form",
        "container-only",
        "--mesh-version",
        "1.28",
        ".",
    ]);
    let rewritten = project.read("base/web.yaml");
    assert_ne!(rewritten, deployment("web"));
    project.write(
        "over/kustomization.yaml",
        format!("resources: [../base\n{PATCH}"),
    );
    let run = project.run(&["rewrite", "--undo", "--write", "."]).exits(1);
    run.stderr_contains("the effect of `over/kustomization.yaml` on it");
    assert_eq!(project.read("base/web.yaml"), rewritten);
}
