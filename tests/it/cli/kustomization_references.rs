//! Files that a kustomization names and that are outside of the paths of the run.

use crate::support::manifest::INJECTED;
use crate::support::project::Project;

const BASE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: web
        readinessProbe: {httpGet: {path: /, port: htpp}}
        ports: [{name: http, containerPort: 8080}]
";

fn shop() -> Project {
    Project::with(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", BASE),
        (
            "overlays/prod/kustomization.yaml",
            "namespace: shop\nresources: [../../base, namespace.yaml]\n",
        ),
        ("overlays/prod/namespace.yaml", INJECTED),
    ])
}

#[test]
fn an_overlay_is_checked_with_the_base_that_it_names() {
    let project = shop();
    let concise = ["check", "--output-format", "concise"];
    insta::assert_snapshot!(
        "overlay_by_path",
        project
            .run(&[&concise[..], &["overlays/prod"]].concat())
            .transcript()
    );
    // The same check, run in the folder of the overlay.
    let run = project.run_in("overlays/prod", &concise, "");
    insta::assert_snapshot!("overlay_from_within", run.transcript());
    // A base that no overlay of the run includes is not checked.
    project
        .run(&["check", "overlays/prod/namespace.yaml"])
        .exits(0);
}

#[test]
fn a_base_that_is_only_context_is_never_edited() {
    let project = shop();
    let run = project
        .run(&["check", "--fix", "--unsafe-fixes", "overlays/prod"])
        .exits(1);
    insta::assert_snapshot!("context_not_fixed", run.transcript());
    assert_eq!(project.read("base/web.yaml"), BASE);
    let sound = BASE.replace("htpp", "http");
    project.write("base/web.yaml", &sound);
    let run = project
        .run(&["rewrite", "--write", "overlays/prod"])
        .exits(1);
    insta::assert_snapshot!("context_not_rewritten", run.transcript());
    assert_eq!(project.read("base/web.yaml"), sound);
    // A base that is a path of the run is rewritten.
    project
        .run(&["rewrite", "--write", "overlays/prod", "base"])
        .exits(0);
    assert!(
        project
            .read("base/web.yaml")
            .contains("ISTIO_KUBE_APP_PROBERS")
    );
}

#[test]
fn undecided_workloads_are_counted() {
    let project = Project::with(&[
        (
            "k/kustomization.yaml",
            "resources: [https://git.example/base?ref=v1, ns.yaml]\n",
        ),
        ("k/ns.yaml", INJECTED),
    ]);
    insta::assert_snapshot!("remote_base", project.run(&["check"]).transcript());
    project
        .run(&["check", "--output-format", "json"])
        .stdout_contains("\"not_judged\": 1");
    project
        .run(&["predict"])
        .exits(0)
        .stderr_contains("is remote and not fetched");
    // The same for a base that is only context.
    project.write("o/kustomization.yaml", "resources: [../k]\n");
    project
        .run(&["check", "o"])
        .exits(0)
        .stdout_contains("is remote and not fetched");
}

#[test]
fn only_files_of_the_repository_are_read() {
    let project = Project::with(&[
        ("inside/.git/HEAD", ""),
        (
            "inside/o/kustomization.yaml",
            "resources: [../../outside.yaml, ../link.yaml, /etc/hostname, ../o]\n",
        ),
        ("outside.yaml", BASE),
    ]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        project.path("outside.yaml"),
        project.path("inside/link.yaml"),
    )
    .unwrap();
    let run = project.run(&["check", "inside/o"]);
    insta::assert_snapshot!(run.transcript());
}

#[test]
fn circular_references_do_not_block_the_run() {
    let project = Project::with(&[
        ("a/kustomization.yaml", "resources: [../b]\n"),
        (
            "b/kustomization.yaml",
            "resources: [../a, ../base/web.yaml]\n",
        ),
        ("base/web.yaml", BASE),
    ]);
    project
        .run(&["check", "a"])
        .exits(1)
        .stdout_contains("in a cycle");
}

#[test]
fn excluded_files_are_not_read() {
    let project = shop();
    project
        .run(&["check", "--exclude", "base/", "overlays/prod"])
        .exits(0)
        .stdout_contains("not among the files read");
}
