//! The rule about labels that add pods to the mesh with an unknown value or a misspelt name.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::{keys, known_keys};
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef, Value};

use crate::rules::RuleContext;
use crate::rules::support::pod_metadata::{self, MetadataMap, is_selected, value_span};
use crate::rules::support::similar_names::{is_close, is_close_key};

crate::rules::rule::rules! {
    MESH_LABEL_INVALID = "mesh-label-invalid", Warning, fix: Sometimes, scope: Tree, mesh_label_invalid;
}

/// Why a fix that enables a label is unsafe.
const ADDS_PODS: &str = "the label then adds pods to the mesh";

/// A label that adds pods to the mesh with one value and keeps them out with another.
/// Source: Istio 1.31, the selectors of the chart istio-discovery, `cni/pkg/util/enablement_selector.go`.
#[derive(Clone, Copy, Debug)]
struct MeshLabel {
    key: &'static str,
    on: &'static str,
    off: &'static str,
}

const INJECTION: MeshLabel = MeshLabel {
    key: keys::NAMESPACE_INJECTION,
    on: "enabled",
    off: "disabled",
};

const DATAPLANE_MODE: MeshLabel = MeshLabel {
    key: keys::DATAPLANE_MODE,
    on: "ambient",
    off: "none",
};

/// What the author of a value evidently intended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    On,
    Off,
    /// Sidecars, which no value of the label requests.
    Sidecar,
    Unknown,
}

impl MeshLabel {
    /// Returns the entry and its value if Istio does not know the value and no other tool fills it in.
    fn unknown_value<'t>(self, entry: Option<Entry<'t>>) -> Option<(Entry<'t>, &'t str)> {
        let entry = entry?;
        let word = entry.value.as_str()?;
        let is_fine =
            word.is_empty() || word == self.on || word == self.off || placeholder::contains(word);
        (!is_fine).then_some((entry, word))
    }

    fn intent(self, word: &str) -> Intent {
        let word = word.trim().to_ascii_lowercase();
        match &*word {
            "true" | "yes" | "y" | "on" | "1" | "enable" | "enabled" | "inject" => Intent::On,
            "false" | "no" | "n" | "off" | "0" | "disable" | "disabled" | "none" => Intent::Off,
            "sidecar" | "sidecars" if self.key == keys::DATAPLANE_MODE => Intent::Sidecar,
            word if is_close(word, self.on) => Intent::On,
            word if is_close(word, self.off) => Intent::Off,
            _ => Intent::Unknown,
        }
    }

    const fn value(self, intent: Intent) -> Option<&'static str> {
        match intent {
            Intent::On => Some(self.on),
            Intent::Off => Some(self.off),
            Intent::Sidecar | Intent::Unknown => None,
        }
    }

    /// Returns a finding about a value that is not one of the two, without its fix.
    fn finding(self, object: &Object<'_>, entry: Entry<'_>, word: &str, effect: &str) -> Finding {
        let Self { key, on, off } = self;
        let message = format!("`{key}: {word}` is neither `{on}` nor `{off}`: {effect}");
        let mut finding =
            MESH_LABEL_INVALID.finding_on_deployed(object, value_span(entry), message);
        finding.help = Some(format!("set it to `{on}` or `{off}`"));
        finding
    }

    /// Returns what is missing for the pods of a namespace without the label.
    fn effect(self, namespace: &Object<'_>) -> String {
        let name = namespace.name();
        if self.key == keys::DATAPLANE_MODE {
            format!("namespace `{name}` is not in ambient mode")
        } else {
            format!("no pod in namespace `{name}` is injected")
        }
    }

    /// Returns the fix that sets the intended value.
    fn fix(self, object: &Object<'_>, route: FieldPath, word: &str, intent: Intent) -> Option<Fix> {
        let value = self.value(intent)?;
        let title = format!("set the value to `{value}`, the evident meaning of `{word}`");
        let reason = if intent == Intent::On {
            ADDS_PODS
        } else {
            "the label then keeps pods out of the mesh"
        };
        let value = Value::from(value);
        let change = Change::Set { route, value };
        Some(Fix::of_object(
            object,
            title,
            Applicability::unsafe_because(reason),
            vec![change],
        ))
    }
}

