//! Namespaces with several manifests, and Namespaces that a command of a script labels.

use crate::support::findings;
use crate::support::manifest::{Manifest, NOT_REWRITTEN, join};
use crate::support::project::Project;

/// A pod of the namespace `shop` whose probe always passes in a mesh that does not rewrite it.
fn web() -> String {
    NOT_REWRITTEN.replace("httpGet: {path: /, port: 8080}", "tcpSocket: {port: 8080}")
}

fn namespace(labels: &str) -> String {
    Manifest::namespace("shop").labels(labels).to_string()
}

/// Returns the certainty of the finding about the probe; `None` without a finding.
fn certainty(project: &Project) -> Option<String> {
    let run = project.run(&["check", "--fail-on=never", "--output-format=json"]);
    let found = findings(&run.exits(0));
    let found = found
        .iter()
        .find(|found| found["rule"].as_str().unwrap().contains("tcp-probe-always"))?;
    Some(found["certainty"].as_str().unwrap().to_owned())
}

const ON: &str = "istio-injection: enabled";
const OFF: &str = "istio-injection: disabled";

#[test]
fn all_manifests_of_a_namespace_are_applied() {
    for (apps, platform, expected) in [
        (("apps", ""), ("platform", ON), Some("assumed")),
        (("apps", OFF), ("platform", ON), Some("assumed")),
        (("apps", ON), ("platform", ""), Some("assumed")),
        (
            ("apps", ON),
            ("platform", "istio-injection: enabled, team: a"),
            Some("known"),
        ),
        (("apps", ""), ("platform", "team: a"), None),
        (("apps/web", ""), (".", ON), Some("assumed")),
        // Other environments.
        (("clusters/eu1", ""), ("clusters/us1", ON), None),
        (("prod", ""), ("staging", ON), None),
    ] {
        let project = Project::with(&[
            (
                &*format!("{}/web.yaml", apps.0),
                &join(&[&namespace(apps.1), &web()]),
            ),
            (&*format!("{}/ns.yaml", platform.0), &namespace(platform.1)),
        ]);
        assert_eq!(
            certainty(&project).as_deref(),
            expected,
            "{apps:?} {platform:?}"
        );
        let out = project.run(&["check", "--fail-on=never"]).exits(0).stdout;
        let words: Vec<&str> = out.split_whitespace().collect();
        let names_both = words
            .join(" ")
            .contains("Namespace `shop` has several manifests, which are all applied (");
        assert_eq!(names_both, expected == Some("assumed"), "{out}");
    }
}

#[test]
fn a_command_of_the_tree_labels_the_namespace() {
    let enabled = "istio-injection=enabled";
    for (path, text, expected) in [
        (
            "setup.sh",
            format!("kubectl label namespace shop {enabled} --overwrite\n"),
            Some("assumed"),
        ),
        (
            "README.md",
            format!("```sh\n$ kubectl label ns shop {enabled}\n```\n"),
            Some("assumed"),
        ),
        (
            "Makefile",
            format!("NS ?= shop\nlabel:\n\tkubectl label ns $(NS) {enabled}\n"),
            Some("assumed"),
        ),
        (
            ".github/workflows/deploy.yml",
            format!("jobs:\n  a:\n    steps:\n    - run: kubectl label namespace shop {enabled}\n"),
            Some("assumed"),
        ),
        (
            "all.sh",
            format!("kubectl label namespaces --all {enabled}\n"),
            Some("assumed"),
        ),
        (
            "linkerd.sh",
            "kubectl annotate ns shop linkerd.io/inject=enabled\n".to_owned(),
            Some("assumed"),
        ),
        (
            "other.sh",
            format!("kubectl label ns cart {enabled}\n"),
            None,
        ),
        (
            "pod.sh",
            format!("kubectl label pod shop {enabled}\n"),
            None,
        ),
        (
            "off.sh",
            "kubectl label ns shop istio-injection=disabled\n".to_owned(),
            None,
        ),
    ] {
        let project = Project::with(&[
            ("apps/ns.yaml", &namespace("team: a")),
            ("apps/web.yaml", &web()),
            (path, &text),
        ]);
        assert_eq!(certainty(&project).as_deref(), expected, "{path}: {text}");
        if expected.is_some() {
            let out = project.run(&["check", "--fail-on=never"]).exits(0).stdout;
            assert!(out.contains(path), "{out}");
        }
    }
    // A label of the manifest decides.
    let project = Project::with(&[
        ("apps/ns.yaml", &namespace(OFF)),
        ("apps/web.yaml", &web()),
        (
            "setup.sh",
            &format!("kubectl label namespace shop {enabled}\n"),
        ),
    ]);
    assert_eq!(certainty(&project), None);
}

