//! Faults in kustomizations and charts, and in folders that Flux and Argo CD deploy.

use std::os::unix::fs::symlink;

use super::page;
use super::scene::{NAMESPACE, check, deployment, row, shell};
use crate::support::project::Project;
use crate::support::{Run, command, run};

const ROOT: &str = "app/kustomization.yaml";

/// A kustomization with the given text next to a Deployment.
fn app(text: &str) -> Project {
    Project::with(&[
        ("ns.yaml", NAMESPACE),
        ("app/web.yaml", &deployment("web")),
        (ROOT, text),
    ])
}

fn plugin() -> Project {
    let project = app("resources: [web.yaml]\ngenerators: [run.yaml]\n");
    project.write(
        "app/run.yaml",
        "apiVersion: example.com/v1\nkind: Run\nmetadata: {name: run}\n",
    );
    project
}

fn linked_base() -> Project {
    let project = app("resources: [web.yaml, base]\n");
    symlink("/etc", project.path("app/base")).unwrap();
    project
}

fn linked_file() -> Project {
    let project = app("resources: [web.yaml, passwd.yaml]\n");
    symlink("/etc/passwd", project.path("app/passwd.yaml")).unwrap();
    project
}

fn cycle() -> Project {
    let project = app("resources: [web.yaml, ../other]\n");
    project.write("other/kustomization.yaml", "resources: [../app]\n");
    project
}

/// A chain of kustomizations in which each level includes the level below twice.
fn diamonds(levels: usize) -> Project {
    let project = app("resources: [web.yaml]\n");
    let mut below = "../app".to_owned();
    for level in 1..=levels {
        for side in ["a", "b"] {
            let text = format!("namePrefix: {side}\nresources: [{below}]\n");
            project.write(&format!("{side}{level}/kustomization.yaml"), text);
        }
        let text = format!("resources: [../a{level}, ../b{level}]\n");
        project.write(&format!("k{level}/kustomization.yaml"), text);
        below = format!("../k{level}");
    }
    project
}

fn chain(levels: usize) -> Project {
    let project = app("resources: [web.yaml]\n");
    let mut below = "../app".to_owned();
    for level in 1..=levels {
        let text = format!("resources: [{below}]\n");
        project.write(&format!("k{level}/kustomization.yaml"), text);
        below = format!("../k{level}");
    }
    project
}

const RENAME: &str = "{op: replace, path: /metadata/name, value: shop-front}";
const OPT_OUT: &str =
    "{op: add, path: /spec/template/metadata/labels/sidecar.istio.io~1inject, value: 'false'}";
const ANNOTATIONS: &str = "{op: add, path: /spec/template/metadata/annotations, value: {a: b}}";
const COPIED_PROBE: &str = "resources: [web.yaml, ../ns.yaml]
replacements:
- source: {kind: Deployment, fieldPath: spec.template.spec.containers.0.readinessProbe.httpGet.path}
  targets: [{select: {kind: Namespace}, fieldPaths: [metadata.annotations.path], options: {create: true}}]
";

/// A kustomization with the given operations of a JSON patch.
fn patched(operations: &[&str]) -> Project {
    let operations: String = operations
        .iter()
        .map(|operation| format!("    - {operation}\n"))
        .collect();
    app(&format!(
        "resources: [web.yaml]\npatches:\n- target: {{kind: Deployment}}\n  patch: |\n{operations}"
    ))
}

fn rewrite(project: &Project) -> Run {
    project.run(&["rewrite", "--write", "."])
}

fn flux(path: &str) -> Project {
    let project = app("resources: [web.yaml]\n");
    let text = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps, namespace: flux-system}}\nspec: {{path: {path}, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
    );
    project.write("flux.yaml", text);
    project
}

fn argo(path: &str) -> Project {
    let project = app("resources: [web.yaml]\n");
    let text = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: apps, namespace: argocd}}\nspec: {{source: {{repoURL: 'https://example.com/x', path: {path}}}, destination: {{namespace: shop}}}}\n"
    );
    project.write("argo.yaml", text);
    project
}

/// Runs `check --helm` with a script as renderer.
fn helm(project: &Project, script: &str) -> Run {
    project.write(
        "chart/Chart.yaml",
        "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
    );
    project.write(".git/bin/helm", format!("#!/bin/sh\n{script}\n"));
    let made = shell(project, "chmod +x .git/bin/helm");
    assert_eq!(made.code, 0);
    with_path(project, &["--helm", "chart"])
}

