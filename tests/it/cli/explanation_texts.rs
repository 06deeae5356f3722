//! Texts of predictions about what is not known, and about paths without a slash.

use crate::support::project::Project;

const NAMESPACE: &str =
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";

fn pod(annotations: &str, probe: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop, annotations: {{{annotations}}}}}\nspec:\n  containers:\n  - {{name: web, readinessProbe: {{{probe}}}}}\n"
    )
}

#[test]
fn an_unknown_outcome_has_no_certainty_and_an_unknown_fact_no_value() {
    let pod = pod(
        "sidecar.istio.io/rewriteAppHTTPProbers: '${REWRITE}'",
        "httpGet: {path: /, port: 8080}",
    );
    let project = Project::with(&[("ns.yaml", NAMESPACE), ("web.yaml", &pod)]);
    let run = project.run(&["predict", "--explain"]).exits(0);
    let run = run.stdout_contains("  outcome     unknown: a value is a placeholder\n");
    assert!(!run.stdout.contains("(unknown)"), "{}", run.stdout);
    run.stdout_contains("  rewrite     unknown\n")
        .stdout_contains("  release     unknown\n");
}

#[test]
fn a_path_without_a_slash_is_shown_as_the_kubelet_requests_it() {
    for (path, shown) in [
        ("healthz", ":99999/healthz"),
        ("/healthz", ":99999/healthz"),
        ("'?full=1'", ":99999/?full=1"),
        ("'${PATH}'", ":99999${PATH}"),
    ] {
        let pod = pod("", &format!("httpGet: {{path: {path}, port: 99999}}"));
        let project = Project::with(&[("ns.yaml", NAMESPACE), ("web.yaml", &pod)]);
        let run = project.run(&["predict"]).exits(0);
        run.stdout_contains(&format!("http {shown} "));
    }
}

/// The sentence about a kustomization explains nothing if the finding shows the line of a patch.
#[test]
fn a_fix_in_a_patch_is_made_by_hand_without_a_reason() {
    let web = pod("", "tcpSocket: {port: 8080}");
    let off = "sidecar.istio.io/rewriteAppHTTPProbers: 'false'";
    let patch = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop, annotations: {{{off}}}}}\n"
    );
    let inline = format!(
        "resources: [ns.yaml, web.yaml]\npatches: [{{patch: \"{{apiVersion: v1, kind: Pod, metadata: {{name: web, namespace: shop, annotations: {{{off}}}}}}}\"}}]\n"
    );
    for files in [
        vec![
            ("web.yaml", web.as_str()),
            ("off.yaml", &patch),
            (
                "kustomization.yaml",
                "resources: [ns.yaml, web.yaml]\npatches: [{path: off.yaml}]\n",
            ),
        ],
        vec![("web.yaml", &web), ("kustomization.yaml", &inline)],
    ] {
        let project = Project::with(&[&files[..], &[("ns.yaml", NAMESPACE)]].concat());
        let run = project.run(&["check"]).exits(1);
        run.stdout_contains("(by hand)");
        let json = project.run(&["check", "--output-format", "json"]).exits(1);
        json.stdout_contains("\"edits\": []");
    }
    let annotated = pod(off, "tcpSocket: {port: 8080}");
    let project = Project::with(&[
        ("ns.yaml", NAMESPACE),
        ("web.yaml", &annotated),
        (
            "kustomization.yaml",
            "resources: [ns.yaml, web.yaml]\ncommonLabels: {a: b}\n",
        ),
    ]);
    let run = project.run(&["check"]).exits(1);
    run.stdout_contains("because a kustomization changes the object)");
}
