//! Decides which pods Kuma's webhook injects, and which it rejects.

use crate::finding::Certainty;
use crate::kube::{ContainerList, Object};
use crate::mesh::Fact;
use crate::mesh::model::{Membership, PodInput};
use crate::source::placeholder;
use crate::yaml::Entry;

use super::keys::{INJECTION, PROXY_PORT, SIDECAR};
use super::proxy::{Era, ProbeProxy};
use super::switch::parse_switch;

const SETTLE: &str = "--assume injection=all|none";

/// Decides whether the webhook injects the pod.
pub(super) fn injection(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let object = &input.workload.object;
    let containers = input.workload.template.containers();
    let own = containers
        .iter()
        .find(|container| container.name() == SIDECAR);
    if let Some(name) = own.and_then(|container| container.node.get("name")) {
        let message = "the manifest contains the sidecar of Kuma";
        return Fact::known(
            Membership::AlreadyInjected,
            object.label_at(name.span(), message),
        );
    }
    if let Some(entry) = input.workload.template.label(INJECTION) {
        return read(object, &entry);
    }
    if let Some(hypothesis) = &input.supposed {
        return hypothesis.clone().map(|on| match on {
            true => Membership::Injected,
            false => Membership::Outside,
        });
    }
    let Some(namespace) = input.namespace else {
        let message = format!(
            "the Namespace manifest `{}` is not in scope, so it is not known whether the pod is \
             injected",
            input.namespace_name
        );
        return Fact::unknown(Membership::Unknown, message, Some(SETTLE));
    };
    match namespace.label(INJECTION) {
        Some(entry) => read(namespace, &entry),
        None => {
            let message = format!(
                "Namespace `{}` has no label `{INJECTION}`",
                namespace.name()
            );
            let place = namespace.label_at(namespace.name_span(), message);
            Fact::known(Membership::Outside, place)
        }
    }
}

fn read(object: &Object<'_>, entry: &Entry<'_>) -> Fact<Membership> {
    let text = entry.value.text().unwrap_or_default();
    let at = |message: &str| object.label_at(entry.value.span(), message);
    match parse_switch(text) {
        _ if placeholder::contains(text) => {
            let message = "another tool fills in this value, which decides about injection";
            Fact {
                certainty: Certainty::Unknown,
                ..Fact::known(Membership::Unknown, at(message))
            }
        }
        Some(true) => Fact::known(Membership::Injected, at("injection is on")),
        Some(false) => Fact::known(Membership::Outside, at("injection is switched off here")),
        None => Fact::known(
            Membership::Refused,
            at(&format!(
                "the webhook rejects the pod: `{text}` is not one of `enabled`, `yes`, `true`, \
                 `disabled`, `no`, `false`"
            )),
        ),
    }
}

/// Returns the reason why the webhook rejects a pod that it would inject, if there is one.
pub(super) fn refusal(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let object = &input.workload.object;
    let proxy = ProbeProxy::of(input);
    let has_proxy = Era::of(input.release) != Era::Virtual;
    let entry = input.workload.template.annotation(PROXY_PORT);
    if let Some(entry) = entry.filter(|_| has_proxy) {
        let text = entry.value.text().unwrap_or_default();
        let port: Option<u16> = text.parse().ok();
        let reason = match port {
            None if !placeholder::contains(text) => Some(format!("`{text}` is not a port")),
            Some(port) if port > 0 && proxy.gateway == Some(true) => {
                Some("a gateway has no probe proxy".to_owned())
            }
            _ => None,
        };
        if let Some(reason) = reason {
            let message = format!("the webhook rejects the pod: {reason}");
            let place = object.label_at(entry.value.span(), message);
            return Some(Fact::known(Membership::Refused, place));
        }
    }
    let containers = input.workload.template.containers_in(ContainerList::Main);
    let mut rejected = containers
        .iter()
        .flat_map(|container| {
            container
                .handlers()
                .into_iter()
                .map(|handler| (container.clone(), handler))
                .collect::<Vec<_>>()
        })
        .filter(|handler| proxy.refuses(handler));
    let (_, handler) = rejected.next()?;
    let message = "the webhook rejects the pod: this port belongs to the probe proxy";
    let place = object.label_at(handler.field_span("port"), message);
    Some(Fact::known(Membership::Refused, place))
}
