//! Policies of the mesh and the cluster, with the locations of their settings.
//!
//! Label selectors with `matchLabels` only.
//!
//! Label selectors with `matchLabels` and `matchExpressions`.
//!
//! Source: `k8s.io/apimachinery` 0.36, `pkg/apis/meta/v1/helpers.go` (LabelSelectorAsSelector) and
//! `pkg/labels/selector.go` (Requirement.Matches).

use hashbrown::HashMap;
use meshprobe_yaml::{Entry, NodeRef};

use super::container::integer;
use super::{Object, Workload};

/// A `PeerAuthentication` of `security.istio.io`.
#[derive(Clone, Copy, Debug)]
pub struct PeerAuthentication<'t> {
    spec: Option<NodeRef<'t>>,
}

/// Mutual TLS mode that a `PeerAuthentication` sets for one port.
#[derive(Clone, Copy, Debug)]
pub struct PortMode<'t> {
    /// The entry of `portLevelMtls`.
    pub entry: Entry<'t>,
    /// The port, if the key is a number.
    pub port: Option<i64>,
    /// The entry `mode`, if set.
    pub mode: Option<Entry<'t>>,
}

impl<'t> PeerAuthentication<'t> {
    /// Views an object as a `PeerAuthentication`.
    #[must_use]
    pub fn of(object: &Object<'t>) -> Self {
        Self {
            spec: object.node.get("spec"),
        }
    }

    fn field(self, key: &str) -> Option<Entry<'t>> {
        self.spec?.set_entry(key)
    }

    /// Returns the entry `selector`, if set.
    #[must_use]
    pub fn selector_entry(self) -> Option<Entry<'t>> {
        self.field("selector")
    }

    /// Returns the labels that the selector requires; without labels, the policy selects by namespace.
    #[must_use]
    pub fn selector(self) -> LabelSelector<'t> {
        let selector = self.selector_entry();
        LabelSelector::from_custom(selector.and_then(|entry| entry.value.get("matchLabels")))
    }

    /// Returns whether the selector requires a label, or another tool fills it in.
    #[must_use]
    pub fn has_selector(self) -> bool {
        self.selector_entry().is_some_and(|selector| {
            let selector = selector.value;
            match selector.get_set("matchLabels") {
                Some(labels) => !labels.is_mapping() || labels.set_entries().next().is_some(),
                None => !selector.is_mapping(),
            }
        })
    }

    /// Returns the entry `mtls`, if set.
    #[must_use]
    pub fn mtls_entry(self) -> Option<Entry<'t>> {
        self.field("mtls")
    }

    /// Returns the entry `mtls.mode`, if set.
    #[must_use]
    pub fn mode(self) -> Option<Entry<'t>> {
        self.mtls_entry()?.value.set_entry("mode")
    }

    /// Returns the entry `portLevelMtls`, if set.
    #[must_use]
    pub fn ports_entry(self) -> Option<Entry<'t>> {
        self.field("portLevelMtls")
    }

    /// Returns the modes of single ports.
    pub fn ports(self) -> impl Iterator<Item = PortMode<'t>> + use<'t> {
        self.ports_entry()
            .map(|entry| entry.value)
            .into_iter()
            .flat_map(NodeRef::set_entries)
            .map(|entry| PortMode {
                entry,
                port: entry.key.text().and_then(|text| text.parse().ok()),
                mode: entry.value.set_entry("mode"),
            })
    }
}

/// Port of a Service.
#[derive(Clone, Copy, Debug)]
pub struct ServicePort<'t> {
    /// The item of `spec.ports`.
    pub node: NodeRef<'t>,
    /// `port`, if it is an integer.
    pub port: Option<i64>,
}

impl<'t> ServicePort<'t> {
    /// Returns the ports of a Service.
    pub fn all_of(service: &Object<'t>) -> impl Iterator<Item = Self> + use<'t> {
        let ports = service.node.get("spec").and_then(|spec| spec.get("ports"));
        ports.into_iter().flat_map(NodeRef::items).map(|node| Self {
            node,
            port: node.get("port").and_then(integer),
        })
    }
}

/// Returns whether the `workloadSelector` of an object (`Sidecar`, `EnvoyFilter`) is empty or matches
/// the labels of the pods of `workload`.
#[must_use]
pub fn selects_workload(object: &Object<'_>, workload: &Workload<'_>) -> bool {
    workload_selector(object).matches(workload.template.labels())
}

/// Returns the labels that the `workloadSelector` of an object (`Sidecar`, `EnvoyFilter`) requires.
#[must_use]
pub fn workload_selector<'t>(object: &Object<'t>) -> LabelSelector<'t> {
    let spec = object.node.get("spec");
    let selector = spec.and_then(|spec| spec.get("workloadSelector"));
    LabelSelector::from_custom(selector.and_then(|selector| selector.get("labels")))
}

