//! Pods of operators and of other deployment tools are judged, or named as not judged.

use serde_json::{Value, json};

use crate::support::manifest::STRICT_MESH;
use crate::support::project::Project;

const NAMESPACE: &str =
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";

const CONTAINERS: &str = "containers: [{name: web, image: registry.example/web:1, readinessProbe: {httpGet: {port: 8080}}}]";

fn project(object: &str) -> Project {
    Project::with(&[
        ("ns.yaml", NAMESPACE),
        ("mtls.yaml", STRICT_MESH),
        ("object.yaml", object),
    ])
}

fn report(object: &str) -> Value {
    let run = project(object).run(&["check", "--output-format", "json"]);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Returns reason and message of what is not judged.
fn not_judged(object: &str) -> Vec<(String, String)> {
    let report = report(object);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = report["not_judged"].as_array().unwrap().iter();
    found
        .map(|found| (text(&found["reason"]), text(&found["message"])))
        .collect()
}

#[test]
fn objects_whose_pods_are_not_in_the_tree_are_named() {
    for (api_version, kind, spec, reason, message) in [
        (
            "helm.cattle.io/v1",
            "HelmChart",
            "{chart: web, repo: 'https://charts.example', targetNamespace: shop}",
            "helm-chart",
            "HelmChart/x: the chart `web` is not in the tree",
        ),
        (
            "helm.cattle.io/v1",
            "HelmChart",
            "{chartContent: H4sI}",
            "helm-chart",
            "HelmChart/x: its chart is a compressed archive in `spec.chartContent`",
        ),
        (
            "kappctrl.k14s.io/v1alpha1",
            "App",
            "{fetch: [{git: {url: 'https://git.example'}}]}",
            "other-deployment",
            "App/x deploys what another tool renders",
        ),
        (
            "fleet.cattle.io/v1alpha1",
            "GitRepo",
            "{repo: 'https://git.example', paths: [a]}",
            "other-deployment",
            "GitRepo/x deploys what another tool renders",
        ),
        (
            "core.oam.dev/v1beta1",
            "Application",
            "{components: [{name: a, type: webservice, properties: {image: a}}]}",
            "other-deployment",
            "Application/x deploys what another tool renders",
        ),
        (
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            "{driver: {cores: 1}}",
            "generated-pod",
            "the operator of SparkApplication/x generates its pods; `spec.driver.annotations` sets their metadata",
        ),
        (
            "machinelearning.seldon.io/v1",
            "SeldonDeployment",
            "{predictors: [{name: a, graph: {implementation: SKLEARN_SERVER}}]}",
            "generated-pod",
            "the operator of SeldonDeployment/x generates its pods",
        ),
        (
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "{predictor: {model: {modelFormat: {name: sklearn}}}}",
            "generated-pod",
            "KServe generates the pods of `spec.predictor` of InferenceService/x",
        ),
        (
            "elasticsearch.k8s.elastic.co/v1",
            "Elasticsearch",
            "{nodeSets: [{name: a, podTemplate: {spec: {containers: [{name: elasticsearch}]}}}]}",
            "operator-pod",
            "Elasticsearch/x describes a part of a pod, and its operator generates the rest",
        ),
        (
            "kibana.k8s.elastic.co/v1",
            "Kibana",
            "{podTemplate: {metadata: {annotations: {sidecar.istio.io/inject: 'false'}}}}",
            "generated-pod",
            "the operator of Kibana/x generates its pods; `spec.podTemplate.metadata` sets their metadata",
        ),
        (
            "kafka.strimzi.io/v1beta2",
            "Kafka",
            "{kafka: {template: {pod: {metadata: {labels: {a: b}}}}}}",
            "generated-pod",
            "the operator of Kafka/x generates its pods; `spec.kafka.template.pod.metadata` sets their metadata",
        ),
        (
            "kafka.strimzi.io/v1beta2",
            "KafkaConnect",
            "{readinessProbe: {initialDelaySeconds: 15}}",
            "operator-pod",
            "KafkaConnect/x describes a part of a pod, and its operator generates the rest",
        ),
        (
            "postgresql.cnpg.io/v1",
            "Cluster",
            "{instances: 3}",
            "generated-pod",
            "the operator of Cluster/x generates its pods; `spec.inheritedMetadata` sets their metadata",
        ),
        (
            "argoproj.io/v1beta1",
            "ArgoCD",
            "{}",
            "generated-pod",
            "the operator of ArgoCD/x generates its pods",
        ),
        (
            "monitoring.coreos.com/v1",
            "Prometheus",
            "{replicas: 2}",
            "generated-pod",
            "the operator of Prometheus/x generates its pods; `spec.podMetadata` sets their metadata",
        ),
        (
            "monitoring.coreos.com/v1",
            "Prometheus",
            "{containers: [{name: prometheus, readinessProbe: {failureThreshold: 9}}]}",
            "operator-pod",
            "Prometheus/x describes a part of a pod, and its operator generates the rest",
        ),
        (
            "skiperator.kartverket.no/v1alpha1",
            "Application",
            "{image: a, port: 8080, readiness: {port: 8080, path: /ready}}",
            "generated-pod",
            "the operator of Application/x generates its pods",
        ),
        (
            "argoproj.io/v1alpha1",
            "Workflow",
            "{templates: [{container: {image: a, readinessProbe: {httpGet: {port: 80}}}}]}",
            "operator-pod",
            "Workflow/x describes a part of a pod, and its operator generates the rest",
        ),
    ] {
        let object = format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x, namespace: shop}}\nspec: {spec}\n"
        );
        let expected = [(reason.to_owned(), message.to_owned())];
        assert_eq!(not_judged(&object), expected, "{kind}");
    }
}

