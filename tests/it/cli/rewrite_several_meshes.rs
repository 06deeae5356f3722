//! `rewrite` names the other meshes that inject a pod.

use crate::support::manifest::join;
use crate::support::project::Project;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations: {KEY}\nspec:\n  \
                   containers:\n  - name: web\n    livenessProbe: {httpGet: {path: /, port: 8080}}\n";

fn rewrite(namespace: &str, key: &str) -> crate::support::Run {
    let namespace = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{istio-injection: enabled{namespace}}}}}\n"
    );
    let project = Project::with(&[("tree.yaml", &join(&[&namespace, &POD.replace("KEY", key)]))]);
    project.run(&["rewrite", "--mesh-version", "1.28", "tree.yaml"])
}

#[test]
fn a_second_injector_is_noted() {
    let run = rewrite("", "linkerd.io/inject: enabled").exits(0);
    run.stderr_contains(
        "note[several-meshes]: Pod/web: each of Linkerd and Istio injects its proxy",
    )
    .stderr_contains("Nothing to rewrite");
    let run = rewrite(
        ", appmesh.k8s.aws/sidecarInjectorWebhook: enabled",
        "team: web",
    )
    .exits(0);
    run.stderr_contains("Istio injects its proxy, and App Mesh may inject its own")
        .stderr_contains("1 of 1 workload rewritten");
    let one = rewrite("", "team: web").exits(0);
    assert!(!one.stderr.contains("several-meshes"), "{}", one.stderr);
}

#[test]
fn a_refusal_names_the_mesh_that_does_not_decide() {
    let key = "consul.hashicorp.com/connect-inject: \"true\"";
    let run = rewrite("", key).exits(1);
    run.stderr_contains("error[preview-only]")
        .stderr_contains("each of Consul and Istio injects its proxy");
}