fn mesh_label_invalid(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    let namespaces = cx.namespaces().flat_map(|namespace| {
        let values = [
            injection_label(cx, namespace),
            mode_of_namespace(cx, namespace),
        ];
        let names = misspelt_labels(cx.context, namespace);
        let names = names.filter_map(|label| misspelt_label(cx, namespace, label));
        values
            .into_iter()
            .flatten()
            .chain(names.collect::<Vec<_>>())
    });
    let pods = cx.pods().filter_map(mode_of_pod);
    namespaces.chain(pods).collect()
}

/// Reports an injection label. Values that mean "off" are not reported, because they have that effect. A namespace that
/// also has a revision is left to `namespace-two-injection-labels`.
fn injection_label<'t>(cx: &RuleContext<'_, 't>, namespace: &Object<'t>) -> Option<Finding> {
    let label = INJECTION;
    let (entry, word) = label.unknown_value(namespace.label(label.key))?;
    let intent = label.intent(word);
    let is_two = namespace.label(keys::REVISION).is_some();
    if intent == Intent::Off || is_two || is_injected(cx, namespace) {
        return None;
    }
    let effect = label.effect(namespace);
    Some(about_namespace(
        label, namespace, entry, word, intent, &effect,
    ))
}

/// Reports the ambient mode of a namespace, unless the selectors of the CNI plugin use another value.
fn mode_of_namespace<'t>(cx: &RuleContext<'_, 't>, namespace: &Object<'t>) -> Option<Finding> {
    let label = DATAPLANE_MODE;
    let (entry, word) = label.unknown_value(namespace.label(label.key))?;
    let intent = label.intent(word);
    let is_selected = || pods_in(cx, namespace).any(is_ambient);
    if intent == Intent::Off || is_selected() {
        return None;
    }
    if intent == Intent::Sidecar {
        return Some(sidecar_mode(cx, namespace, entry, word));
    }
    let effect = label.effect(namespace);
    Some(about_namespace(
        label, namespace, entry, word, intent, &effect,
    ))
}

/// Reports a mode that names sidecars, which other labels request: a note if they do.
fn sidecar_mode<'t>(
    cx: &RuleContext<'_, 't>,
    namespace: &Object<'t>,
    entry: Entry<'t>,
    word: &str,
) -> Finding {
    let enables = namespace.label(keys::REVISION).is_some()
        || namespace
            .label(keys::NAMESPACE_INJECTION)
            .is_some_and(|label| label.value.text() == Some(INJECTION.on));
    let is_injected = enables || is_injected(cx, namespace);
    let effect = if is_injected {
        "it has no effect".to_owned()
    } else {
        INJECTION.effect(namespace)
    };
    let intent = Intent::Sidecar;
    let mut finding = about_namespace(DATAPLANE_MODE, namespace, entry, word, intent, &effect);
    finding.help = Some(if is_injected {
        finding.severity = finding.severity.lowered();
        "remove the label".to_owned()
    } else {
        format!("`{}: {}` enables injection", INJECTION.key, INJECTION.on)
    });
    finding
}

/// Reports a label with a misspelt name and a value that adds pods to the mesh, unless they are part of it.
fn misspelt_label<'t>(
    cx: &RuleContext<'_, 't>,
    namespace: &Object<'t>,
    label: MisspeltLabel<'t>,
) -> Option<Finding> {
    let MisspeltLabel {
        name,
        value,
        intended,
        ..
    } = label;
    let known = [INJECTION, DATAPLANE_MODE];
    let known = known.into_iter().find(|known| known.key == intended);
    let intent = known.map_or(Intent::On, |known| known.intent(value));
    let is_member = if intended == keys::DATAPLANE_MODE {
        pods_in(cx, namespace).any(is_ambient)
    } else {
        is_injected(cx, namespace)
    };
    if intent != Intent::On || is_member {
        return None;
    }
    let effect = known.unwrap_or(INJECTION).effect(namespace);
    let message = format!("unknown Istio label `{name}`: Istio ignores it, so {effect}");
    let mut finding =
        MESH_LABEL_INVALID.finding_on_deployed(namespace, label.entry.key.span(), message);
    let labels = FieldPath::keys(&["metadata", "labels"]);
    finding.field = Some(labels.child(name.to_owned()).to_string());
    finding.help = Some(format!("did you mean `{intended}`?"));
    if label.is_uncertain {
        let message = "no webhook outside of the tree selects the label";
        finding.depend_on(&Fact::assumed(
            (),
            message,
            Some("--override injection=all"),
        ));
    }
    let value = known.map_or(value, |known| known.on);
    let change = Change::replace(
        namespace.route.join(&labels).child(name.to_owned()),
        intended.to_owned(),
        value,
    );
    finding.fix = Some(Fix::of_object(
        namespace,
        format!("replace it with `{intended}: {value}`"),
        Applicability::unsafe_because(ADDS_PODS),
        vec![change],
    ));
    Some(finding)
}

