//! Annotations and labels of a pod: findings about one of them, and changes that remove it.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{PodTemplate, Workload};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, Entry, FieldPath, Kind, NodeRef, Span};

use crate::rules::Rule;
use crate::rules::support::fix_safety;

/// The mapping of the metadata that contains a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum MetadataMap {
    /// `annotations`.
    Annotation,
    /// `labels`.
    Label,
}

impl MetadataMap {
    /// Returns the key of the mapping.
    pub(in crate::rules) const fn key(self) -> &'static str {
        match self {
            Self::Annotation => "annotations",
            Self::Label => "labels",
        }
    }

    /// Returns the word for one entry.
    pub(in crate::rules) const fn word(self) -> &'static str {
        match self {
            Self::Annotation => "annotation",
            Self::Label => "label",
        }
    }

    /// Returns the mapping of a pod, if the manifest has it.
    pub(in crate::rules) fn of<'t>(self, template: &PodTemplate<'t>) -> Option<NodeRef<'t>> {
        match self {
            Self::Annotation => template.annotations(),
            Self::Label => template.labels(),
        }
    }
}

/// Creates a finding that points at the value of an entry.
pub(in crate::rules) fn finding_on_entry(
    rule: &Rule,
    workload: &Workload<'_>,
    place: MetadataMap,
    entry: Entry<'_>,
    message: String,
) -> Finding {
    let mut finding = rule.finding_on_workload(workload, value_span(entry), message);
    let key = entry.key.text().unwrap_or_default().to_owned();
    let field = workload
        .template
        .within
        .child("metadata")
        .child(place.key());
    finding.field = Some(field.child(key).to_string());
    finding
}

/// Returns a span within one line for an entry: the value, or the key if the value is empty or has several
/// lines.
pub(in crate::rules) fn value_span(entry: Entry<'_>) -> Span {
    let value = entry.value.span();
    if value.is_empty() || entry.value.source().contains('\n') {
        entry.key.span()
    } else {
        value
    }
}

/// Returns the route of an entry from the root of the document.
pub(in crate::rules) fn route(
    template: &PodTemplate<'_>,
    place: MetadataMap,
    key: &str,
) -> FieldPath {
    let metadata = template.route.child("metadata");
    metadata.child(place.key()).child(key.to_owned())
}

/// Returns whether another value of an annotation would apply if it were removed.
pub(in crate::rules) fn is_override(workload: &Workload<'_>, entry: &Entry<'_>) -> bool {
    let key = entry.key.text().unwrap_or_default();
    workload.object.is_override(entry) || workload.template.overrides_inherited(key)
}

/// Returns the changes that remove entries. If no other entry is left, they remove the mapping.
pub(in crate::rules) fn removal_changes(
    template: &PodTemplate<'_>,
    place: MetadataMap,
    keys: &[&str],
) -> Vec<Change> {
    let holder = template.route.child("metadata").child(place.key());
    let all = place.of(template).map_or(0, |node| node.entries().len());
    // Removing the mapping would also remove the entries of a merge key.
    let merges = place.of(template).is_some_and(NodeRef::has_merge_key);
    if all == keys.len() && !merges {
        let metadata = template.node.get("metadata");
        let is_only_key = metadata.is_some_and(|node| node.entries().len() == 1);
        let is_pod = template.within == FieldPath::root();
        let route = if is_only_key && !is_pod {
            template.route.child("metadata")
        } else {
            holder
        };
        return vec![Change::Remove { route }];
    }
    let remove = |key: &&str| Change::remove(holder.child((*key).to_owned()));
    keys.iter().map(remove).collect()
}

/// Returns the fix that removes an annotation or a label of a pod.
pub(in crate::rules) fn removal_fix(
    pod: &WorkloadPrediction<'_>,
    place: MetadataMap,
    key: &str,
    title: impl Into<String>,
    wanted: Applicability,
) -> Fix {
    let template = &pod.workload.template;
    let entry = match place {
        MetadataMap::Annotation => template.annotation(key),
        MetadataMap::Label => template.label(key),
    };
    let degree = removal_applicability(pod, entry.as_slice(), wanted);
    let changes = removal_changes(template, place, &[key]);
    Fix::of_object(&pod.workload.object, title, degree, changes)
}

