//! Annotations and labels of a pod: findings about one of them, and changes that take it away.

use crate::finding::{Applicability, Finding};
use crate::kube::{PodTemplate, Workload};
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, Entry, NodeRef, Route, Span};

use super::{Rule, scene};

/// Which mapping of the metadata a key stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `annotations`.
    Annotation,
    /// `labels`.
    Label,
}

impl Place {
    /// Returns the key of the mapping.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Annotation => "annotations",
            Self::Label => "labels",
        }
    }

    /// Returns the word for one entry.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Annotation => "annotation",
            Self::Label => "label",
        }
    }

    /// Returns the mapping of a pod, if it is written.
    pub(super) fn of<'t>(self, template: &PodTemplate<'t>) -> Option<NodeRef<'t>> {
        match self {
            Self::Annotation => template.annotations(),
            Self::Label => template.labels(),
        }
    }
}

/// Starts a finding at the value of an entry.
pub(super) fn about(
    rule: &Rule,
    workload: &Workload<'_>,
    place: Place,
    entry: Entry<'_>,
    message: String,
) -> Finding {
    let mut finding = scene::about_workload(rule, workload, value_span(entry), message);
    let key = entry.key.text().unwrap_or_default().to_owned();
    let field = workload
        .template
        .within
        .child("metadata")
        .child(place.key());
    finding.field = Some(field.child(key).to_string());
    finding
}

/// Returns one line to point at: the value, or the key where the value has several lines.
pub(super) fn value_span(entry: Entry<'_>) -> Span {
    let value = entry.value.span();
    if value.is_empty() || entry.value.source().contains('\n') {
        entry.key.span()
    } else {
        value
    }
}

/// Returns the route of an entry from the root of the document.
pub(super) fn route(template: &PodTemplate<'_>, place: Place, key: &str) -> Route {
    let metadata = template.route.child("metadata");
    metadata.child(place.key()).child(key.to_owned())
}

/// Takes entries away, and the mapping with its last one.
pub(super) fn removal(template: &PodTemplate<'_>, place: Place, keys: &[&str]) -> Vec<Change> {
    let holder = template.route.child("metadata").child(place.key());
    let all = place.of(template).map_or(0, |node| node.entries().len());
    // What a merge key brings in goes with the mapping, too.
    let merges = place.of(template).is_some_and(NodeRef::has_merge_key);
    if all == keys.len() && !merges {
        let metadata = template.node.get("metadata");
        let alone = metadata.is_some_and(|node| node.entries().len() == 1);
        let is_pod = template.within == Route::root();
        let route = if alone && !is_pod {
            template.route.child("metadata")
        } else {
            holder
        };
        return vec![Change::Remove { route }];
    }
    let remove = |key: &&str| Change::Remove {
        route: holder.child((*key).to_owned()),
    };
    keys.iter().map(remove).collect()
}

/// Returns the degree of a change to an entry: one that loses a comment is only shown, and on a
/// pod that was rewritten ahead nothing is safe.
pub(super) fn degree(
    pod: &WorkloadPrediction<'_>,
    removed: &[Entry<'_>],
    wanted: Applicability,
) -> Applicability {
    if removed.iter().any(|entry| has_comment(*entry)) {
        return Applicability::DisplayOnly;
    }
    if pod.is_rewritten_ahead() {
        wanted.max(Applicability::Unsafe)
    } else {
        wanted
    }
}

/// Tells whether a comment stands on the line of the entry or on the one above: removing the
/// entry would lose it or leave it without its subject.
pub(super) fn has_comment(entry: Entry<'_>) -> bool {
    let text = entry.key.tree().text();
    let span = entry.span();
    let behind = text
        .get(span.end..)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    let above = before.rsplit('\n').nth(1).unwrap_or_default();
    behind.contains('#') || above.trim_start().starts_with('#')
}

/// Returns a list of ports without one of them.
pub(super) fn without_port(list: &str, port: i64) -> String {
    let entries = list.split(',').map(str::trim);
    let left: Vec<&str> = entries.filter(|entry| entry.parse() != Ok(port)).collect();
    left.join(",")
}

/// Says what comes of a pod that is refused.
pub(super) fn not_created(workload: &Workload<'_>) -> String {
    let title = workload.title();
    if workload.template.within == Route::root() {
        format!("{title} is not created")
    } else {
        format!("no pod of {title} is created")
    }
}