/// Returns whether an object of another tool may create pods that no manifest contains: a
/// `HelmRelease`, a `Gateway`, or the object of an operator.
#[must_use]
pub fn may_create_pods(group: &str, kind: &str) -> bool {
    let built_in = !group.contains('.') || group.ends_with(".k8s.io");
    let of_mesh = group.ends_with(".istio.io") || group == "kustomize.config.k8s.io";
    let gateway = group == "gateway.networking.k8s.io" && kind == "Gateway";
    gateway || !built_in && !of_mesh
}

/// Up to this number, labels are looked up one by one, without an index.
const FEW: usize = 8;

/// Labels that a selector requires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector<'t> {
    labels: Vec<(&'t str, &'t str)>,
}

impl<'t> LabelSelector<'t> {
    /// Parses a mapping of label names to values in an object of Kubernetes itself; anything else has no requirements.
    #[must_use]
    pub fn from_mapping(node: Option<NodeRef<'t>>) -> Self {
        let entries = node.into_iter().flat_map(NodeRef::effective_entries);
        let pair = |entry: Entry<'t>| Some((entry.key.text()?, label_value(entry.value)?));
        Self {
            labels: entries.filter_map(pair).collect(),
        }
    }

    /// Parses a mapping of label names to values in a custom resource, from which the API server removes null.
    ///
    /// Source: apiextensions-apiserver 0.34.1, `PruneNonNullableNullsWithoutDefaults`.
    #[must_use]
    pub fn from_custom(node: Option<NodeRef<'t>>) -> Self {
        let entries = node.into_iter().flat_map(NodeRef::set_entries);
        let pair = |entry: Entry<'t>| Some((entry.key.text()?, entry.value.text()?));
        Self {
            labels: entries.filter_map(pair).collect(),
        }
    }

    /// Returns the labels that the selector requires.
    #[must_use]
    pub fn into_labels(self) -> Vec<(&'t str, &'t str)> {
        self.labels
    }

    /// Returns whether the selector requires no labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns whether `labels`, a mapping, contains all required labels.
    #[must_use]
    pub fn matches(&self, labels: Option<NodeRef<'_>>) -> bool {
        if self.labels.len() <= FEW {
            return self.labels.iter().all(|(key, value)| {
                let found = labels.and_then(|labels| labels.get(key));
                found.and_then(label_value) == Some(value)
            });
        }
        let written: HashMap<&str, &str> = labels
            .into_iter()
            .flat_map(NodeRef::effective_entries)
            .filter_map(|entry| Some((entry.key.text()?, label_value(entry.value)?)))
            .collect();
        self.labels
            .iter()
            .all(|(key, value)| written.get(key) == Some(value))
    }
}

/// Returns the value of a label. In objects of Kubernetes itself, null is the empty text, as Go decodes it into a map of
/// texts.
fn label_value(node: NodeRef<'_>) -> Option<&str> {
    match node.is_null() {
        true => Some(""),
        false => node.text(),
    }
}

/// Condition on the value of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

/// Owned label selector, which outlives its document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    all: Vec<(String, Test)>,
    /// Whether an operator is unknown to the API, which rejects the selector: it matches nothing.
    is_void: bool,
}

impl Requirements {
    /// Parses a `LabelSelector` of a custom resource, from which the API server removes null. A missing selector, null
    /// and `{}` have no requirements.
    #[must_use]
    pub fn parse(node: Option<NodeRef<'_>>) -> Self {
        Self::with_null(node, None)
    }

    /// Parses a `LabelSelector` of an object of Kubernetes itself, in which null is the empty text.
    #[must_use]
    pub fn parse_builtin(node: Option<NodeRef<'_>>) -> Self {
        Self::with_null(node, Some(""))
    }

