//! Installations with `IstioOperator`.

use super::*;

const OPERATOR: &str = r#"
apiVersion: install.istio.io/v1alpha1
kind: IstioOperator
metadata: {name: istio, namespace: istio-system}
spec:
  tag: 1.26.1-distroless
  revision: canary
  meshConfig:
    rootNamespace: mesh-root
    inboundTrafficPolicy: {mode: LOCALHOST}
    discoverySelectors: [{matchLabels: {mesh: "on"}}]
    defaultConfig:
      statusPort: 15555
      interceptionMode: TPROXY
      holdApplicationUntilProxyStarts: true
      proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: "true"}
  components:
    cni: {enabled: true}
    pilot:
      k8s:
        env:
        - {name: ENABLE_NATIVE_SIDECARS, value: "false"}
        - {name: REWRITE_TCP_PROBES, value: "false"}
  values:
    meshConfig: {defaultConfig: {statusPort: 1}, rootNamespace: overruled}
    pilot: {env: {ENABLE_NATIVE_SIDECARS: "true"}}
    revisionTags: [prod, default]
    global:
      istioNamespace: elsewhere
      proxy:
        autoInject: disabled
        statusPort: 15666
        includeInboundPorts: ""
        excludeInboundPorts: 9090
    sidecarInjectorWebhook:
      rewriteAppHTTPProbe: false
      enableNamespacesByDefault: true
      reinvocationPolicy: IfNeeded
      neverInjectSelector: [{matchLabels: {skip: me}}]
      alwaysInjectSelector: [{matchExpressions: [{key: mesh, operator: Exists}]}]
      defaultTemplates: [sidecar, spire]
      templates: {spire: "spec: {}"}
"#;

#[test]
fn an_operator_file_is_an_installation() {
    let install = one(OPERATOR);
    assert_eq!(install.carrier, Carrier::IstioOperator);
    assert_eq!(install.part, Part::ControlPlane);
    assert_eq!(value(install.version.as_ref()), Some(V1_26));
    assert_eq!(install.revision_name(), "canary");
    assert_eq!(tags(&install), ["prod", "default"]);
    assert!(install.is_default(), "the tag is `default`");
    assert_eq!(value(install.namespaces_by_default.as_ref()), Some(true));
    assert_eq!(value(install.rewrite.as_ref()), Some(false));
    assert_eq!(value(install.rewrite_tcp.as_ref()), Some(false));
    assert_eq!(value(install.probe_localhost.as_ref()), Some(true));
    assert_eq!(value(install.root_namespace.as_ref()).unwrap(), "mesh-root");
    assert_eq!(value(install.mesh_status_port.as_ref()), Some(15555));
    assert_eq!(value(install.proxy_status_port.as_ref()), Some(15666));
    assert_eq!(value(install.include_inbound_ports.as_ref()).unwrap(), "");
    assert_eq!(
        value(install.exclude_inbound_ports.as_ref()).unwrap(),
        "9090"
    );
    assert_eq!(value(install.interception_mode.as_ref()).unwrap(), "TPROXY");
    assert_eq!(
        value(install.inbound_traffic_policy.as_ref()).unwrap(),
        "LOCALHOST"
    );
    assert_eq!(value(install.hold_application.as_ref()), Some(true));
    assert_eq!(value(install.cni.as_ref()), Some(true));
    let native = value(install.native_sidecars.as_ref());
    assert_eq!(
        native,
        Some(NativeSidecars::Off),
        "`k8s.env` overrides `values`"
    );
    assert_eq!(value(install.auto_inject.as_ref()), Some(false));
    assert_eq!(
        value(install.reinvocation_policy.as_ref()).unwrap(),
        "IfNeeded"
    );
    assert_eq!(
        value(install.default_templates.as_ref()).unwrap(),
        ["sidecar", "spire"]
    );
    let custom: Vec<_> = install
        .custom_templates
        .iter()
        .map(|name| &name.value)
        .collect();
    assert_eq!(custom, ["spire"]);
    let never = install.never_inject.unwrap().value;
    assert!(
        never
            .first()
            .unwrap()
            .matches(|key| (key == "skip").then_some("me"))
    );
    let always = install.always_inject.unwrap().value;
    assert!(
        always
            .first()
            .unwrap()
            .matches(|key| (key == "mesh").then_some(""))
    );
    assert_eq!(install.discovery_selectors.unwrap().value.len(), 1);
}

#[test]
fn every_fact_has_its_line() {
    let install = one(OPERATOR);
    assert_eq!(
        written(OPERATOR, install.version.as_ref()),
        "1.26.1-distroless"
    );
    assert_eq!(written(OPERATOR, install.revision.as_ref()), "canary");
    assert_eq!(
        written(OPERATOR, install.mesh_status_port.as_ref()),
        "15555"
    );
    assert_eq!(written(OPERATOR, install.rewrite.as_ref()), "false");
    assert_eq!(
        written(OPERATOR, install.native_sidecars.as_ref()),
        "\"false\""
    );
    assert_eq!(
        install.rewrite.as_ref().unwrap().certainty,
        Certainty::Known
    );
    let label = install.rewrite.unwrap().because.remove(0).place.unwrap();
    assert_eq!(&*label.path, "istio.yaml");
    assert_eq!(
        label.message,
        "`sidecarInjectorWebhook.rewriteAppHTTPProbe` is false"
    );
}

#[test]
fn values_that_an_operator_file_does_not_contain_are_unknown() {
    let install = one(
        "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: x}\nspec: {values: {}}\n",
    );
    assert_eq!(install.rewrite, None);
    assert_eq!(install.version, None);
    assert!(install.is_default());
    assert_eq!(install.names().collect::<Vec<_>>(), ["default"]);
}

#[test]
fn an_operator_file_for_gateways_is_not_a_control_plane() {
    let head =
        "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: x}\nspec:\n";
    let gateways =
        format!("{head}  profile: empty\n  components: {{ingressGateways: [{{name: a}}]}}\n");
    assert_eq!(installs(&[("a.yaml", &gateways)]), []);
    let with = format!("{head}  profile: empty\n  components: {{pilot: {{enabled: true}}}}\n");
    assert_eq!(one(&with).part, Part::ControlPlane);
    let without =
        format!("{head}  components: {{pilot: {{enabled: false}}, cni: {{enabled: true}}}}\n");
    assert_eq!(one(&without).part, Part::Cluster);
}

#[test]
fn profiles_and_compatibility_versions_set_defaults() {
    let head =
        "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: x}\nspec:\n";
    let ambient = one(&format!("{head}  profile: ambient\n"));
    assert_eq!(value(ambient.ambient.as_ref()), Some(true));
    let openshift = one(&format!("{head}  profile: openshift\n"));
    assert_eq!(value(openshift.cni.as_ref()), Some(true));
    let old = one(&format!("{head}  compatibilityVersion: '1.25'\n"));
    assert_eq!(
        value(old.native_sidecars.as_ref()),
        Some(NativeSidecars::Off)
    );
    let new = one(&format!("{head}  compatibilityVersion: '1.27'\n"));
    assert_eq!(new.native_sidecars, None);
}

#[test]
fn a_placeholder_is_an_unknown_value() {
    let install = one(
        "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: x}\nspec:\n  revision: ${REVISION}\n  tag: ${TAG}\n  values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: '${REWRITE}'}}\n",
    );
    assert_eq!(install.version, None);
    assert_eq!(install.revision, None);
    assert!(install.more_names.is_some());
    let rewrite = install.rewrite.unwrap();
    assert_eq!(
        (rewrite.value, rewrite.certainty),
        (true, Certainty::Assumed)
    );
}
