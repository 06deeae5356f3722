//! Fields that a kustomization sets on every object of a kind.
//!
//! Source: kustomize 5.8.2, `api/internal/konfig/builtinpluginconsts` (which fields) and
//! `api/filters/fieldspec` (how they are found and created).

use std::borrow::Cow;
use std::sync::Arc;

use meshprobe_yaml::Span;

use crate::kustomize::node::{Node, Origin, Value};
use crate::kustomize::resource::{Resource, group_version};
use crate::kustomize::share;
use crate::kustomize::share::Written;

/// Field of some kinds of objects.
#[derive(Clone, Debug)]
pub(crate) struct FieldSpec {
    group: Cow<'static, str>,
    version: Cow<'static, str>,
    kind: Cow<'static, str>,
    /// Keys joined by `/`; `[]` follows the key of a list.
    pub(crate) path: Cow<'static, str>,
    /// Whether a missing field is created.
    create: bool,
}

/// Rows of group, version, kinds and path, where `*` is any. A missing field is created if the row ends with `+`.
const OWN_LABELS: &str = "* * * metadata/labels +";

const TEMPLATE_LABELS: &str = "\
* v1 ReplicationController spec/template/metadata/labels +
* * Deployment,ReplicaSet,DaemonSet spec/template/metadata/labels +
apps * StatefulSet spec/template/metadata/labels +
batch * Job spec/template/metadata/labels +
batch * CronJob spec/jobTemplate/metadata/labels +
batch * CronJob spec/jobTemplate/spec/template/metadata/labels +";

const VOLUME_CLAIM_LABELS: &str =
    "apps * StatefulSet spec/volumeClaimTemplates[]/metadata/labels +";

const SELECTORS: &str = "\
* v1 Service,ReplicationController spec/selector +
* * Deployment,ReplicaSet,DaemonSet spec/selector/matchLabels +
apps * StatefulSet spec/selector/matchLabels +
batch * Job spec/selector/matchLabels
batch * CronJob spec/jobTemplate/spec/selector/matchLabels
policy * PodDisruptionBudget spec/selector/matchLabels
networking.k8s.io * NetworkPolicy spec/podSelector/matchLabels
networking.k8s.io * NetworkPolicy spec/ingress/from/podSelector/matchLabels
networking.k8s.io * NetworkPolicy spec/egress/to/podSelector/matchLabels";

const AFFINITIES: &str = "\
apps * Deployment,StatefulSet spec/template/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels
apps * Deployment,StatefulSet spec/template/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels
apps * Deployment,StatefulSet spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels
apps * Deployment,StatefulSet spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels
apps * Deployment,StatefulSet spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels";

const ANNOTATIONS: &str = "\
* * * metadata/annotations +
* v1 ReplicationController spec/template/metadata/annotations +
* * Deployment,ReplicaSet,DaemonSet,StatefulSet spec/template/metadata/annotations +
batch * Job spec/template/metadata/annotations +
batch * CronJob spec/jobTemplate/metadata/annotations +
batch * CronJob spec/jobTemplate/spec/template/metadata/annotations +";

/// Returns the fields of a table.
pub(crate) fn specs(rows: &'static str) -> impl Iterator<Item = FieldSpec> {
    rows.lines().flat_map(|row| {
        let any = |part: &'static str| Cow::Borrowed(part.trim_start_matches('*'));
        let mut parts = row.split(' ');
        let mut part = move || parts.next().unwrap_or_default();
        let (group, version, kinds, path) = (part(), part(), part(), part());
        kinds.split(',').map(move |kind| FieldSpec {
            group: any(group),
            version: any(version),
            kind: any(kind),
            path: Cow::Borrowed(path),
            create: row.ends_with('+'),
        })
    })
}

/// Returns the fields that `commonAnnotations` reaches.
pub(crate) fn annotations() -> Vec<FieldSpec> {
    specs(ANNOTATIONS).collect()
}

/// Returns the fields that `labels` reaches, with `includeTemplates` and `includeVolumeClaimTemplates`.
pub(crate) fn labels(templates: bool, volume_claims: bool) -> Vec<FieldSpec> {
    let tables = [
        OWN_LABELS,
        if templates { TEMPLATE_LABELS } else { "" },
        if volume_claims {
            VOLUME_CLAIM_LABELS
        } else {
            ""
        },
    ];
    tables.into_iter().flat_map(specs).collect()
}

/// Returns the fields that `commonLabels`, and `labels` with `includeSelectors`, reach.
pub(crate) fn all_labels() -> Vec<FieldSpec> {
    let mut all: Vec<FieldSpec> = specs(SELECTORS).collect();
    all.extend(labels(true, true));
    all.extend(specs(AFFINITIES));
    all
}

impl FieldSpec {
    /// Creates a field of a file from the texts of its keys; a missing field is not created by default.
    pub(crate) fn read<'t>(text: impl Fn(&str) -> &'t str) -> Self {
        let owned = |key: &str| Cow::Owned(text(key).to_owned());
        Self {
            group: owned("group"),
            version: owned("version"),
            kind: owned("kind"),
            path: owned("path"),
            create: text("create") == "true",
        }
    }

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
