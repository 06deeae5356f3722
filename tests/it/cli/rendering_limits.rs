//! Input beyond a limit of rendering is reported.

use std::fmt::Write as _;

use crate::support::project::Project;
use crate::support::{Run, manifest};

fn shop() -> String {
    manifest::join(&[manifest::INJECTED, manifest::STRICT])
}

/// A pod that fails in namespace `shop`.
const WEB: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}
spec:
  containers:
  - name: web
    readinessProbe: {httpGet: {path: /r, port: 8080}}
";

const BASE: &str = "resources: [web.yaml]\n";

/// A base that fails only if something deploys it to namespace `shop`.
fn project() -> Project {
    Project::with(&[
        ("shop.yaml", &shop()),
        ("base/web.yaml", WEB),
        ("base/kustomization.yaml", BASE),
    ])
}

fn check(project: &Project, arguments: &[&str]) -> Run {
    let all = [&["check", "--output-format", "concise"], arguments].concat();
    project.run(&all).exits(1)
}

fn assert_overlay_prevents_rewrite(project: &Project) {
    let run = project.run(&["rewrite", "--diff", "."]).exits(1);
    run.stderr_contains("error[kustomize-overlay]");
}

fn assert_probe_is_reported(project: &Project) {
    let run = check(project, &["."]).stdout_contains("[strict-probe-not-rewritten]");
    assert!(!run.stdout.contains("left-out"), "{}", run.stdout);
}

#[test]
fn kustomizations_that_are_nested_too_deep_are_reported() {
    let project = project();
    for level in 0..40 {
        let below = match level {
            0 => "base".to_owned(),
            _ => format!("k{}", level - 1),
        };
        let text = format!("resources: [../{below}]\n");
        project.write(&format!("k{level}/kustomization.yaml"), text);
    }
    check(&project, &["."])
        .stdout_contains("k39/kustomization.yaml:1:1: error[overlay-left-out]")
        .stdout_contains("more than 32 kustomizations are nested");
    assert_overlay_prevents_rewrite(&project);
}

#[test]
fn objects_that_deploy_each_other_too_deep_are_reported() {
    let project = project();
    let flux = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: flux-system}
spec:
  path: ./self
  sourceRef: {kind: GitRepository, name: a}
  patches:
  - target: {kind: Kustomization}
    patch: |
      - {op: copy, from: /spec/patches/0, path: /spec/patches/-}
";
    project.write("self/self.yaml", flux.replace("NAME", "self"));
    project.write("first.yaml", flux.replace("NAME", "first"));
    check(&project, &["."])
        .stdout_contains("error[overlay-left-out]")
        .stdout_contains("more than 5 objects deploy each other");
}

#[test]
fn a_patch_of_a_long_list_is_reported() {
    let project = project();
    let env: String = (0..2_001)
        .map(|at| format!("    - {{name: V{at}}}\n"))
        .collect();
    project.write("base/web.yaml", format!("{WEB}    env:\n{env}"));
    let patch = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {hostNetwork: false}\n";
    project.write("over/patch.yaml", patch);
    project.write(
        "over/kustomization.yaml",
        "namespace: shop\nresources: [../base]\npatches: [{path: patch.yaml}]\n",
    );
    check(&project, &["."])
        .stdout_contains("over/kustomization.yaml:1:1: error[overlay-left-out]")
        .stdout_contains("a list of more than 2000 items");
    assert_overlay_prevents_rewrite(&project);
}

#[test]
fn an_object_with_too_many_values_is_reported() {
    let project = project();
    let items = "[0], ".repeat(120_000);
    let huge = format!("apiVersion: v1\nkind: Huge\nmetadata: {{name: huge}}\nitems: [{items}]\n");
    project.write("base/huge.yaml", huge);
    project.write(
        "base/kustomization.yaml",
        "namespace: shop\nresources: [huge.yaml, web.yaml]\n",
    );
    check(&project, &["."])
        .stdout_contains("error[overlay-left-out]")
        .stdout_contains("too many values");
}

