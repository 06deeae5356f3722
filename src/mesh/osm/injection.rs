//! Which pods OSM's webhook injects, and which it refuses.
//!
//! Source: `pkg/injector/webhook.go` (`mustInject`, the selectors of `newMutatingWebhookConfiguration`)
//! of v1.2.4, run.

use crate::finding::{Certainty, Label};
use crate::kube::Object;
use crate::mesh::other::{Asked, Membership, filled_in};
use crate::mesh::{Fact, Reason};
use crate::source::placeholder;
use crate::yaml::{Entry, NodeRef};

use super::{EXCLUDED_PORTS, IGNORE, INJECTION, MONITORED, bootstrap_volume};

const SETTLE: &str = "--assume injection=all|none";

/// Namespaces that are never injected.
const NEVER: [&str; 3] = ["kube-system", "kube-public", "osm-system"];

/// Labels of a Namespace by which the webhook is not even called.
const UNSEEN: [&str; 2] = [IGNORE, "control-plane"];

/// Reads the value of the injection annotation: `None` is one that the webhook refuses the pod
/// for.
#[must_use]
pub(crate) fn word(value: &str) -> Option<bool> {
    match value.to_lowercase().as_str() {
        "enabled" | "yes" | "true" => Some(true),
        "disabled" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// Returns the first part of a port list that is no port: the webhook refuses the pod for it.
#[must_use]
pub(crate) fn bad_port(list: &str) -> Option<&str> {
    let mut parts = list.split(',').map(str::trim);
    parts.find(|part| !part.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Returns the inbound ports that the redirect leaves alone.
pub(super) fn excluded(asked: &Asked<'_, '_>) -> Vec<(i64, Label)> {
    let Some(entry) = asked.workload.template.annotation(EXCLUDED_PORTS) else {
        return Vec::new();
    };
    let text = entry.value.text().unwrap_or_default();
    let said = "the redirect leaves these ports alone";
    let place = asked.workload.object.label_at(entry.value.span(), said);
    let ports = text.split(',').filter_map(|part| part.trim().parse().ok());
    ports.map(|port| (port, place.clone())).collect()
}

/// Decides whether the webhook injects the pod.
pub(super) fn membership(asked: &Asked<'_, '_>) -> Fact<Membership> {
    let object = &asked.workload.object;
    if let Some(name) = bootstrap_volume(asked.workload) {
        let said = "the manifest carries the proxy of OSM";
        return Fact::known(Membership::Brought, object.label_at(name.span(), said));
    }
    if let Some(entry) = asked.workload.template.host_network() {
        let said = "pods on the host network get no sidecar";
        return Fact::known(Membership::Outside, object.label_at(entry.key.span(), said));
    }
    if NEVER.contains(&asked.namespace_name) {
        let said = format!("namespace `{}` is never injected", asked.namespace_name);
        return Fact::settled(Membership::Outside, said);
    }
    let fact = match (&asked.supposed, asked.namespace) {
        (Some(supposed), _) => by_option(asked, supposed),
        (None, Some(namespace)) => by_namespace(asked, namespace),
        (None, None) => by_pod(asked),
    };
    if fact.value == Membership::Injected
        && let Some(open) = filled_in(asked, &[EXCLUDED_PORTS])
    {
        return open;
    }
    match refused_ports(asked).filter(|_| fact.value == Membership::Injected) {
        Some(place) => fact
            .map(|_| Membership::Refused)
            .preceded_by(Reason::written(place)),
        None => fact,
    }
}

/// The port list for which the webhook refuses a pod that it is about to inject.
fn refused_ports(asked: &Asked<'_, '_>) -> Option<Label> {
    let entry = asked.workload.template.annotation(EXCLUDED_PORTS)?;
    let text = entry.value.text()?;
    let bad = bad_port(text).filter(|_| !placeholder::contains(text))?;
    let said = format!("the webhook refuses the pod: `{bad}` is no port");
    Some(asked.workload.object.label_at(entry.value.span(), said))
}

/// The user speaks for the Namespace.
fn by_option(asked: &Asked<'_, '_>, supposed: &Fact<bool>) -> Fact<Membership> {
    match pod_word(asked).filter(|_| supposed.value) {
        Some(fact) if fact.value != Membership::Injected => fact.resting_on(supposed),
        _ => supposed.clone().map(|injected| {
            if injected {
                Membership::Injected
            } else {
                Membership::Outside
            }
        }),
    }
}

fn by_namespace(asked: &Asked<'_, '_>, namespace: &Object<'_>) -> Fact<Membership> {
    let at = |entry: &Entry<'_>, said: &str| namespace.label_at(entry.key.span(), said);
    let Some(monitored) = namespace.label(MONITORED) else {
        let said = format!("Namespace `{}` is not monitored by OSM", namespace.name());
        return Fact::known(
            Membership::Outside,
            namespace.label_at(namespace.name_span(), said),
        );
    };
    if let Some(entry) = UNSEEN.iter().find_map(|key| namespace.label(key)) {
        let said = "the webhook is not called for this Namespace";
        return Fact::known(Membership::Outside, at(&entry, said));
    }
    let own = pod_word(asked);
    let annotation = namespace.annotation(INJECTION);
    let whole = annotation.map(|entry| read(namespace, &entry));
    // A value that cannot be read refuses the pod, wherever it stands.
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
            let said = format!("nothing asks for injection: no `{INJECTION}`");
            let place = namespace.label_at(namespace.name_span(), said);
            Fact::known(Membership::Outside, place)
        }
    }
}

/// No Namespace is in the tree, and no option speaks for it.
fn by_pod(asked: &Asked<'_, '_>) -> Fact<Membership> {
    let name = asked.namespace_name;
    match pod_word(asked) {
        Some(fact) if matches!(fact.value, Membership::Injected | Membership::Refused) => {
            let said = format!("namespace `{name}` is monitored by OSM (no Namespace manifest)");
            fact.resting_on(&Fact::assumed((), said, Some(SETTLE)))
        }
        Some(fact) => fact,
        None => Fact::unknown(
            Membership::Unknown,
            format!("no Namespace manifest `{name}` in scope: nobody can tell about injection"),
            Some(SETTLE),
        ),
    }
}

/// What the pod itself says.
fn pod_word(asked: &Asked<'_, '_>) -> Option<Fact<Membership>> {
    let annotation = asked.workload.template.annotation(INJECTION)?;
    Some(read(&asked.workload.object, &annotation))
}

fn read(object: &Object<'_>, entry: &Entry<'_>) -> Fact<Membership> {
    let text = entry.value.text().unwrap_or_default();
    let at = |said: &str| object.label_at(entry.value.span(), said);
    if placeholder::contains(text) {
        let said = "this decides about injection, and another tool fills it in";
        return Fact {
            certainty: Certainty::Unknown,
            ..Fact::known(Membership::Unknown, at(said))
        };
    }
    match word(text) {
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

/// Returns the annotations whose value refuses a pod: of the pod itself, or of a Namespace.
#[must_use]
pub(crate) fn refused_values<'t>(annotations: Option<NodeRef<'t>>) -> Vec<(Entry<'t>, String)> {
    let entry = |key: &str| annotations.and_then(|all| all.entry(key));
    let mut found = Vec::new();
    if let Some(entry) = entry(INJECTION) {
        let text = entry.value.text().unwrap_or_default();
        if word(text).is_none() && !placeholder::contains(text) {
            let said =
                format!("`{text}` is none of `enabled`, `yes`, `true`, `disabled`, `no`, `false`");
            found.push((entry, said));
        }
    }
    if let Some(entry) = entry(EXCLUDED_PORTS) {
        let text = entry.value.text().unwrap_or_default();
        if let Some(bad) = bad_port(text).filter(|_| !placeholder::contains(text)) {
            let said = format!("`{bad}` is no port number");
            found.push((entry, said));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_words_are_read_in_any_case() {
        for (on, words) in [
            (true, ["enabled", "Yes", "TRUE"]),
            (false, ["disabled", "No", "False"]),
        ] {
            assert!(words.iter().all(|text| word(text) == Some(on)));
        }
        assert!(
            ["on", "1", "", "enable"]
                .iter()
                .all(|text| word(text).is_none())
        );
    }

    #[test]
    fn port_lists_hold_ports_only() {
        assert_eq!(bad_port("8080, 9901"), None);
        assert_eq!(bad_port("8080,http"), Some("http"));
        assert_eq!(bad_port("0"), Some("0"));
        assert_eq!(bad_port("70000"), Some("70000"));
    }
}
