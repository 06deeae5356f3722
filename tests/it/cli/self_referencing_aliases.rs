//! Self-referencing aliases, whose expansion would never end.

use crate::support::project::Project;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: &all {again: *all}
";

#[test]
fn a_resource_with_a_self_referencing_alias_is_too_large_for_a_kustomization() {
    let project = Project::with(&[
        (
            "kustomization.yaml",
            "namespace: x\nresources: [pod.yaml]\n",
        ),
        ("pod.yaml", POD),
    ]);
    for command in [
        &["check", "."][..],
        &["predict", "."],
        &["rewrite", ".", "--diff"],
    ] {
        project.run(command).exits(0);
    }
    project
        .run(&["check", "."])
        .exits(0)
        .stdout_contains("`pod.yaml` cannot be read as Kubernetes objects");
}

#[test]
fn a_self_referencing_alias_is_not_a_value_in_the_configuration() {
    let spec = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  mesh: &all {version: *all}\n";
    let project = Project::with(&[(".meshprobe.yaml", spec), ("pod.yaml", "a: b\n")]);
    project
        .run(&["check", "."])
        .exits(2)
        .stderr_contains(".meshprobe.yaml:4:");
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n  apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  spec: &all {mesh: *all}\n";
    project
        .pipe(&["krm"], list)
        .exits(2)
        .stderr_contains("stdin:");
}
