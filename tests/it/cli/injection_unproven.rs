//! `rewrite` names the fact without which it is not known whether a pod is injected, and an option that settles it.

use crate::support::manifest::{ANNOTATED_WEB, Manifest, Pod};
use crate::support::project::Project;

/// What each refusal reports, whatever is missing.
const START: &str = "nothing proves that it will be injected";

/// Returns the Deployment with an entry in the labels of its pods.
fn web(label: &str) -> String {
    ANNOTATED_WEB.replace(
        "labels: {app: web}, ",
        &format!("labels: {{app: web{label}}}, "),
    )
}

fn namespace(labels: &str) -> String {
    Manifest::namespace("shop").labels(labels).to_string()
}

/// Checks that a rewrite is refused with these words, and that the options of the help allow it.
#[track_caller]
fn assert_settled(project: &Project, why: &str, help: &str) {
    let write = ["rewrite", "--write", "--mesh-version", "1.28", "."];
    let run = project.run(&write).exits(1);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains(&format!("{START} ({why})")), "{message}");
    assert!(!message.contains("is injected"), "{message}");
    let printed = message.split_once(" help: ").unwrap().1;
    assert!(printed.starts_with(&format!("{help} rule:")), "{message}");
    let options = help.rsplit('`').nth(1).unwrap().split(' ');
    let arguments = [&write[..], &options.collect::<Vec<_>>()].concat();
    project.run(&arguments).exits(0);
    let text = project.read("web.yaml");
    assert!(text.contains("/app-health/web/readyz"), "{text}");
}

#[test]
fn without_a_namespace_its_manifest_is_missing() {
    let project = Project::with(&[("web.yaml", &web(""))]);
    let why = "no Namespace manifest for `shop` in scope, no evidence of a mesh";
    let help =
        "add the Namespace manifest to the run (`--context`), or use `--assume injection=all`";
    assert_settled(&project, why, help);
}

#[test]
fn without_a_control_plane_the_revision_of_a_namespace_is_unproven() {
    let labels = namespace("istio.io/rev: canary");
    let project = Project::with(&[("web.yaml", &web("")), ("ns.yaml", &labels)]);
    let why = "it is not known whether a control plane serves revision `canary`, which Namespace `shop` selects";
    let help = "add the manifest of the control plane to the run (`--context`), or use `--assume revision=canary`";
    assert_settled(&project, why, help);
}

#[test]
fn without_a_control_plane_the_revision_of_a_pod_is_unproven() {
    let pod = web(", istio.io/rev: canary");
    let project = Project::with(&[("web.yaml", &pod), ("ns.yaml", &namespace("team: a"))]);
    let why = "it is not known whether a control plane serves revision `canary`, which the pod template selects with \
               `istio.io/rev`";
    let help = "add the manifest of the control plane to the run (`--context`), or use `--assume revision=canary`";
    assert_settled(&project, why, help);
}

/// Both the Namespace and the control plane of the revision decide, also if another control plane is in the tree.
#[test]
fn without_a_namespace_the_revision_of_a_pod_is_unproven() {
    let plane = Manifest::operator("istio", "revision: stable").to_string();
    for files in [&[][..], &[("istio.yaml", &*plane)]] {
        let project = Project::with(files);
        project.write("web.yaml", web(", istio.io/rev: canary"));
        let why = "no Namespace manifest for `shop` in scope, and it is not known whether a control plane serves \
                   revision `canary`, which the pod template selects with `istio.io/rev`";
        let help = "add the manifests of the Namespace and of the control plane to the run (`--context`), or use \
                    `--assume injection=all --assume revision=canary`";
        assert_settled(&project, why, help);
    }
}

#[test]
fn a_value_that_another_tool_fills_in_is_named() {
    let pod = web(", sidecar.istio.io/inject: '${INJECT}'");
    let labels = namespace("istio-injection: enabled");
    let project = Project::with(&[("web.yaml", &pod), ("ns.yaml", &labels)]);
    let why = "another tool fills in this value, which decides about injection";
    let help = "rewrite the output of the tool that fills it in, or use `--override injection=all`";
    assert_settled(&project, why, help);
}

/// A policy in the root namespace applies to the whole mesh, so it does not show that its own namespace is injected.
#[test]
fn a_policy_in_the_root_namespace_is_not_evidence_of_injection() {
    let policy = |namespace: &str| {
        format!(
            "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {{name: default, namespace: {namespace}}}\n\
             spec: {{mtls: {{mode: STRICT}}}}\n"
        )
    };
    let outcome = |namespace: &str, options: &[&str]| {
        let pod = Pod::new("web").within(namespace).container("web");
        let pod = pod.probe("readinessProbe", "httpGet: {port: 80}");
        let project = Project::with(&[
            ("policy.yaml", &policy(namespace)),
            ("web.yaml", &pod.to_string()),
        ]);
        let arguments = [
            "predict",
            "--override=rewrite=false",
            "--output-format=json",
        ];
        let run = project.run(&[&arguments[..], options].concat());
        let report: serde_json::Value = serde_json::from_str(&run.exits(0).stdout).unwrap();
        report["workloads"][0]["handlers"][0]["outcome"].clone()
    };
    assert_eq!(outcome("istio-system", &[]), "unknown");
    assert_eq!(outcome("shop", &[]), "fails");
    let root = ["--override=root-namespace=shop"];
    assert_eq!(outcome("shop", &root), "unknown");
    assert_eq!(outcome("istio-system", &root), "fails");
}