fn about_namespace(
    label: MeshLabel,
    namespace: &Object<'_>,
    entry: Entry<'_>,
    word: &str,
    intent: Intent,
    effect: &str,
) -> Finding {
    let mut finding = label.finding(namespace, entry, word, effect);
    let route = FieldPath::keys(&["metadata", "labels"]).child(label.key);
    finding.field = Some(route.to_string());
    finding.fix = label.fix(namespace, namespace.route.join(&route), word, intent);
    finding
}

/// Reports the ambient mode of a pod whose label has no effect, or the opposite effect.
fn mode_of_pod(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let label = DATAPLANE_MODE;
    let template = &pod.workload.template;
    let (entry, word) = label.unknown_value(template.label(label.key))?;
    let intent = label.intent(word);
    let effect = match (intent, pod.dataplane.value) {
        (Intent::On, Dataplane::None) => "the pod is not in ambient mode",
        (Intent::Off | Intent::Sidecar, Dataplane::Ambient) => "the pod stays in ambient mode",
        (Intent::Sidecar, Dataplane::None) => "the pod gets no sidecar",
        _ => return None,
    };
    let object = &pod.workload.object;
    let mut finding = label.finding(object, entry, word, effect);
    let route = pod_metadata::route(template, MetadataMap::Label, label.key);
    let within = template.within.child("metadata").child("labels");
    finding.field = Some(within.child(label.key).to_string());
    finding.depend_on(&pod.dataplane);
    finding.fix = label.fix(object, route, word, intent);
    if intent == Intent::Sidecar {
        finding.help = Some(format!("`{}: \"true\"` requests a sidecar", keys::INJECT));
    }
    Some(finding)
}

fn is_injected<'t>(cx: &RuleContext<'_, 't>, namespace: &Object<'t>) -> bool {
    pods_in(cx, namespace).any(|pod| pod.passes_injector)
}

fn is_ambient(pod: &WorkloadPrediction<'_>) -> bool {
    pod.dataplane.value == Dataplane::Ambient
}

/// Iterates over the pods whose namespace is this object.
fn pods_in<'s, 't>(
    cx: &RuleContext<'s, 't>,
    namespace: &Object<'t>,
) -> impl Iterator<Item = &'s WorkloadPrediction<'t>> {
    let all = cx.by_namespace.get(namespace.name());
    all.into_iter().flatten().copied().filter(move |pod| {
        cx.context
            .namespace_of(&pod.workload.object)
            .manifest()
            .is_some_and(|object| std::ptr::eq(object, namespace))
    })
}

/// The labels of a Namespace that Istio reads to add its pods to the mesh.
/// Source: Istio 1.31, the selectors of the chart istio-discovery, `cni/pkg/util/enablement_selector.go`.
const LABELS: [&str; 3] = [
    keys::NAMESPACE_INJECTION,
    keys::REVISION,
    keys::DATAPLANE_MODE,
];

/// Common wrong names of Istio's domain with the intended ones; they differ too much to be recognized as typing errors.
const MISTAKEN: [(&str, &str); 6] = [
    ("istio.io/inject", keys::NAMESPACE_INJECTION),
    ("istio.io/injection", keys::NAMESPACE_INJECTION),
    ("istio.io/istio-injection", keys::NAMESPACE_INJECTION),
    ("istio.io/revision", keys::REVISION),
    ("sidecar.istio.io/injected", keys::NAMESPACE_INJECTION),
    ("sidecar.istio.io/injection", keys::NAMESPACE_INJECTION),
];

/// Wrong names outside of Istio's domain. A webhook that is not part of Istio may select such a label.
const PERHAPS_MISTAKEN: [&str; 2] = ["istio-inject", "istio-injected"];