#[test]
fn a_command_for_an_unknown_namespace_makes_all_of_the_tree_assumed() {
    let enabled = "istio-injection=enabled";
    for (path, text, expected) in [
        (
            "hack/a.sh",
            format!("kubectl label ns $1 {enabled}\n"),
            Some("assumed"),
        ),
        (
            "hack/a.sh",
            format!("kubectl label ns -l team=a {enabled}\n"),
            Some("assumed"),
        ),
        (
            "hack/a.sh",
            format!("while read n; do kubectl label ns $n {enabled}; done\n"),
            Some("assumed"),
        ),
        (
            "hack/a.sh",
            format!("# kubectl label ns $1 {enabled}\n"),
            None,
        ),
        (
            "hack/a.sh",
            format!("kubectl label ns $1 {enabled} --dry-run=client\n"),
            None,
        ),
        (
            "hack/a.sh",
            format!("kubectl label -f ../apps/ns.yaml {enabled}\n"),
            Some("assumed"),
        ),
        (
            "hack/a.sh",
            format!("kubectl label -f apps/ns.yaml {enabled}\n"),
            Some("assumed"),
        ),
        (
            "hack/a.sh",
            format!("kubectl label -f apps/web.yaml {enabled}\n"),
            None,
        ),
        // The reader of a page chooses the name.
        (
            "docs/a.md",
            format!("kubectl label ns $NS {enabled}\n"),
            None,
        ),
        (
            "demos/x/README.md",
            format!("kubectl label ns --all {enabled}\n"),
            None,
        ),
        (
            "README.md",
            format!("kubectl label ns --all {enabled}\n"),
            Some("assumed"),
        ),
        (
            ".github/workflows/a.yml",
            format!(
                "env: {{NS: shop}}\njobs:\n  a:\n    steps:\n    - run: >-\n        kubectl label ns $NS\n        {enabled}\n"
            ),
            Some("assumed"),
        ),
        (
            ".github/workflows/a.yml",
            format!(
                "env: {{NS: cart}}\njobs:\n  a:\n    steps:\n    - run: |\n        kubectl label ns ${{{{ env.NS }}}} {enabled}\n"
            ),
            None,
        ),
        (
            "mesh.mk",
            format!("NS ?= shop\nup:\n\tkubectl label ns $(NS) {enabled}\n"),
            Some("assumed"),
        ),
    ] {
        let project = Project::with(&[
            ("apps/ns.yaml", &namespace("team: a")),
            ("apps/web.yaml", &web()),
            (path, &text),
        ]);
        assert_eq!(certainty(&project).as_deref(), expected, "{path}: {text}");
    }
}

#[test]
fn a_command_overwrites_the_label_of_a_manifest() {
    for (option, expected) in [("", None), (" --overwrite", Some("assumed"))] {
        let project = Project::with(&[
            ("apps/ns.yaml", &namespace(OFF)),
            ("apps/web.yaml", &web()),
            (
                "a.sh",
                &format!("kubectl label ns shop istio-injection=enabled{option}\n"),
            ),
        ]);
        assert_eq!(certainty(&project).as_deref(), expected, "{option}");
    }
}

#[test]
fn a_page_of_another_folder_does_not_label_a_namespace_that_is_not_in_the_tree() {
    let web = web()
        .replace("namespace: shop", "namespace: default")
        .replace(
            "sidecar.istio.io/rewriteAppHTTPProbers",
            "example.com/unrelated",
        );
    for (path, is_named) in [("demos/x/README.md", false), ("README.md", true)] {
        let project = Project::with(&[
            ("apps/web.yaml", &web),
            ("apps/ns.yaml", &namespace("")),
            (
                path,
                "kubectl label namespace default istio-injection=enabled\n",
            ),
        ]);
        let out = project.run(&["predict", "--explain"]).exits(0).stdout;
        assert_eq!(out.contains(path), is_named, "{out}");
    }
}
