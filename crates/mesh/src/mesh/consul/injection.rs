//! Decides which pods Consul's webhook injects, which it rejects, and the values of its settings.
//!
//! Sources, consul-k8s a507b1d1: `control-plane/connect-inject/webhook/mesh_webhook.go`
//! (`shouldInject`, `checkUnsupportedMultiPortCases`), `common/annotation_processor.go`
//! (`TransparentProxyEnabled`, `ShouldOverwriteProbes`).

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::Entry;

use super::keys::{DATAPLANE, EXCLUDED_PORTS, INJECT, OVERWRITE, STATUS, TRANSPARENT};
use super::rejection;
use super::rejection::several_services;
use crate::finding::Certainty;
use crate::kube::Object;
use crate::mesh::go_bool::parse_bool;
use crate::mesh::model::{Membership, PodInput, placeholder_membership};
use crate::mesh::{Fact, Reason};

const SETTLE: &str = "--assume injection=all|none";
const SETTLE_TRANSPARENT: &str = "annotation consul.hashicorp.com/transparent-proxy";
const SETTLE_OVERWRITE: &str = "annotation consul.hashicorp.com/transparent-proxy-overwrite-probes";

/// Namespaces that are never injected.
const NEVER: [&str; 2] = ["kube-system", "kube-public"];

/// Decides whether the pod is a member of the mesh.
pub(super) fn membership(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let member = injection(input);
    if member.value != Membership::Injected {
        return member;
    }
    let placeholder = placeholder_membership(input, &[TRANSPARENT, OVERWRITE, EXCLUDED_PORTS]);
    placeholder.or_else(|| refusal(input)).unwrap_or(member)
}

fn injection(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let object = &input.workload.object;
    if let Some(fact) = already_injected(input) {
        return fact;
    }
    if NEVER.contains(&input.namespace_name) {
        let message = format!("namespace `{}` is never injected", input.namespace_name);
        return Fact::settled(Membership::Outside, message);
    }
    if let Some(entry) = status(input) {
        let message = "the webhook does not inject pods with this annotation";
        let place = object.label_at(entry.key.span(), message);
        return Fact::known(Membership::Outside, place);
    }
    let Some(entry) = input.workload.template.annotation(INJECT) else {
        if let Some(hypothesis) = &input.supposed {
            return hypothesis.clone().map(|on| match on {
                true => Membership::Injected,
                false => Membership::Outside,
            });
        }
        let message = format!("no annotation `{INJECT}` enables injection");
        return Fact::default(Membership::Outside, message, SETTLE);
    };
    let text = entry.value.text().unwrap_or_default();
    let at = |message: &str| object.label_at(entry.value.span(), message);
    match parse_bool(text) {
        _ if placeholder::contains(text) => Fact {
            certainty: Certainty::Unknown,
            ..Fact::known(
                Membership::Unknown,
                object.placeholder_at(
                    entry.value.span(),
                    "fills in this value, which decides about injection",
                ),
            )
        },
        Some(true) => Fact::known(Membership::Injected, at("injection is on")),
        Some(false) => Fact::known(Membership::Outside, at("injection is switched off here")),
        None => refused(object, &entry),
    }
}

/// Returns the annotation of a pod that the webhook has processed, if it is not empty.
fn status<'t>(input: &PodInput<'_, 't>) -> Option<Entry<'t>> {
    input
        .workload
        .template
        .annotation(STATUS)
        .filter(|entry| entry.value.text().is_some_and(|text| !text.is_empty()))
}

/// Detects a pod that was injected before: the manifest contains the proxy and the annotation of the webhook.
fn already_injected(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let entry = status(input)?;
    let containers = input.workload.template.containers();
    containers
        .iter()
        .any(|container| is_proxy(container.name()))
        .then(|| {
            let message = "the manifest contains the proxy of Consul";
            let place = input.workload.object.label_at(entry.key.span(), message);
            Fact::known(Membership::AlreadyInjected, place)
        })
}

/// Returns whether a container has the name of a proxy: pods with several services have one for each.
fn is_proxy(name: &str) -> bool {
    name.strip_prefix(DATAPLANE)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn refused(object: &Object<'_>, entry: &Entry<'_>) -> Fact<Membership> {
    let text = entry.value.text().unwrap_or_default();
    let message = format!("the webhook rejects the pod: `{text}` is not a boolean");
    Fact::known(
        Membership::Refused,
        object.label_at(entry.value.span(), message),
    )
}

/// Returns the reason why a pod that the webhook would inject cannot be created, if there is one.
fn refusal(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let object = &input.workload.object;
    let invalid = [TRANSPARENT, OVERWRITE]
        .into_iter()
        .filter_map(|key| input.workload.template.annotation(key))
        .find(is_not_boolean);
    if let Some(entry) = invalid {
        return Some(refused(object, &entry));
    }
    if input.workload.template.annotation(TRANSPARENT).is_none()
        && let Some(namespace) = input.namespace
        && let Some(entry) = namespace.label(TRANSPARENT).filter(is_not_boolean)
    {
        return Some(refused(namespace, &entry));
    }
    by_several_services(input)
        .or_else(|| rejection::by_value(input))
        .or_else(|| rejection::by_service_port(input))
        .or_else(|| rejection::by_user(input))
        .or_else(|| rejection::by_container_name(input))
}

/// Rejects a pod that represents several services and uses the transparent proxy.
fn by_several_services(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let entry = several_services(input.workload)?;
    let transparent = transparent(input);
    let message =
        "the webhook rejects the pod: the transparent proxy does not support several services";
    let place = input.workload.object.label_at(entry.value.span(), message);
    let fact = Fact::known(Membership::Refused, place);
    transparent.value.then(|| fact.depending_on(&transparent))
}

/// Returns whether a value is neither a boolean nor a placeholder.
fn is_not_boolean(entry: &Entry<'_>) -> bool {
    let text = entry.value.text().unwrap_or_default();
    parse_bool(text).is_none() && !placeholder::contains(text)
}

/// Returns whether the traffic of the pod is redirected to its proxy.
pub(super) fn transparent(input: &PodInput<'_, '_>) -> Fact<bool> {
    let object = &input.workload.object;
    if let Some(entry) = input.workload.template.annotation(TRANSPARENT) {
        return switch(object, &entry, "the transparent proxy");
    }
    if let Some(namespace) = input.namespace
        && let Some(entry) = namespace.label(TRANSPARENT)
    {
        return switch(namespace, &entry, "the transparent proxy");
    }
    let message = "the chart enables the transparent proxy by default";
    Fact::default(true, message, SETTLE_TRANSPARENT)
}

/// Returns whether the webhook rewrites the probes of the pod, if its traffic is redirected.
pub(super) fn overwrites(input: &PodInput<'_, '_>) -> Fact<bool> {
    match input.workload.template.annotation(OVERWRITE) {
        Some(entry) => switch(&input.workload.object, &entry, "the rewrite of probes"),
        None => {
            let message = "the chart enables the rewrite of probes by default";
            Fact::default(true, message, SETTLE_OVERWRITE)
        }
    }
}

fn switch(object: &Object<'_>, entry: &Entry<'_>, what: &str) -> Fact<bool> {
    let text = entry.value.text().unwrap_or_default();
    let at = |state: &str| object.label_at(entry.value.span(), format!("{what} is {state}"));
    match parse_bool(text) {
        Some(true) => Fact::known(true, at("on")),
        Some(false) => Fact::known(false, at("off")),
        None => Fact {
            value: true,
            certainty: Certainty::Assumed,
            because: vec![Reason::written(at(
                "assumed to be on: its value is a placeholder",
            ))],
        },
    }
}
