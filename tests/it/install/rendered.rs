//! Objects of a rendered or running installation.

use super::*;

#[test]
fn the_config_map_of_the_mesh_configuration_is_read() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-canary, namespace: istio-system}\ndata:\n  mesh: |-\n    rootNamespace: mesh-root\n    defaultConfig:\n      statusPort: 15555\n";
    let install = one(text);
    assert_eq!(install.carrier, Carrier::MeshConfigMap);
    assert_eq!(install.part, Part::OfRevision);
    assert_eq!(install.revision_name(), "canary");
    assert_eq!(value(install.mesh_status_port.as_ref()), Some(15555));
    assert_eq!(written(text, install.mesh_status_port.as_ref()), "mesh");
    assert_eq!(value(install.root_namespace.as_ref()).unwrap(), "mesh-root");
    assert_eq!(install.rewrite, None);
    let other = text.replace("istio-canary", "prometheus");
    assert_eq!(installs(&[("a.yaml", &other)]), []);
}

const INJECTOR: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: istio-sidecar-injector
  labels: {istio.io/rev: default, app.kubernetes.io/version: 1.26.1}
data:
  values: |-
    {
      "global": {"istioNamespace": "istio-system", "proxy": {"statusPort": 15020, "includeInboundPorts": "*"}},
      "pilot": {"cni": {"enabled": true}, "env": {"ENABLE_NATIVE_SIDECARS": "true"}},
      "revision": "",
      "sidecarInjectorWebhook": {"enableNamespacesByDefault": false}
    }
  config: |-
    defaultTemplates: [sidecar, audit]
    policy: disabled
    alwaysInjectSelector:
      - matchLabels: {mesh: always}
    neverInjectSelector:
      []
    aliases: {both: [sidecar, audit]}
    template: "{{ Template_Version_And_Istio_Version_Mismatched_Check_Installation }}"
    templates:
      sidecar: |
        {{ $x := 1 }}
      audit: |
        spec: {}
"#;

#[test]
fn the_config_map_of_the_injector_is_read() {
    let install = one(INJECTOR);
    assert_eq!(install.carrier, Carrier::InjectorConfigMap);
    assert!(install.is_default());
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
    assert_eq!(value(install.cni.as_ref()), Some(true));
    assert_eq!(
        value(install.native_sidecars.as_ref()),
        Some(NativeSidecars::On)
    );
    assert_eq!(value(install.auto_inject.as_ref()), Some(false));
    assert_eq!(install.always_inject.as_ref().unwrap().value.len(), 1);
    assert_eq!(install.never_inject, None);
    assert_eq!(
        value(install.default_templates.as_ref()).unwrap(),
        ["sidecar", "audit"]
    );
    let custom: Vec<_> = install
        .custom_templates
        .iter()
        .map(|name| &name.value)
        .collect();
    assert_eq!(custom, ["audit"]);
    let alias = &install.template_aliases.first().unwrap().value;
    assert_eq!(
        alias,
        &(
            "both".to_owned(),
            vec!["sidecar".to_owned(), "audit".to_owned()]
        )
    );
    assert_eq!(install.unread, []);
}

#[test]
fn without_the_rewrite_key_of_the_injector_the_rewrite_is_off() {
    let install = one(INJECTOR);
    let rewrite = install.rewrite.as_ref();
    assert_eq!(
        (value(rewrite), rewrite.unwrap().certainty),
        (Some(false), Certainty::Known)
    );
    assert_eq!(written(INJECTOR, rewrite), "values");
    let on = INJECTOR.replace(
        "\"enableNamespacesByDefault\"",
        "\"rewriteAppHTTPProbe\": true, \"enableNamespacesByDefault\"",
    );
    assert_eq!(value(one(&on).rewrite.as_ref()), Some(true));
    let broken = INJECTOR.replace("\"revision\": \"\",", "\"revision\": {{,");
    let install = one(&broken);
    assert_eq!(install.rewrite, None);
    assert_eq!(install.unread.len(), 1);
}

