//! Revisions, webhooks, injection policy and templates of the installation.

use meshprobe::settings::InjectionAssumption;

use super::*;

/// Returns the dataplane of `web`, with the given labels of its namespace and of its own, and files of an installation.
pub(super) fn dataplane(namespace_labels: &str, labels: &str, install: &str) -> Fact<Dataplane> {
    dataplane_with(namespace_labels, labels, install, &Settings::default())
}

fn dataplane_with(
    namespace_labels: &str,
    labels: &str,
    install: &str,
    settings: &Settings,
) -> Fact<Dataplane> {
    let web = web(labels, "");
    let namespace = namespace(namespace_labels);
    let files = [
        ("web.yaml", web.as_str()),
        ("ns.yaml", namespace.as_str()),
        ("istio.yaml", install),
    ];
    evaluate_with(&files, settings, |context, workload| {
        context.pod_facts(workload).dataplane()
    })
}

pub(super) const CANARY: &str = "istio.io/rev: canary";

#[test]
fn a_revision_that_no_control_plane_serves_is_not_injected() {
    let fact = dataplane(CANARY, "", &helm_release("revision: stable"));
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::None, Certainty::Assumed)
    );
    assert_eq!(
        reasons(&fact),
        [
            "no control plane in the tree serves the revision that this label selects",
            "serves `stable`, not `canary`",
            "no tag `canary` was created outside of the tree"
        ]
    );
    assert_eq!(places(&fact), ["ns.yaml", "istio.yaml"]);
}

#[test]
fn a_revision_or_tag_that_is_served_is_injected() {
    for values in [
        "revision: canary",
        "revisionTags: [canary]",
        "revision: x, revisionTags: [canary]",
    ] {
        let fact = dataplane(CANARY, "", &helm_release(values));
        assert_eq!(
            (fact.value, fact.certainty),
            (Dataplane::Sidecar, Certainty::Known),
            "{values}"
        );
    }
    let by_pod = dataplane("", CANARY, &helm_release("revision: canary"));
    assert_eq!(
        (by_pod.value, by_pod.certainty),
        (Dataplane::Sidecar, Certainty::Known)
    );
}

#[test]
fn without_a_control_plane_in_the_tree_a_revision_is_assumed_served() {
    let fact = dataplane(CANARY, "", "apiVersion: v1\nkind: Secret\n");
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::Sidecar, Certainty::Assumed)
    );
    let cluster = helm_release("").replace("chart: istiod", "chart: base");
    let fact = dataplane(CANARY, "", &cluster);
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::Sidecar, Certainty::Assumed),
        "`base` is not a control plane"
    );
}

#[test]
fn the_default_role_requires_no_revision_or_the_default_tag() {
    let enabled = "istio-injection: enabled";
    assert_eq!(
        dataplane(enabled, "", &helm_release("")).value,
        Dataplane::Sidecar
    );
    let fact = dataplane(enabled, "", &helm_release("revision: canary"));
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::None, Certainty::Assumed)
    );
    let tagged = dataplane(
        enabled,
        "",
        &helm_release("revision: canary, revisionTags: [default]"),
    );
    assert_eq!(tagged.value, Dataplane::Sidecar);
    let by_istioctl = dataplane(enabled, "", &operator("revision: canary"));
    assert_eq!(
        (by_istioctl.value, by_istioctl.certainty),
        (Dataplane::Sidecar, Certainty::Assumed)
    );
}

#[test]
fn names_that_could_not_be_read_are_assumed_served() {
    let fact = dataplane(CANARY, "", &helm_release("revision: '${REVISION}'"));
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::Sidecar, Certainty::Assumed)
    );
    assert!(reasons(&fact).contains(&"the revision is a placeholder"));
}

#[test]
fn an_option_names_who_is_not_in_the_tree() {
    let revisions = |names: &[&str]| FactOverrides {
        revisions: names.iter().map(ToString::to_string).collect(),
        ..FactOverrides::default()
    };
    let stable = helm_release("revision: stable");
    let assumed = dataplane_with(CANARY, "", &stable, &assume(revisions(&["canary"])));
    assert_eq!(
        (assumed.value, assumed.certainty),
        (Dataplane::Sidecar, Certainty::Assumed)
    );
    let overridden = dataplane_with(
        "istio.io/rev: stable",
        "",
        &stable,
        &overriding(revisions(&["canary"])),
    );
    assert_eq!(overridden.value, Dataplane::None);
    let overridden = dataplane_with(CANARY, "", &stable, &overriding(revisions(&["canary"])));
    assert_eq!(
        (overridden.value, overridden.certainty),
        (Dataplane::Sidecar, Certainty::Known)
    );
}