/// Kinds of the same groups that create no pods are not named.
#[test]
fn other_objects_of_operators_are_not_named() {
    for (api_version, kind) in [
        ("postgresql.cnpg.io/v1", "ScheduledBackup"),
        ("argoproj.io/v1alpha1", "AppProject"),
        ("monitoring.coreos.com/v1", "ServiceMonitor"),
        ("kafka.strimzi.io/v1beta2", "KafkaTopic"),
        ("grafana.integreatly.org/v1beta1", "GrafanaDashboard"),
        ("rabbitmq.com/v1beta1", "Queue"),
    ] {
        let object = format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x, namespace: shop}}\nspec: {{a: b}}\n"
        );
        assert_eq!(not_judged(&object), [], "{kind}");
    }
}

#[test]
fn a_chart_of_fleet_in_a_repository_is_named() {
    let reasons = |chart: &str| {
        let text = format!(
            "defaultNamespace: shop\nhelm:\n  releaseName: web\n{chart}  values: {{a: b}}\n"
        );
        let project = Project::with(&[("apps/fleet.yaml", &text)]);
        let run = project.run(&["check", "--output-format", "json"]).exits(0);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let found = report["not_judged"].as_array().unwrap().iter();
        found.map(|found| found["help"].clone()).collect::<Vec<_>>()
    };
    let help =
        "render it as it is deployed, and pipe the rendering into `meshprobe check --context . -`";
    let remote = "  chart: web\n  repo: https://charts.example\n";
    assert_eq!(reasons(remote), [help]);
    assert_eq!(reasons("  chart: ./chart\n"), [""; 0]);
}

#[test]
fn templates_of_openshift_of_both_groups_are_named() {
    for group in ["v1", "template.openshift.io/v1"] {
        let object = format!(
            "apiVersion: {group}\nkind: Template\nmetadata: {{name: x, namespace: shop}}\nobjects:\n  - apiVersion: apps/v1\n    \
             kind: Deployment\n    metadata: {{name: '${{NAME}}'}}\n    spec: {{template: {{spec: {{{CONTAINERS}}}}}}}\n"
        );
        let message = "Template/x is an OpenShift Template that is not rendered".to_owned();
        assert_eq!(
            not_judged(&object),
            [("openshift-template".to_owned(), message)],
            "{group}"
        );
    }
}

fn inference_service(annotations: &str, component: &str) -> String {
    format!(
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {{name: x, namespace: shop, annotations: \
         {{{annotations}}}}}\nspec: {{predictor: {{{component}{CONTAINERS}}}}}\n"
    )
}

/// KServe sets the annotations of the object and of the component on the pods; those of the component take precedence.
#[test]
fn annotations_of_an_inference_service_apply_to_its_pods() {
    const REWRITE: &str = "sidecar.istio.io/rewriteAppHTTPProbers";
    let outcome = |annotations: &str, component: &str| {
        let object = inference_service(annotations, component);
        let run = project(&object).run(&["predict", "--output-format", "json"]);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let workload = &report["workloads"][0];
        json!([
            workload["dataplane"]["value"],
            workload["handlers"][0]["outcome"]
        ])
    };
    assert_eq!(outcome("", ""), json!(["sidecar", "ok"]));
    let off = format!("{REWRITE}: 'false'");
    assert_eq!(outcome(&off, ""), json!(["sidecar", "fails"]));
    let on = format!("annotations: {{{REWRITE}: 'true'}}, ");
    assert_eq!(outcome(&off, &on), json!(["sidecar", "ok"]));
    assert_eq!(
        outcome("", &on.replace("true", "false")),
        json!(["sidecar", "fails"])
    );
    let inject = "labels: {sidecar.istio.io/inject: 'false'}, ";
    assert_eq!(outcome("", inject), json!(["none", "not-in-mesh"]));
}

/// Annotations of an object do not apply to the pods of other operators.
#[test]
fn annotations_of_other_objects_do_not_apply_to_their_pods() {
    let object = inference_service("sidecar.istio.io/rewriteAppHTTPProbers: 'false'", "").replace(
        "serving.kserve.io/v1beta1\nkind: InferenceService",
        "example.com/v1\nkind: Model",
    );
    let report = report(&object);
    let fails = |finding: &&Value| finding["outcome"] == "fails";
    assert_eq!(
        report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(fails)
            .count(),
        0
    );
}
