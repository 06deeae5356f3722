//! Which pods Kuma's webhook injects, and which it refuses.

use crate::finding::Certainty;
use crate::kube::{ContainerList, Object};
use crate::mesh::Fact;
use crate::mesh::other::{Asked, Membership};
use crate::source::placeholder;
use crate::yaml::Entry;

use super::proxy::{Era, ProbeProxy};
use super::{INJECTION, PROXY_PORT, SIDECAR};

const SETTLE: &str = "--assume injection=all|none";

/// Reads a switch: `None` is one that the webhook refuses the pod for.
pub(super) fn word(value: &str) -> Option<bool> {
    match value {
        "enabled" | "true" | "yes" => Some(true),
        "disabled" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Tells whether Kuma reads a value of its label: it refuses pods for any other.
#[must_use]
pub(crate) fn is_switch(value: &str) -> bool {
    word(value).is_some()
}

/// Decides whether the webhook injects the pod.
pub(super) fn injection(asked: &Asked<'_, '_>) -> Fact<Membership> {
    let object = &asked.workload.object;
    let containers = asked.workload.template.containers();
    let own = containers.iter().find(|one| one.name() == SIDECAR);
    if let Some(name) = own.and_then(|one| one.node.get("name")) {
        let said = "the manifest carries the sidecar of Kuma";
        return Fact::known(Membership::Brought, object.label_at(name.span(), said));
    }
    if let Some(entry) = asked.workload.template.label(INJECTION) {
        return read(object, &entry);
    }
    if let Some(supposed) = &asked.supposed {
        return supposed.clone().map(|on| match on {
            true => Membership::Injected,
            false => Membership::Outside,
        });
    }
    let Some(namespace) = asked.namespace else {
        let said = format!(
            "no Namespace manifest `{}` in scope: nobody can tell about injection",
            asked.namespace_name
        );
        return Fact::unknown(Membership::Unknown, said, Some(SETTLE));
    };
    match namespace.label(INJECTION) {
        Some(entry) => read(namespace, &entry),
        None => {
            let said = format!(
                "Namespace `{}` has no label `{INJECTION}`",
                namespace.name()
            );
            let place = namespace.label_at(namespace.name_span(), said);
            Fact::known(Membership::Outside, place)
        }
    }
}

fn read(object: &Object<'_>, entry: &Entry<'_>) -> Fact<Membership> {
    let text = entry.value.text().unwrap_or_default();
    let at = |said: &str| object.label_at(entry.value.span(), said);
    match word(text) {
        _ if placeholder::contains(text) => {
            let said = "this decides about injection, and another tool fills it in";
            Fact {
                certainty: Certainty::Unknown,
                ..Fact::known(Membership::Unknown, at(said))
            }
        }
        Some(true) => Fact::known(Membership::Injected, at("injection is on")),
        Some(false) => Fact::known(Membership::Outside, at("injection is switched off here")),
        None => Fact::known(
            Membership::Refused,
            at(&format!(
                "the webhook refuses the pod: `{text}` is none of `enabled`, `yes`, `true`, `disabled`, \
                 `no`, `false`"
            )),
        ),
    }
}

/// Why the webhook refuses a pod that it would inject.
pub(super) fn refusal(asked: &Asked<'_, '_>) -> Option<Fact<Membership>> {
    let object = &asked.workload.object;
    let proxy = ProbeProxy::of(asked);
    let has_proxy = Era::of(asked.release) != Era::Virtual;
    let entry = asked.workload.template.annotation(PROXY_PORT);
    if let Some(entry) = entry.filter(|_| has_proxy) {
        let text = entry.value.text().unwrap_or_default();
        let port: Option<u16> = text.parse().ok();
        let why = match port {
            None if !placeholder::contains(text) => Some(format!("`{text}` is no port")),
            Some(port) if port > 0 && proxy.gateway == Some(true) => {
                Some("a gateway has no probe proxy".to_owned())
            }
            _ => None,
        };
        if let Some(why) = why {
            let said = format!("the webhook refuses the pod: {why}");
            let place = object.label_at(entry.value.span(), said);
            return Some(Fact::known(Membership::Refused, place));
        }
    }
    let containers = asked.workload.template.containers_in(ContainerList::Main);
    let handlers = containers.iter().flat_map(|container| {
        let each = container.handlers().into_iter();
        each.map(|handler| (container.clone(), handler))
            .collect::<Vec<_>>()
    });
    let mut struck = handlers.filter(|one| proxy.refuses(one));
    let (_, handler) = struck.next()?;
    let said = "the webhook refuses the pod: this port is the probe proxy's";
    let place = object.label_at(handler.field_span("port"), said);
    Some(Fact::known(Membership::Refused, place))
}