/// A label whose name Istio does not know, and the label that was evidently intended.
#[derive(Clone, Copy, Debug)]
struct MisspeltLabel<'t> {
    pub(super) entry: Entry<'t>,
    pub(super) name: &'t str,
    pub(super) value: &'t str,
    pub(super) intended: &'static str,
    /// Whether a webhook that is not in the tree may select the label.
    pub(super) is_uncertain: bool,
}

/// Iterates over the misspelt labels of a Namespace that no selector in the tree uses, except for those that have no
/// effect with the right name either: an empty value, one that another tool fills in, and names of labels that the
/// Namespace already has or that another label overrides.
fn misspelt_labels<'t>(
    context: &Context<'_>,
    namespace: &Object<'t>,
) -> impl Iterator<Item = MisspeltLabel<'t>> {
    let labels = namespace.metadata().and_then(|all| all.get("labels"));
    let entries = labels.into_iter().flat_map(NodeRef::effective_entries);
    entries.filter_map(move |entry| {
        let name = entry.key.text()?;
        let value = entry.value.as_str()?;
        let (intended, is_uncertain) = intended_label(name)?;
        let overrides = [keys::NAMESPACE_INJECTION, keys::REVISION];
        let is_set = namespace.label(intended).is_some()
            || intended != keys::DATAPLANE_MODE
                && overrides.iter().any(|key| namespace.label(key).is_some());
        let is_fine = is_set
            || value.is_empty()
            || placeholder::contains(value)
            || is_selected(context, name);
        (!is_fine).then_some(MisspeltLabel {
            entry,
            name,
            value,
            intended,
            is_uncertain,
        })
    })
}

/// Returns the label that the author of an unknown name likely intended, and whether that is uncertain.
fn intended_label(name: &str) -> Option<(&'static str, bool)> {
    if LABELS.contains(&name) || known_keys::KNOWN.contains(&name) {
        return None;
    }
    if PERHAPS_MISTAKEN.contains(&name) {
        return Some((keys::NAMESPACE_INJECTION, true));
    }
    let mistaken = MISTAKEN.iter().find(|(wrong, _)| *wrong == name);
    let mistaken = mistaken.map(|(_, intended)| *intended);
    let is_similar = |known: &&str| {
        if known.contains('/') {
            is_close_key(name, known)
        } else {
            is_close(name, known)
        }
    };
    let similar = || LABELS.into_iter().find(is_similar);
    Some((mistaken.or_else(similar)?, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_have_an_intended_label() {
        for (name, intended) in [
            ("istio-injections", keys::NAMESPACE_INJECTION),
            ("istio_injection", keys::NAMESPACE_INJECTION),
            ("Istio-Injection", keys::NAMESPACE_INJECTION),
            ("istio.io/dataplane_mode", keys::DATAPLANE_MODE),
            ("istio.io/data-plane-mode", keys::DATAPLANE_MODE),
            ("isto.io/dataplane-mode", keys::DATAPLANE_MODE),
            ("istio.io/revision", keys::REVISION),
            ("istio.io/rv", keys::REVISION),
            ("sidecar.istio.io/injected", keys::NAMESPACE_INJECTION),
        ] {
            assert_eq!(intended_label(name), Some((intended, false)), "{name}");
        }
        assert_eq!(
            intended_label("istio-inject"),
            Some((keys::NAMESPACE_INJECTION, true))
        );
    }

    #[test]
    fn other_labels_are_not_misspelt() {
        let others = [
            "istio-env",
            "istio-locality",
            "istio-operator-managed",
            "istio.io/config",
            "istio.io/gateway-name",
            "istio.io/global",
            "istio.io/rev-tag",
            "istio.io/usage",
            "kiali.io/member-of",
            "linkerd.io/inject",
            "consul.hashicorp.com/connect-inject",
            "kuma.io/sidecar-injection",
            "io.cilium/mtls-enabled",
            "asm-injection",
            "injection",
            "sidecar-injection",
            "env",
            "rev",
            "app.io/rev",
        ];
        for name in known_keys::KNOWN
            .iter()
            .copied()
            .chain(LABELS)
            .chain(others)
        {
            assert_eq!(intended_label(name), None, "{name}");
        }
    }
}