/// Runs `check` with only the renderers of the test on the PATH.
fn with_path(project: &Project, arguments: &[&str]) -> Run {
    let mut command = command(crate::support::PROGRAM.as_ref(), &project.path(""));
    command.env("PATH", project.path(".git/bin"));
    command.args(["check", "--output-format", "concise"]);
    run(command.args(arguments), b"")
}

/// The error of helm for a template that includes itself.
const LOOP: &str = "echo 'Error: template: chart/templates/a.yaml:1:3: executing at <include \"a\" .>: error calling include: rendering template has a nested reference name: a' >&2; exit 1";

#[test]
fn kustomizations() {
    let up = "../../../../../../../../../../../..";
    page::check(
        "Kustomizations",
        &[
            row("`resources` that lead out of the repository", &app(&format!("resources: [web.yaml, {up}/etc/passwd]\n")), 0, ROOT, check),
            row("an absolute path in `resources`", &app("resources: [web.yaml, /etc/passwd]\n"), 0, ROOT, check),
            row("a folder outside of the repository as base", &app(&format!("resources: [web.yaml, {up}/etc]\n")), 0, ROOT, check),
            row("a base on the network", &app("resources: [web.yaml, 'https://example.com/base?ref=v1']\n"), 0, ROOT, check),
            row("a base that is a link out of the repository", &linked_base(), 0, ROOT, check),
            row("a resource that is a link out of the repository", &linked_file(), 0, ROOT, check),
            row("a component outside of the repository", &app(&format!("resources: [web.yaml]\ncomponents: [{up}/etc]\n")), 0, ROOT, check),
            row("a patch outside of the repository", &app(&format!("resources: [web.yaml]\npatches: [{{path: {up}/etc/passwd}}]\n")), 0, ROOT, check),
            row("a generator that reads a file outside of the repository", &app(&format!("resources: [web.yaml]\nconfigMapGenerator: [{{name: x, files: [{up}/etc/passwd]}}]\n")), 0, "No findings", check),
            row("a plugin as generator", &plugin(), 0, ROOT, check),
            row("two kustomizations that include each other", &cycle(), 1, "cycle", check),
            row("a kustomization that includes itself", &app("resources: [web.yaml, ., ../app]\n"), 1, ROOT, check),
            row("a base that is included 2^30 times", &diamonds(30), 1, "overlay-left-out", check),
            row("a chain of 200 overlays", &chain(200), 1, "overlay-left-out", check),
            row("a patch that copies its own list sixty times", &app(&format!("resources: [web.yaml]\npatches:\n- target: {{kind: Deployment}}\n  patch: |\n{}", "    - {op: copy, from: /spec/template/spec/containers, path: /spec/template/spec/containers/-}\n".repeat(60))), 1, "overlay-left-out", check),
            row("a patch that renames a pod and removes it from the mesh", &patched(&[RENAME, OPT_OUT]), 0, "Nothing to", rewrite),
            row("a patch that renames a pod and replaces its annotations", &patched(&[RENAME, ANNOTATIONS]), 1, "kustomize-overlay", rewrite),
            row("a replacement that copies a probe into another object", &app(COPIED_PROBE), 1, "kustomize-overlay", rewrite),
            row("a path of Flux that leads out of the repository", &flux(&format!("{up}/etc")), 0, "No findings", check),
            row("a path of Argo CD that leads out of the repository", &argo(&format!("{up}/etc")), 0, "No findings", check),
            row("`--helm`: templates that include each other", &app("resources: [web.yaml]\n"), 2, "nested reference", |project| helm(project, LOOP)),
            row("`--helm`: a renderer that is killed", &app("resources: [web.yaml]\n"), 2, "helm", |project| helm(project, "kill -9 $$")),
            row("`--helm`: a renderer that prints bytes", &app("resources: [web.yaml]\n"), 1, "helm", |project| helm(project, "printf 'apiVersion: v1\\nkind: Pod\\nx: \\377'")),
            row("`--kustomize`: no renderer on the PATH", &app("resources: [web.yaml]\n"), 2, "cannot build", |project| with_path(project, &["--kustomize", "app"])),
        ],
    );
}
