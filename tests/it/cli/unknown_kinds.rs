//! Pod templates in objects of operators, whose kinds are not known.

use serde_json::Value;

use crate::support::findings;
use crate::support::project::Project;

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n---\n\
    apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: default, namespace: shop}\n\
    spec: {mtls: {mode: STRICT}}\n";

const POD: &str = "{containers: [{name: web, image: registry.example/web:1, ports: [{containerPort: 8080}], \
    readinessProbe: {httpGet: {path: /ready, port: 8080}}}]}";

const TEMPLATE: &str =
    "{metadata: {annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}}, spec: POD}";

fn object(api_version: &str, kind: &str, spec: &str) -> String {
    let spec = spec.replace("TEMPLATE", TEMPLATE).replace("POD", POD);
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: web, namespace: shop}}\nspec: {spec}\n"
    )
}

fn project(object: &str) -> Project {
    Project::with(&[("namespace.yaml", NAMESPACE), ("web.yaml", object)])
}

fn json(project: &Project, arguments: &[&str]) -> Value {
    let run = project.run(arguments);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn pod_templates_of_unknown_kinds_are_judged_with_an_assumption() {
    for (api_version, kind, spec, paths) in [
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "{leaderWorkerTemplate: {leaderTemplate: TEMPLATE, workerTemplate: TEMPLATE}}",
            &[
                "spec.leaderWorkerTemplate.leaderTemplate",
                "spec.leaderWorkerTemplate.workerTemplate",
            ][..],
        ),
        (
            "ray.io/v1",
            "RayCluster",
            "{headGroupSpec: {template: TEMPLATE}, workerGroupSpecs: [{template: TEMPLATE}]}",
            &[
                "spec.headGroupSpec.template",
                "spec.workerGroupSpecs[0].template",
            ],
        ),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "{replicatedJobs: [{name: a, template: {spec: {template: TEMPLATE}}}]}",
            &["spec.replicatedJobs[0].template.spec.template"],
        ),
        (
            "agones.dev/v1",
            "Fleet",
            "{template: {spec: {template: TEMPLATE}}}",
            &["spec.template.spec.template"],
        ),
        (
            "flink.apache.org/v1beta1",
            "FlinkDeployment",
            "{jobManager: {podTemplate: TEMPLATE}}",
            &["spec.jobManager.podTemplate"],
        ),
        (
            "elasticsearch.k8s.elastic.co/v1",
            "Elasticsearch",
            "{nodeSets: [{name: default, podTemplate: TEMPLATE}]}",
            &["spec.nodeSets[0].podTemplate"],
        ),
        (
            "kubeflow.org/v1",
            "PyTorchJob",
            "{pytorchReplicaSpecs: {Master: {template: TEMPLATE}}}",
            &["spec.pytorchReplicaSpecs.Master.template"],
        ),
        (
            "operators.coreos.com/v1alpha1",
            "ClusterServiceVersion",
            "{install: {spec: {deployments: [{name: a, spec: {template: TEMPLATE}}]}}}",
            &["spec.install.spec.deployments[0].spec.template"],
        ),
    ] {
        let project = project(&object(api_version, kind, spec));
        let found = findings(&project.run(&["check", "--output-format", "json"]));
        let strict: Vec<_> = found
            .iter()
            .filter(|finding| finding["rule"] == "strict-probe-not-rewritten")
            .collect();
        assert_eq!(strict.len(), paths.len(), "{kind}: {found:#?}");
        for (finding, path) in strict.iter().zip(paths) {
            assert_eq!(finding["certainty"], "assumed", "{kind}");
            assert_eq!(finding["severity"], "warning", "{kind}");
            let field = finding["field"].as_str().unwrap();
            assert!(
                field.starts_with(&format!("{path}.spec.containers[0]")),
                "{field}"
            );
            let assumptions = finding["assumptions"].to_string();
            assert!(
                assumptions.contains(&format!("{kind}/web creates pods from `{path}`")),
                "{assumptions}"
            );
            let degree = &finding["fix"]["applicability"];
            assert!(
                degree.is_null() || degree == "display-only",
                "{kind}: {degree}"
            );
        }
    }
}

