//! Consul: which pods its webhook injects, and which it rejects.

use super::isolated;
use crate::support::manifest::Pod;
use serde_json::Value;

const ON: &str = "consul.hashicorp.com/connect-inject: \"true\"";

fn annotated(annotations: &str) -> Pod {
    let web = Pod::new("web").within("demo").annotations(annotations);
    web.field("image: web:1")
        .field("readinessProbe: {httpGet: {path: /healthz, port: 8080}}")
}

/// Returns the dataplane of a pod and the deciding reason.
fn judged(pod: &Pod, options: &[&str]) -> (String, String) {
    let arguments = ["predict", "--output-format", "json", "--mesh", "consul"];
    let run = isolated(&[&arguments, options].concat(), &pod.to_string());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let dataplane = &report["workloads"][0]["dataplane"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        text(&dataplane["value"]),
        text(&dataplane["because"][0]["message"]),
    )
}

fn dataplane(pod: &Pod) -> String {
    judged(pod, &[]).0
}

/// `shouldInject` in `control-plane/connect-inject/webhook/mesh_webhook.go` reads the annotation, not the containers.
#[test]
fn consul_recognizes_injected_pods_by_their_status() {
    let status = "consul.hashicorp.com/connect-inject-status: injected";
    let with_status = annotated(ON).annotations(status);
    let (value, reason) = judged(&with_status, &[]);
    assert_eq!(value, "none");
    assert_eq!(
        reason,
        "the webhook does not inject pods with this annotation"
    );
    let assumed = judged(&with_status, &["--override", "injection=all"]).0;
    assert_eq!(assumed, "none");
    for proxy in ["consul-dataplane", "consul-dataplane-web"] {
        let (value, reason) = judged(&with_status.clone().container(proxy), &[]);
        assert_eq!(value, "sidecar", "{proxy}");
        assert_eq!(reason, "the manifest contains the proxy of Consul");
    }
    let native = with_status.clone().init_container("consul-dataplane");
    assert_eq!(dataplane(&native), "sidecar");
    let empty = annotated(ON).annotations("consul.hashicorp.com/connect-inject-status: \"\"");
    assert_eq!(dataplane(&empty), "sidecar");
    // A pod that runs the proxy itself, such as a gateway.
    let off = annotated("consul.hashicorp.com/connect-inject: \"false\"");
    assert_eq!(dataplane(&off.container("consul-dataplane")), "none");
}

/// `PortValue` in `control-plane/connect-inject/common/common.go`: the first port is a name or an integer of Go.
#[test]
fn consul_rejects_a_service_port_that_no_container_declares() {
    let port = |value: &str| {
        let value = format!("consul.hashicorp.com/connect-service-port: \"{value}\"");
        annotated(ON)
            .annotations(&value)
            .container("metrics")
            .field("ports: [{name: metrics, containerPort: 9090}]")
            .init_container("setup")
            .field("ports: [{name: setup, containerPort: 9091}]")
    };
    for value in ["8080", "metrics", "metrics,http", "0x1F90", "", "${PORT}"] {
        assert_eq!(dataplane(&port(value)), "sidecar", "{value}");
    }
    for value in [
        "http",
        "setup",
        "http,metrics",
        "08080",
        " 8080",
        "2147483648",
    ] {
        let (dataplane, reason) = judged(&port(value), &[]);
        assert_eq!(dataplane, "none", "{value}");
        assert!(
            reason.starts_with("the webhook rejects the pod: no container declares the port"),
            "{reason}"
        );
    }
    let metrics = "consul.hashicorp.com/service-metrics-port: \"9090\"";
    assert_eq!(dataplane(&port("http").annotations(metrics)), "sidecar");
    let off = Pod::new("web").within("demo").field("image: web:1");
    let off = off.annotations("consul.hashicorp.com/connect-service-port: http");
    let reason = judged(&off, &[]).1;
    assert!(reason.starts_with("no annotation"), "{reason}");
}

/// `consulDataplaneSidecar` and `containerInit` in `control-plane/connect-inject/webhook` name the containers.
#[test]
fn consul_pods_cannot_use_the_names_of_added_containers() {
    let several = format!(
        "{ON}, consul.hashicorp.com/transparent-proxy: \"false\", \
         consul.hashicorp.com/connect-service: \"web,admin\""
    );
    let cases = [
        // Annotations, container, dataplane.
        (ON, "consul-dataplane", "none"),
        (ON, "consul-connect-inject-init", "none"),
        (ON, "consul-dataplane-web", "sidecar"),
        (&several, "consul-dataplane-admin", "none"),
        (&several, "consul-connect-inject-init-web", "none"),
        (&several, "consul-dataplane", "sidecar"),
    ];
    for (annotations, name, wanted) in cases {
        for pod in [
            annotated(annotations).container(name),
            annotated(annotations).init_container(name),
        ] {
            let (dataplane, reason) = judged(&pod, &[]);
            assert_eq!(dataplane, wanted, "{name}");
            let refused = format!(
                "the API server rejects the pod: the webhook adds another container `{name}`"
            );
            assert_eq!(reason == refused, wanted == "none", "{reason}");
        }
    }
}
