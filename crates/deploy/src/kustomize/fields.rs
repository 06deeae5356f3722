//! Fields that a kustomization sets on every object of a kind.
//!
//! Source: kustomize 5.8.2, `api/internal/konfig/builtinpluginconsts` (which fields) and
//! `api/filters/fieldspec` (how they are found and created).

use std::sync::Arc;

use meshprobe_yaml::Span;

use crate::kustomize::node::{Node, Origin, Value};
use crate::kustomize::resource::{Resource, group_version};
use crate::kustomize::share;
use crate::kustomize::share::Written;

/// Field of some kinds of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSpec {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// Keys joined by `/`; `[]` follows the key of a list.
    pub(crate) path: String,
    /// Whether a missing field is created.
    pub(crate) create: bool,
}

/// Group, version, kind, path, whether to create.
type Row = (&'static str, &'static str, &'static str, &'static str, bool);

const OWN_LABELS: Row = ("", "", "", "metadata/labels", true);

const TEMPLATE: &str = "spec/template/metadata/labels";

const TEMPLATE_LABELS: &[Row] = &[
    OWN_LABELS,
    ("", "v1", "ReplicationController", TEMPLATE, true),
    ("", "", "Deployment", TEMPLATE, true),
    ("", "", "ReplicaSet", TEMPLATE, true),
    ("", "", "DaemonSet", TEMPLATE, true),
    ("apps", "", "StatefulSet", TEMPLATE, true),
    ("batch", "", "Job", TEMPLATE, true),
    (
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/metadata/labels",
        true,
    ),
    (
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/spec/template/metadata/labels",
        true,
    ),
];

const VOLUME_CLAIM_LABELS: &[Row] = &[(
    "apps",
    "",
    "StatefulSet",
    "spec/volumeClaimTemplates[]/metadata/labels",
    true,
)];

const MATCH: &str = "spec/selector/matchLabels";

const NETWORK: &str = "networking.k8s.io";

const AFFINITIES: [&str; 5] = [
    "spec/template/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "spec/template/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels",
];

const SELECTORS: &[Row] = &[
    ("", "v1", "Service", "spec/selector", true),
    ("", "v1", "ReplicationController", "spec/selector", true),
    ("", "", "Deployment", MATCH, true),
    ("", "", "ReplicaSet", MATCH, true),
    ("", "", "DaemonSet", MATCH, true),
    ("apps", "", "StatefulSet", MATCH, true),
    ("batch", "", "Job", MATCH, false),
    (
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/spec/selector/matchLabels",
        false,
    ),
    ("policy", "", "PodDisruptionBudget", MATCH, false),
    (
        NETWORK,
        "",
        "NetworkPolicy",
        "spec/podSelector/matchLabels",
        false,
    ),
    (
        NETWORK,
        "",
        "NetworkPolicy",
        "spec/ingress/from/podSelector/matchLabels",
        false,
    ),
    (
        NETWORK,
        "",
        "NetworkPolicy",
        "spec/egress/to/podSelector/matchLabels",
        false,
    ),
];

const OWN_ANNOTATIONS: &str = "spec/template/metadata/annotations";

const ANNOTATIONS: &[Row] = &[
    ("", "", "", "metadata/annotations", true),
    ("", "v1", "ReplicationController", OWN_ANNOTATIONS, true),
    ("", "", "Deployment", OWN_ANNOTATIONS, true),
    ("", "", "ReplicaSet", OWN_ANNOTATIONS, true),
    ("", "", "DaemonSet", OWN_ANNOTATIONS, true),
    ("", "", "StatefulSet", OWN_ANNOTATIONS, true),
    ("batch", "", "Job", OWN_ANNOTATIONS, true),
    (
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/metadata/annotations",
        true,
    ),
    (
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/spec/template/metadata/annotations",
        true,
    ),
];

impl From<&Row> for FieldSpec {
    fn from(&(group, version, kind, path, create): &Row) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            path: path.to_owned(),
            create,
        }
    }
}

fn specs<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<FieldSpec> {
    rows.into_iter().map(FieldSpec::from).collect()
}

/// Returns the fields that `commonAnnotations` reaches.
pub(crate) fn annotations() -> Vec<FieldSpec> {
    specs(ANNOTATIONS)
}

/// Returns the fields that `labels` without any option reaches.
pub(crate) fn own_labels() -> Vec<FieldSpec> {
    specs(&[OWN_LABELS])
}

/// Returns the fields that `labels` with `includeTemplates` reaches.
pub(crate) fn template_labels() -> Vec<FieldSpec> {
    specs(TEMPLATE_LABELS)
}