#[test]
fn webhook_configurations_are_read_unchanged() {
    let text = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: istio-revision-tag-prod\n  labels: {istio.io/rev: canary, istio.io/tag: prod}\nwebhooks:\n- name: rev.namespace.sidecar-injector.istio.io\n  reinvocationPolicy: IfNeeded\n  namespaceSelector:\n    matchExpressions:\n    - {key: istio.io/rev, operator: In, values: [prod]}\n    - {key: istio-injection, operator: DoesNotExist}\n  objectSelector:\n    matchExpressions:\n    - {key: sidecar.istio.io/inject, operator: NotIn, values: ['false']}\n";
    let install = one(text);
    assert_eq!(install.part, Part::OfRevision);
    assert_eq!(install.names().collect::<Vec<_>>(), ["canary", "prod"]);
    assert_eq!(
        value(install.reinvocation_policy.as_ref()).unwrap(),
        "IfNeeded"
    );
    let webhook = install.webhooks.first().unwrap();
    assert_eq!(webhook.tag.as_deref(), Some("prod"));
    let prod = |key: &str| (key == "istio.io/rev").then_some("prod");
    assert!(webhook.matches(prod, |_| None));
    assert!(!webhook.matches(prod, |key| {
        (key == "sidecar.istio.io/inject").then_some("false")
    }));
    assert!(!webhook.matches(|_| None, |_| None));
    let other = text.replace("sidecar-injector.istio.io", "vault.example");
    assert_eq!(installs(&[("a.yaml", &other)]), []);
}

#[test]
fn the_deployment_of_istiod_is_read() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod-canary, labels: {istio.io/rev: canary}}\nspec:\n  template:\n    spec:\n      containers:\n      - name: discovery\n        image: registry.example/istio/pilot:1.26.1-distroless\n        env:\n        - {name: REVISION, value: canary}\n        - {name: ENABLE_NATIVE_SIDECARS, value: 'true'}\n        - {name: REWRITE_TCP_PROBES, value: 'false'}\n";
    let install = one(text);
    assert_eq!(install.carrier, Carrier::Rendered);
    assert_eq!(install.revision_name(), "canary");
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
    assert_eq!(
        value(install.native_sidecars.as_ref()),
        Some(NativeSidecars::On)
    );
    assert_eq!(value(install.rewrite_tcp.as_ref()), Some(false));
    let other = text.replace("/pilot:", "/autopilot:");
    assert_eq!(installs(&[("a.yaml", &other)]), []);
}

#[test]
fn the_rendered_cni_plugin_is_read() {
    let map = one(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-cni-config}\ndata:\n  AMBIENT_ENABLED: 'true'\n  AMBIENT_ENABLEMENT_SELECTOR: |-\n    - podSelector:\n        matchLabels: {mesh: 'on'}\n",
    );
    assert_eq!(value(map.ambient.as_ref()), Some(true));
    let selectors = map.ambient_selectors.unwrap().value;
    let selector = selectors.first().unwrap();
    assert!(selector.pod.matches(|key| (key == "mesh").then_some("on")));
    assert!(selector.namespace.is_empty());
    let node = one(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: istio-cni-node}\nspec: {template: {spec: {containers: [{name: install-cni, image: 'istio/install-cni:1.26.1'}]}}}\n",
    );
    assert_eq!(
        (node.part, value(node.cni.as_ref())),
        (Part::Cluster, Some(true))
    );
    let node = one(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: ztunnel}\nspec: {template: {spec: {containers: [{name: istio-proxy, image: 'istio/ztunnel:1.26.1'}]}}}\n",
    );
    assert_eq!(value(node.ambient.as_ref()), Some(true));
}

#[test]
fn other_objects_are_ignored() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-ca-root-cert}\ndata: {root-cert.pem: x}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: web, image: web:1}]}}}\n";
    assert_eq!(installs(&[("a.yaml", text)]), []);
}

#[test]
fn a_service_maps_a_revision_tag() {
    let text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: istiod-revision-tag-prod\n  labels: {istio.io/rev: 1-30-0, istio.io/tag: prod}\nspec: {ports: [{port: 15012}]}\n";
    let install = one(text);
    let part = Part::Tags {
        kind: "Service".into(),
        name: "1-30-0".into(),
    };
    assert_eq!(install.part, part);
    assert_eq!(install.names().collect::<Vec<_>>(), ["prod"]);
    let other = text.replace("istio.io/tag: prod", "app: istiod");
    assert!(installs(&[("istio.yaml", &other)]).is_empty());
}
