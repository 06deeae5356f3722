//! `vars` of a kustomization fill in values: the text `$(NAME)` is not judged.

use serde_json::Value;

use crate::support::findings;
use crate::support::manifest::{INJECTED, STRICT_MESH};
use crate::support::predictions::{handlers, texts};
use crate::support::project::Project;

const PORTS: &str = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ports, namespace: shop}\ndata: {PORT: 'VALUE'}\n";

/// Returns a project with a Deployment whose annotation `key` is `$(PORT)`.
fn project(key: &str, value: &str, fields: &str) -> Project {
    let ports = PORTS.replace("VALUE", value);
    let web = format!(
        "{INJECTED}{ports}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\nspec:\n  selector: \
         {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}, annotations: {{{key}: $(PORT)}}}}\n    \
         spec:\n      containers:\n      - {{name: web, image: 'web:1', ports: [{{containerPort: 8080}}], readinessProbe: {{httpGet: \
         {{path: /, port: 8080}}}}}}\n"
    );
    let kustomization = format!("resources: [web.yaml]\n{fields}\n");
    Project::with(&[("web.yaml", &web), ("kustomization.yaml", &kustomization)])
}

const VARS: &str = "vars: [{name: PORT, objref: {kind: ConfigMap, name: ports, apiVersion: v1}, fieldref: {fieldpath: data.PORT}}]";
const OUTBOUND: &str = "traffic.sidecar.istio.io/excludeOutboundPorts";
const REWRITE: &str = "sidecar.istio.io/rewriteAppHTTPProbers";

fn rules(project: &Project) -> Vec<String> {
    let run = project.run(&["check", "--output-format", "json"]);
    let found = findings(&run);
    let rule = |finding: &Value| finding["rule"].as_str().unwrap().to_owned();
    found.iter().map(rule).collect()
}

#[test]
fn the_value_of_a_variable_is_judged_and_not_its_name() {
    assert_eq!(rules(&project(OUTBOUND, "3306", VARS)), [""; 0]);
    assert_eq!(
        rules(&project(OUTBOUND, "mysql", VARS)),
        ["invalid-traffic-annotation"]
    );
    // Nothing replaces it.
    assert_eq!(
        rules(&project(OUTBOUND, "3306", "")),
        ["invalid-traffic-annotation"]
    );
}

#[test]
fn a_variable_with_an_unknown_value_is_a_placeholder() {
    // kustomize builds these if it may use the network and run programs.
    for source in [
        "components: ['https://github.com/example/base//ports']",
        "helmCharts: [{name: ports, repo: 'https://charts.example.com', version: 1.0.0}]",
        "generators: [ports.yaml]",
    ] {
        let others = VARS.replace("name: ports", "name: others");
        let fields = format!("{others}\n{source}");
        let project = project(REWRITE, "false", &fields);
        project.write("mtls.yaml", STRICT_MESH);
        project.write(
            "ports.yaml",
            "apiVersion: example.com/v1\nkind: Ports\nmetadata: {name: ports}\n",
        );
        let run = project.run(&["check", "--output-format", "json"]);
        let found = findings(&run);
        let mut severities = found.iter().map(|finding| &finding["severity"]);
        assert!(severities.all(|severity| severity == "note"), "{fields}");
        let run = project.run(&["predict", "--output-format", "json"]);
        let outcomes: Vec<String> = handlers(&run)
            .iter()
            .map(|handler| texts(handler, &["/outcome"]))
            .collect();
        assert_eq!(outcomes, ["unknown"], "{fields}");
    }
}

#[test]
fn a_pod_with_a_variable_is_rewritten() {
    let project = project(OUTBOUND, "3306", VARS);
    let run = project.run(&["rewrite", "--write", "--mesh-version", "1.30", "."]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(
        project.read("web.yaml").contains("/app-health/web/readyz"),
        "{}{}",
        run.stdout,
        run.stderr
    );
}