/// Returns the applicability of a change that removes entries: display-only if a comment would be lost or another value
/// would apply instead, at least unsafe for a pre-rewritten pod, otherwise `wanted`.
pub(in crate::rules) fn removal_applicability(
    pod: &WorkloadPrediction<'_>,
    removed: &[Entry<'_>],
    wanted: Applicability,
) -> Applicability {
    let mut wanted = removed
        .iter()
        .fold(wanted, |wanted, entry| keeping_comment(*entry, wanted));
    if removed
        .iter()
        .any(|entry| is_override(&pod.workload, entry))
    {
        let reason = "without the entry, the value that it replaces would apply";
        wanted = wanted.limited_to(Applicability::display_only_because(reason));
    }
    if pod.is_prerewritten() {
        wanted.limited_to(fix_safety::pre_rewritten())
    } else {
        wanted
    }
}

/// Returns the applicability of a change that removes or moves an entry: display-only if its comment would be lost,
/// otherwise `wanted`.
pub(in crate::rules) fn keeping_comment(entry: Entry<'_>, wanted: Applicability) -> Applicability {
    if has_comment(entry) {
        Applicability::display_only_because("the comment next to the entry would be lost")
    } else {
        wanted
    }
}

/// Returns whether there is a comment on the line of the entry or on the line above: removing the entry would
/// remove the comment or leave it without its subject.
pub(in crate::rules) fn has_comment(entry: Entry<'_>) -> bool {
    let text = entry.key.tree().text();
    let span = entry.span();
    let rest_of_line = text
        .get(span.end..)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    let line_above = before.rsplit('\n').nth(1).unwrap_or_default();
    rest_of_line.contains('#') || line_above.trim_start().starts_with('#')
}

/// Returns a comma-separated list of ports without `port`.
pub(in crate::rules) fn without_port(list: &str, port: i64) -> String {
    let remaining: Vec<&str> = list
        .split(',')
        .map(str::trim)
        .filter(|entry| entry.parse() != Ok(port))
        .collect();
    remaining.join(",")
}

/// Returns the effect of refused pods, for messages: "no pod of Deployment/web is created".
pub(in crate::rules) fn not_created(workload: &Workload<'_>) -> String {
    let title = workload.title();
    if workload.template.within == FieldPath::root() {
        format!("{title} is not created")
    } else {
        format!("no pod of {title} is created")
    }
}

/// The maximum depth of the search, deeper than any selector.
const DEPTH: usize = 64;

/// Returns whether a selector anywhere in the tree uses the label `key`, whatever the selector selects.
pub(in crate::rules) fn is_selected(context: &Context<'_>, key: &str) -> bool {
    let mut documents = context
        .sources
        .files
        .iter()
        .flat_map(|file| &file.documents);
    documents.any(|document| {
        let root = document.tree().and_then(|tree| tree.root());
        root.is_some_and(|root| uses_label(root, key, false, DEPTH))
    })
}

/// Makes a fix that removes the label `key` display-only if a selector uses the label.
pub(in crate::rules) fn keep_selected(context: &Context<'_>, key: &str, finding: &mut Finding) {
    let Some(fix) = finding.fix.as_mut().filter(|_| is_selected(context, key)) else {
        return;
    };
    fix.limit_to(Applicability::display_only_because(format!(
        "a selector in this tree uses the label `{key}`"
    )));
    finding.help = Some(format!("remove the label `{key}` from the selectors first"));
}

/// Returns whether a selector in `node` uses the label. `within` is true if `node` is part of a selector.
/// Aliases are not followed, because the search also visits their anchors.
fn uses_label(node: NodeRef<'_>, key: &str, within: bool, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match node.kind() {
        Kind::Alias => within && selects(node.resolved(), key),
        Kind::Scalar => within && node.text().is_some_and(|text| text.contains(key)),
        Kind::Sequence => node
            .items()
            .any(|item| uses_label(item, key, within, depth)),
        Kind::Mapping => node.entries().any(|entry| {
            let name = entry.key.text().unwrap_or_default();
            within && name == key
                || uses_label(entry.value, key, within || is_selector(name), depth)
        }),
    }
}

/// Returns whether the labels of a selector, which are an alias of those of the pods, contain the label.
fn selects(labels: NodeRef<'_>, key: &str) -> bool {
    labels.get(key).is_some() || labels.text().is_some_and(|text| text.contains(key))
}

fn is_selector(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    lower.ends_with("selector") || matches!(key, "matchLabels" | "matchExpressions" | "subsets")
}