#[test]
fn all_objects_of_a_kustomization_are_checked() {
    let project = project();
    let mut text = String::new();
    for at in 0..21_000 {
        let _ = writeln!(
            text,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{at}}}\n---"
        );
    }
    project.write("base/many.yaml", text);
    project.write(
        "base/kustomization.yaml",
        "namespace: shop\nresources: [many.yaml, web.yaml]\n",
    );
    assert_probe_is_reported(&project);
}

#[test]
fn transformations_that_multiply_are_reported() {
    let entries: String = (0..3_000).fold(String::new(), |all, at| all + &format!("a{at}: b, "));
    for change in [
        format!("commonAnnotations: {{{entries}}}\n"),
        format!("labels: [{{includeSelectors: true, pairs: {{{entries}}}}}]\n"),
        format!(
            "patches:\n- target: {{kind: ConfigMap}}\n  patch: |\n    kind: ConfigMap\n    metadata: {{name: a}}\n    data: {{{entries}}}\n"
        ),
        format!(
            "patches:\n- target: {{kind: ConfigMap}}\n  patch: |\n    - {{op: add, path: /data, value: {{{entries}}}}}\n"
        ),
        format!(
            "patches:\n{}",
            "- {patch: \"- {op: remove, path: /x}\", target: {kind: ConfigMap}}\n".repeat(600)
        ),
        format!(
            "resources: [many.yaml, web.yaml]\ncomponents: [{}]\n",
            "../c, ".repeat(1_200)
        ),
    ] {
        let project = project();
        let mut text = String::new();
        for at in 0..250 {
            let _ = writeln!(
                text,
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{at}}}\n---"
            );
        }
        project.write("base/many.yaml", text);
        let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x-\nnameSuffix: -y\nnamespace: a\n";
        project.write("c/kustomization.yaml", component);
        let (text, limit) = match change.starts_with("resources") {
            true => (change, "the rendering takes too many steps"),
            false => (
                format!("resources: [many.yaml, web.yaml]\n{change}"),
                "a kustomization adds more than 500000 values",
            ),
        };
        project.write("base/kustomization.yaml", text);
        check(&project, &["."])
            .stdout_contains("base/kustomization.yaml:1:1: error[overlay-left-out]")
            .stdout_contains(limit);
    }
}

#[test]
fn all_files_that_a_kustomization_names_outside_of_the_paths_are_read() {
    let project = Project::with(&[("over/shop.yaml", &shop()), ("base/z.yaml", WEB)]);
    let mut resources = "namespace: shop\nresources:\n".to_owned();
    for at in 0..5_100 {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{at}}}\n");
        project.write(&format!("base/c{at}.yaml"), text);
        let _ = writeln!(resources, "- ../base/c{at}.yaml");
    }
    resources.push_str("- ../base/z.yaml\n");
    project.write("over/kustomization.yaml", resources);
    check(&project, &["over"]).stdout_contains("[strict-probe-not-rewritten]");
}

#[test]
fn all_applications_of_a_set_are_checked() {
    let project = project();
    let mut text = "\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all, namespace: argocd}
spec:
  template:
    metadata: {name: '{{name}}'}
    spec: {destination: {namespace: '{{name}}'}, source: {path: base}}
  generators:
  - list:
      elements:
"
    .to_owned();
    for element in 0..1_100 {
        let _ = writeln!(text, "      - {{name: e{element}}}");
    }
    text.push_str("      - {name: shop}\n");
    project.write("set.yaml", text);
    assert_probe_is_reported(&project);
}