#[test]
fn an_option_overrides_the_labels_of_the_namespace() {
    let none = overriding(FactOverrides {
        injection: Some(InjectionAssumption::None),
        ..FactOverrides::default()
    });
    let fact = dataplane_with("istio-injection: enabled", "", &helm_release(""), &none);
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::None, Certainty::Known)
    );
    let all = overriding(FactOverrides {
        injection: Some(InjectionAssumption::All),
        ..FactOverrides::default()
    });
    let fact = dataplane_with("istio-injection: disabled", "", &helm_release(""), &all);
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::Sidecar, Certainty::Known)
    );
    let opted_out = dataplane_with(
        "",
        "sidecar.istio.io/inject: 'false'",
        &helm_release(""),
        &all,
    );
    assert_eq!(opted_out.value, Dataplane::None);
}

#[test]
fn a_missing_namespace_is_assumed_to_select_the_revision_in_the_tree() {
    let web = web("", "sidecar.istio.io/rewriteAppHTTPProbers: 'true'");
    let release = helm_release("revision: canary");
    let files = [("web.yaml", web.as_str()), ("istio.yaml", release.as_str())];
    let fact = evaluate(&files, |context, workload| {
        context.pod_facts(workload).dataplane()
    });
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::Sidecar, Certainty::Assumed)
    );
}

#[test]
fn injection_depends_on_the_policy_of_the_installation() {
    let by_default = helm_release("sidecarInjectorWebhook: {enableNamespacesByDefault: true}");
    assert_eq!(dataplane("", "", &by_default).value, Dataplane::Sidecar);
    assert_eq!(dataplane("", "", &helm_release("")).value, Dataplane::None);
    let enabled = "istio-injection: enabled";
    let off = helm_release("global: {proxy: {autoInject: disabled}}");
    let fact = dataplane(enabled, "", &off);
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::None, Certainty::Known)
    );
    assert_eq!(reasons(&fact), ["`global.proxy.autoInject` is disabled"]);
    let labelled = dataplane(enabled, "sidecar.istio.io/inject: 'true'", &off);
    assert_eq!(labelled.value, Dataplane::Sidecar);
}

#[test]
fn selectors_of_the_installation_apply() {
    let enabled = "istio-injection: enabled";
    let never = helm_release(
        "sidecarInjectorWebhook: {neverInjectSelector: [{matchLabels: {app: web}}], alwaysInjectSelector: [{matchLabels: {app: web}}]}",
    );
    assert_eq!(
        dataplane(enabled, "", &never).value,
        Dataplane::None,
        "`neverInjectSelector` takes precedence"
    );
    let always = helm_release(
        "global: {proxy: {autoInject: disabled}}, sidecarInjectorWebhook: {alwaysInjectSelector: [{matchLabels: {app: web}}]}",
    );
    assert_eq!(dataplane(enabled, "", &always).value, Dataplane::Sidecar);
    let empty = helm_release("sidecarInjectorWebhook: {neverInjectSelector: [{}]}");
    assert_eq!(
        dataplane(enabled, "", &empty).value,
        Dataplane::Sidecar,
        "an empty selector matches nothing"
    );
}

#[test]
fn default_templates_of_the_installation_apply() {
    let enabled = "istio-injection: enabled";
    let gateway = helm_release("sidecarInjectorWebhook: {defaultTemplates: [gateway]}");
    assert_eq!(
        dataplane(enabled, "", &gateway).value,
        Dataplane::Uncaptured
    );
    let both = helm_release("sidecarInjectorWebhook: {defaultTemplates: [sidecar, audit]}");
    assert_eq!(dataplane(enabled, "", &both).value, Dataplane::Sidecar);
}

#[test]
fn the_installation_enables_ambient_mode() {
    let ambient = "istio.io/dataplane-mode: ambient";
    assert_eq!(
        dataplane(ambient, "", &helm_release("")).value,
        Dataplane::Ambient
    );
    let cni = |values: &str| {
        let chart = helm_release(values).replace("chart: istiod", "chart: cni");
        format!("{}---\n{chart}", helm_release(""))
    };
    let off = dataplane(ambient, "", &cni("ambient: {enabled: false}"));
    assert_eq!(
        (off.value, off.certainty),
        (Dataplane::None, Certainty::Known)
    );
    let selectors =
        "ambient: {enabled: true, enablementSelectors: [{podSelector: {matchLabels: {app: web}}}]}";
    assert_eq!(dataplane("", "", &cni(selectors)).value, Dataplane::Ambient);
    let others = selectors.replace("app: web", "app: other");
    assert_eq!(dataplane(ambient, "", &cni(&others)).value, Dataplane::None);
    let settings = overriding(FactOverrides {
        ambient: Some(false),
        ..FactOverrides::default()
    });
    assert_eq!(
        dataplane_with(ambient, "", "a: b\n", &settings).value,
        Dataplane::None
    );
}
