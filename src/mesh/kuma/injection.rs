//! Decides which pods Kuma's webhook injects, and which it rejects because of their injection label.

use crate::finding::Certainty;
use crate::kube::Object;
use crate::mesh::Fact;
use crate::mesh::model::{Membership, PodInput};
use crate::source::placeholder;
use crate::yaml::Entry;

use super::keys::{INJECTION, SIDECAR};
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