#[test]
fn all_deployments_are_checked() {
    let project = project();
    let mut text = String::new();
    let names = (0..2_100).map(|at| format!("n{at}"));
    for name in names.chain(["shop".to_owned()]) {
        let _ = writeln!(
            text,
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
             metadata: {{name: {name}, namespace: flux-system}}\n\
             spec: {{path: ./base, targetNamespace: {name}, sourceRef: {{kind: GitRepository, name: a}}}}\n---"
        );
    }
    project.write("flux.yaml", text);
    assert_probe_is_reported(&project);
}

#[test]
fn lists_in_lists_are_checked() {
    let project = project();
    let mut text = WEB.replace(
        "name: web\n  annotations",
        "name: web\n  namespace: shop\n  annotations",
    );
    for _ in 0..20 {
        let item = text.replace('\n', "\n  ");
        text = format!(
            "apiVersion: v1\nkind: List\nitems:\n- {}\n",
            item.trim_end()
        );
    }
    project.write("list.yaml", text);
    check(&project, &["list.yaml", "shop.yaml"]).stdout_contains("[strict-probe-not-rewritten]");
}

/// Applications that deploy `apps` to many namespaces, and a pod that none of them deploys.
fn copies() -> Project {
    let mut all = String::new();
    for at in 0..220 {
        let _ = writeln!(
            all,
            "{}---",
            WEB.replace("name: web\n  ann", &format!("name: w{at}\n  ann"))
        );
    }
    let project = Project::with(&[
        ("shop.yaml", &shop()),
        ("apps/web.yaml", &all),
        ("other/api.yaml", &WEB.replace("name: web", "name: api")),
    ]);
    for at in 0..220 {
        let application = format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: a{at}, namespace: argocd}}\n\
             spec: {{destination: {{namespace: n{at}}}, source: {{repoURL: https://example.com/a.git, path: apps}}}}\n"
        );
        project.write(&format!("argo/a{at}.yaml"), application);
    }
    project
}

#[test]
fn copies_of_a_folder_that_exceed_the_limit_are_reported() {
    check(&copies(), &["."])
        .stdout_contains("overlay-left-out")
        .stdout_contains("argo/a0.yaml")
        .stdout_contains("all renderings together have more than");
}

#[test]
fn renderings_beyond_the_limit_do_not_depend_on_threads() {
    let project = Project::with(&[("shop.yaml", &shop())]);
    let mut objects = format!("{WEB}---\n");
    for at in 0..300 {
        let _ = writeln!(
            objects,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{at}}}\n---"
        );
    }
    let entries: String = (0..1_300).fold(String::new(), |all, at| all + &format!("a{at}: b, "));
    let base = format!("resources: [all.yaml]\ncommonAnnotations: {{{entries}}}\n");
    for at in 0..16 {
        project.write(&format!("b{at}/all.yaml"), &objects);
        project.write(&format!("b{at}/kustomization.yaml"), &base);
        let overlay = format!("resources: [../b{at}]\n");
        project.write(&format!("o{at}/kustomization.yaml"), overlay);
        let application = format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: a{at}, namespace: argocd}}\n\
             spec: {{destination: {{namespace: n}}, source: {{repoURL: https://example.com/a.git, path: b{at}}}}}\n"
        );
        project.write(&format!("argo/a{at}.yaml"), application);
    }
    let [one, other] = ["1", "4"].map(|threads| {
        check(&project, &["--threads", threads, "."])
            .stdout_contains("and 29 more; all renderings together have more than")
    });
    assert_eq!(one.stdout, other.stdout);
}

#[test]
fn only_the_folder_of_a_left_out_rendering_is_not_rewritten() {
    let run = copies().run(&[
        "rewrite",
        "--diff",
        "--mesh-version",
        "1.28",
        "--override",
        "rewrite=true",
        "--assume",
        "injection=all",
        ".",
    ]);
    let output = format!("{}{}", run.stdout, run.stderr);
    assert!(output.contains("[kustomize-overlay]"), "{output}");
    assert!(output.contains("apps/web.yaml:"), "{output}");
    assert!(output.contains("+++ b/other/api.yaml"), "{output}");
}
