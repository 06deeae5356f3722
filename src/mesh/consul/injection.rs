//! Which pods Consul's webhook injects, which it refuses, and what its switches are set to.
//!
//! Sources, consul-k8s a507b1d1: `control-plane/connect-inject/webhook/mesh_webhook.go`
//! (`shouldInject`, `checkUnsupportedMultiPortCases`), `common/annotation_processor.go`
//! (`TransparentProxyEnabled`, `ShouldOverwriteProbes`).

use crate::finding::Certainty;
use crate::kube::{Object, Workload};
use crate::mesh::other::{Asked, Membership, filled_in};
use crate::mesh::{Fact, Reason};
use crate::source::placeholder;
use crate::yaml::Entry;

use super::{DATAPLANE, EXCLUDED_PORTS, INJECT, OVERWRITE, SERVICE, STATUS, TRANSPARENT};

const SETTLE: &str = "--assume injection=all|none";
const SETTLE_TRANSPARENT: &str = "annotation consul.hashicorp.com/transparent-proxy";
const SETTLE_OVERWRITE: &str = "annotation consul.hashicorp.com/transparent-proxy-overwrite-probes";

/// Namespaces that are never injected.
const NEVER: [&str; 2] = ["kube-system", "kube-public"];

/// What Go's `strconv.ParseBool` reads.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// Decides how the pod takes part.
pub(super) fn membership(asked: &Asked<'_, '_>) -> Fact<Membership> {
    let member = injection(asked);
    if member.value != Membership::Injected {
        return member;
    }
    let open = filled_in(asked, &[TRANSPARENT, OVERWRITE, EXCLUDED_PORTS]);
    open.or_else(|| refusal(asked)).unwrap_or(member)
}

fn injection(asked: &Asked<'_, '_>) -> Fact<Membership> {
    let object = &asked.workload.object;
    if let Some(fact) = brought(asked) {
        return fact;
    }
    if NEVER.contains(&asked.namespace_name) {
        let said = format!("namespace `{}` is never injected", asked.namespace_name);
        return Fact::settled(Membership::Outside, said);
    }
    let Some(entry) = asked.workload.template.annotation(INJECT) else {
        if let Some(supposed) = &asked.supposed {
            return supposed.clone().map(|on| match on {
                true => Membership::Injected,
                false => Membership::Outside,
            });
        }
        let said = format!("nothing asks for injection: no `{INJECT}`");
        return Fact::default(Membership::Outside, said, SETTLE);
    };
    let text = entry.value.text().unwrap_or_default();
    let at = |said: &str| object.label_at(entry.value.span(), said);
    match boolean(text) {
        _ if placeholder::contains(text) => Fact {
            certainty: Certainty::Unknown,
            ..Fact::known(
                Membership::Unknown,
                at("this decides about injection, and another tool fills it in"),
            )
        },
        Some(true) => Fact::known(Membership::Injected, at("injection is on")),
        Some(false) => Fact::known(Membership::Outside, at("injection is switched off here")),
        None => refused(object, &entry),
    }
}

/// The webhook has seen the pod: its proxy is in the manifest, or its mark.
fn brought(asked: &Asked<'_, '_>) -> Option<Fact<Membership>> {
    let template = &asked.workload.template;
    let status = template.annotation(STATUS);
    let status = status.filter(|entry| entry.value.text().is_some_and(|text| !text.is_empty()));
    let containers = template.containers();
    let proxy = containers.iter().find(|one| one.name() == DATAPLANE);
    let proxy = proxy.and_then(|one| one.node.get("name"));
    let span = status.map(|entry| entry.key.span());
    let span = span.or_else(|| proxy.map(|name| name.span()))?;
    let said = "the manifest carries the proxy of Consul";
    let place = asked.workload.object.label_at(span, said);
    Some(Fact::known(Membership::Brought, place))
}

fn refused(object: &Object<'_>, entry: &Entry<'_>) -> Fact<Membership> {
    let text = entry.value.text().unwrap_or_default();
    let said = format!("the webhook refuses the pod: `{text}` is no boolean");
    Fact::known(
        Membership::Refused,
        object.label_at(entry.value.span(), said),
    )
}

/// Why the webhook refuses a pod that it would inject.
fn refusal(asked: &Asked<'_, '_>) -> Option<Fact<Membership>> {
    let object = &asked.workload.object;
    let own = [TRANSPARENT, OVERWRITE].into_iter();
    let mut own = own.filter_map(|key| asked.workload.template.annotation(key));
    if let Some(entry) = own.find(is_no_boolean) {
        return Some(refused(object, &entry));
    }
    if asked.workload.template.annotation(TRANSPARENT).is_none()
        && let Some(namespace) = asked.namespace
        && let Some(entry) = namespace.label(TRANSPARENT).filter(is_no_boolean)
    {
        return Some(refused(namespace, &entry));
    }
    let entry = several_services(asked.workload)?;
    let transparent = transparent(asked);
    let said = "the webhook refuses the pod: several services do not go with the transparent proxy";
    let place = object.label_at(entry.value.span(), said);
    let fact = Fact::known(Membership::Refused, place);
    transparent.value.then(|| fact.resting_on(&transparent))
}

fn is_no_boolean(entry: &Entry<'_>) -> bool {
    let text = entry.value.text().unwrap_or_default();
    boolean(text).is_none() && !placeholder::contains(text)
}

/// Returns the annotation of a pod that stands for several services at once: one name for each of
/// its ports.
#[must_use]
pub(crate) fn several_services<'t>(workload: &Workload<'t>) -> Option<Entry<'t>> {
    let entry = workload.template.annotation(SERVICE)?;
    let text = entry.value.text()?;
    text.contains(',').then_some(entry)
}

/// Tells whether the traffic of the pod is redirected to its proxy.
pub(super) fn transparent(asked: &Asked<'_, '_>) -> Fact<bool> {
    let object = &asked.workload.object;
    if let Some(entry) = asked.workload.template.annotation(TRANSPARENT) {
        return switch(object, &entry, "the transparent proxy");
    }
    if let Some(namespace) = asked.namespace
        && let Some(entry) = namespace.label(TRANSPARENT)
    {
        return switch(namespace, &entry, "the transparent proxy");
    }
    let said = "the transparent proxy is on, as the chart has it";
    Fact::default(true, said, SETTLE_TRANSPARENT)
}

/// Tells whether the webhook rewrites the probes of the pod, if its traffic is redirected.
pub(super) fn overwrites(asked: &Asked<'_, '_>) -> Fact<bool> {
    match asked.workload.template.annotation(OVERWRITE) {
        Some(entry) => switch(&asked.workload.object, &entry, "the rewrite of probes"),
        None => {
            let said = "the rewrite of probes is on, as the chart has it";
            Fact::default(true, said, SETTLE_OVERWRITE)
        }
    }
}

fn switch(object: &Object<'_>, entry: &Entry<'_>, what: &str) -> Fact<bool> {
    let text = entry.value.text().unwrap_or_default();
    let at = |said: &str| object.label_at(entry.value.span(), format!("{what} is {said}"));
    match boolean(text) {
        Some(true) => Fact::known(true, at("on")),
        Some(false) => Fact::known(false, at("off")),
        None => Fact {
            value: true,
            certainty: Certainty::Assumed,
            because: vec![Reason::written(at(
                "taken to be on: another tool fills it in",
            ))],
        },
    }
}
