//! Misspelt names of the labels of a Namespace that add its pods to the mesh.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::{keys, known_names};
use meshprobe_predict::context::Context;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef};

use crate::rules::support::selected_labels::is_selected;
use crate::rules::support::similar_names::{is_close, is_close_key};

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
pub(in crate::rules) struct MisspeltLabel<'t> {
    pub(in crate::rules) entry: Entry<'t>,
    pub(in crate::rules) name: &'t str,
    pub(in crate::rules) value: &'t str,
    pub(in crate::rules) intended: &'static str,
    /// Whether a webhook that is not in the tree may select the label.
    pub(in crate::rules) is_uncertain: bool,
}

/// Iterates over the misspelt labels of a Namespace that no selector in the tree uses, except for those that have no
/// effect with the right name either: an empty value, one that another tool fills in, and names of labels that the
/// Namespace already has or that another label overrides.
pub(in crate::rules) fn misspelt_labels<'t>(
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
    if LABELS.contains(&name) || known_names::KNOWN.contains(&name) {
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
        for name in known_names::KNOWN
            .iter()
            .copied()
            .chain(LABELS)
            .chain(others)
        {
            assert_eq!(intended_label(name), None, "{name}");
        }
    }
}
