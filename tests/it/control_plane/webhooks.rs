//! Webhook configurations in the tree, and tags that other tools set.

use super::injection::{CANARY, dataplane};
use super::*;

fn webhook_configuration(labels: &str, namespaces: &str, objects: &str) -> String {
    let webhooks = format!(
        "webhooks:
- name: namespace.sidecar-injector.istio.io
  namespaceSelector: {{{namespaces}}}
  objectSelector: {{{objects}}}"
    );
    let api = "admissionregistration.k8s.io/v1";
    Manifest::new(
        api,
        "MutatingWebhookConfiguration",
        "istio-sidecar-injector",
    )
    .labels(labels)
    .field(&webhooks)
    .to_string()
}

#[test]
fn webhooks_in_the_tree_decide_the_injection() {
    let own = webhook_configuration(
        "istio.io/rev: default",
        "matchExpressions: [{key: team, operator: In, values: [shop, stock]}]",
        "matchExpressions: [{key: sidecar.istio.io/inject, operator: NotIn, values: ['false']}]",
    );
    let fact = dataplane("team: shop", "", &own);
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::Sidecar, Certainty::Known)
    );
    assert_eq!(
        reasons(&fact),
        ["webhook `namespace.sidecar-injector.istio.io` selects the pod"]
    );
    assert_eq!(dataplane("team: other", "", &own).value, Dataplane::None);
    let modelled = dataplane("istio-injection: enabled", "", &own);
    assert_eq!(
        (modelled.value, modelled.certainty),
        (Dataplane::None, Certainty::Known)
    );
    let off = dataplane("team: shop", "sidecar.istio.io/inject: 'false'", &own);
    assert_eq!(off.value, Dataplane::None);
    let by_name = webhook_configuration(
        "istio.io/rev: default",
        "matchLabels: {kubernetes.io/metadata.name: shop}",
        "",
    );
    assert_eq!(dataplane("", "", &by_name).value, Dataplane::Sidecar);
}

#[test]
fn webhooks_of_a_tag_leave_the_revision_to_the_model() {
    let tag = webhook_configuration(
        "istio.io/rev: canary, istio.io/tag: prod",
        "matchExpressions: [{key: istio.io/rev, operator: In, values: [prod]}]",
        "",
    );
    let install = format!("{}---\n{tag}", helm_release("revision: canary"));
    assert_eq!(
        dataplane("istio.io/rev: prod", "", &install).value,
        Dataplane::Sidecar
    );
    assert_eq!(dataplane(CANARY, "", &install).value, Dataplane::Sidecar);
    assert_eq!(
        dataplane("istio.io/rev: stage", "", &install).value,
        Dataplane::None
    );
}

#[test]
fn deactivated_webhooks_do_not_inject() {
    let never = webhook_configuration(
        "istio.io/rev: default",
        "matchLabels: {istio.io/deactivated: never-match}, matchExpressions: [{key: istio-injection, operator: In, values: [enabled]}]",
        "",
    );
    let fact = dataplane("istio-injection: enabled", "", &never);
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::None, Certainty::Known)
    );
}

#[test]
fn a_tag_of_the_sail_operator_finds_its_control_plane() {
    let sail = |kind, name| Manifest::new("sailoperator.io/v1", kind, name);
    let istio = sail("Istio", "mesh");
    let istio = istio.spec("{version: v1.26.3, updateStrategy: {type: RevisionBased}}");
    let istio = istio.to_string();
    let tag = sail("IstioRevisionTag", "default");
    let tag = tag.spec("{targetRef: {kind: Istio, name: mesh}}");
    let enabled = "istio-injection: enabled";
    assert_eq!(dataplane(enabled, "", &istio).value, Dataplane::None);
    let both = format!("{istio}---\n{tag}");
    assert_eq!(dataplane(enabled, "", &both).value, Dataplane::Sidecar);
    assert_eq!(
        dataplane("istio.io/rev: mesh-v1-26-3", "", &both).value,
        Dataplane::Sidecar
    );
}