    fn with_null(node: Option<NodeRef<'_>>, null: Option<&str>) -> Self {
        let mut requirements = Self::default();
        let Some(node) = node else {
            return requirements;
        };
        for entry in node
            .get("matchLabels")
            .into_iter()
            .flat_map(NodeRef::effective_entries)
        {
            let value = match entry.value.is_null() {
                true => null,
                false => entry.value.text(),
            };
            if let (Some(key), Some(value)) = (entry.key.text(), value) {
                requirements
                    .all
                    .push((key.to_owned(), Test::In(vec![value.to_owned()])));
            }
        }
        let expressions = node.get("matchExpressions").into_iter();
        for item in expressions.flat_map(NodeRef::items) {
            match expression(item) {
                Some(requirement) => requirements.all.push(requirement),
                None => requirements.is_void = true,
            }
        }
        requirements
    }

    /// Returns the selector of objects with a label, with any value if none is given.
    #[must_use]
    pub fn of_label(key: &str, value: Option<&str>) -> Self {
        let test = value.map_or(Test::Exists, |value| Test::In(vec![value.to_owned()]));
        Self {
            all: vec![(key.to_owned(), test)],
            is_void: false,
        }
    }

    /// Returns whether the selector has no requirements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && !self.is_void
    }

    /// Returns whether the API server rejects the selector because of an unknown operator.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.is_void
    }

    /// Returns whether labels meet every requirement that could be parsed. `label` returns the value
    /// of a label, if there is one.
    pub fn may_match<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.all.iter().all(|(key, test)| {
            let value = label(key);
            match test {
                Test::In(values) => value.is_some_and(|value| contains(values, value)),
                Test::NotIn(values) => value.is_none_or(|value| !contains(values, value)),
                Test::Exists => value.is_some(),
                Test::DoesNotExist => value.is_none(),
            }
        })
    }

    /// Returns whether labels meet every requirement. `label` returns the value of a label, if there
    /// is one.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.is_void && self.may_match(label)
    }

    /// Iterates over the labels that the requirements are about.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(key, _)| key.as_str())
    }
}

fn contains(values: &[String], value: &str) -> bool {
    values.iter().any(|candidate| candidate == value)
}

fn expression(item: NodeRef<'_>) -> Option<(String, Test)> {
    let key = item.get("key")?.text()?.to_owned();
    let values = || {
        item.get("values")
            .into_iter()
            .flat_map(NodeRef::items)
            .filter_map(NodeRef::text)
            .map(str::to_owned)
            .collect()
    };
    let test = match item.get("operator")?.text()? {
        "In" => Test::In(values()),
        "NotIn" => Test::NotIn(values()),
        "Exists" => Test::Exists,
        "DoesNotExist" => Test::DoesNotExist,
        _ => return None,
    };
    Some((key, test))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use meshprobe_yaml::{Span, Tree, parse};

    use super::*;

    fn matches(selector: &str, labels: &[(&str, &'static str)]) -> bool {
        let text: Arc<str> = Arc::from(selector);
        let tree = parse(&text, Span::new(0, text.len())).unwrap();
        let requirements = Requirements::parse(tree.as_ref().and_then(Tree::root));
        requirements.matches(|key| {
            labels
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, v)| *v)
        })
    }

    #[test]
    fn operators_match_as_in_the_api() {
        let not_false = "matchExpressions: [{key: inject, operator: NotIn, values: ['false']}]";
        assert!(matches(not_false, &[]));
        assert!(matches(not_false, &[("inject", "true")]));
        assert!(!matches(not_false, &[("inject", "false")]));
        let both = "{matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}";
        assert!(matches(both, &[("a", "b"), ("c", "")]));
        assert!(!matches(both, &[("a", "b")]));
        assert!(!matches(both, &[("c", "x")]));
        let absent = "matchExpressions: [{key: c, operator: DoesNotExist}]";
        assert!(matches(absent, &[]));
        assert!(!matches(absent, &[("c", "x")]));
        let within = "matchExpressions: [{key: c, operator: In, values: [x, y]}]";
        assert!(matches(within, &[("c", "y")]));
        assert!(!matches(within, &[]));
    }

    #[test]
    fn an_unknown_operator_matches_nothing() {
        assert!(!matches(
            "matchExpressions: [{key: c, operator: Gt, values: ['1']}]",
            &[("c", "2")]
        ));
        assert!(matches("{}", &[]));
    }
}