/// Returns the fields that `labels` with `includeVolumeClaimTemplates` reaches.
pub(crate) fn volume_claim_labels() -> Vec<FieldSpec> {
    specs(VOLUME_CLAIM_LABELS)
}

/// Returns the fields that `commonLabels`, and `labels` with `includeSelectors`, reach.
pub(crate) fn all_labels() -> Vec<FieldSpec> {
    let mut all = specs(
        SELECTORS
            .iter()
            .chain(TEMPLATE_LABELS)
            .chain(VOLUME_CLAIM_LABELS),
    );
    for kind in ["Deployment", "StatefulSet"] {
        all.extend(AFFINITIES.map(|path| FieldSpec::from(&("apps", "", kind, path, false))));
    }
    all
}

impl FieldSpec {
    /// Sets the entry of `pair` in the mappings at the path of the field. Returns whether any entry was set,
    /// or `None` if the object has a value of another type on the path. Values with the same shared id
    /// change only when `written` is spread.
    fn set(&self, resource: &mut Resource, pair: &Pair<'_>, written: &mut Written) -> Option<bool> {
        let object = resource.change();
        let steps: Vec<&str> = self.path.split('/').collect();
        let mut entry = Entry {
            pair,
            create: self.create,
            written,
        };
        entry.set_below(object, &steps)
    }

    /// Returns whether the field is one of this object.
    pub(crate) fn is_for(&self, object: &Node) -> bool {
        let (group, version) = group_version(object.text_below(&["apiVersion"]));
        let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        fits(&self.kind, object.text_below(&["kind"]))
            && fits(&self.group, group)
            && fits(&self.version, version)
    }
}

/// Entry to set.
pub(crate) struct Pair<'p> {
    pub(crate) key: &'p str,
    pub(crate) key_origin: &'p Origin,
    pub(crate) value: Node,
    /// The location of the setting in the kustomization.
    pub(crate) at: Span,
}

/// Entries to set in the same fields.
pub(crate) struct Pairs<'p> {
    pub(crate) pairs: Vec<Pair<'p>>,
    pub(crate) specs: &'p [FieldSpec],
}

/// Sets all entries in an object. Returns those for which the object has a value of another type on the path.
pub(crate) fn set_all<'p>(resource: &mut Resource, all: &'p [Pairs<'p>]) -> Vec<&'p Pair<'p>> {
    let mut written = Written::default();
    let mut failed = Vec::new();
    for Pairs { pairs, specs } in all {
        let head = &resource.body;
        let specs: Vec<&FieldSpec> = specs.iter().filter(|spec| spec.is_for(head)).collect();
        for pair in pairs {
            resource.is_intact = false;
            let mut set = specs
                .iter()
                .map(|spec| spec.set(resource, pair, &mut written));
            if set.any(|done| done.is_none()) {
                failed.push(pair);
            }
        }
    }
    if !written.is_empty() {
        written.spread(resource.change());
    }
    failed
}

struct Entry<'e> {
    pair: &'e Pair<'e>,
    create: bool,
    written: &'e mut Written,
}

impl Entry<'_> {
    fn set_below(&mut self, node: &mut Node, steps: &[&str]) -> Option<bool> {
        if node.is_null() {
            return Some(false);
        }
        let Some((step, rest)) = steps.split_first() else {
            return self.set_here(node);
        };
        match &mut node.value {
            Value::Leaf(_) => None,
            Value::Seq(items) => {
                let mut any = false;
                for item in Arc::make_mut(items).iter_mut() {
                    any |= self.set_below(item, steps)?;
                }
                Some(any)
            }
            Value::Map(_) => {
                let (name, of_list) = match step.strip_suffix("[]") {
                    Some(name) => (name, true),
                    None => (*step, false),
                };
                if self.create && !of_list && node.get(name).is_none_or(Node::is_null) {
                    let origin = self.pair.key_origin;
                    node.set(name, origin, Node::empty_map(origin));
                }
                match node.get_mut(name) {
                    Some(child) => self.set_below(child, rest),
                    None => Some(false),
                }
            }
        }
    }

    fn set_here(&mut self, node: &mut Node) -> Option<bool> {
        if !matches!(node.value, Value::Map(_)) {
            return None;
        }
        let value = match node.get(self.pair.key) {
            Some(old) => share::in_place_of(old, &self.pair.value),
            None => self.pair.value.clone(),
        };
        self.written.note(self.pair.key, &value);
        node.set(self.pair.key, self.pair.key_origin, value);
        Some(true)
    }
}
