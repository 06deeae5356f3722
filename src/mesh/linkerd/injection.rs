//! Which pods Linkerd's webhook injects.

use crate::finding::Certainty;
use crate::kube::Object;
use crate::mesh::Fact;
use crate::mesh::other::{Asked, Membership};
use crate::source::placeholder;
use crate::yaml::{Entry, Scalar};

use super::{INJECT, PROXY};

const SETTLE: &str = "--assume injection=all|none";

/// What an annotation says.
enum Word {
    On,
    Off,
    /// Such a value switches the injection off, whatever the other one says.
    Invalid,
    Open,
}

fn word(entry: &Entry<'_>) -> Option<Word> {
    match entry.value.text().unwrap_or_default() {
        "" => None,
        "enabled" | "ingress" => Some(Word::On),
        "disabled" => Some(Word::Off),
        text if placeholder::contains(text) => Some(Word::Open),
        _ => Some(Word::Invalid),
    }
}

/// Decides how the pod takes part. `pkg/inject/report.go`: the Namespace injects unless the pod
/// says no, the pod injects itself; the network of the node and a missing token leave it out.
pub(super) fn membership(asked: &Asked<'_, '_>) -> Fact<Membership> {
    let object = &asked.workload.object;
    let template = &asked.workload.template;
    let known = |value, object: &Object<'_>, span, said: &str| {
        Fact::known(value, object.label_at(span, said))
    };
    let containers = template.containers();
    let own = containers.iter().find(|one| one.name() == PROXY);
    if let Some(name) = own.and_then(|one| one.node.get("name")) {
        let said = "the manifest carries the proxy of Linkerd";
        return known(Membership::Brought, object, name.span(), said);
    }
    if let Some(entry) = template.host_network() {
        let said = "pods in the network of the node are not injected";
        return known(Membership::Outside, object, entry.key.span(), said);
    }
    let token = template.spec.entry("automountServiceAccountToken");
    let token = token.filter(|entry| entry.value.scalar() == Some(Scalar::Bool(false)));
    if let Some(entry) = token {
        let said = "pods without the token of their ServiceAccount are not injected";
        return known(Membership::Outside, object, entry.key.span(), said);
    }
    let of_pod = template.annotation(INJECT).map(|entry| (object, entry));
    let of_namespace = asked
        .namespace
        .and_then(|one| Some((one, one.annotation(INJECT)?)));
    let read = |one: Option<(&Object<'_>, Entry<'_>)>| {
        let (object, entry) = one?;
        let place = |said: &str| object.label_at(entry.value.span(), said);
        Some(match word(&entry)? {
            Word::On => Fact::known(Membership::Injected, place("injection is on")),
            Word::Off => Fact::known(Membership::Outside, place("injection is switched off here")),
            Word::Invalid => Fact::known(
                Membership::Outside,
                place("Linkerd does not know this value and injects nothing"),
            ),
            Word::Open => Fact {
                certainty: Certainty::Unknown,
                ..Fact::known(
                    Membership::Unknown,
                    place("this decides about injection, and another tool fills it in"),
                )
            },
        })
    };
    let is_invalid = |one: &(&Object<'_>, Entry<'_>)| matches!(word(&one.1), Some(Word::Invalid));
    if let Some(invalid) = read(of_namespace.filter(is_invalid)) {
        return invalid;
    }
    if let Some(own) = read(of_pod) {
        return own;
    }
    if let Some(supposed) = &asked.supposed {
        return supposed.clone().map(|on| match on {
            true => Membership::Injected,
            false => Membership::Outside,
        });
    }
    if let Some(outer) = read(of_namespace) {
        return outer;
    }
    match asked.namespace {
        Some(namespace) => {
            let said = format!(
                "neither the pod nor Namespace `{}` has the annotation `{INJECT}`",
                namespace.name()
            );
            known(Membership::Outside, namespace, namespace.name_span(), &said)
        }
        None => {
            let said = format!(
                "no Namespace manifest `{}` in scope: nobody can tell about injection",
                asked.namespace_name
            );
            Fact::unknown(Membership::Unknown, said, Some(SETTLE))
        }
    }
}