#[test]
fn a_pod_spec_without_metadata_is_judged() {
    let service = object(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "{predictor: POD}",
    );
    let project = project(&service);
    let report = json(&project, &["predict", "--output-format", "json"]);
    let handler = &report["workloads"][0]["handlers"][0];
    assert_eq!(
        handler["field"],
        "spec.predictor.containers[0].readinessProbe"
    );
    assert_eq!(handler["certainty"], "assumed");
    assert_eq!(handler["rewritten"], true);
}

#[test]
fn rewrite_does_not_edit_an_object_of_an_unknown_kind() {
    let template = "{headGroupSpec: {template: {spec: POD}}}";
    let project = project(&object("ray.io/v1", "RayCluster", template));
    let before = project.read("web.yaml");
    project
        .run(&["rewrite", "--write"])
        .exits(1)
        .stderr_contains("RayCluster/web is not edited")
        .stderr_contains("1 refused");
    assert_eq!(project.read("web.yaml"), before);
    // Other workloads of the same run are rewritten.
    project.write("pod.yaml", object("v1", "Pod", "POD"));
    project.run(&["rewrite", "--write"]);
    assert!(project.read("pod.yaml").contains("/app-health/web/readyz"));
    assert_eq!(project.read("web.yaml"), before);
}

#[test]
fn fixes_do_not_change_an_object_of_an_unknown_kind() {
    let spec = "{predictor: POD, headGroupSpec: {template: TEMPLATE}}";
    let project = project(&object("ray.io/v1", "RayCluster", spec));
    let before = project.read("web.yaml");
    project.run(&["check", "--fix", "--unsafe-fixes"]);
    assert_eq!(project.read("web.yaml"), before);
}

#[test]
fn known_fields_of_other_kinds_are_known() {
    let rollout = object("argoproj.io/v1alpha1", "Rollout", "{template: TEMPLATE}");
    let project = project(&rollout);
    let found = findings(&project.run(&["check", "--output-format", "json"]));
    let strict = found
        .iter()
        .find(|finding| finding["rule"] == "strict-probe-not-rewritten");
    assert_eq!(strict.unwrap()["certainty"], "known");
}

#[test]
fn values_of_charts_are_not_pods() {
    for (api_version, kind, spec) in [
        (
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            "{values: {sidecar: POD}}",
        ),
        (
            "argoproj.io/v1alpha1",
            "Application",
            "{source: {helm: {valuesObject: {sidecar: POD}}}}",
        ),
        (
            "kyverno.io/v1",
            "ClusterPolicy",
            "{rules: [{validate: {pattern: {spec: POD}}}]}",
        ),
        ("monitoring.coreos.com/v1", "Prometheus", "POD"),
        ("serving.kserve.io/v1alpha1", "ServingRuntime", "POD"),
        (
            "flink.apache.org/v1beta1",
            "FlinkDeployment",
            "{podTemplate: {spec: {containers: [{name: main, readinessProbe: {httpGet: {port: 1}}}]}}}",
        ),
    ] {
        let project = project(&object(api_version, kind, spec));
        let report = json(&project, &["predict", "--output-format", "json"]);
        assert_eq!(report["workloads"].as_array().unwrap().len(), 0, "{kind}");
    }
}

/// The usual field `spec.template` does not hide other templates of the same object.
#[test]
fn templates_beside_the_usual_one_are_judged() {
    let spec = "{template: TEMPLATE, backup: {podTemplate: TEMPLATE}}";
    let project = project(&object("example.com/v1", "Database", spec));
    let found = findings(&project.run(&["check", "--output-format", "json"]));
    let mut places: Vec<(&str, &str)> = found
        .iter()
        .filter(|finding| finding["rule"] == "strict-probe-not-rewritten")
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap();
            (text("field"), text("certainty"))
        })
        .collect();
    places.sort_unstable();
    let expected = [
        (
            "spec.backup.podTemplate.spec.containers[0].readinessProbe",
            "assumed",
        ),
        ("spec.template.spec.containers[0].readinessProbe", "known"),
    ];
    assert_eq!(places, expected);
}
