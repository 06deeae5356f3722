//! Typed Kubernetes objects read from nodes, compared with `serde_json`.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, PodSpec, Probe, Service};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{DeError, from_node};
use crate::{Span, Tree, parse};

fn tree(text: &str) -> Tree {
    parse(&Arc::from(text), Span::new(0, text.len()))
        .unwrap()
        .unwrap()
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, DeError> {
    from_node(tree(text).root().unwrap())
}

/// Returns the faulty text, its route and the message.
fn fault<T: DeserializeOwned + fmt::Debug>(text: &str) -> (String, String, String) {
    let error = read::<T>(text).unwrap_err();
    (
        error.span.slice(text).to_owned(),
        error.route.to_string(),
        error.message,
    )
}

#[test]
fn a_pod_spec_equals_the_same_spec_in_json() {
    let pod: PodSpec = read(
        "containers:
- name: app
  image: 'x:1'
  env:
  - {name: A, value: \"8080\"}
  ports: [{containerPort: 8080, name: http}]
  livenessProbe: &probe
    httpGet: {path: /live, port: http, scheme: HTTPS}
    periodSeconds: 10.0
  readinessProbe: *probe
  startupProbe:
    <<: *probe
    periodSeconds: 0o17
  resources: {limits: {cpu: '1'}}
hostNetwork: yes
nodeSelector:
  on: x
  1: z
tolerations: null
volumes: ~
",
    )
    .unwrap();
    let expected: PodSpec = serde_json::from_value(json!({
        "containers": [{
            "name": "app", "image": "x:1", "env": [{"name": "A", "value": "8080"}],
            "ports": [{"containerPort": 8080, "name": "http"}],
            "livenessProbe": {"httpGet": {"path": "/live", "port": "http", "scheme": "HTTPS"}, "periodSeconds": 10},
            "readinessProbe": {"httpGet": {"path": "/live", "port": "http", "scheme": "HTTPS"}, "periodSeconds": 10},
            "startupProbe": {"httpGet": {"path": "/live", "port": "http", "scheme": "HTTPS"}, "periodSeconds": 15},
            "resources": {"limits": {"cpu": "1"}},
        }],
        "hostNetwork": true, "nodeSelector": {"true": "x", "1": "z"},
        "tolerations": null, "volumes": null,
    }))
    .unwrap();
    assert_eq!(pod, expected);
}

#[test]
fn ports_are_integers_or_names() {
    let service: Service =
        read("spec: {ports: [{port: 80, targetPort: 8080.0}, {port: 81, targetPort: '81'}]}\n")
            .unwrap();
    let expected: Service = serde_json::from_value(json!({"spec": {"ports": [
        {"port": 80, "targetPort": 8080}, {"port": 81, "targetPort": "81"}]}}))
    .unwrap();
    assert_eq!(service, expected);
}

#[test]
fn the_last_of_duplicate_keys_wins_even_if_the_first_has_a_wrong_type() {
    let probe: Probe = read("periodSeconds: [1]\nperiodSeconds: 4\n").unwrap();
    assert_eq!(probe.period_seconds, Some(4));
}

#[test]
fn errors_have_the_span_and_route_of_the_faulty_node() {
    let (span, route, message) = fault::<Probe>("httpGet:\n  path: /x\n  port: [1] # here\n");
    assert_eq!((span.as_str(), route.as_str()), ("[1]", "httpGet.port"));
    assert_eq!(message, "invalid type: sequence, expected IntOrString");

    let (span, route, message) =
        fault::<PodSpec>("containers:\n- name: a\n  livenessProbe:\n    timeoutSeconds: \"5s\"\n");
    assert_eq!(span, "\"5s\"");
    assert_eq!(route, "containers[0].livenessProbe.timeoutSeconds");
    assert_eq!(message, "invalid type: string \"5s\", expected i32");

    let (span, route, _) = fault::<Service>("metadata: {name: a}\nspec: none # c\n");
    assert_eq!((span.as_str(), route.as_str()), ("none", "spec"));

    let (span, _, message) = fault::<Probe>("- 1\n- 2\n");
    assert_eq!(span, "- 1\n- 2");
    assert_eq!(message, "invalid type: sequence, expected Probe");
}

#[test]
fn scalars_of_the_wrong_type_are_errors_as_in_the_kubernetes_api() {
    let (span, _, _) = fault::<ConfigMap>("data: {a: yes}\n");
    assert_eq!(span, "yes");
    let (span, _, message) = fault::<Probe>("periodSeconds: .inf\n");
    assert_eq!(span, ".inf");
    assert!(message.contains("JSON"), "{message}");
    let (span, _, _) = fault::<Probe>("periodSeconds: 1.5\n");
    assert_eq!(span, "1.5");
    let (span, _, message) = fault::<ConfigMap>("data: {? [a] : b}\n");
    assert_eq!(span, "[a]");
    assert_eq!(message, "a key must be a string");
}

#[test]
fn the_span_of_an_error_in_an_alias_is_in_the_anchored_node() {
    let text = "livenessProbe: &p\n  periodSeconds: x\nreadinessProbe: *p\n";
    let tree = tree(text);
    let node = tree.root().unwrap().entry("readinessProbe").unwrap().value;
    let error = from_node::<Probe>(node).unwrap_err();
    assert_eq!(error.span.slice(text), "x");
}

#[test]
fn documents_that_multiply_or_nest_too_deep_are_errors() {
    let mut bomb = String::from("a0: &a0 [x]\n");
    for level in 1..40 {
        let below = format!("*a{}", level - 1);
        bomb.push_str(&format!(
            "a{level}: &a{level} [{below}, {below}, {below}]\n"
        ));
    }
    let error = read::<serde_json::Value>(&bomb).unwrap_err();
    assert!(error.message.contains("repeat"), "{error}");

    let mut merges = String::from("a0: &a0 {k: v}\n");
    for level in 1..16 {
        let below = format!("*a{}", level - 1);
        merges.push_str(&format!(
            "a{level}: &a{level} {{<<: [{below}, {below}, {below}, {below}, {below}]}}\n"
        ));
    }
    read::<serde_json::Value>(&merges).unwrap_err();

    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let error = read::<serde_json::Value>(&deep).unwrap_err();
    assert_eq!(error.message, "nested too deep");

    read::<serde_json::Value>("a: &a [*a]\n").unwrap_err();
}

#[test]
fn a_null_in_a_list_is_the_zero_value_of_its_items() {
    let text = "exec: {command: [null, a]}\nhttpGet: {port: 1, httpHeaders: [~]}\n";
    let probe: Probe = read(text).unwrap();
    let empty = json!({"exec": {"command": ["", "a"]}, "httpGet": {"port": 1, "httpHeaders": [{"name": "", "value": ""}]}});
    assert_eq!(probe, serde_json::from_value(empty).unwrap());
    let values: serde_json::Value = read(text).unwrap();
    assert_eq!(values["exec"]["command"][0], serde_json::Value::Null);
}
