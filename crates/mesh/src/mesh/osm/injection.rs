//! Decides which pods OSM's webhook injects, and which it rejects.
//!
//! Source: `pkg/injector/webhook.go` (`mustInject`, the selectors of `newMutatingWebhookConfiguration`)
//! of v1.2.4, run.
//!
//! Containers and volumes of a pod that belong to OSM.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef};

use super::keys::{BOOTSTRAP_VOLUME, EXCLUDED_PORTS, IGNORE, INJECTION, MONITORED};
use crate::finding::Label;
use crate::kube::{ContainerList, Object, Workload};
use crate::mesh::model::{
    Membership, PodInput, SETTLE_INJECTION, SWITCH_VALUES, by_option, by_switch,
    placeholder_membership, without_namespace,
};
use crate::mesh::{Fact, Reason};

/// Namespaces that are never injected.
const NEVER: [&str; 3] = ["kube-system", "kube-public", "osm-system"];

/// Labels of a Namespace for which the webhook is not called.
const UNSEEN: [&str; 2] = [IGNORE, "control-plane"];

/// Parses the value of the injection annotation; `None` for a value because of which the webhook rejects the pod.
#[must_use]
pub(crate) fn parse_switch(value: &str) -> Option<bool> {
    match value.to_lowercase().as_str() {
        "enabled" | "yes" | "true" => Some(true),
        "disabled" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// Returns the first part of a port list that is not a port; the webhook rejects the pod because of it.
#[must_use]
pub(crate) fn bad_port(list: &str) -> Option<&str> {
    list.split(',')
        .map(str::trim)
        .find(|part| !part.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Decides whether the webhook injects the pod.
pub(super) fn membership(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let object = &input.workload.object;
    if let Some(name) = bootstrap_volume(input.workload) {
        let message = "the manifest contains the proxy of OSM";
        return Fact::known(
            Membership::AlreadyInjected,
            object.label_at(name.span(), message),
        );
    }
    if let Some(entry) = input.workload.template.host_network() {
        let message = "pods on the host network get no sidecar";
        return Fact::known(
            Membership::Outside,
            object.label_at(entry.key.span(), message),
        );
    }
    if NEVER.contains(&input.namespace_name) {
        let message = format!("namespace `{}` is never injected", input.namespace_name);
        return Fact::settled(Membership::Outside, message);
    }
    let fact = match (&input.supposed, input.namespace) {
        (Some(hypothesis), _) => by_own_switch(input, hypothesis),
        (None, Some(namespace)) => by_namespace(input, namespace),
        (None, None) => by_pod(input),
    };
    if fact.value == Membership::Injected
        && let Some(placeholder) = placeholder_membership(input, &[EXCLUDED_PORTS])
    {
        return placeholder;
    }
    match refused_ports(input).filter(|_| fact.value == Membership::Injected) {
        Some(place) => fact
            .map(|_| Membership::Refused)
            .preceded_by(Reason::written(place)),
        None => fact,
    }
}

/// Returns the port list because of which the webhook rejects a pod that it would inject.
fn refused_ports(input: &PodInput<'_, '_>) -> Option<Label> {
    let entry = input.workload.template.annotation(EXCLUDED_PORTS)?;
    let text = entry.value.text()?;
    let bad = bad_port(text).filter(|_| !placeholder::contains(text))?;
    let message = format!("the webhook rejects the pod: `{bad}` is not a port");
    Some(input.workload.object.label_at(entry.value.span(), message))
}

/// Decides membership by an option of the user, which replaces the Namespace.
fn by_own_switch(input: &PodInput<'_, '_>, hypothesis: &Fact<bool>) -> Fact<Membership> {
    match by_annotation(input).filter(|_| hypothesis.value) {
        Some(fact) if fact.value != Membership::Injected => fact.depending_on(hypothesis),
        _ => by_option(hypothesis),
    }
}

/// Decides membership by the Namespace and the annotation of the pod.
fn by_namespace(input: &PodInput<'_, '_>, namespace: &Object<'_>) -> Fact<Membership> {
    let at = |entry: &Entry<'_>, message: &str| namespace.label_at(entry.key.span(), message);
    let Some(monitored) = namespace.label(MONITORED) else {
        let message = format!("Namespace `{}` is not monitored by OSM", namespace.name());
        return Fact::known(
            Membership::Outside,
            namespace.label_at(namespace.name_span(), message),
        );
    };
    if let Some(entry) = UNSEEN.iter().find_map(|key| namespace.label(key)) {
        let message = "the webhook is not called for this Namespace";
        return Fact::known(Membership::Outside, at(&entry, message));
    }
    let own = by_annotation(input);
    let annotation = namespace.annotation(INJECTION);
    let whole = annotation.map(|entry| read(namespace, &entry));
    // A value that cannot be parsed makes the webhook reject the pod, whether it is set on the pod or the Namespace.
    for fact in [&own, &whole].into_iter().flatten() {
        if matches!(fact.value, Membership::Refused | Membership::Unknown) {
            return fact.clone();
        }
    }
    let monitored = Reason::written(at(&monitored, "the Namespace is monitored by OSM"));
    match (own, whole) {
        (Some(own), _) if own.value == Membership::Injected => own.preceded_by(monitored),
        (Some(own), _) => own,
        (None, Some(whole)) if whole.value == Membership::Injected => whole.preceded_by(monitored),
        (None, Some(whole)) => whole,
        (None, None) => {
            let message = format!("no annotation `{INJECTION}` enables injection");
            let place = namespace.label_at(namespace.name_span(), message);
            Fact::known(Membership::Outside, place)
        }
    }
}

/// Decides membership by the pod alone: the Namespace is not in the tree, and no option replaces it.
fn by_pod(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let name = input.namespace_name;
    match by_annotation(input) {
        Some(fact) if matches!(fact.value, Membership::Injected | Membership::Refused) => {
            let message = format!("namespace `{name}` is monitored by OSM (no Namespace manifest)");
            fact.depending_on(&Fact::assumed((), message, Some(SETTLE_INJECTION)))
        }
        Some(fact) => fact,
        None => without_namespace(input),
    }
}

/// Reads the annotation of the pod.
fn by_annotation(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let annotation = input.workload.template.annotation(INJECTION)?;
    Some(read(&input.workload.object, &annotation))
}

fn read(object: &Object<'_>, entry: &Entry<'_>) -> Fact<Membership> {
    let switch = parse_switch(entry.value.text().unwrap_or_default());
    by_switch(object, entry, switch, SWITCH_VALUES)
}

/// Returns the annotations, of a pod or of a Namespace, because of which the webhook rejects a pod, with reasons.
#[must_use]
pub fn invalid_annotation_values<'t>(annotations: Option<NodeRef<'t>>) -> Vec<(Entry<'t>, String)> {
    let entry = |key: &str| annotations.and_then(|all| all.entry(key));
    let mut found = Vec::new();
    if let Some(entry) = entry(INJECTION) {
        let text = entry.value.text().unwrap_or_default();
        if parse_switch(text).is_none() && !placeholder::contains(text) {
            found.push((entry, format!("`{text}` is not {SWITCH_VALUES}")));
        }
    }
    if let Some(entry) = entry(EXCLUDED_PORTS) {
        let text = entry.value.text().unwrap_or_default();
        if let Some(bad) = bad_port(text).filter(|_| !placeholder::contains(text)) {
            let message = format!("`{bad}` is not a port number");
            found.push((entry, message));
        }
    }
    found
}

/// Returns whether the manifest contains a container of this name.
pub(super) fn has_container(workload: &Workload<'_>, name: &str) -> bool {
    let containers = workload.template.containers_in(ContainerList::Main);
    containers.iter().any(|container| container.name() == name)
}

/// Returns whether the container declares a port, in any protocol.
pub(super) fn declares(workload: &Workload<'_>, name: &str, port: i64) -> bool {
    let containers = workload.template.containers_in(ContainerList::Main);
    containers
        .iter()
        .filter(|container| container.name() == name)
        .any(|container| {
            container
                .ports()
                .any(|declared| declared.number == Some(port))
        })
}

/// Returns the name of the volume by which the webhook recognizes an injected pod.
pub(super) fn bootstrap_volume<'t>(workload: &Workload<'t>) -> Option<NodeRef<'t>> {
    let volumes = workload.template.spec.get("volumes")?;
    volumes
        .items()
        .filter_map(|volume| volume.get("name"))
        .find(|name| name.text() == Some(BOOTSTRAP_VOLUME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_words_are_parsed_in_any_case() {
        for (on, words) in [
            (true, ["enabled", "Yes", "TRUE"]),
            (false, ["disabled", "No", "False"]),
        ] {
            assert!(words.iter().all(|text| parse_switch(text) == Some(on)));
        }
        assert!(
            ["on", "1", "", "enable"]
                .iter()
                .all(|text| parse_switch(text).is_none())
        );
    }

    #[test]
    fn port_lists_contain_only_ports() {
        assert_eq!(bad_port("8080, 9901"), None);
        assert_eq!(bad_port("8080,http"), Some("http"));
        assert_eq!(bad_port("0"), Some("0"));
        assert_eq!(bad_port("70000"), Some("70000"));
    }
}
