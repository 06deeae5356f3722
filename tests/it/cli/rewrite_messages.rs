//! Messages of `rewrite` name what decides, and repeat nothing.

use crate::support::manifest::{INJECTED, join};
use crate::support::project::Project;

/// Returns a Deployment with annotations and container fields.
fn web(name: &str, annotations: &str, probes: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  selector: \
         {{matchLabels: {{app: web}}}}\n  template:\n    metadata:\n      labels: {{app: web}}\n      annotations: \
         {{{annotations}}}\n    spec:\n      containers:\n      - name: web\n        image: registry.example/web:1\n{probes}"
    )
}

/// Returns the notes and errors of a rewrite of workloads, on one line each.
fn messages(workloads: &[String]) -> String {
    let all: Vec<&str> = std::iter::once(INJECTED)
        .chain(workloads.iter().map(String::as_str))
        .collect();
    let project = Project::with(&[("web.yaml", &join(&all))]);
    let run = project.run(&["rewrite", "--diff", "--mesh-version", "1.28"]);
    run.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

const PROBE: &str = "        startupProbe: {httpGet: {port: 8080}}\n";

#[test]
fn a_refusal_of_the_injector_names_the_annotation() {
    for (annotation, key, why) in [
        (
            "sidecar.istio.io/proxyCPU: abc",
            "sidecar.istio.io/proxyCPU",
            "`abc` is not a quantity",
        ),
        (
            "traffic.sidecar.istio.io/includeInboundPorts: web",
            "traffic.sidecar.istio.io/includeInboundPorts",
            "`web` is not a port number",
        ),
    ] {
        let found = messages(&[web("web", annotation, PROBE)]);
        let message = format!("the injector refuses the pod: annotation `{key}` is invalid ({why}");
        assert!(found.contains(&message), "{message}\n{found}");
    }
}

#[test]
fn probes_of_one_host_are_one_note() {
    let probes = "        readinessProbe: {httpGet: {port: 80, host: shop.example}}\n        livenessProbe: {httpGet: {port: \
                  80, host: shop.example}}\n";
    let both = format!("{probes}{PROBE}");
    let found = messages(&[web("web", "", &both)]);
    assert_eq!(found.matches("note[host-kept]").count(), 1, "{found}");
    let message = "livenessProbe of container `web` and readinessProbe of container `web` are not rewritten: with the opt-out, \
                   their requests reach host `shop.example` as written";
    assert!(found.contains(message), "{found}");
    let found = messages(&[web("web", "", &both), web("shop", "", &both)]);
    assert_eq!(found.matches("note[host-kept]").count(), 1, "{found}");
    let message = "2 workloads have probes that are not rewritten: with the opt-out, their requests reach host `shop.example`";
    assert!(found.contains(message), "{found}");
}
